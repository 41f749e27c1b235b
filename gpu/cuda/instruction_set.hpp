// SPDX-License-Identifier: Apache-2.0
// What a GPU is to this plugin: the instructions that its code was compiled with, and the engine that emulates it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/cuda/instruction.hpp"

namespace ulpscope::gpu::cuda {

/// The type names of PTX.
namespace ptx {
inline constexpr emu::Format f16 = emu::float16, bf16 = emu::bfloat16, tf32 = emu::tf32, f32 = emu::float32, f64 = emu::float64,
                             e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2, e3m2 = emu::float6_e3m2fn,
                             e2m3 = emu::float6_e2m3fn, e2m1 = emu::float4_e2m1fn, ue8m0 = emu::float8_e8m0fnu,
                             ue4m3 = emu::float8_e4m3fn;  // with a sign bit that is 0
}  // namespace ptx

struct Target {
  int capability = 0;       ///< of the GPU: 90 for 9.0
  int architecture = 0;     ///< of the code that runs on it: 80 for sm_80
  bool specific = false;    ///< whether that code is for this GPU alone (sm_90a)
  bool family = false;      ///< whether it is for later GPUs of the same family too, and no others (sm_120f)
  std::string engine = {};  ///< `sm_90`; empty where emu has none for this GPU

  bool has_wgmma() const noexcept { return architecture == 90 && specific; }
  /// mma.sync of operands of less than 8 bits, and with block scales.
  bool has_narrow_mma() const noexcept { return architecture / 10 == 12 && (specific || family); }
  bool has_tcgen05() const noexcept { return architecture >= 100 && architecture < 120 && (specific || family); }
  /// PTX ISA 9.0, cvt, "Target ISA Notes": fp4, fp6 and ue8m0 on sm_100a and what comes after it, random bits on two of them.
  bool has_narrow_cvt() const noexcept { return architecture >= 100 && (specific || family); }
  bool has_random_cvt() const noexcept { return (architecture == 100 || architecture == 103) && specific; }
};

/// `architectures` as CMake names them, with commas, `75-real,90a-real`: binaries (-real) run on later GPUs of the same major
/// version, code of an `a` architecture on exactly that one, code of an `f` architecture on later GPUs of the same major
/// version (CUDA C++ Programming Guide, "Feature Set Compiler Targets"), and PTX (-virtual, or both where nothing is said) on
/// every later GPU.
std::optional<Target> target_for(int capability, std::string_view architectures);
/// For what this plugin was compiled.
std::optional<Target> target_for(int capability);

/// The instructions of one kind that a target has, appended.
void add_float16_mma(const Target& target, std::vector<Instruction>& to);
void add_wide_mma(const Target& target, std::vector<Instruction>& to);
void add_float8_mma(const Target& target, std::vector<Instruction>& to);
void add_narrow_mma(const Target& target, std::vector<Instruction>& to);
void add_scaled_mma(const Target& target, std::vector<Instruction>& to);
void add_wgmma(const Target& target, std::vector<Instruction>& to);
void add_tcgen05(const Target& target, std::vector<Instruction>& to);
void add_scaled_tcgen05(const Target& target, std::vector<Instruction>& to);
void add_wmma(const Target& target, std::vector<Instruction>& to);
void add_conversions(const Target& target, std::vector<ElementInstruction>& to);
void add_float8_conversions(const Target& target, std::vector<ElementInstruction>& to);
void add_narrow_conversions(const Target& target, std::vector<ElementInstruction>& to);
void add_random_conversions(const Target& target, std::vector<ElementInstruction>& to);
void add_half_arithmetic(const Target& target, std::vector<ElementInstruction>& to);
void add_float_arithmetic(const Target& target, std::vector<ElementInstruction>& to);

}  // namespace ulpscope::gpu::cuda
