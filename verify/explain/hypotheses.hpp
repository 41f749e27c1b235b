// SPDX-License-Identifier: Apache-2.0
// What a kernel may do otherwise than it claims: causes, one by one and together, each with a word, a sentence and the change
// of the kernel's arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/explain/replay.hpp"

namespace ulpscope::verify {

/// An option of `ulpscope matmul` and its value; a flag has none.
using MatmulOption = std::pair<std::string, std::string>;

/// One deviation from the claim.
struct Cause {
  std::string word;                   ///< `split-k=4`
  std::string sentence;               ///< `split-K = 4`
  std::vector<MatmulOption> options;  ///< that make `ulpscope matmul` compute it; empty where none do
  /// Makes the claimed kernel one that has the cause.
  std::function<void(Kernel&)> change;
  std::vector<std::string> also = {};  ///< other words for the same: engines with one arithmetic
};

/// One, two or three causes together.
struct Hypothesis {
  std::vector<Cause> causes;  ///< applied one after another

  std::string word() const;      ///< words joined by `+`
  std::string sentence() const;  ///< joined by `and`
  /// The kernel that has all causes.
  Kernel kernel(const Kernel& declared) const;
  bool is(const std::string& word) const;  ///< whether this is its word, or one that means the same
  bool has_command() const;                ///< whether each cause is within reach of `ulpscope matmul`
};

/// What is claimed of a product, as far as hypotheses depend on it.
struct Claim {
  products::Product config;     ///< as claimed, with its engine
  products::MatmulShape shape;  ///< extents and batch
  Kernel kernel;                ///< the same as arithmetic

  /// The claimed engine.
  std::string engine() const { return config.engine; }
  /// The claimed format of A.
  emu::Format a() const { return config.a.rounding.format; }
  /// The claimed format of B.
  emu::Format b() const { return config.b.rounding.format; }
  std::size_t step() const;  ///< products that the claimed engine takes at a time
};
/// @throws ulpscope::Error as declared_kernel().
Claim claim_of(const products::Product& config);

/// Every cause of one kind, the simplest first.
std::vector<Cause> engine_causes(const Claim& claim, emu::Format a, emu::Format b);  ///< engines that take these formats
std::vector<Cause> split_causes(const Claim& claim);  ///< split products, of operands that have as many bits as float32
std::vector<Cause> block_causes(const Claim& claim);  ///< the claimed engine with another block length or alignment
std::vector<Cause> width_causes(const Claim& claim);  ///< aligned sums of any width, whatever the claim is
std::vector<Cause> sum_causes(const Claim& claim);    ///< accumulators, rounded products, truncated additions
std::vector<Cause> part_causes(const Claim& claim);   ///< split K, promotion, several accumulators
std::vector<Cause> join_causes(const Claim& claim);   ///< split K, the parts added in a tree of join_orders()
/// Parts of K as GPU libraries cut it: K by the number of parts, rounded up to whole tiles
std::vector<Cause> tile_part_causes(const Claim& claim);
/// Blocks of K as libraries of the CPU cut it, and several accumulators in a block
std::vector<Cause> library_causes(const Claim& claim, bool with_accumulators);
std::vector<Cause> order_causes(const Claim& claim);     ///< orders of K
std::vector<Cause> end_causes(const Claim& claim);       ///< the first or last products left out, or the last taken twice
std::vector<Cause> format_causes(const Claim& claim);    ///< inputs rounded to another format
std::vector<Cause> input_causes(const Claim& claim);     ///< how inputs are rounded, and codes read as another format
std::vector<Cause> lag_causes(const Claim& claim);       ///< tiles along K that are read too early
/// Scales multiplied onto the elements, which are rounded to a format of 16 bits or more and multiplied by an engine of it
std::vector<Cause> dequantized_causes(const Claim& claim);
std::vector<Cause> layout_causes(const Claim& claim);    ///< transposed and swapped operands
std::vector<Cause> result_causes(const Claim& claim);    ///< the last rounding, and others before it
std::vector<Cause> epilogue_causes(const Claim& claim);  ///< C, alpha, beta, scales

/// A way to apply a scale twice, and the end of its word and of its sentence.
struct TwiceWay {
  TwiceAt at;          ///< where it is rounded
  const char* suffix;  ///< of the word
  const char* words;   ///< of the sentence
};
/// All of them, the simplest first; of scales that an engine applies the first alone.
std::span<const TwiceWay> twice_ways(const Claim& claim);

/// Products of K left out, and products of K taken twice; `k` in all.
///@{
Cause left_out(emu::KRange range, std::size_t k);
Cause taken_twice(emu::KRange range, std::size_t k);
///@}
/// Split K whose part `range` is not added to the others, for each number of parts that has it.
std::vector<Cause> lost_part_causes(const Claim& claim, emu::KRange range);

/// The most bits of the numbers of parts that join_causes() tries: 64 parts.
inline constexpr std::size_t most_join_bits = 6;
/// The orders of bits (emu::SplitProduct::join) in which reductions of 2^bits sums by the threads of a GPU add them. A thread
/// has 4 columns of a tile of the output; of T columns 32 / (T / 4) lanes of a warp lie along the sums. The low bits of a sum's
/// number are lanes, the next ones warps, the rest registers. Registers meet first, the lowest bit first, then lanes, then
/// warps, the highest bit first. T is 32, 64 or 128, and there are 1, 2, 4 or 8 warps; each order once, neighbours first.
std::vector<std::vector<std::uint8_t>> join_orders(std::size_t bits);
/// `2.0.1`.
std::string join_word(const std::vector<std::uint8_t>& order);

/// A hypothesis for each cause.
std::vector<Hypothesis> each_alone(std::vector<Cause> causes);
/// Every cause by itself.
std::vector<Hypothesis> single_hypotheses(const Claim& claim);
/// The single causes that are about the order and the rounding of sums in the claimed accumulator.
std::vector<Hypothesis> summation_hypotheses(const Claim& claim);
/// Causes that are met together, of different kinds.
std::vector<Hypothesis> paired_hypotheses(const Claim& claim);
/// Causes that were read off D, each with causes of sums, parts, inputs, orders and results.
std::vector<Hypothesis> hypotheses_with(const Claim& claim, const std::vector<Cause>& read_off);
/// What GPU libraries do where a product is cut in whole tiles, or is made of narrower inputs: parts of K in whole tiles with
/// another cause, and inputs of another format with an engine that takes them and parts of K.
std::vector<Hypothesis> tile_hypotheses(const Claim& claim);

}  // namespace ulpscope::verify
