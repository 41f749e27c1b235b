// SPDX-License-Identifier: Apache-2.0
// What a matrix engine computes, as data: how the products of one step and the addend become one sum. Everything the published
// models of tensor cores, matrix cores and dot-product units differ in is a field here; emu/engine_step.hpp interprets it.
// Sources: Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", doi 10.1145/3830409; Xie et al., "MMA-Sim", arXiv
// 2511.10909v2; Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// How the terms of one sum meet.
enum class Summing : std::uint8_t {
  aligned,     ///< all are cut to multiples of 2^(greatest exponent - fraction_bits), then added exactly: order plays no part
  exact,       ///< added exactly
  sequential,  ///< one after another, rounded every time; a product joins unrounded (fma)
  pairwise,    ///< each is rounded; then the first ceil(n/2) terms, the rest, and the sum of the two, rounded every time
};

/// Where the addend c enters a sum. In aligned and exact sums it is a term like the others.
enum class Addend : std::uint8_t { none, first, last };

/// What an alignment does to the bits beyond its last one.
enum class Cut : std::uint8_t { toward_zero, downward };

/// Which NaN a NaN result is.
enum class NanResult : std::uint8_t {
  canonical,  ///< nan_code
  /// As on x86 (Intel SDM volume 1, 4.8.3.5): the first operand of an operation that is a NaN, quieted, with its sign and as
  /// much of its payload as there is room for. A fused multiply-add has the operands a, b and the sum so far, an addition the
  /// term that joins and the sum so far. nan_code where no operand is a NaN: 0 * infinity, infinity - infinity.
  operand,
  /// As on Arm (Arm Architecture Reference Manual, DDI 0487, FPProcessNaNs and FPProcessNaNs3): a signaling operand before the
  /// quiet ones; among those that are alike the sum so far, a and b, in this order. Quieted as above. nan_code where no operand
  /// is a NaN, and where 0 * infinity meets a quiet one in the sum. In sequential sums.
  signaling_operand,
  /// As in float64 on NVIDIA's GPUs (DADD, DMUL, DFMA, DMMA; found on an H200): the NaN of b, else that of the sum so far, else
  /// that of a, in additions and multiplications the second operand's before the first's. Quieted as above. nan_code where no
  /// operand is a NaN. In sequential sums.
  second_operand,
};

/// One layer of a step: the terms are dealt out to sums, and the sums are the terms of the next stage. Those of the first are
/// the products. The last stage has one sum, the result.
struct Stage {
  static constexpr int all = 0;              ///< for `terms`: every term there is
  static constexpr int unlimited = 0x10000;  ///< for `addend_window`: far enough for all formats

  Summing summing = Summing::aligned;  ///< how terms become a sum
  int terms = all;                     ///< in one sum
  int run = 0;                         ///< of S sums, sum (t / run) % S takes term t; 0: neighbours stay together (run = terms)
  Addend addend = Addend::none;        ///< what joins the first sum beside its terms
  bool carried = false;  ///< each sum but the first has the result of the one before for an addend; the last one is the result
  bool descending = false;  ///< sequential: the last term comes first
  /// Sequential without a first addend: the first term joins +0. If not, it is what the others join, and two -0 make -0.
  bool starts_at_zero = true;
  /// Exact: a sum of nothing but -0 is -0 (IEEE 754-2019, 6.3). Aligned: a negative sum that is rounded to zero is -0; if not,
  /// every zero is +0.
  bool keeps_minus_zero = false;

  int fraction_bits = 0;          ///< aligned: kept below the greatest exponent among the terms
  int addend_fraction_bits = -1;  ///< aligned: the same for the addend; -1: as for the others
  int addend_window = unlimited;  ///< aligned: an addend whose exponent is further below the greatest one counts as zero
  Cut cut = Cut::toward_zero;     ///< aligned
  bool rounded = true;  ///< to the accumulator's format; if not, the sum goes on as it is (exact: of at most 127 bits)
  Rounding rounding = Rounding::nearest_even;  ///< of `rounded`

  friend constexpr bool operator==(const Stage&, const Stage&) = default;
};

/// Block scales that the engine itself applies (OCP Microscaling Formats 1.0; NVFP4).
enum class EngineScales : std::uint8_t {
  none,
  products,    ///< the exponents of two e8m0 scales are added to that of every product
  group_sums,  ///< the sums of the first stage are multiplied by two scales, not normalised
};

