// SPDX-License-Identifier: Apache-2.0
// What is rounded to what: the precision of one operation, and of the operands and results of one matrix product.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/census/scaling.hpp"

namespace ulpscope::training {

/// How numbers become numbers of a format.
struct Storage {
  emu::Format format = emu::float32;
  emu::RoundingOptions options = {};

  friend bool operator==(const Storage&, const Storage&) = default;
};

/// An operation that is no product: its inputs are rounded first where a format is named (autocast's casts), it computes in
/// float32 (float64 on a tape of doubles), and its result is rounded, to the widest format of its inputs where none is named.
struct OperationPrecision {
  std::optional<Storage> input = {}, output = {};
};

/// An operand of a product: scaled, rounded, multiplied, and its scale taken out of the sum.
struct OperandPrecision {
  Storage storage = {};
  studies::Scaling scaling = {};
  std::shared_ptr<double> amax = {};  ///< becomes the greatest magnitude before scaling if that is greater; none: nobody asks
};

/// A matrix product, forward and backward. Its three sums run on one engine.
struct ProductPrecision {
  OperandPrecision input = {}, weight = {}, grad_output = {};
  std::string engine = "fma";  ///< a word for emu::parse_engine
  emu::Format accumulate = emu::float32;
  std::size_t promote = 0;  ///< products after which the partial sum is added to a float32 sum; 0: never
  bool hadamard = false;    ///< operands of the weight's gradient are multiplied by a Hadamard matrix along the sum
  Storage output = {}, grad_input = {}, grad_weight = {};
};

/// Which precision an operation has, by its name (`add`, `softmax`, ...; of products `linear`, `conv`, `attention`, `matmul`)
/// and by the name of the layer that it belongs to.
struct Precision {
  std::function<OperationPrecision(std::string_view operation, const std::string& layer)> operation;
  std::function<ProductPrecision(std::string_view operation, const std::string& layer)> product;
};

/// Everything in one format, products by fused multiply-adds in it: `float32`, `float64`.
Precision uniform_precision(emu::Format format);

}  // namespace ulpscope::training
