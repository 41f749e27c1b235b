// SPDX-License-Identifier: Apache-2.0
// Classifies wrong results.
#include "verify/conform/conform_faults.hpp"

#include <algorithm>

namespace ulpscope::verify {
namespace {

/// One wrong result, and what can be said of it at once.
struct Scene {
  const Computation& right;
  emu::Code input, expected, got;

  emu::Format to() const { return right.to; }
  bool got_nan() const { return to().is_nan(got); }
  bool is_beyond(emu::Code code) const { return to().is_infinite(code) || is_largest(code); }
  bool is_largest(emu::Code code) const { return (code & to().magnitude_mask()) == to().max_finite_code(); }
};

/// The class of a wrong result where a NaN has a part.
Fault fault_about_nan(const Scene& s) {
  const bool expected_nan = s.to().is_nan(s.expected), input_nan = s.right.from.is_nan(s.input);
  if (expected_nan && s.got_nan())
    return s.to().is_negative(s.expected) != s.to().is_negative(s.got) ? Fault::nan_sign : Fault::nan;
  if (input_nan || (expected_nan && s.right.operation)) return Fault::nan;
  if (expected_nan) return Fault::overflow;
  if (s.to().is_zero(s.expected) && s.got == s.to().sign_mask()) return Fault::negative_zero;
  return s.is_beyond(s.expected) ? Fault::overflow : Fault::nan;
}

/// `neighbour` and `tie`: whether the result is that of a directed mode, and that of nearest with other ties.
Fault fault_of(const Scene& s, bool neighbour, bool tie) {
  if (s.got > s.to().code_mask()) return Fault::other;
  if (s.right.from.is_nan(s.input) || s.to().is_nan(s.expected) || s.got_nan()) return fault_about_nan(s);
  if (s.to().is_zero(s.expected) && s.to().is_zero(s.got)) return Fault::negative_zero;
  if (s.to().is_infinite(s.expected) || s.to().is_infinite(s.got)) return Fault::overflow;
  if (is_saturated(s.right, s.input, s.expected)) return Fault::overflow;
  const bool small = s.to().is_subnormal(s.expected);
  if (small && s.to().is_zero(s.got) && !neighbour) return Fault::flush;
  if (tie) return Fault::tie;
  if (neighbour) return small || s.to().is_zero(s.expected) ? Fault::subnormal : Fault::off_by_one;
  return Fault::other;
}

/// Whether a hypothesis gives this result. A word with bits beyond the code is no NaN.
bool gives(emu::Format to, emu::Code code, emu::Code got) {
  return code == got || (to.is_nan(code) && got <= to.code_mask() && to.is_nan(got));
}

bool is_directed(const ConformHypothesis& h) {
  const emu::Rounding rounding = h.computation.rules.options.rounding;
  return h.fault == Fault::rounding_mode && (rounding == emu::Rounding::upward || rounding == emu::Rounding::downward);
}

/// Where the kind of number changes: zero, finite numbers, infinity, NaN, of either sign, and what is no code.
void add_kinds(emu::Format to, std::vector<emu::Code>& bounds) {
  for (const emu::Code sign : {emu::Code{0}, to.sign_mask()})
    for (const emu::Code magnitude : {emu::Code{0}, emu::Code{1}, to.max_finite_code() + 1, to.max_finite_code() + 2})
      bounds.push_back(sign + magnitude);
  bounds.push_back(to.code_mask() + 1);
}

/// Where codes begin and end to be at most `ulp` away.
void add_accepted(emu::Format to, emu::Code expected, std::uint64_t ulp, std::vector<emu::Code>& bounds) {
  const emu::Code sign = expected & to.sign_mask(), magnitude = expected & to.magnitude_mask();
  const std::uint64_t reach = std::min(ulp, to.code_mask());
  bounds.insert(bounds.end(), {expected, expected + 1, expected - std::min(reach, magnitude), expected + reach + 1});
  if (reach >= magnitude) bounds.push_back((sign ^ to.sign_mask()) + (reach - magnitude) + 1);
}

}  // namespace

Classification::Classification(const ConformConfig& config, const std::vector<ConformHypothesis>& tried) : config_(config) {
  for (std::size_t h = 0; h < tried.size(); ++h) {
    if (is_directed(tried[h])) directed_ |= Mask{1} << h;
    if (tried[h].fault == Fault::tie) ties_ |= Mask{1} << h;
  }
}

Mask Classification::explained_by(std::span<const emu::Code> given, emu::Code got) const {
  Mask explained = 0;
  for (std::size_t h = 0; h < given.size(); ++h)
    explained |= static_cast<Mask>(gives(config_.right.to, given[h], got) ? 1 : 0) << h;
  return explained;
}

Group Classification::group_of(const Mismatch& mismatch, Mask explained) const {
  const Computation& right = config_.right;
  const Scene scene{right, mismatch.input, mismatch.expected, mismatch.got};
  const Fault fault = fault_of(scene, (explained & directed_) != 0, (explained & ties_) != 0);
  const InputRegion region = region_of(right.from, right.to, mismatch.input, mismatch.expected);
  return {region, fault, may_be_explained(region, fault) ? explained : 0};
}

void Classification::word_bounds(std::span<const emu::Code> codes, std::vector<emu::Code>& bounds) const {
  const emu::Format to = config_.right.to;
  bounds.clear();
  add_kinds(to, bounds);
  add_accepted(to, codes[0], config_.ulp, bounds);
  for (const emu::Code code : codes.subspan(1)) bounds.insert(bounds.end(), {code, code + 1});
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
}

InputRegion region_of(emu::Format from, emu::Format to, emu::Code input, emu::Code expected) {
  if (from.is_nan(input)) return InputRegion::not_a_number;
  if (to.is_nan(expected) || to.is_infinite(expected) || (expected & to.magnitude_mask()) == to.max_finite_code())
    return InputRegion::large;
  if (to.is_zero(expected)) return InputRegion::zero;
  return to.is_subnormal(expected) ? InputRegion::small : InputRegion::normal;
}

}  // namespace ulpscope::verify
