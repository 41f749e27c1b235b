// SPDX-License-Identifier: Apache-2.0
// Lists what may have been done instead of a computation.
#include "verify/conform/conform_hypotheses.hpp"

#include <array>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"

namespace ulpscope::verify {
namespace {

using emu::Rounding;

bool is_nearest(Rounding rounding) { return rounding == Rounding::nearest_even || rounding == Rounding::nearest_away; }

/// Whether rounding to `between` on the way can change what a conversion gives.
bool loses(const Computation& right, emu::Format between) {
  if (between == right.to || between == right.from) return false;
  if (right.operation) return between.precision() > right.to.precision() && between.max_exponent() >= right.to.max_exponent();
  return between.precision() < right.from.precision() && between.precision() > right.to.precision();
}

/// Whether nothing is rounded: each number of `from` is one of `to`.
bool is_exact(const Computation& right) {
  const emu::Format from = right.from, to = right.to;
  return !right.operation && to.precision() >= from.precision() && to.max_exponent() >= from.max_exponent() &&
         to.min_spacing_exponent() <= from.min_spacing_exponent() && to.is_signed() >= from.is_signed() &&
         to.has_zero() >= from.has_zero() && to.has_infinity() >= from.has_infinity();
}

ConformHypothesis through(const Computation& right, emu::Format format, Rounding rounding) {
  ConformHypothesis out{Fault::double_rounding, "through " + emu::format_name(format), right};
  if (rounding != Rounding::nearest_even) out.name += " (" + std::string(emu::name_of(rounding)) + ")";
  out.computation.through = Through{format, rounding};
  return out;
}

void add_modes(const Computation& right, std::vector<ConformHypothesis>& out) {
  const Rounding own = right.rules.options.rounding;
  for (const Rounding rounding : emu::all_roundings) {
    if (rounding == own || rounding == Rounding::stochastic) continue;
    const Fault fault = is_nearest(own) && is_nearest(rounding) ? Fault::tie : Fault::rounding_mode;
    ConformHypothesis mode{fault, std::string(emu::name_of(rounding)), right};
    mode.computation.rules.options.rounding = rounding;
    out.push_back(std::move(mode));
  }
}

void add_ties(const Computation& right, std::vector<ConformHypothesis>& out) {
  if (right.operation || !is_nearest(right.rules.options.rounding)) return;
  for (const Ties ties : {Ties::toward_zero, Ties::to_odd}) {
    ConformHypothesis other{Fault::tie, ties == Ties::to_odd ? "ties to odd" : "ties toward zero", right};
    other.computation.ties = ties;
    out.push_back(std::move(other));
  }
}

void add_switches(const Computation& right, std::vector<ConformHypothesis>& out) {
  const emu::RoundingOptions& own = right.rules.options;
  ConformHypothesis policy{Fault::overflow, {}, right};
  policy.computation.rules.options.policy =
      own.policy == emu::Policy::saturating ? emu::Policy::nonsaturating : emu::Policy::saturating;
  policy.name = emu::name_of(policy.computation.rules.options.policy);
  out.push_back(std::move(policy));
  if (!own.flush_subnormals) {
    ConformHypothesis flush{Fault::flush, "flush_subnormals", right};
    flush.computation.rules.options.flush_subnormals = true;
    out.push_back(std::move(flush));
  }
  if (!own.subnormals_are_zero) {
    ConformHypothesis zero{Fault::flush, "subnormals_are_zero", right};
    zero.computation.rules.options.subnormals_are_zero = true;
    out.push_back(std::move(zero));
  }
}

}  // namespace

std::string_view name_of(Fault fault) noexcept {
  constexpr std::array<std::string_view, fault_count> names{
      "nan",           "nan_sign",  "negative_zero", "overflow", "flush", "tie", "double_rounding",
      "rounding_mode", "subnormal", "off_by_one",    "other"};
  return names[static_cast<std::size_t>(fault)];
}

std::string_view meaning_of(Fault fault) noexcept {
  constexpr std::array<std::string_view, fault_count> meanings{
      "a NaN where a number is right, a number where NaN is right, or a NaN of other bits",
      "a NaN of the other sign",
      "a zero of the other sign, or NaN for zero",
      "what is beyond the largest finite number became something else",
      "zero for a subnormal number",
      "a tie went to the other neighbour",
      "rounded twice",
      "another rounding mode",
      "the wrong neighbour among the subnormal numbers",
      "the wrong one of the two neighbours",
      "neither of the two neighbours"};
  return meanings[static_cast<std::size_t>(fault)];
}

std::vector<ConformHypothesis> hypotheses(const Computation& right) {
  std::vector<ConformHypothesis> out;
  add_switches(right, out);
  constexpr std::array between{emu::float32, emu::float16, emu::bfloat16};
  for (const emu::Format format : between)
    if (loses(right, format)) out.push_back(through(right, format, Rounding::nearest_even));
  if (is_exact(right)) return out;
  add_modes(right, out);
  add_ties(right, out);
  for (const emu::Format format : between)
    if (!right.operation && loses(right, format)) out.push_back(through(right, format, Rounding::toward_zero));
  return out;
}

}  // namespace ulpscope::verify
