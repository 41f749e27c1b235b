// SPDX-License-Identifier: Apache-2.0
// What the tapes of a run need again and again: memory of arrays and products, and engines that were looked up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/format.hpp"
#include "products/engine.hpp"
#include "training/tape/array.hpp"

namespace ulpscope::training {

/// Memory of arrays that are done with, for those to come. Large arrays that are freed, and allocated anew in every step, cost
/// more in page faults than what is done with them.
template <class Real>
class ArrayPool {
 public:
  /// An array whose numbers may be anything.
  Array<Real> take(Shape shape) {
    const std::size_t count = count_of(shape);
    return {std::move(shape), take_values(count)};
  }
  std::vector<Real> take_values(std::size_t count);
  void give_back(std::vector<Real> values) {
    if (values.capacity() >= least && kept_.size() < most) kept_.push_back(std::move(values));
  }

 private:
  static constexpr std::size_t least = 256;  // numbers: smaller ones are left to malloc
  static constexpr std::size_t most = 1024;  // arrays
  std::vector<std::vector<Real>> kept_;
};

/// Numbers of a pool, which go back to it: what an operation needs for a moment.
template <class Real>
class Scratch {
 public:
  /// They may be anything.
  Scratch(ArrayPool<Real>& pool, std::size_t count) : pool_(pool), values_(pool.take_values(count)) {}
  ~Scratch() { pool_.give_back(std::move(values_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::vector<Real>& values() noexcept { return values_; }

 private:
  ArrayPool<Real>& pool_;
  std::vector<Real> values_;
};

/// Which element of an input each element of a result is, for operations that move elements by their places alone: a step
/// moves them as the step before did.
class MoveTable {
 public:
  using Places = std::shared_ptr<const std::vector<std::uint32_t>>;
  /// The places that `make` finds. They follow from `key`: the operation, its numbers, and the shape of its input.
  Places of(std::vector<std::size_t> key, const std::function<std::vector<std::uint32_t>()>& make);

 private:
  std::map<std::vector<std::size_t>, Places> known_;
};

/// What scales of an operand a choice of an engine depends on.
struct ScaleLayout {
  emu::Format format = emu::float32;              ///< of a scale
  std::size_t lines = 0, products = 0;            ///< how many there are along either; 0: none
  std::size_t line_block = 0, product_block = 0;  ///< of one scale; 0: all there is

  friend bool operator==(const ScaleLayout&, const ScaleLayout&) = default;
};

/// Engines that products have asked for, each looked up once.
class EngineTable {
 public:
  /// What an engine is asked for.
  struct Kind {
    std::string_view word;         ///< as products::choose_engine() has it
    emu::Format a, b, accumulate;  ///< of operands and sums
    std::size_t products;          ///< of a sum
    ScaleLayout scales_of_a, scales_of_b;
  };
  /// The engine, which stays where it is. @throws ulpscope::Error
  const products::ChosenEngine& of(const Kind& kind);

 private:
  struct Known;
  std::vector<std::shared_ptr<const Known>> known_;
};

/// Factors by which sums are multiplied to take the scales of an operand out, a grid of lines by products.
struct TakenOut {
  ScaleLayout layout = {};
  std::vector<float> values = {};
  float whole = 1;  ///< one more for all of the operand
};

/// An operand as it is multiplied: lines (rows of A, columns of B) by products of a sum, with zeros up to whole blocks.
template <class Real>
struct QuantizedOperand {
  std::vector<Real> values;
  std::size_t lines = 0, products = 0;
  TakenOut scales;
};

/// One for all tapes of a run that follow one another.
template <class Real>
struct Workspace {
  ArrayPool<Real> arrays;
  EngineTable engines;
  MoveTable moves;
  emu::MatmulWorkspace products;
  QuantizedOperand<Real> left, right;  ///< of the product at hand
  std::vector<float> right_scales;     ///< products by lines
  std::vector<Real> whole;             ///< its result, where blocks of scales reach beyond
  std::vector<Real> before;            ///< numbers that are rounded in place, as they were
  std::vector<double> sums;            ///< of an operation's gradients
};

}  // namespace ulpscope::training
