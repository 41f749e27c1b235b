// SPDX-License-Identifier: Apache-2.0
// Builds the calls that cuBLAS would have, and keeps those that the engine can answer.
#include "gpu/emulated/emulated_calls.hpp"

#include <utility>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"

namespace ulpscope::gpu {
namespace {

using emu::bfloat16, emu::float16, emu::float32, emu::float64, emu::tf32;
using emu::Engine, emu::Format;

/// Some of the calls that cuBLASLt has with fp8 results and with scales of lines and blocks.
std::vector<LibraryCall> scaled_calls(const std::string& engine) {
  constexpr ScaleMode outer = ScaleMode::outer_vec_32f, line = ScaleMode::vec128_32f, block = ScaleMode::blk128x128_32f,
                      mx = ScaleMode::vec32_ue8m0, nv = ScaleMode::vec16_ue4m3;
  std::vector<LibraryCall> calls;
  const auto add = [&](Format operands, Format d, ScaleMode a, ScaleMode b, bool fast) {
    LibraryCall call{"emulated", "CUBLAS_COMPUTE_32F", operands, operands, d, float32};
    call.scale_mode_a = a;
    call.scale_mode_b = b;
    call.fast_accumulation = fast;
    if (d.bits() == 8) call.c = bfloat16;
    calls.push_back(call);
  };
  add(emu::float8_e4m3fn, emu::float8_e4m3fn, ScaleMode::scalar_32f, ScaleMode::scalar_32f, false);
  for (const Format d : {bfloat16, float32}) {
    if (engine == "sm_90") {
      for (const bool fast : {false, true}) add(emu::float8_e4m3fn, d, outer, outer, fast);
      for (const auto& [a, b] : {std::pair{line, line}, std::pair{line, block}, std::pair{block, line}})
        add(emu::float8_e4m3fn, d, a, b, false);
    }
    add(emu::float8_e4m3fn, d, mx, mx, false);
    add(emu::float4_e2m1fn, d, nv, nv, false);
  }
  return calls;
}

}  // namespace

Format taken_as(const LibraryCall& call, Format format) {
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_TF32") return tf32;
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_16F") return float16;
  if (call.compute == "CUBLAS_COMPUTE_32F_FAST_16BF") return bfloat16;
  return format;
}

std::optional<Engine> engine_for(const std::string& name, const LibraryCall& call) {
  const Format a = taken_as(call, call.a), b = taken_as(call, call.b);
  if (a == float32) return emu::fma_chain(float32);
  const ScaleModeFacts scales = facts_of(call.scale_mode_a);
  emu::EngineRequest request{a, b, call.accumulator};
  if (scales.by_the_engine) {
    request.scales = scales.format == emu::float8_e8m0fnu ? emu::EngineScales::products : emu::EngineScales::group_sums;
    request.scale_format = scales.format;
  }
  try {
    return emu::find_engine(name, request).model;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<LibraryCall> calls_of_engine(const std::string& name) {
  constexpr Format e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2;
  constexpr const char* single = "CUBLAS_COMPUTE_32F";
  std::vector<LibraryCall> calls;
  const auto add = [&](const char* compute, Format a, Format b, Format d, Format accumulator) {
    LibraryCall call{"emulated", compute, a, b, d, accumulator};
    if (!engine_for(name, call)) return;
    calls.push_back(call);
    if (a.bits() != 8) return;
    call.fast_accumulation = true;
    calls.push_back(call);
  };
  for (const Format operands : {float16, bfloat16})
    for (const Format d : {operands, float32}) add(single, operands, operands, d, float32);
  add("CUBLAS_COMPUTE_16F", float16, float16, float16, float16);
  for (const char* compute :
       {single, "CUBLAS_COMPUTE_32F_FAST_TF32", "CUBLAS_COMPUTE_32F_FAST_16F", "CUBLAS_COMPUTE_32F_FAST_16BF"})
    add(compute, float32, float32, float32, float32);
  add("CUBLAS_COMPUTE_64F", float64, float64, float64, float64);
  for (const auto& [a, b] : {std::pair{e4m3, e4m3}, std::pair{e4m3, e5m2}, std::pair{e5m2, e4m3}})
    for (const Format d : {bfloat16, float16, float32}) add(single, a, b, d, float32);
  for (LibraryCall& call : scaled_calls(name))
    if (engine_for(name, call)) calls.push_back(std::move(call));
  return calls;
}

}  // namespace ulpscope::gpu
