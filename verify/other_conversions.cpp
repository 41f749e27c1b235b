// SPDX-License-Identifier: Apache-2.0
// Judges wrong elements of a conversion by every other one that has a name.
#include "verify/other_conversions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "verify/diagnosis.hpp"

namespace ulpscope::verify {
namespace {

/// A conversion of what `change` makes of each element.
class Changed final : public Expectation {
 public:
  using Change = std::function<double(double)>;
  /// Of `before`, which is kept by reference.
  Changed(const Expectation& before, Change change) : before_(before), change_(std::move(change)) {}

  std::vector<std::uint64_t> shape() const override { return before_.shape(); }
  emu::Format out() const override { return before_.out(); }
  std::string bound() const override { return before_.bound(); }
  std::string refusal() const override { return {}; }
  bool is_bitwise() const override { return true; }
  bool is_elementwise() const override { return true; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    before_.expect(first, elements);
    for (Expected& element : elements) element.value = change_(element.value);
  }
  Precise precise(std::uint64_t index) const override {
    const double x = change_(before_.precise(index).high);
    return {x, 0, x};
  }

 private:
  const Expectation& before_;
  Change change_;
};

bool are_right(const Expectation& expectation, std::span<const std::uint64_t> indices, std::span<const double> outputs,
               const LastRounding& last) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Expected element;
    expectation.expect(indices[i], std::span(&element, 1));
    if (!is_right(judge(expectation, indices[i], element, outputs[i], last))) return false;
  }
  return true;
}

/// What differs of two last roundings, as options.
std::string options_that_differ(const emu::RoundingOptions& other, const emu::RoundingOptions& declared) {
  std::string words;
  const auto add = [&](bool differs, const std::string& option) {
    if (differs) words += (words.empty() ? "" : " ") + option;
  };
  add(other.policy != declared.policy, fmt::format("--out-policy {}", emu::name_of(other.policy)));
  add(other.rounding != declared.rounding, fmt::format("--out-rounding {}", emu::name_of(other.rounding)));
  add(other.flush_subnormals && !declared.flush_subnormals, "--out-flush");
  add(!other.flush_subnormals && declared.flush_subnormals, "no --out-flush");
  return words;
}

/// All other last roundings in which one result is right, those that change least first.
std::vector<emu::RoundingOptions> other_roundings(const emu::RoundingOptions& declared) {
  std::vector<emu::RoundingOptions> all;
  const auto add = [&](int changes) {
    for (const emu::Policy policy : emu::all_policies)
      for (const emu::Rounding rounding : emu::all_roundings)
        for (const bool flush : {false, true}) {
          const int changed = (policy == declared.policy ? 0 : 1) + (rounding == declared.rounding ? 0 : 1) +
                              (flush == declared.flush_subnormals ? 0 : 1);
          if (changed != changes || rounding == emu::Rounding::stochastic) continue;
          emu::RoundingOptions& other = all.emplace_back(declared);
          other.policy = policy, other.rounding = rounding, other.flush_subnormals = flush;
        }
  };
  for (const int changes : {1, 2, 3}) add(changes);
  return all;
}

/// The largest magnitude among outputs that are finite.
double largest_of(std::span<const double> outputs) {
  double largest = 0;
  for (const double y : outputs)
    if (std::isfinite(y)) largest = std::max(largest, std::fabs(y));
  return largest;
}

}  // namespace

std::string right_by_other_conversion(const Expectation& expectation, std::span<const std::uint64_t> indices,
                                      std::span<const double> outputs, const LastRounding& last, const AllRight& all_right) {
  if (indices.empty() || !expectation.is_elementwise() || !expectation.is_bitwise()) return {};
  const auto right = [&](const Expectation& other, const LastRounding& rounding) {
    return are_right(other, indices, outputs, rounding) && all_right(other, rounding);
  };
  for (const emu::RoundingOptions& other : other_roundings(last.options))
    if (right(expectation, {last.out, other})) return "every element is right with " + options_that_differ(other, last.options);
  for (const emu::Format via : {emu::float16, emu::bfloat16}) {
    if (via.precision() <= last.out.precision()) continue;
    const Changed twice(expectation, [via](double x) { return emu::round_to(via, x).value; });
    if (right(twice, last))
      return fmt::format("every element is right where inputs are rounded to {} before they are converted",
                         emu::format_name(via));
  }
  const double most = largest_of(outputs);
  if (indices.size() < 2 || most == 0 || most >= emu::max_finite(last.out)) return {};  // one number is the largest by chance
  const Changed clipped(expectation, [most](double x) { return std::isnan(x) ? x : std::clamp(x, -most, most); });
  return right(clipped, last) ? fmt::format("every element is right where the largest number is {:g}", most) : "";
}

std::string zeros_of_other_sign(const Expectation& expectation, std::span<const std::uint64_t> indices,
                                std::span<const double> outputs, const LastRounding& last, std::uint64_t all_wrong) {
  if (!expectation.is_bitwise()) return {};
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (outputs[i] != 0) continue;
    Expected element;
    expectation.expect(indices[i], std::span(&element, 1));
    zeros += is_right(judge(expectation, indices[i], element, -outputs[i], last)) ? 1 : 0;
  }
  if (zeros == 0) return {};
  if (indices.size() == all_wrong)
    return zeros == 1 ? "1 zero has the other sign" : fmt::format("{} zeros have the other sign", zeros);
  return fmt::format("{} of {} wrong elements looked at are zeros of the other sign", zeros, indices.size());
}

}  // namespace ulpscope::verify
