// SPDX-License-Identifier: Apache-2.0
// Rounds what is known of each element, and asks for more where that leaves two numbers.
#include "verify/exact_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "emu/encode.hpp"
#include "tensors/parallel.hpp"
#include "verify/double_double.hpp"

namespace ulpscope::verify {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

emu::RoundingOptions decided(emu::RoundingOptions options) {
  if (options.rounding == emu::Rounding::stochastic) options.rounding = emu::Rounding::nearest_even;
  return options;
}

double exact_element(const Expectation& expectation, std::uint64_t index, const Expected& expected, emu::Format out,
                     const emu::RoundingOptions& options) {
  const auto rounded = [&](double x) { return emu::round_to(out, x, options).value; };
  const double v = expected.value, r = expected.radius;
  if (!std::isfinite(v) || r == 0) return rounded(v);
  const double low = rounded(std::nextafter(v - r, -endless)), high = rounded(std::nextafter(v + r, endless));
  if (low == high) return rounded(v);
  const Precise exact = expectation.precise(index);
  return emu::fits_float(out) ? rounded(rounded_to_odd({exact.high, exact.low})) : exact.rounded;
}

}  // namespace

std::vector<double> exact_output(const Expectation& expectation, const LastRounding& last, int threads) {
  constexpr std::size_t some = 4096;
  const std::vector<std::uint64_t> shape = expectation.shape();
  std::size_t count = 1;
  for (const std::uint64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<double> output(count);
  const std::size_t row = shape.empty() ? 1 : std::max<std::size_t>(static_cast<std::size_t>(shape.back()), 1);
  const std::size_t at_a_time = std::max<std::size_t>(some / row, 1) * row;  // whole rows: a part costs as much as all of one
  const emu::RoundingOptions options = decided(last.options);
  tensors::for_each_index((count + at_a_time - 1) / at_a_time, threads, [&](std::size_t part) {
    const std::size_t first = part * at_a_time;
    std::vector<Expected> expected(std::min(at_a_time, count - first));
    expectation.expect(first, expected);
    for (std::size_t i = 0; i < expected.size(); ++i)
      output[first + i] = exact_element(expectation, first + i, expected[i], last.out, options);
  });
  return output;
}

}  // namespace ulpscope::verify
