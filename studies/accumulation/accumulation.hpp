// SPDX-License-Identifier: Apache-2.0
// What accumulators cost: C = A B on matrix engines against the exact product, by engine, format, length of the sums and
// distribution of the operands. Operands are rounded to the input format first, so that what is measured is accumulation alone;
// what that rounding costs stands beside it. docs/accumulation.md explains the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/engine.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/format.hpp"
#include "emu/split_product.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

/// One way to multiply: an engine or a split product, the format of both operands, the accumulator, and how the sum is cut in
/// parts.
struct Accumulation {
  std::string name;         ///< of the engine, as in emu/engines.hpp, or the words of a split product
  std::string evidence;     ///< for the engine
  emu::Engine engine;       ///< what multiplies and sums; of a split product that has none its accumulator alone
  emu::Format in;           ///< format of both operands
  std::size_t promote = 0;  ///< products after which the partial sum is added to a float32 sum; 0: never
  std::optional<emu::SplitProduct> split = {};  ///< what products of narrower numbers it is made of; none: of an engine

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

/// @throws Error where there is no such engine, or it does not take the formats; `acc` is float32 or float16, and `in` has at
/// most 16 significand bits, or is float32. Split products are of float32, in an accumulator of their own (`acc` float32),
/// without `promote`.
Accumulation find_accumulation(std::string_view engine, emu::Format in, emu::Format acc, std::size_t promote);

/// Numbers of an accumulation's operand format, row-major.
struct AccumulationOperand {
  std::span<const float> values;  ///< every element a number of the format
  emu::MatrixShape shape;         ///< of `values`
};

/// a * b on the engine, or of narrower products, by one thread.
std::vector<double> product_on(const Accumulation& accumulation, const AccumulationOperand& a, const AccumulationOperand& b);

/// The greatest magnitude; 0 of nothing.
double largest(std::span<const float> values);

/// What the study compares when nothing else is asked for.
std::vector<Accumulation> standard_accumulations();

/// LO, 2 LO, 4 LO, ... up to HI inclusive. Reads `LO:HI` or one number. @throws Error
std::vector<std::size_t> parse_lengths(std::string_view word);

/// Reads `MxN`. @throws Error
struct OutputShape {
  std::size_t rows = 32, columns = 32;  ///< of C
};
/// Reads `MxN`, both at least 1. @throws Error
OutputShape parse_output_shape(std::string_view word);

/// A study: every accumulation with every distribution and length.
struct AccumulationConfig {
  std::vector<Accumulation> accumulations = standard_accumulations();  ///< the products to form
  std::vector<std::size_t> lengths = parse_lengths("64:65536");        ///< of the sums: K
  /// Synthetic tensors without their shape. A is one of rows x K under `seed`, B one of K x columns under `seed` + 1.
  std::vector<std::string> distributions{"normal:0,1", "studentt:3", "uniform:0,1", "lognormal:0,1"};
  OutputShape shape;                                                      ///< of C
  std::uint64_t seed = 0;                                                 ///< key of A; B has the next
  int threads = 0;                                                        ///< 0: all; results do not depend on it
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< from one thread at a time
};

/// Errors of the elements of one product. An output that is not finite makes them infinite. Relative ones are over outputs
/// whose exact value is not zero, against that value: negative where a magnitude shrinks.
struct AccumulationErrors {
  std::uint64_t nonfinite = 0;                                 ///< outputs that are infinite or NaN
  double max_abs = 0, mean_abs = 0, rms = 0, mean_signed = 0;  ///< of C - exact
  double max_rel = 0, mean_rel = 0, mean_signed_rel = 0;       ///< of (C - exact) / exact
  double frobenius = 0;                                        ///< |C - exact| / |exact|, Frobenius norms
  double componentwise = 0;                                    ///< the largest |C - exact| / (|A||B|)
  double bound = 0;      ///< on that, where sums do not overflow; NaN: none is derived, or an output is not finite
  double rounding = 0;   ///< of the operands: |exact - exact of the unrounded| / |exact of the unrounded|
  double rms_exact = 0;  ///< root mean square of the exact outputs
};

/// Errors of one accumulation on one distribution at one length.
struct AccumulationRow {
  Accumulation accumulation;   ///< what was computed
  std::string distribution;    ///< of A and B, before they were rounded
  std::size_t length = 0;      ///< K
  std::uint64_t elements = 0;  ///< outputs
  AccumulationErrors errors;   ///< against the exact product
};

/// Rows by accumulation, distribution and length, as in `config`. @throws Error for what the distributions or `promote` ask.
std::vector<AccumulationRow> accumulate(const AccumulationConfig& config);

/// accumulation.csv.
reports::Table accumulation_table(const std::vector<AccumulationRow>& rows);

}  // namespace ulpscope::studies