/// The exponent that the smallest operands of a format have in alignments; `as_float16`: Engine::operands_become_float16.
ULPSCOPE_HD constexpr int least_operand_exponent(Format format, bool as_float16) noexcept {
  const int own = format.min_exponent();
  return as_float16 && float16.min_exponent() < own ? float16.min_exponent() : own;
}

/// An engine: one step takes `products` products and the result of the step before (the first one c); a longer sum is a chain
/// of steps in the order of k. A value: engines compare, and a new one is written in a few lines.
struct Engine {
  static constexpr int no_least_exponent = -(1 << 19);  ///< what `least_exponent` is where nothing bounds the alignment

  int products = 1;                  ///< of a step; Stage::all: the whole of K is one step
  std::array<Stage, 3> stages = {};  ///< the first `stage_count` of them are used, in this order
  int stage_count = 1;               ///< 1 to 3

  Format accumulator = float32;   ///< of c and of the result
  int result_fraction_bits = -1;  ///< of a rounded aligned sum; -1: those of the accumulator, fewer leave zeros behind them
  /// The greatest exponent of an aligned sum that the addend takes part in is no lower than this.
  int least_exponent = no_least_exponent;

  bool subnormal_inputs_are_zero = false;  ///< of a and b, in their own formats; the sign stays
  bool subnormal_addend_is_zero = false;   ///< of c; the sign stays
  bool input_zeros_are_positive = false;   ///< of a, b and c: -0 and what became -0 lose their signs
  /// a and b are converted to float16 before they are multiplied: what is subnormal in fp8 and normal there has its own
  /// exponent in alignments.
  bool operands_become_float16 = false;
  /// A product of 2^(emax + 1) or more, emax of the accumulator's format, is infinite before it is summed.
  bool products_overflow = false;
  /// Products are multiplied by 2^product_exponent before they are summed. On Arm minus FPMR.LSCALE (DDI 0487, FPMR).
  int product_exponent = 0;
  /// Results below the least normal number when rounded without a least exponent (IEEE 754-2019, 7.5: tiny after rounding),
  /// after every rounding; the sign stays.
  bool subnormal_results_are_zero = false;
  /// Of an aligned sum rounded toward zero, of a sequential or pairwise one rounded to odd; else the largest finite number.
  bool overflow_is_infinity = true;
  NanResult nan_result = NanResult::canonical;  ///< which NaN comes out
  Code nan_code = accumulator.nan_code();       ///< of NaNs made by invalid operations (canonical: of all NaN results)

  EngineScales scales = EngineScales::none;  ///< block scales that the engine itself applies
  int scale_products = 0;                    ///< products that share two scales

  friend constexpr bool operator==(const Engine&, const Engine&) = default;

  /// That of this engine.
  constexpr int least_operand_exponent(Format format) const noexcept {
    return emu::least_operand_exponent(format, operands_become_float16);
  }
  /// The stage whose result is the step's.
  constexpr const Stage& last_stage() const noexcept { return stages[static_cast<std::size_t>(stage_count) - 1]; }
};

/// The truncating block FMA of tensor cores: c and `products` exact products are aligned to the greatest exponent, cut to
/// `fraction_bits` below it, summed exactly and rounded once.
constexpr Engine block_fma(int products, int fraction_bits, Format accumulator = float32,
                           Rounding rounding = Rounding::toward_zero) {
  Engine engine;
  engine.products = products;
  engine.accumulator = accumulator;
  engine.nan_code = accumulator.nan_code();
  engine.stages[0].terms = products;
  engine.stages[0].addend = Addend::first;
  engine.stages[0].fraction_bits = fraction_bits;
  engine.stages[0].rounding = rounding;
  return engine;
}

/// A chain of fused multiply-adds in the order of k, each rounded to the accumulator's format.
constexpr Engine fma_chain(Format accumulator = float32) {
  Engine engine;
  engine.accumulator = accumulator;
  engine.nan_code = accumulator.nan_code();
  engine.stages[0].summing = Summing::sequential;
  engine.stages[0].terms = 1;
  engine.stages[0].addend = Addend::first;
  return engine;
}

}  // namespace ulpscope::emu
