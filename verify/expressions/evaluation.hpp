// SPDX-License-Identifier: Apache-2.0
// The values of a formula. Nodes that others ask for out of order are computed once and kept; the others, chains of pointwise
// operations, are computed where they are read, a few hundred elements at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "verify/expressions/formula.hpp"
#include "verify/expressions/lanes.hpp"
#include "verify/operations/real.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

struct Expression;

/// Elements of a node that are kept: numbers of an input, or balls. Without radii all are exact, and none overflows without
/// `overflow`.
struct Kept {
  std::vector<float> numbers = {};                          ///< of an input
  std::vector<double> value = {}, radius = {}, error = {};  ///< as of Approximate
  std::vector<Overflow> overflow = {};                      ///< likewise

  /// Whether all radii are 0.
  bool is_exact() const noexcept { return radius.empty(); }
  /// Room for as many balls.
  void make(std::uint64_t count) {
    const auto size = static_cast<std::size_t>(count);
    value.resize(size), radius.resize(size), error.resize(size), overflow.resize(size);
  }
  /// After make().
  void put(std::uint64_t at, const Approximate& x) noexcept {
    const auto i = static_cast<std::size_t>(at);
    value[i] = x.value, radius[i] = x.radius, error[i] = x.error, overflow[i] = x.overflow;
  }
  /// Element i.
  Approximate at(std::uint64_t i) const noexcept {
    const auto k = static_cast<std::size_t>(i);
    if (!numbers.empty()) return {.value = static_cast<double>(numbers[k])};
    if (is_exact()) return {.value = value[k]};
    return {value[k], radius[k], error[k], overflow.empty() ? Overflow::none : overflow[k]};
  }
};

/// A formula over tensors. Its parts that are kept are computed at once.
class Evaluation {
 public:
  /// `inputs` in the order of the formula's. Threads: 0 for all; no value depends on them.
  Evaluation(Formula formula, std::vector<Values> inputs, int threads);

  /// What is evaluated.
  const Formula& formula() const noexcept { return formula_; }
  /// Elements [first, first + elements.size()) of the value, the same for any division into calls.
  void values(std::uint64_t first, std::span<Approximate> elements) const;
  /// act(lanes, done, some) of the same elements, `some` of them at a time and `done` before these.
  using Act = std::function<void(const Lanes& lanes, std::size_t done, std::size_t some)>;
  /// @copydoc Act
  void for_each(std::uint64_t first, std::size_t count, const Act& act) const;
  /// One element, in 200 digits.
  Real precise(std::uint64_t index) const;

 private:
  friend class Reader;
  friend class Digits;

  bool is_kept(std::size_t node) const noexcept { return kept_[node] != nullptr; }
  void decide_what_is_kept();
  void keep(std::size_t node, int threads);
  void keep_pointwise(std::size_t node, Kept& out, int threads) const;
  void keep_reduction(std::size_t node, Kept& out, int threads) const;
  void keep_running(std::size_t node, Kept& out, int threads) const;
  void keep_scan(std::size_t node, Kept& out, int threads) const;
  void keep_contraction(std::size_t node, Kept& out, int threads) const;
  void keep_rearranged(std::size_t node, Kept& out, int threads) const;
  /// Which element of which operand an element of a node in another order is.
  struct Source {
    std::size_t operand = 0;
    std::uint64_t place = 0;
  };
  Source source_of(std::size_t node, std::uint64_t index) const;
  /// Which of its indices an element of `gather` has.
  std::uint64_t index_of(const Node& gather, std::uint64_t index) const;
  /// Whether a kernel may have another index there, as the index was computed.
  bool may_pick_another(const Node& gather, std::uint64_t index) const;

  Formula formula_;
  std::vector<std::shared_ptr<const Kept>> kept_;  ///< by node; null: computed where it is read
  std::vector<bool> wanted_;                       ///< by node: is to be kept
};

/// The formula of an expression, understood. @throws Error as read_formula()
Formula formula_of(const Expression& expression);
/// The same, evaluated over its inputs.
Evaluation evaluation_of(Expression expression);

}  // namespace ulpscope::verify
