// SPDX-License-Identifier: Apache-2.0
// Which function of the oracle says what a mode of an engine computes. The numbers come from the publications that
// emu/engine.hpp names, not from the table in emu/engines.cpp, of which only the words and formats count here.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "emu/engines.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/engine_oracle.hpp"

namespace ulpscope::test {

using EngineOracle = std::function<std::uint64_t(const oracle::InnerProduct&)>;

/// Tensor cores. Products of a block by width of the operands; 0: the generation has none.
struct Generation {
  std::string_view engine;
  int float16_products, tf32_products, float8_products;
  int fraction_bits;
  bool short_float8;  ///< 13 fraction bits, of the alignment and of float32 results
  long least_float32, least_float16;
};

inline constexpr long no_least = -100000;
inline constexpr Generation generations[] = {
    {"sm_70", 4, 0, 0, 23, false, no_least, -19}, {"sm_75", 8, 0, 0, 24, false, -132, -20},
    {"sm_80", 8, 4, 0, 24, false, -132, -20},     {"sm_86", 8, 4, 0, 24, false, -132, -20},
    {"sm_89", 8, 4, 16, 24, true, -132, -20},     {"sm_90", 16, 8, 32, 25, true, -133, -21},
    {"sm_100", 16, 8, 32, 25, false, -133, -21},  {"sm_120", 16, 8, 32, 25, false, -133, -21},
};

inline std::optional<EngineOracle> tensor_core_oracle(const Generation& generation, const emu::EngineMode& mode,
                                                      emu::Format a_format) {
  const oracle::Format accumulator = laws::oracle_format(mode.model.accumulator);
  const bool wide = accumulator.fraction_bits == 23;
  const long least = wide ? generation.least_float32 : generation.least_float16;
  oracle::BlockFma block{generation.float16_products,
                         generation.fraction_bits,
                         accumulator,
                         accumulator.fraction_bits,
                         wide ? oracle::toward_zero : oracle::nearest_even,
                         least};

  if (a_format == emu::float64) return [](const auto& x) { return oracle::fma_chain(x, oracle::binary64); };
  if (a_format == emu::tf32) block.products = generation.tf32_products;
  if (a_format.bits() <= 8) {
    block.products = generation.float8_products;
    if (generation.short_float8) block.fraction_bits = 13;
    if (generation.short_float8 && wide) block.result_fraction_bits = 13;
  }
  if (block.products == 0) return std::nullopt;
  switch (mode.model.scales) {
    case emu::EngineScales::none: return [=](const auto& x) { return oracle::block_fma(x, block); };
    case emu::EngineScales::products: return [=](const auto& x) { return oracle::block_fma_scaled_products(x, block); };
    case emu::EngineScales::group_sums: break;
  }
  const int scale_products = mode.scale_format == emu::float8_e8m0fnu ? 32 : 16;
  return [=](const auto& x) { return oracle::block_fma_scaled_groups(x, scale_products, least); };
}

inline std::optional<EngineOracle> matrix_core_oracle(const emu::EngineMode& mode, emu::Format a_format) {
  if (a_format == emu::float64) return [](const auto& x) { return oracle::fma_chain(x, oracle::binary64); };
  if (a_format == emu::float32) return [](const auto& x) { return oracle::fma_chain(x, oracle::binary32); };
  if (mode.engine == "cdna1") {
    const int products = a_format == emu::float16 ? 4 : 2;
    return [=](const auto& x) { return oracle::cdna1(x, products); };
  }
  if (mode.engine == "cdna2") return oracle::cdna2;
  if (mode.engine == "cdna2/bf16") return oracle::cdna2_pairs;
  if (a_format.bits() <= 8) return oracle::cdna3_fp8;
  const int products = a_format == emu::tf32 ? 4 : 8;
  return [=](const auto& x) { return oracle::cdna3(x, products); };
}

/// No value: there is none.
inline std::optional<EngineOracle> oracle_of(const emu::EngineMode& mode, emu::Format a_format) {
  const oracle::Format accumulator = laws::oracle_format(mode.model.accumulator);
  const bool wide = accumulator.fraction_bits == 23;
  for (const Generation& generation : generations) {
    if (generation.engine == mode.engine) return tensor_core_oracle(generation, mode, a_format);
  }
  if (mode.engine == "sm_90/mma" || mode.engine == "sm_100/mma") {
    return [=](const auto& x) { return oracle::two_half_blocks(x, accumulator, wide ? -133 : -21); };
  }
  if (mode.engine.starts_with("cdna")) return matrix_core_oracle(mode, a_format);
  if (mode.engine == "amx_bf16") return oracle::amx_bf16;
  if (mode.engine == "avx512_bf16") return oracle::avx512_bf16;
  if (mode.engine == "amx_fp16") return oracle::amx_fp16;
  if (mode.engine == "amx_tf32") return oracle::amx_tf32;
  if (mode.engine == "amx_fp8") return oracle::amx_fp8;
  if (mode.engine == "arm_bf16") return oracle::arm_bf16;
  if (mode.engine == "arm_ebf16" || (mode.engine == "arm_fmopa" && a_format == emu::float16)) return oracle::arm_fused_pairs;
  if (mode.engine == "arm_fmmla" && a_format == emu::float16) return oracle::arm_fmmla_of_halves;
  if (mode.engine == "arm_fmmla") return [=](const auto& x) { return oracle::arm_fmmla(x, accumulator); };
  if (mode.engine.starts_with("arm_fp8")) {
    const int products = mode.engine == "arm_fp8" ? (wide ? 4 : 2) : mode.engine == "arm_fp8/fmmla" ? (wide ? 8 : 4) : 1;
    const int lscale = -mode.model.product_exponent;
    return [=](const auto& x) { return oracle::arm_fp8(x, accumulator, products, lscale); };
  }
  if (mode.engine == "fma" || mode.engine == "fp16_chain" || mode.engine.ends_with("_fma") || mode.engine == "arm_fmopa") {
    return [=](const auto& x) { return oracle::fma_chain(x, accumulator); };
  }
  if (mode.engine == "pairwise") return [=](const auto& x) { return oracle::pairwise(x, accumulator); };
  if (mode.engine == "exact") return [=](const auto& x) { return oracle::exactly_rounded(x, accumulator); };
  return std::nullopt;
}

}  // namespace ulpscope::test
