// SPDX-License-Identifier: Apache-2.0
// The exact matrix product, each element rounded once: what every engine, order and accumulator is measured against. Operands
// have at most 16 significand bits and any exponents; results do not depend on the number of threads.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "emu/exact_sum.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// Row-major: element (i, j) stands at i * stride + j.
struct MatrixShape {
  std::size_t rows, columns;     ///< extents
  std::size_t stride = columns;  ///< elements between the beginnings of two rows

  /// Where element (row, column) stands.
  constexpr std::size_t at(std::size_t row, std::size_t column) const noexcept { return row * stride + column; }
  /// How many elements an array must have to hold the matrix.
  constexpr std::size_t extent() const noexcept { return rows == 0 || columns == 0 ? 0 : at(rows - 1, columns - 1) + 1; }
};

namespace detail {

/// A number as scaled * 2^(group_bits * group + the format's least spacing exponent).
struct GroupedTerm {
  static constexpr int group_bits = 8;
  std::int32_t scaled;  ///< the significand shifted up by less than group_bits, with its sign
  std::int32_t group;
};

}  // namespace detail

/// A matrix made ready for exact products, of which it can take part in many.
class ExactMatrix {
 public:
  static constexpr int most_precision = 16;  ///< significand bits that a format may have, the leading one included

  /// `codes` are numbers of `format`, which has at most 16 significand bits (the 16-bit formats, tf32 and all narrower ones).
  /// Where `subnormals_are_zero`, they are.
  template <detail::CodeRange Codes>
  ExactMatrix(Format format, const Codes& codes, MatrixShape shape, const RoundingOptions& options = {})
      : ExactMatrix(format, shape.rows, shape.columns) {
    const std::span<const std::ranges::range_value_t<Codes>> span(codes);
    assert(span.size() >= shape.extent());
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t j = 0; j < columns_; ++j) set(i, j, detail::operand(format, span[shape.at(i, j)], options));
  }
  /// `values` must be numbers of `format`, or quiet NaNs where it has NaN; throws Error at the first that is not.
  ExactMatrix(Format format, std::span<const float> values, MatrixShape shape, const RoundingOptions& options = {});

  /// The format of its elements.
  Format format() const noexcept { return format_; }
  /// Its rows.
  std::size_t rows() const noexcept { return rows_; }
  /// Its columns.
  std::size_t columns() const noexcept { return columns_; }
  /// The code of an element.
  Code code(std::size_t row, std::size_t column) const noexcept { return codes_[row * columns_ + column]; }

  /// Its numbers taken apart; zero stands for NaN and infinity.
  std::span<const detail::GroupedTerm> row(std::size_t i) const noexcept { return {terms_.data() + i * columns_, columns_}; }
  /// One more than the greatest group there can be.
  int groups() const noexcept;
  /// Whether a row or column has a NaN or an infinity.
  bool row_is_special(std::size_t i) const noexcept { return special_rows_[i] != 0; }
  /// Whether a column has a NaN or an infinity.
  bool column_is_special(std::size_t j) const noexcept { return special_columns_[j] != 0; }

 private:
  ExactMatrix(Format format, std::size_t rows, std::size_t columns);
  void set(std::size_t row, std::size_t column, Code code) noexcept;

  Format format_;
  std::size_t rows_, columns_;
  std::vector<std::uint32_t> codes_;
  std::vector<detail::GroupedTerm> terms_;
  std::vector<std::uint8_t> special_rows_, special_columns_;
};

/// How an exact product is rounded and computed.
struct MatmulOptions {
  RoundingOptions rounding = {};  ///< of the results
  std::uint64_t seed = 0;         ///< stochastic: element (i, j) of n columns takes rounding_bits(seed, i * n + j)
  int threads = 0;                ///< 0: as many as the machine runs at once
};

/// What is added to element (i, j) before it is rounded; empty for nothing.
using MatmulAddend = std::function<double(std::size_t row, std::size_t column)>;
/// Takes element (i, j). Called once for each, by several threads at a time, in no particular order.
using MatmulSink = std::function<void(std::size_t row, std::size_t column, const Rounded& element)>;

/// a * b + addend, every element the exact value rounded once to `to`. Returns all flags raised. a.columns() == b.rows().
Flags exact_matmul(const ExactMatrix& a, const ExactMatrix& b, Format to, const MatmulSink& sink,
                   const MatmulOptions& options = {}, const MatmulAddend& addend = {});

/// The same into an array: codes where Element is an unsigned integer, values where it is float or double.
template <class Element>
Flags exact_matmul(const ExactMatrix& a, const ExactMatrix& b, Format to, std::span<Element> out,
                   const MatmulOptions& options = {}, const MatmulAddend& addend = {}) {
  const MatrixShape shape{a.rows(), b.columns()};
  assert(out.size() >= shape.extent());
  const auto store = [out, shape](std::size_t i, std::size_t j, const Rounded& element) {
    if constexpr (std::is_floating_point_v<Element>) {
      out[shape.at(i, j)] = static_cast<Element>(element.value);
    } else {
      static_assert(std::is_unsigned_v<Element>);
      out[shape.at(i, j)] = static_cast<Element>(element.code);
    }
  };
  return exact_matmul(a, b, to, MatmulSink(store), options, addend);
}

}  // namespace ulpscope::emu
