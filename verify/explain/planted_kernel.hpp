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
  explicit Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  std::uint32_t next() { return emu::philox4x32(seed_, next_++, stream_).word[0]; }
  std::size_t below(std::size_t n) { return next() % n; }
  double unit() { return next() * 0x1p-32; }

 private:
  std::uint64_t seed_, stream_, next_ = 0;
};

/// A small product and what is claimed of it.
struct PlantedProblem {
  std::size_t m, n, k;
  emu::Format in, out;
  std::string engine;          ///< claimed
  std::vector<float> a, b, c;  ///< numbers of `in`, C of float32; c may be empty
  std::vector<float> sa, sb;   ///< scales of rows and of columns; empty: none
  float alpha = 1;

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
inline constexpr std::size_t plant_kinds = static_cast<std::size_t>(PlantKind::unknown) + 1;

/// A fault and the kernel that has it.
struct Plant {
  std::string kind;  ///< for the table; begins with `unknown:` where no hypothesis has it
  std::string word;  ///< of the hypothesis; empty where none has it
  std::function<std::vector<float>(const PlantedProblem&)> kernel;
};

/// A problem, and a fault that can happen to it.
struct PlantedCase {
  PlantedProblem problem;
  Plant plant;
};
PlantedCase draw_case(Draws& draws);

}  // namespace ulpscope::verify
