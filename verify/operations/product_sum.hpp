// SPDX-License-Identifier: Apache-2.0
// One sum of products of float32 values, term by term: in float64 with its magnitude, or exactly.
#pragma once

#include <cmath>
#include <cstdint>

#include "emu/exact_sum.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// A product of two float32 is a double.
class ProductSum {
 public:
  /// Adds a * b.
  void add(float a, float b) {
    const double term = static_cast<double>(a) * static_cast<double>(b);
    const double size = std::abs(term);
    value_ += term;
    magnitude_ += size;
    signed_.add(term);
    ++terms_;
  }
  /// What a kernel may return that adds these terms in `arithmetic`.
  Expected expected(const KernelArithmetic& arithmetic) const;

 private:
  double value_ = 0, magnitude_ = 0;
  SignedTerms signed_;
  std::uint64_t terms_ = 0;
};

/// A sum of products, exactly.
class ExactProductSum {
 public:
  /// Adds a * b, exactly.
  void add(float a, float b) { sum_.add_product(a, b); }
  /// The sum, and the same rounded once.
  Precise precise(const LastRounding& last) const;

 private:
  emu::ExactSum sum_;
};

}  // namespace ulpscope::verify
