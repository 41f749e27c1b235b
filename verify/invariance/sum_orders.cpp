// SPDX-License-Identifier: Apache-2.0
// Each order as a function of a row.
#include "verify/invariance/sum_orders.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

using Row = std::span<const float>;

float in_order(Row x) {
  float sum = x.front();
  for (const float each : x.subspan(1)) sum += each;
  return sum;
}

/// The second half is added to the first until one is left.
float by_halves(std::vector<float> x) {
  while (x.size() > 1) {
    const std::size_t half = (x.size() + 1) / 2;
    for (std::size_t i = 0; i + half < x.size(); ++i) x[i] += x[i + half];
    x.resize(half);
  }
  return x.front();
}

/// Each to the one beside it.
float by_neighbours(std::vector<float> x) {
  while (x.size() > 1) {
    const std::size_t half = (x.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) x[i] = 2 * i + 1 < x.size() ? x[2 * i] + x[2 * i + 1] : x[2 * i];
    x.resize(half);
  }
  return x.front();
}

std::vector<float> strided(Row x, std::size_t parts) {
  std::vector<float> sums(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(std::min(parts, x.size())));
  for (std::size_t i = parts; i < x.size(); ++i) sums[i % parts] += x[i];
  return sums;
}

std::vector<float> blocks(Row x, std::size_t size) {
  std::vector<float> sums;
  for (std::size_t first = 0; first < x.size(); first += size)
    sums.push_back(in_order(x.subspan(first, std::min(size, x.size() - first))));
  return sums;
}

/// numpy 1.9 to 2 along a contiguous axis (numpy/_core/src/umath/loops_utils.h.src, pairwise sum): eight sums for up to 128
/// numbers, halves of multiples of eight above.
float numpy_pairwise(Row x) {
  constexpr std::size_t sums = 8, most = 128;
  if (x.size() < sums) return in_order(x);
  if (x.size() > most) {
    const std::size_t half = x.size() / 2 / sums * sums;
    return numpy_pairwise(x.first(half)) + numpy_pairwise(x.subspan(half));
  }
  const std::size_t whole = x.size() / sums * sums;
  const std::vector<float> r = strided(x.first(whole), sums);
  float sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (const float each : x.subspan(whole)) sum += each;
  return sum;
}

}  // namespace

std::vector<SumOrder> sum_orders(std::size_t length) {
  std::vector<SumOrder> all{{"in order", in_order}, {"numpy's pairwise sum", numpy_pairwise}};
  const std::pair<const char*, std::function<float(std::vector<float>)>> joins[] = {
      {"halves added", by_halves}, {"neighbours added", by_neighbours}, {"added in order", [](const std::vector<float>& x) {
                                                                           return in_order(x);
                                                                         }}};
  for (std::size_t size = 2; size <= 1 << 14 && size < length; size *= 2)
    for (const auto& [words, join] : joins) {
      all.push_back({std::to_string(size) + " strided parts, " + words,
                     [size, join_up = join](Row x) { return join_up(strided(x, size)); }});
      all.push_back({"blocks of " + std::to_string(size) + ", " + words,
                     [size, join_up = join](Row x) { return join_up(blocks(x, size)); }});
    }
  return all;
}

std::string sum_order(const SummedRows& rows) {
  const std::uint64_t length = rows.x.shape.back(), count = rows.output.count();
  std::vector<SumOrder> left = sum_orders(static_cast<std::size_t>(length));
  std::vector<double> read(static_cast<std::size_t>(length)), sums(static_cast<std::size_t>(count));
  std::vector<float> row(static_cast<std::size_t>(length));
  rows.output.source->read(0, std::span(sums));
  bool tells = false;
  for (std::uint64_t i = 0; i < count && !left.empty(); ++i) {
    rows.x.source->read((rows.first_row + i) * length, std::span(read));
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<float>(emu::round_to(rows.in, read[k]).value);
    const std::size_t before = left.size();
    std::erase_if(left, [&](const SumOrder& order) {
      const double rounded = emu::round_to(rows.last.out, static_cast<double>(order.sum(row)), rows.last.options).value;
      const double output = sums[static_cast<std::size_t>(i)];
      return !(std::bit_cast<std::uint64_t>(rounded) == std::bit_cast<std::uint64_t>(output) ||
               (std::isnan(rounded) && std::isnan(output)));
    });
    tells |= left.size() != before;
  }
  return tells && !left.empty() ? left.front().words : std::string();
}

}  // namespace ulpscope::verify
