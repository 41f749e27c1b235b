// SPDX-License-Identifier: Apache-2.0
// Operations whose elements are found a row at a time, and tensors as they read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "products/operand.hpp"
#include "tensors/tensor.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// What an operation reads: values of the input format.
struct Values {
  std::vector<std::uint64_t> shape;        ///< empty: a scalar
  std::vector<float> elements;             ///< row-major
  std::optional<emu::Format> format = {};  ///< that they were rounded to, where it is known

  std::uint64_t rows() const;  ///< all dimensions but the last
  /// The extent of the last dimension.
  std::uint64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  /// Row number `index`, over all dimensions but the last.
  std::span<const float> row(std::uint64_t index) const;
};

/// A tensor, rounded to the input format. Threads: 0 for all. @throws Error where that is wider than float32.
Values read_values(const tensors::Tensor& tensor, const products::InputRounding& rounding, int threads = 1);

/// @throws Error where `last.out` is wider than float32: the exact value is found in float64.
void require_judged(const LastRounding& last);

/// `2x3x4`, for messages.
std::string words_of_shape(const std::vector<std::uint64_t>& shape);

/// An expectation whose elements come row by row.
class RowExpectation : public Expectation {
 public:
  /// Of outputs of this shape.
  RowExpectation(std::vector<std::uint64_t> shape, const LastRounding& last);
  std::vector<std::uint64_t> shape() const final { return shape_; }
  emu::Format out() const final { return last_.out; }
  void expect(std::uint64_t first, std::span<Expected> elements) const final;
  Precise precise(std::uint64_t index) const final;
  std::string refusal() const final;

 protected:
  /// The last rounding of the kernel.
  const LastRounding& last() const { return last_; }

 private:
  /// A row of shape().back() elements; a part of it where `parts` says that it can be had alone.
  virtual void row(std::uint64_t index, std::span<Expected> elements) const = 0;
  virtual Precise precise_element(std::uint64_t row, std::uint64_t column) const = 0;

  bool worth_something() const;

  std::vector<std::uint64_t> shape_;
  std::uint64_t columns_, count_;
  LastRounding last_;
};

/// Integers, as numbers. @throws Error where one is no float32
Values read_exactly(const tensors::Tensor& tensor);

/// NaN of unknown origin: what a row becomes whose input makes it undefined.
Expected undefined();

/// An element whose exact value is within `radius` of a finite `value`.
Expected within(double value, double radius, double allowed, double magnitude);

}  // namespace ulpscope::verify
