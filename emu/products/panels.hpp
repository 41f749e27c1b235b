// SPDX-License-Identifier: Apache-2.0
// Operands of a matrix product as the vector kernels read them, and the kernels. A panel is a few rows of A or columns of B
// over a stretch of K, cut into the steps of an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/bits.hpp"

namespace ulpscope::emu::detail {

inline constexpr std::size_t panel_rows = 64;     ///< of A: what one visit of a step of B is shared by
inline constexpr std::size_t panel_columns = 64;  ///< of B: 64 exponents of 8 bits are the widest vector

/// An engine of one aligned sum with the addend, whose sums of cut terms fit 32 bits.
struct AlignedPlan {
  int products;  ///< of a step
  int fraction_bits;
  int result_fraction_bits;       ///< of float32 results
  bool fits;                      ///< 31 bits hold the sum of all terms
  bool half_results;              ///< float16, rounded to nearest even; else float32, rounded toward zero
  bool wide;                      ///< exponents of products take more than 8 bits
  int least_exponent;             ///< of the alignment
  int a_least, b_least, c_least;  ///< least exponents of the formats: subnormals have them
};

/// The exponent that stands for zero. Added with saturation to any other, it stays below those of products that are not zero.
template <class Exponent>
inline constexpr Exponent exponent_of_zero = static_cast<Exponent>(sizeof(Exponent) == 1 ? -128 : -16384);

/// Memory on a boundary of cache lines, which vectors must not cross.
template <class T>
class Lines {
 public:
  T* data() noexcept { return lines_.data()->of; }
  const T* data() const noexcept { return lines_.data()->of; }
  void resize(std::size_t count) { lines_.resize((count + per_line - 1) / per_line); }
  T& operator[](std::size_t i) noexcept { return data()[i]; }

 private:
  static constexpr std::size_t per_line = 64 / sizeof(T);
  struct alignas(64) Line {
    T of[per_line];
  };
  std::vector<Line> lines_;
};

/// Rows of A: value and exponent of element (i, k), step by step, at (k / products * panel_rows + i) * products + k % products.
/// An exponent stands in 32 bits as often as it fits, to be broadcast.
struct RowPanel {
  Lines<float> values;
  Lines<std::uint32_t> exponents;
  Lines<double> scales;  ///< (step * panel_rows + i) * blocks of a step + block
  std::size_t rows = 0;
};

/// Columns of B: element (k, j) at k * panel_columns + j; the exponents have 8 or 16 bits.
struct ColumnPanel {
  Lines<float> values;
  Lines<std::int8_t> exponents8;
  Lines<std::int16_t> exponents16;
  Lines<double> scales;     ///< (step * blocks of a step + block) * panel_columns + j
  std::size_t columns = 0;  ///< that are wanted; those beyond are zeros
};

/// The exponent by which an alignment judges x: that of its format's least normal number for subnormals.
inline int nominal_exponent(float x, int least) noexcept {
  const auto word = bit_cast<std::uint32_t>(x);
  const int exponent = static_cast<int>(word >> 23 & 0xff) - 127;
  return exponent < least ? least : exponent;
}

/// Which products a step takes, and log2 of what they are multiplied by.
struct AlignedTerms {
  bool every_other_pair = false;  ///< 0, 1, 4, 5, 8, ... of those that stand there
  int scale = 0;
};

/// One step for one output, by doubles and 64-bit integers: for the ranges that the vectors leave out. a has stride 1, b has
/// stride panel_columns. c and the result are numbers of the accumulator's format, or infinite.
float aligned_step(const AlignedPlan& plan, const float* a, const float* b, float c, AlignedTerms terms = {}) noexcept;

/// Continues the chains of `rows` by `columns` outputs, accumulators in rows of panel_columns, by `steps` steps. What becomes
/// of outputs beyond these columns is not said.
void aligned_steps(const AlignedPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators);

}  // namespace ulpscope::emu::detail
