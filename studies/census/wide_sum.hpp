// SPDX-License-Identifier: Apache-2.0
// The exact sum of few large integers at different scales, rounded once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "emu/error.hpp"
#include "emu/exact_sum.hpp"
#include "studies/census/binade_sums.hpp"

namespace ulpscope::studies {

/// A sum of integers times powers of two, exact until it is asked for.
class WideSum {
 public:
  /// integer * 2^exponent.
  struct Term {
    std::int64_t integer;  ///< any
    int exponent;          ///< any
  };

  /// integer * 2^exponent.
  void add(Int128 integer, int exponent) {
    if (integer == 0) return;
    constexpr int low_bits = 62;
    const auto low = static_cast<std::int64_t>(integer & ((Int128{1} << low_bits) - 1));
    if (low != 0) terms_.push_back({low, exponent});
    if (integer >> low_bits != 0) terms_.push_back({static_cast<std::int64_t>(integer >> low_bits), exponent + low_bits});
  }

  /// Adds the terms of another.
  void add(const WideSum& other) { terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end()); }

  /// What is added up.
  const std::vector<Term>& terms() const noexcept { return terms_; }

  /// significand * 2^exponent is the nearest number of 53 bits, whatever its exponent.
  struct Value {
    double significand;  ///< a whole number of at most 53 bits
    int exponent;        ///< even
  };
  /// The sum, rounded once to nearest even. @throws ulpscope::Error where exponents lie further apart than those of products of
  /// doubles, which no census adds, but what is read of a part may
  Value value() const {
    int last = 0;
    for (const Term& term : terms_) last = &term == terms_.data() ? term.exponent : std::max(last, term.exponent);
    last &= ~1;
    emu::ExactSum sum;
    for (const Term& term : terms_) {
      if (term.exponent - last < emu::ExactSum::least_exponent) throw Error("an exact sum has terms that are too far apart");
      sum.add_scaled(term.integer, term.exponent - last);
    }
    return {sum.value(), last};
  }
  /// The nearest double. Precondition: it is normal or zero.
  double rounded() const {
    const Value v = value();
    return v.significand == 0 ? 0 : std::ldexp(v.significand, v.exponent);
  }

 private:
  std::vector<Term> terms_;
};

}  // namespace ulpscope::studies
