// SPDX-License-Identifier: Apache-2.0
// Kernels with a fault, element by element in plain loops. They share nothing with verify/explain/replay.hpp but the rounding
// of one number and, for engines, one inner product of codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/philox.hpp"
#include "products/product.hpp"

namespace ulpscope::verify {

/// Random integers, in order.
class Draws {
 public:
  /// The numbers of a stream of a seed, from the first.
  explicit Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  /// The next 32 random bits.
  std::uint32_t next() { return emu::philox4x32(seed_, next_++, stream_).word[0]; }
  /// The next integer below n, n at least 1; not quite uniform where n is no power of two.
  std::size_t below(std::size_t n) { return next() % n; }
  /// The next multiple of 2^-32 in [0, 1).
  double unit() { return next() * 0x1p-32; }

 private:
  std::uint64_t seed_, stream_, next_ = 0;
};

/// A small product and what is claimed of it.
struct PlantedProblem {
  std::size_t m, n, k;         ///< extents
  emu::Format in, out;         ///< of the operands, and of D
  std::string engine;          ///< claimed
  std::vector<float> a, b, c;  ///< numbers of `in`, C of float32; c may be empty
  std::vector<float> sa, sb;   ///< scales of rows and of columns; empty: none
  float alpha = 1;             ///< factor of the product

  /// The claim.
  products::Product config() const;
};

/// What a fault concerns.
enum class PlantKind : std::uint8_t {
  engine,
  split,
  promote,
  lanes,
  order,
  input,
  result,
  sum,
  end,
  c,
  alpha,
  scale,
  layout,
  read,
  pair,
  unknown
};
inline constexpr std::size_t plant_kinds = static_cast<std::size_t>(PlantKind::unknown) + 1;  ///< values of PlantKind

/// A fault and the kernel that has it.
struct Plant {
  std::string kind;  ///< for the table; begins with `unknown:` where no hypothesis has it
  std::string word;  ///< of the hypothesis; empty where none has it
  /// Computes D with the fault.
  std::function<std::vector<float>(const PlantedProblem&)> kernel;
};

/// A problem, and a fault that can happen to it.
struct PlantedCase {
  PlantedProblem problem;  ///< what is computed
  Plant plant;             ///< what went wrong
};
/// Draws a problem and a fault that can happen to it.
PlantedCase draw_case(Draws& draws);

}  // namespace ulpscope::verify
