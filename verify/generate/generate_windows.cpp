// SPDX-License-Identifier: Apache-2.0
// Deals the bits of a number out to products.
#include "verify/generate/generate_windows.hpp"

#include <algorithm>
#include <cmath>

#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify::detail {
namespace {

constexpr int most_copies_log2 = 6;

/// The widest window whose greatest bit is 2^high.
std::optional<Window> widest(const CaseRequest& request, int high, int low, int spread) {
  const Exponents b{normal_powers(request.b).least, normal_powers(request.b).greatest - spread};
  // Subnormal operands only where normal ones do not reach: some kernels flush them.
  for (const int least : {request.a.min_exponent(), request.a.min_spacing_exponent()}) {
    for (int bits = std::min(request.a.precision(), high - low + 1); bits > 0; --bits) {
      const int first = high - bits + 1;
      const Split split = split_exponent(first, {least, request.a.max_exponent() - bits + 1}, b, 0);
      if (split.fits && holds(request.a, (power(bits) - 1) * power(split.factors.a)))
        return Window{first, bits, split.factors.b};
    }
  }
  const int greatest = request.a.max_exponent() + b.greatest;
  if (high <= greatest || high - greatest > most_copies_log2) return std::nullopt;
  return Window{high, 1, b.greatest, std::size_t{1} << (high - greatest)};
}

}  // namespace

std::optional<std::vector<Window>> windows(const CaseRequest& request, int high, int low, int spread) {
  std::vector<Window> all;
  while (high >= low) {
    const auto next = widest(request, high, low, spread);
    if (!next) return std::nullopt;
    all.push_back(*next);
    high = next->low - 1;
  }
  return all;
}

std::size_t products(const std::vector<Window>& windows) {
  std::size_t count = 0;
  for (const Window& window : windows) count += window.copies;
  return count;
}

double part(const Window& window, double number) {
  const double top = power(window.low + window.bits), bottom = power(window.low);
  const double below_top = number - std::floor(number / top) * top;  // exact: powers of two
  const double bits = std::floor(below_top / bottom) * bottom;
  return bits / power(window.beta) / static_cast<double>(window.copies);
}

}  // namespace ulpscope::verify::detail
