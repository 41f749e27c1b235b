// SPDX-License-Identifier: Apache-2.0
// What "bulk equals scalar" means: an operation over spans, the same operation element by element, and where the two first
// differ on some SIMD path. The scalar functions are held to MPFR elsewhere.
#pragma once

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "emu/simd.hpp"

namespace ulpscope::laws {

/// Puts the SIMD path back that was in force.
class PathGuard {
 public:
  PathGuard() = default;
  PathGuard(const PathGuard&) = delete;
  PathGuard& operator=(const PathGuard&) = delete;
  ~PathGuard() { emu::use_simd_path(before_); }

 private:
  emu::SimdPath before_ = emu::simd_path();
};

template <class Action>
void on_every_path(Action action) {
  const PathGuard guard;
  for (const emu::SimdPath path : emu::simd_paths()) {
    emu::use_simd_path(path);
    action(path);
  }
}

template <class In, class Out>
struct Operation {
  using Input = In;
  using Output = Out;
  std::function<void(std::span<const In>, std::span<Out>)> bulk;
  std::function<Out(In, std::size_t)> scalar;  ///< of an element and its index
};

/// What roundings take beside the format.
struct How {
  emu::RoundingOptions options;
  emu::RandomBits random;

  std::uint32_t word(std::size_t i) const {
    return options.rounding == emu::Rounding::stochastic ? emu::rounding_bits(random.seed, random.first + i) : 0;
  }
};

template <class Float, class Word>
Operation<Float, Word> encoding(emu::Format format, How how) {
  return {[=](std::span<const Float> in, std::span<Word> out) { emu::encode(format, in, out, how.options, how.random); },
          [=](Float x, std::size_t i) { return static_cast<Word>(emu::encode(format, x, how.options, how.word(i))); }};
}
template <class Float>
Operation<Float, Float> rounding(emu::Format format, How how) {
  return {[=](std::span<const Float> in, std::span<Float> out) { emu::round_to(format, in, out, how.options, how.random); },
          [=](Float x, std::size_t i) { return static_cast<Float>(emu::round_to(format, x, how.options, how.word(i)).value); }};
}
template <class Word, class Float>
Operation<Word, Float> decoding(emu::Format format) {
  return {[=](std::span<const Word> in, std::span<Float> out) { emu::decode(format, in, out); },
          [=](Word code, std::size_t) { return static_cast<Float>(emu::decode(format, emu::Code{code})); }};
}
template <class From, class To>
Operation<From, To> converting(emu::Format from, emu::Format to, How how) {
  return {[=](std::span<const From> in, std::span<To> out) { emu::convert(from, in, to, out, how.options, how.random); },
          [=](From code, std::size_t i) {
            return static_cast<To>(emu::convert(from, code & from.code_mask(), to, how.options, how.word(i)).code);
          }};
}

template <class T>
std::uint64_t bits_of(T x) {
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<std::uint32_t>(x);
  if constexpr (std::is_same_v<T, double>) return std::bit_cast<std::uint64_t>(x);
  if constexpr (std::is_integral_v<T>) return x;
}

/// The results of the scalar function.
template <class In, class Out>
std::vector<Out> one_by_one(const Operation<In, Out>& operation, const std::vector<In>& inputs) {
  std::vector<Out> out(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) out[i] = operation.scalar(inputs[i], i);
  return out;
}

template <class In, class Out>
std::optional<std::string> first_difference(const std::vector<In>& inputs, const std::vector<Out>& got,
                                            const std::vector<Out>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (bits_of(got[i]) == bits_of(wanted[i])) continue;
    std::ostringstream out;
    out << "element " << i << " of " << wanted.size() << std::hex << ": from 0x" << bits_of(inputs[i]) << " got 0x"
        << bits_of(got[i]) << ", wanted 0x" << bits_of(wanted[i]);
    return out.str();
  }
  return std::nullopt;
}

/// The first element at which a path, out of place or in place, gives other bits than the scalar function.
template <class In, class Out>
std::optional<std::string> first_violation(const Operation<In, Out>& operation, const std::vector<In>& inputs) {
  const std::vector<Out> wanted = one_by_one(operation, inputs);
  std::optional<std::string> violation;
  on_every_path([&](emu::SimdPath path) {
    const auto judge = [&](const std::vector<Out>& got, const char* where) {
      const auto difference = first_difference(inputs, got, wanted);
      if (difference && !violation) violation = std::string(emu::name_of(path)) + where + *difference;
    };
    std::vector<Out> got(inputs.size());
    operation.bulk(inputs, got);
    judge(got, ": ");
    if constexpr (std::is_same_v<In, Out>) {
      got = inputs;
      operation.bulk(got, got);
      judge(got, " in place: ");
    }
  });
  return violation;
}

inline std::string describe(emu::Format format, const How& how) {
  std::ostringstream out;
  const emu::RoundingOptions& o = how.options;
  out << emu::format_name(format) << ' ' << emu::name_of(o.rounding) << ' ' << emu::name_of(o.policy)
      << (o.flush_subnormals ? " flush_subnormals" : "") << (o.subnormals_are_zero ? " subnormals_are_zero" : "");
  if (o.rounding == emu::Rounding::stochastic)
    out << " r = " << o.random_bits << " seed " << how.random.seed << " first " << how.random.first;
  return out.str();
}

/// Requires that there is no violation.
template <class In, class Out>
void require_bulk_equals_scalar(emu::Format format, const How& how, const Operation<In, Out>& operation,
                                const std::vector<In>& inputs) {
  const auto violation = first_violation(operation, inputs);
  if (violation) FAIL(describe(format, how) << ", " << 8 * sizeof(In) << " bits to " << 8 * sizeof(Out) << ": " << *violation);
  SUCCEED();  // counted, so that a case which compares nothing shows
}

}  // namespace ulpscope::laws
