// SPDX-License-Identifier: Apache-2.0
// The check of encode_oracle_test.cpp must find encoders with one planted fault each; one that finds nothing proves nothing.
#include <catch2/catch_test_macros.hpp>

#include "emu/catalogue.hpp"
#include "tests/emu/encode_laws.hpp"

namespace {
using namespace ulpscope;
using emu::Format;
using emu::Rounded;
using emu::RoundingOptions;

/// In how many of float and double the check objects to `mutant`, on the inputs of the default test.
template <class Mutant>
int objections(Format format, Mutant&& mutant, const RoundingOptions& options = {}) {
  const bool all = format.bits() <= 8;
  const auto in_float = laws::first_violation(format, options, laws::float_inputs(format, all, 1000), mutant);
  const auto in_double = laws::first_violation(format, options, laws::double_inputs(format, all, 1000), mutant);
  return in_float.has_value() + in_double.has_value();
}
template <class Mutant>
bool is_found(Format format, Mutant&& mutant, const RoundingOptions& options = {}) {
  return objections(format, mutant, options) == 2;
}

/// `format` with `code` for a result.
Rounded with_code(Format format, Rounded result, emu::Code code) {
  result.code = code;
  result.value = emu::decode(format, code);
  return result;
}

constexpr Format signed_formats[] = {emu::fp16, emu::bf16, emu::tf32, emu::e5m2, emu::e4m3, emu::e3m2, emu::e2m1};

TEST_CASE("the check accepts the encoder as it is") {
  for (const Format format : signed_formats)
    CHECK(objections(format, [](Format f, auto x, const RoundingOptions& o) { return emu::round_to(f, x, o); }) == 0);
}

TEST_CASE("an encoder that truncates is found") {
  for (const Format format : signed_formats)
    CHECK(is_found(format, [](Format f, auto x, RoundingOptions o) {
      const Rounded right = emu::round_to(f, x, o);
      o.rounding = emu::Rounding::toward_zero;
      return right.outcome == emu::Outcome::rounded ? with_code(f, right, emu::encode(f, x, o)) : right;
    }));
}

TEST_CASE("an encoder that rounds ties away is found") {
  for (const Format format : signed_formats)
    CHECK(is_found(format, [](Format f, auto x, RoundingOptions o) {
      o.rounding = emu::Rounding::nearest_away;
      return emu::round_to(f, x, o);
    }));
}

TEST_CASE("an encoder that rounds twice, through float16, is found") {
  for (const Format format : {emu::e5m2, emu::e4m3, emu::e3m2, emu::e2m1, emu::bf16})
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      const Rounded right = emu::round_to(f, x, o);
      const Rounded half = emu::round_to(emu::fp16, x, o);
      return right.outcome == emu::Outcome::rounded ? with_code(f, right, emu::encode(f, half.value, o)) : right;
    }));
}

TEST_CASE("an encoder whose overflow threshold is one code low or high is found") {
  for (const Format format : signed_formats) {
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      const Rounded right = emu::round_to(f, x, o);
      if ((right.code & f.magnitude_mask()) != f.max_finite_code() || right.outcome == emu::Outcome::nan) return right;
      return emu::round_to(f, std::copysign(emu::max_finite(f) * 2, static_cast<double>(x)), o);
    }));
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      const Rounded right = emu::round_to(f, x, o);
      const double next = 2 * emu::max_finite(f) - emu::decode(f, f.max_finite_code() - 1);
      if (right.outcome != emu::Outcome::overflow || std::abs(static_cast<double>(x)) > next) return right;
      return emu::round_to(f, std::copysign(emu::max_finite(f), static_cast<double>(x)), o);
    }));
  }
}

TEST_CASE("an encoder that flushes subnormals is found") {
  for (const Format format : signed_formats)
    CHECK(is_found(format, [](Format f, auto x, RoundingOptions o) {
      o.flush_subnormals = true;
      return emu::round_to(f, x, o);
    }));
}

TEST_CASE("an encoder that loses the sign of zero is found") {
  for (const Format format : signed_formats)
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      const Rounded right = emu::round_to(f, x, o);
      return right.code == f.sign_mask() ? with_code(f, right, 0) : right;
    }));
}

TEST_CASE("an encoder that keeps the sign of NaN is found") {
  for (const Format format : {emu::fp16, emu::bf16, emu::e5m2, emu::e4m3})
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      const Rounded right = emu::round_to(f, x, o);
      return std::isnan(x) && std::signbit(x) ? with_code(f, right, right.code | f.sign_mask()) : right;
    }));
}

TEST_CASE("an encoder that saturates when it must not, or not when it must, is found") {
  for (const emu::Policy policy : emu::all_policies)
    for (const Format format : {emu::fp16, emu::e5m2, emu::e4m3, emu::float8_e4m3fnuz, emu::e8m0})
      CHECK(is_found(format,
                     [](Format f, auto x, RoundingOptions o) {
                       o.policy = o.policy == emu::Policy::saturating ? emu::Policy::nonsaturating : emu::Policy::saturating;
                       return emu::round_to(f, x, o);
                     },
                     {.policy = policy}));
}

TEST_CASE("an encoder that takes tininess at the wrong moment is found") {
  for (const emu::Tininess tininess : {emu::Tininess::after_rounding, emu::Tininess::before_rounding})
    for (const Format format : signed_formats)
      CHECK(is_found(format,
                     [](Format f, auto x, RoundingOptions o) {
                       const bool after = o.tininess == emu::Tininess::after_rounding;
                       o.tininess = after ? emu::Tininess::before_rounding : emu::Tininess::after_rounding;
                       return emu::round_to(f, x, o);
                     },
                     {.tininess = tininess}));
}

TEST_CASE("an encoder that drops the inexact flag of one result is found") {
  for (const Format format : signed_formats)
    CHECK(is_found(format, [](Format f, auto x, const RoundingOptions& o) {
      Rounded result = emu::round_to(f, x, o);
      if (result.code == f.min_normal_code()) result.flags = emu::no_flags;
      return result;
    }));
}

}  // namespace
