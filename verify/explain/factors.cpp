// SPDX-License-Identifier: Apache-2.0
// The median quotient, and its candidates.
#include "verify/explain/factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/catalogue.hpp"

namespace ulpscope::verify {
namespace {

/// D by the claim, where both are finite and not 0.
std::vector<double> quotients(const ReplayedOutputs& outputs) {
  std::vector<double> all;
  for (std::size_t i = 0; i < outputs.count(); ++i) {
    const double d = outputs.d()[i], claimed = outputs.claimed()[i];
    if (std::isfinite(d) && std::isfinite(claimed) && d != 0 && claimed != 0) all.push_back(d / claimed);
  }
  return all;
}

/// Factors that are not too far from the median, each once.
class Candidates {
 public:
  Candidates(const Claim& claim, double median)
      : claim_(claim), median_(median), nearness_(std::ldexp(4, -claim.config.out.precision())) {}

  bool is_near(double factor, double nearness) const { return std::fabs(factor / median_ - 1) <= nearness; }
  bool is_one() const { return is_near(1, nearness_); }
  /// `what`: where it comes from; may be empty.
  void add(std::vector<Cause>& causes, double factor, const std::string& what) {
    if (!claim_.kernel.wide()) factor = static_cast<double>(static_cast<float>(factor));
    if (!std::isfinite(factor) || !is_near(factor, nearness_) ||
        std::find(listed_.begin(), listed_.end(), factor) != listed_.end())
      return;
    listed_.push_back(factor);
    const std::string word = claim_.kernel.wide() ? fmt::format("{}", factor) : fmt::format("{}", static_cast<float>(factor));
    causes.push_back({"D=times:" + word,
                      word + (what.empty() ? "" : " (" + what + ")") + " times what is claimed",
                      {},
                      [factor](Kernel& kernel) { kernel.epilogue.times *= factor; }});
    if (claim_.config.alpha == 1 && !claim_.config.c) causes.back().options = {{"--alpha", word}};
  }

 private:
  const Claim& claim_;
  double median_, nearness_;  // of numbers that D and the claim round, twice
  std::vector<double> listed_;
};

/// To so many significant digits in base 10, or bits.
///@{
double in_digits(double x, int digits) {
  const std::string text = fmt::format("{:.{}e}", x, digits - 1);
  std::from_chars(text.data(), text.data() + text.size(), x);
  return x;
}
double in_bits(double x, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, bits)), exponent - bits);
}
///@}

}  // namespace

Factors factors(const Claim& claim, const ReplayedOutputs& outputs) {
  std::vector<double> all = quotients(outputs);
  if (all.empty()) return {};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  const double median = *middle;
  Candidates candidates(claim, median);
  constexpr double most = 0x1p100;  // far from where float32 ends
  if (candidates.is_one() || !(std::fabs(median) < most && std::fabs(median) > 1 / most)) return {};
  Factors factors;
  const auto k = static_cast<double>(claim.shape.k);
  const double alpha = claim.config.alpha;
  for (const double sign : {1.0, -1.0}) {
    const std::string minus = sign < 0 ? "-" : "";
    for (const int above : {0, 1}) candidates.add(factors.simple, sign * std::ldexp(1, std::ilogb(median) + above), "");
    if (alpha != 1 && alpha != 0) {
      candidates.add(factors.simple, sign * alpha, minus + "alpha");
      candidates.add(factors.simple, sign / alpha, minus + "1/alpha");
    }
    candidates.add(factors.simple, sign / std::sqrt(k), minus + "1/sqrt(K)");
    candidates.add(factors.simple, sign * std::sqrt(k), minus + "sqrt(K)");
    candidates.add(factors.simple, sign / k, minus + "1/K");
  }
  constexpr double about = 0x1p-4, nearly_all = 0.9;
  std::size_t near = 0;
  for (const double quotient : all) near += candidates.is_near(quotient, about) ? 1 : 0;
  factors.is_likely = static_cast<double>(near) >= nearly_all * static_cast<double>(all.size());
  for (const int digits : {1, 2, 3, 4}) candidates.add(factors.others, in_digits(median, digits), "");
  for (const int bits : {2, 3, 4, 5, 6, 8, 11}) candidates.add(factors.others, in_bits(median, bits), "");
  const auto nearest = static_cast<float>(median);
  for (const float neighbour : {nearest, std::nextafter(nearest, 0.0F), std::nextafter(nearest, 2 * nearest)})
    candidates.add(factors.others, static_cast<double>(neighbour), "");
  factors.tried = std::uint64_t{1} << emu::float32.precision();
  return factors;
}

}  // namespace ulpscope::verify
