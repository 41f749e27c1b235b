// SPDX-License-Identifier: Apache-2.0
// Arithmetic in one format, one rounding an operation: what a program computes that keeps every intermediate result in it.
#pragma once

#include <cstdint>

#include "emu/arithmetic.hpp"
#include "emu/decode.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"
#include "emu/format.hpp"
#include "emu/philox.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::studies {

/// Operands and results are numbers of the format, as doubles, which hold them exactly. Under stochastic rounding the n-th
/// operation takes the n-th random bits of the seed: one operation a statement, then, as arguments have no order.
class RoundedArithmetic {
 public:
  /// Operations in `format`, the first with the random bits 0 of `seed`.
  RoundedArithmetic(emu::Format format, const emu::RoundingOptions& options, std::uint64_t seed = 0)
      : format_(format), options_(options), seed_(seed) {}

  /// The format of every result.
  emu::Format format() const noexcept { return format_; }

  /// x rounded.
  double round(double x) noexcept { return emu::round_to(format_, x, options_, next()).value; }
  /// a + b, rounded once.
  double add(double a, double b) noexcept { return value(emu::add(format_, code(a), code(b), options_, next())); }
  /// a - b, rounded once.
  double sub(double a, double b) noexcept { return value(emu::sub(format_, code(a), code(b), options_, next())); }
  /// a * b, rounded once.
  double mul(double a, double b) noexcept { return value(emu::mul(format_, code(a), code(b), options_, next())); }
  /// a / b, rounded once.
  double div(double a, double b) noexcept { return value(emu::div(format_, code(a), code(b), options_, next())); }
  /// The square root, rounded once.
  double sqrt(double a) noexcept { return value(emu::sqrt(format_, code(a), options_, next())); }
  /// e^a, rounded once.
  double exp(double a) noexcept { return value(emu::exp(format_, code(a), options_, next())); }
  /// ln a, rounded once.
  double log(double a) noexcept { return value(emu::log(format_, code(a), options_, next())); }
  /// The error function, rounded once.
  double erf(double a) noexcept { return value(emu::erf(format_, code(a), options_, next())); }
  /// The hyperbolic tangent, rounded once.
  double tanh(double a) noexcept { return value(emu::tanh(format_, code(a), options_, next())); }

 private:
  emu::Code code(double x) const noexcept { return emu::encode(format_, x); }
  double value(const emu::Result& result) const noexcept { return emu::decode(format_, result.code); }
  std::uint32_t next() noexcept {
    if (options_.rounding != emu::Rounding::stochastic) return 0;
    return emu::rounding_bits(seed_, operations_++);
  }

  emu::Format format_;
  emu::RoundingOptions options_;
  std::uint64_t seed_, operations_ = 0;
};

}  // namespace ulpscope::studies
