// SPDX-License-Identifier: Apache-2.0
// cuBLAS Library 13.0, cublasLtMatmul(), the tables of FP8 and FP4 kernels, and "Narrow Precision Data Types Usage", the
// overview of scaling modes. Left out: narrow results that are block-scaled themselves, which need scales of D as an output,
// and scales that change from matrix to matrix of a batch.
#include <array>
#include <utility>

#include "emu/catalogue.hpp"
#include "gpu/cublas/calls.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using emu::bfloat16, emu::float16, emu::float32, emu::Format;

constexpr Format e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2, e2m1 = emu::float4_e2m1fn;
constexpr std::array wide_results{bfloat16, float16, float32};

struct Operands {
  Format a, b;
};
constexpr std::array fp8_operands{Operands{e4m3, e4m3}, Operands{e4m3, e5m2}, Operands{e5m2, e4m3}};

class NarrowCalls {
 public:
  NarrowCalls(const char* function, std::vector<LibraryCall>& calls) : function_(function), calls_(calls) {}

  void add_tensorwide() {
    for (const Operands& operands : fp8_operands)
      for (const Format d : wide_results)
        for (const bool fast : {false, true}) {
          LibraryCall call = to(operands, d);
          call.fast_accumulation = fast;
          calls_.push_back(call);
          if (d.bits() == float32.bits()) continue;
          call.reduced_precision_reduction = false;
          calls_.push_back(call);
        }
  }
  /// To fp8: of e4m3 alone to e4m3, otherwise to either. C is float16 or bfloat16.
  void add_narrow_results() {
    for (const Operands& operands : fp8_operands)
      for (const Format d : {e4m3, e5m2})
        for (const Format c : {bfloat16, float16})
          for (const bool fast : {false, true}) {
            if (d == e5m2 && operands.a == e4m3 && operands.b == e4m3) continue;
            LibraryCall call = to(operands, d);
            call.fast_accumulation = fast;
            call.c = c;
            calls_.push_back(call);
          }
  }
  void add_scaled(ScaleMode a, ScaleMode b, std::span<const Operands> all, bool with_fast_accumulation) {
    for (const Operands& operands : all)
      for (const Format d : wide_results) {
        LibraryCall call = to(operands, d);
        call.scale_mode_a = a;
        call.scale_mode_b = b;
        calls_.push_back(call);
        if (!with_fast_accumulation) continue;
        call.fast_accumulation = true;
        calls_.push_back(call);
      }
  }

 private:
  LibraryCall to(const Operands& operands, Format d) const {
    return {function_, "CUBLAS_COMPUTE_32F", operands.a, operands.b, d, float32};
  }

  const char* function_;
  std::vector<LibraryCall>& calls_;
};

}  // namespace

std::vector<LibraryCall> narrow_calls(const char* function, int capability) {
  constexpr int ada = 89, hopper = 90, first_with_blocks = 100;
  constexpr ScaleMode outer = ScaleMode::outer_vec_32f, line = ScaleMode::vec128_32f, block = ScaleMode::blk128x128_32f;
  std::vector<LibraryCall> calls;
  NarrowCalls narrow(function, calls);
  if (capability < ada) return calls;
  narrow.add_tensorwide();
  narrow.add_narrow_results();
  if (capability == hopper) {  // "9.0", where other modes are "8.9+" and "10.0+"
    narrow.add_scaled(outer, outer, fp8_operands, true);
    // The documentation does not speak of fast accumulation here. Every 128 products a sum is scaled, and with that promoted.
    for (const auto& [a, b] : {std::pair{line, line}, std::pair{line, block}, std::pair{block, line}})
      narrow.add_scaled(a, b, fp8_operands, false);
  }
  if (capability >= first_with_blocks) {
    narrow.add_scaled(ScaleMode::vec32_ue8m0, ScaleMode::vec32_ue8m0, fp8_operands, false);
    narrow.add_scaled(ScaleMode::vec16_ue4m3, ScaleMode::vec16_ue4m3, std::array{Operands{e2m1, e2m1}}, false);
  }
  return calls;
}

}  // namespace ulpscope::gpu::cublas
