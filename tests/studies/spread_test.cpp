// SPDX-License-Identifier: Apache-2.0
// Quantiles of a Spread beside those of all its numbers sorted.
#include "studies/census/spread.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace ulpscope::studies {
namespace {

constexpr double shares[] = {0, 0.01, 0.1, 0.5, 0.99, 1};

double of_sorted(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::max(std::ceil(share * static_cast<double>(sorted.size())), 1.0)) - 1];
}

std::vector<double> drawn(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back((static_cast<double>(random() % 200000) - 20000) * std::ldexp(1.0, -static_cast<int>(i % 12)));
  numbers[count / 2] = INFINITY;
  return numbers;
}

/// Of parts of so many numbers, each sorted.
Spread spread_of(const std::vector<double>& numbers, std::size_t at_a_time) {
  Spread all;
  for (std::size_t first = 0; first < numbers.size(); first += at_a_time) {
    std::vector<double> part(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                             numbers.begin() + static_cast<std::ptrdiff_t>(std::min(first + at_a_time, numbers.size())));
    std::ranges::sort(part);
    Spread of_part;
    of_part.add(std::span<const double>(part));
    all.add(of_part);
  }
  return all;
}

TEST_CASE("quantiles of few different numbers are exact", "[studies]") {
  const std::vector<double> numbers = drawn(40000);
  std::vector<double> sorted = numbers;
  std::ranges::sort(sorted);

  for (const double share : shares) CHECK(spread_of(numbers, 1000).quantile(share) == of_sorted(sorted, share));
  CHECK(std::isnan(Spread().quantile(0.5)));
}

TEST_CASE("quantiles of many different numbers depend on no order, and are among them", "[studies]") {
  std::vector<double> numbers = drawn(700000);
  std::vector<double> sorted = numbers;
  std::ranges::sort(sorted);

  const Spread forwards = spread_of(numbers, 100000);
  std::ranges::reverse(numbers);
  const Spread backwards = spread_of(numbers, 33333);

  CHECK(forwards.quantile(0) == sorted.front());
  CHECK(forwards.quantile(1) == sorted.back());
  for (const double share : shares) {
    const double told = forwards.quantile(share), exact = of_sorted(sorted, share);
    CAPTURE(share, told, exact);
    CHECK(told == backwards.quantile(share));
    CHECK(told >= exact);
    CHECK(std::ranges::binary_search(sorted, told));
  }
}

TEST_CASE("a text of numbers holds what they tell", "[studies]") {
  Spread twice_two;
  twice_two.add(std::vector<double>{-1, 2, 2, INFINITY});
  // The order of a number has its bits, the sign turned; of one below zero, all turned.
  CHECK(twice_two.text() == "0 400fffffffffffff 400fffffffffffff 7ff0000000000001*2 3ff0000000000000");
  CHECK(Spread().text().empty());

  for (const std::size_t count : {std::size_t{1}, std::size_t{40000}, std::size_t{700000}}) {
    const Spread all = spread_of(drawn(count), 100000);
    const std::optional<Spread> read = Spread::of_text(all.text());
    REQUIRE(read);
    CHECK(read->count() == count);
    CHECK(read->text() == all.text());
    for (const double share : shares) CHECK(read->quantile(share) == all.quantile(share));
  }
}

TEST_CASE("parts read back from their texts are the whole", "[studies]") {
  const std::vector<double> numbers = drawn(300000);
  Spread read;
  for (std::size_t first = 0; first < numbers.size(); first += 100000)
    read.add(Spread::of_text(spread_of({numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                        numbers.begin() + static_cast<std::ptrdiff_t>(first + 100000)},
                                       7000)
                                 .text())
                 .value());

  CHECK(read.text() == spread_of(numbers, 300000).text());
}

}  // namespace
}  // namespace ulpscope::studies
