// SPDX-License-Identifier: Apache-2.0
// Classifies a wrong result and counts it in its group.
#include "verify/conform/conform_tally.hpp"

#include <algorithm>
#include <cstring>

#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t compared_at_once = 1024;  // words; most blocks are equal and are told by memcmp

/// Calls act(i) for every word in which the arrays differ.
template <class Act>
void for_each_difference(const Words& a, const Words& b, Act act) {
  a.visit([&](const auto& x) {
    b.visit([&](const auto& y) {
      const std::size_t size = x.size();
      for (std::size_t block = 0; block < size; block += compared_at_once) {
        const std::size_t end = std::min(size, block + compared_at_once);
        if constexpr (sizeof(x[0]) == sizeof(y[0])) {
          if (std::memcmp(x.data() + block, y.data() + block, (end - block) * sizeof(x[0])) == 0) continue;
        }
        for (std::size_t i = block; i < end; ++i)
          if (emu::Code{x[i]} != emu::Code{y[i]}) act(i);
      }
    });
  });
}

/// One wrong result, and what can be said of it at once.
struct Scene {
  const Computation& right;
  emu::Code input, expected, got;

  emu::Format to() const { return right.to; }
  bool got_nan() const { return to().is_nan(got); }
  bool is_beyond(emu::Code code) const { return to().is_infinite(code) || is_largest(code); }
  bool is_largest(emu::Code code) const { return (code & to().magnitude_mask()) == to().max_finite_code(); }
  /// Whether the right result is the largest number because the input, rounded, is larger. Of an operation that is not known.
  bool is_saturated() const {
    if (right.operation || !is_largest(expected)) return false;
    const emu::Code asked = to().is_signed() ? input : input & right.from.magnitude_mask();
    return right.from.is_infinite(input) ||
           emu::convert(right.from, asked, to(), right.rules.options).outcome == emu::Outcome::overflow;
  }
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
  if (s.to().is_infinite(s.expected) || s.to().is_infinite(s.got) || s.is_saturated()) return Fault::overflow;
  const bool small = s.to().is_subnormal(s.expected);
  if (small && s.to().is_zero(s.got) && !neighbour) return Fault::flush;
  if (tie) return Fault::tie;
  if (neighbour) return small || s.to().is_zero(s.expected) ? Fault::subnormal : Fault::off_by_one;
  return Fault::other;
}

bool same(emu::Format to, emu::Code a, emu::Code b) { return a == b || (to.is_nan(a) && to.is_nan(b)); }

bool is_directed(const ConformHypothesis& h) {
  const emu::Rounding rounding = h.computation.rules.options.rounding;
  return h.fault == Fault::rounding_mode && (rounding == emu::Rounding::upward || rounding == emu::Rounding::downward);
}

}  // namespace

void Tally::add(const Group& group, const Mismatch& mismatch) {
  if (last_ == groups_.end() || last_->first != group) last_ = groups_.try_emplace(group).first;
  Members& members = last_->second;
  ++members.count;
  if (members.examples.size() < most_) members.examples.push_back(mismatch);
}

void Tally::merge(Members& to, const Members& from) const {
  to.count += from.count;
  to.examples.insert(to.examples.end(), from.examples.begin(), from.examples.end());
  std::sort(to.examples.begin(), to.examples.end(), [](const Mismatch& a, const Mismatch& b) { return a.index < b.index; });
  if (to.examples.size() > most_) to.examples.resize(most_);
}

void Tally::add(const Tally& other) {
  compared += other.compared;
  not_judged += other.not_judged;
  for (const auto& [group, members] : other.groups_) merge(groups_[group], members);
}

std::uint64_t Tally::mismatches() const {
  std::uint64_t sum = 0;
  for (const auto& [group, members] : groups_) sum += members.count;
  return sum;
}

InputRegion region_of(emu::Format from, emu::Format to, emu::Code input, emu::Code expected) {
  if (from.is_nan(input)) return InputRegion::not_a_number;
  if (to.is_nan(expected) || to.is_infinite(expected) || (expected & to.magnitude_mask()) == to.max_finite_code())
    return InputRegion::large;
  if (to.is_zero(expected)) return InputRegion::zero;
  return to.is_subnormal(expected) ? InputRegion::small : InputRegion::normal;
}

void tally_mismatches(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, std::uint64_t first,
                      const Words& inputs, const Words& expected, const Words& results, Tally& tally) {
  const Computation& right = config.right;
  std::vector<std::size_t> wrong;
  for_each_difference(expected, results, [&](std::size_t i) {
    const emu::Code input = inputs.code(i) & right.from.code_mask();
    if (!is_judged(right.rules, right.from, right.to, input)) return;
    if (!accepts(right.rules, right.to, expected.code(i), results.code(i), config.ulp)) wrong.push_back(i);
  });
  if (wrong.empty()) return;

  Words asked(right.from, wrong.size()), alternative(right.to, wrong.size());
  for (std::size_t k = 0; k < wrong.size(); ++k) asked.set(k, inputs.code(wrong[k]) & right.from.code_mask());
  std::vector<Mask> explained(wrong.size());
  Mask directed = 0, ties = 0;
  for (std::size_t h = 0; h < tried.size(); ++h) {
    const Mask bit = Mask{1} << h;
    if (is_directed(tried[h])) directed |= bit;
    if (tried[h].fault == Fault::tie) ties |= bit;
    compute(tried[h].computation, asked, alternative);
    for (std::size_t k = 0; k < wrong.size(); ++k)
      if (same(right.to, alternative.code(k), results.code(wrong[k]))) explained[k] |= bit;
  }
  for (std::size_t k = 0; k < wrong.size(); ++k) {
    const Scene scene{right, asked.code(k), expected.code(wrong[k]), results.code(wrong[k])};
    const Fault fault = fault_of(scene, (explained[k] & directed) != 0, (explained[k] & ties) != 0);
    const InputRegion region = region_of(right.from, right.to, scene.input, scene.expected);
    tally.add({region, fault, explained[k]}, {first + wrong[k], scene.input, scene.expected, scene.got});
  }
}

void count_differences(const ConformConfig& config, const Words& inputs, const Words& expected, const Words& other,
                       RegionCounts& counts) {
  const Computation& right = config.right;
  for_each_difference(expected, other, [&](std::size_t i) {
    const emu::Code input = inputs.code(i) & right.from.code_mask(), e = expected.code(i);
    if (!is_judged(right.rules, right.from, right.to, input) || accepts(right.rules, right.to, e, other.code(i), config.ulp))
      return;
    ++counts[static_cast<std::size_t>(region_of(right.from, right.to, input, e))];
  });
}

}  // namespace ulpscope::verify
