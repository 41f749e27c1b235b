// SPDX-License-Identifier: Apache-2.0
// The operators of ONNX (onnx/docs/Operators.md), by what they do. Each takes the values of a node's inputs and gives those of
// its outputs: elementwise functions and sums in float64 rounded once to float32, products on the engine `fma` (an ascending
// chain of fused multiply-adds), so that the bits are the same on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/onnx/value.hpp"
#include "tensors/onnx.hpp"

namespace ulpscope::studies::onnx {

/// A node that is computed.
struct Call {
  const tensors::OnnxNode& node;     ///< with its attributes
  std::vector<const Value*> inputs;  ///< null where none is given
  std::int64_t opset;                ///< version of ONNX's operators
  int threads = 0;                   ///< of products

  /// An input that must be given. @throws ulpscope::Error
  const Value& in(std::size_t i) const;
  /// One that need not.
  const Value* maybe(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  /// One of a single number, that need not be given. @throws ulpscope::Error where it holds more, or none
  std::optional<double> number(std::size_t i) const;

  /// Attributes, or what they are where they are not given. @throws ulpscope::Error where one is of another type
  ///@{
  std::int64_t whole(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::vector<std::int64_t> wholes(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<float> reals(std::string_view name) const;
  bool has(std::string_view name) const { return node.find(name) != nullptr; }
  ///@}
  /// Integers of an attribute or, where there is none of that name, of input `i`; empty where neither is given.
  std::vector<std::int64_t> wholes_of(std::string_view name, std::size_t i) const;
};

/// A dimension, counted from the end where it is negative. @throws ulpscope::Error
std::size_t axis_of(std::int64_t axis, std::size_t rank);
/// Several, in ascending order, each once; all where there are none.
std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& axes, std::size_t rank);

/// An operator, by its name.
struct Operator {
  std::string_view name;                   ///< in ONNX's own domain
  std::vector<Value> (*run)(const Call&);  ///< the outputs. @throws NotComputed, ulpscope::Error
  bool takes_sequences = false;            ///< else no input of run() is one
};

/// Those of a file each.
///@{
std::span<const Operator> elementwise_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> part_operators();
std::span<const Operator> index_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> norm_operators();
std::span<const Operator> product_operators();
std::span<const Operator> einsum_operators();
std::span<const Operator> image_operators();
std::span<const Operator> resampling_operators();
std::span<const Operator> box_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> quantized_operators();
///@}

/// The operator of a name in ONNX's own domain, or null.
const Operator* find_operator(std::string_view name);

/// A matrix product of each pair of matrices of a and b (numpy.matmul), in float32.
Value matmul(const Value& a, const Value& b, int threads);
/// m x k by k x n, row-major.
void multiply(std::span<const float> a, std::span<const float> b, std::span<float> d, std::size_t m, std::size_t n,
              std::size_t k, int threads);
/// x^y within some ulp of float64.
double power(double x, double y);
/// The dimensions in another order.
Value transposed(const Value& value, const std::vector<std::size_t>& order);

}  // namespace ulpscope::studies::onnx
