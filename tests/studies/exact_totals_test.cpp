// SPDX-License-Identifier: Apache-2.0
// Census and sweep form their sums over binades. Here they are held against exact sums, element by element.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "emu/simd.hpp"
#include "reports/render.hpp"
#include "studies/census/binade_loops.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "tests/studies/census_oracle.hpp"

using namespace ulpscope;
using emu::Rounding;

namespace {

constexpr int least_scale = -40, last_scale = 40;

/// Numbers of every exponent and sign, more of them where formats begin and end, with significands at and beside ties.
std::vector<float> hard_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values;
  for (std::uint64_t i = 0; values.size() < count; ++i) {
    const std::uint32_t random = emu::random_word(seed, 3 * i), shape = emu::random_word(seed, 3 * i + 1);
    const std::uint32_t place = emu::random_word(seed, 3 * i + 2);
    const int cut = static_cast<int>(shape % 24);
    const std::uint32_t ties = (random >> cut << cut) + (std::uint32_t{1} << cut >> 1) + shape / 24 % 3 - 1;
    const std::uint32_t fraction = shape / 72 % 2 == 0 ? ties : random;
    const std::uint32_t near_one = 127 - 24 + place % 48;
    const std::uint32_t field = shape / 144 % 2 == 0 ? place / 48 % 255 : near_one;
    values.push_back(std::bit_cast<float>((random & 0x80000000U) | field << 23 | (fraction & 0x7fffffU)));
  }
  return values;
}

/// The same with zeros, infinities, NaNs and the ends of float32's range among them.
std::vector<float> with_specials(std::vector<float> values) {
  constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  const float specials[] = {0.0F,  -0.0F,  infinite, -infinite, nan,       -nan,
                            least, -least, most,     -most,     0x1p-126F, -0x1.fffffcp-127F};
  for (std::size_t i = 0; i < std::size(specials) && 5 * i < values.size(); ++i) values[5 * i] = specials[i];
  return values;
}

/// The same with exponents of no more than `most`, down to the least: small errors do not drown in large ones.
std::vector<float> small_values(std::size_t count, std::uint64_t seed, int most) {
  std::vector<float> values = hard_values(count, seed);
  for (float& x : values)
    if (const int above = std::ilogb(x) - most; above > 0)
      x = std::ldexp(x, -above - static_cast<int>(std::bit_cast<std::uint32_t>(x) % 30));
  return values;
}

/// Runs `act` on every SIMD path of this processor.
template <class Act>
void on_every_path(Act act) {
  for (const emu::SimdPath path : emu::simd_paths()) {
    emu::use_simd_path(path);
    act();
  }
  emu::use_simd_path(emu::simd_paths().front());
}

/// The first statistic that differs; empty if none does.
std::string difference(const studies::ErrorSums& sums, const oracle::Statistics& s) {
  const auto square = [](const studies::SquareSum& sum) { return std::ldexp(sum.value().significand, sum.value().exponent); };
  for (int i = 0; i < emu::outcome_count; ++i)
    if (sums.counts[static_cast<std::size_t>(i)] != s.counts[i]) return std::string(emu::name_of(static_cast<emu::Outcome>(i)));
  if (sums.nonzero != s.nonzero) return "nonzero";
  if (sums.lost != s.lost) return "lost";
  if (sums.lost_when_saturating != s.lost_when_saturating) return "lost_when_saturating";
  if (sums.max_abs != s.max_abs) return "max_abs";
  if (sums.max_rel != s.max_rel) return "max_rel";
  if (sums.max_ulp != s.max_ulp) return "max_ulp";
  if (sums.sum_abs != s.sum_abs.nearest()) return "sum_abs";
  if (sums.sum_signed != s.sum_signed.nearest()) return "sum_signed";
  if (std::fabs(static_cast<long double>(sums.sum_rel) - s.sum_rel) > s.quotients_off_by + 0x1p-52L * s.sum_rel)
    return "sum_rel";
  if (square(sums.input) != s.input_squares.nearest()) return "input";
  if (square(sums.error) != s.squares.nearest()) return "error";
  if (square(sums.saturating_error) != s.saturating_squares.nearest()) return "saturating_error";
  if (sums.largest.magnitude != s.largest || sums.largest.index != s.largest_at) return "largest";
  if (sums.smallest.magnitude != s.smallest || sums.smallest.index != s.smallest_at) return "smallest";
  return {};
}

std::vector<emu::Format> formats_to_test() {
  std::vector<emu::Format> formats;
  for (const auto& named : emu::catalogue) {
    const bool has_sums = named.name != "binary8p1se" && (named.format.is_signed() || named.format == emu::e8m0);
    if (has_sums) formats.push_back(named.format);  // in_order_test.cpp has the others
  }
  for (const char* name :
       {"e5m0", "e4m0fn", "e3m0finite", "e2m0", "e2m3fn", "e2m22", "e3m1fnuz", "binary5p2se", "e8m23fn", "e8m22b100"})
    formats.push_back(emu::parse_format(name).value());
  for (const int bits : {3, 4, 8, 20, 25}) formats.push_back(emu::integer(bits));
  return formats;
}

std::vector<emu::RoundingOptions> deterministic_options() {
  std::vector<emu::RoundingOptions> all;
  for (const Rounding rounding : {Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero, Rounding::upward,
                                  Rounding::downward, Rounding::to_odd})
    for (const emu::Policy policy : {emu::Policy::nonsaturating, emu::Policy::saturating})
      for (const bool flush : {false, true})
        for (const bool zero : {false, true})
          all.push_back({.rounding = rounding, .policy = policy, .flush_subnormals = flush, .subnormals_are_zero = zero});
  return all;
}

std::vector<studies::SweepRow> sweep_of(const std::vector<float>& values, emu::Format format,
                                        const emu::RoundingOptions& options, studies::ScaleRange range, int threads = 1) {
  studies::CensusConfig config;
  config.formats = {format};
  config.options = options;
  config.threads = threads;
  return studies::sweep(tensors::from_values("t", {values.size()}, values), range, config);
}

void check_against_oracle(const std::vector<float>& values, emu::Format format, const emu::RoundingOptions& options,
                          studies::ScaleRange range) {
  for (const studies::SweepRow& row : sweep_of(values, format, options, range)) {
    const auto expected = oracle::census(values, format, row.log2_scale, options, 0x1p-126);
    const std::string differs = difference(row.sums, expected);
    CAPTURE(emu::format_name(format), row.log2_scale, emu::name_of(options.rounding), emu::name_of(options.policy),
            options.flush_subnormals, options.subnormals_are_zero, values.size());
    CHECK(differs == "");
  }
}

}  // namespace

TEST_CASE("every statistic is exact in every format at every scale", "[studies]") {
  const auto values = with_specials(hard_values(600, 1));
  for (const emu::Format format : formats_to_test()) check_against_oracle(values, format, {}, {least_scale, last_scale, 1});
}

TEST_CASE("every statistic is exact in every direction, policy and switch", "[studies]") {
  int first = least_scale;
  for (const emu::Format format : formats_to_test())
    for (const emu::RoundingOptions& options : deterministic_options()) {
      const auto values = with_specials(hard_values(300, static_cast<std::uint64_t>(first - least_scale)));
      check_against_oracle(values, format, options, {first, last_scale, 27});
      const int near_least = format.min_spacing_exponent() - first;
      check_against_oracle(small_values(100, 7, std::max(near_least, -140)), format, options, {first, first, 1});
      check_against_oracle(small_values(100, 8, -130), format, options, {first, first, 1});
      first = first == least_scale + 26 ? least_scale : first + 1;
    }
}

TEST_CASE("every statistic is exact for tensors of every length", "[studies]") {
  const emu::Format format = GENERATE(emu::fp16, emu::bf16, emu::e4m3, emu::e2m1);
  for (std::size_t count = 0; count <= 70; ++count) check_against_oracle(hard_values(count, count), format, {}, {-3, 9, 6});
  for (const std::size_t count : {511u, 512u, 513u, 4096u, 9999u}) {
    check_against_oracle(hard_values(count, count), format, {}, {-3, 9, 6});
    // many of a few binades, so that buffers run full
    std::vector<float> few = hard_values(count, count + 1);
    for (float& x : few) x = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & 0x80ffffffU) | 0x3e000000U);
    check_against_oracle(few, format, {}, {-3, 9, 6});
  }
}

TEST_CASE("every statistic is exact where all numbers of a full buffer are rounded to the binade's end", "[studies]") {
  const emu::Format format = GENERATE(emu::fp16, emu::bf16, emu::e4m3, emu::e2m1);
  const std::vector<float> values(1100, 0x1.fffffep0F);  // the most that lanes of 32 bits gather
  for (const emu::RoundingOptions& options : deterministic_options()) check_against_oracle(values, format, options, {-1, 1, 1});
}

TEST_CASE("every statistic is exact where blocks of a few binades go the fast way", "[studies]") {
  const emu::Format format = GENERATE(emu::fp16, emu::bf16, emu::e4m3, emu::e5m2, emu::e2m1, emu::tf32);
  // Ten binades that end at the format's last, and some beyond, among them numbers that overflow.
  std::vector<float> values = hard_values(5000, 9);
  const int last = std::min(format.max_exponent(), 30);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i], last - std::ilogb(values[i]) - static_cast<int>(i % 12));
  for (const emu::RoundingOptions& options : deterministic_options())
    check_against_oracle(with_specials(values), format, options, {-9, 9, 9});
}

TEST_CASE("the largest relative error is found among many that hardly differ", "[studies]") {
  const emu::Format format = GENERATE(emu::fp16, emu::bf16, emu::e4m3);
  const auto relative = [&](float x) {
    return std::fabs(emu::round_to(format, x).value - static_cast<double>(x)) / static_cast<double>(x);
  };
  // A few hundred of all numbers of a binade, nearer to each other than what sums see of a quotient.
  const double least = std::ldexp(1.0, -format.fraction_bits - 2), width = std::ldexp(1.0, 8 - 24 - format.fraction_bits);
  std::vector<float> near;
  for (float x = 1; x < 2; x = std::nextafter(x, 2.0F))
    if (relative(x) >= least && relative(x) < least + width) near.push_back(x);
  REQUIRE(near.size() > 100);
  std::sort(near.begin(), near.end(), [&](float a, float b) { return relative(a) < relative(b); });
  std::vector<float> values(1024 * near.size(), 1.0F);  // one in each block
  for (std::size_t i = 0; i < near.size(); ++i) values[1024 * i + 5 * i % 1024] = near[i];
  const auto tensor = tensors::from_values("t", {values.size()}, values);

  on_every_path([&] {
    for (const std::size_t formats : {1u, 9u}) {  // few enough for the fast way, and enough for that of binades
      studies::CensusConfig config;
      config.formats.assign(formats, format);
      CAPTURE(emu::name_of(emu::simd_path()), formats);
      CHECK(studies::census(tensor, {}, config).front().sums.max_rel == relative(near.back()));
    }
  });
}

TEST_CASE("errors are compared in every window", "[studies]") {
  // An error of 0.3 ulp at large numbers, larger than half an ulp at those that follow; the largest of all in ulp comes last.
  std::vector<float> values(1024, 0x1.0014p14F);
  values.resize(std::size_t{100} * 1024, 0x1.0014p0F);
  values.resize(std::size_t{110} * 1024, 0x1.001cp0F);

  check_against_oracle(values, emu::fp16, {}, {0, 0, 1});
}

TEST_CASE("of equal extremes the first is named", "[studies]") {
  std::vector<float> values(400000, 1.0F);
  for (std::size_t i = 1000; i < values.size(); i += 1000) values[i] = i % 2000 == 0 ? -3.0F : 0.25F;

  for (const int threads : {1, 2, 3}) {
    const auto sums = sweep_of(values, emu::fp16, {}, {0, 0, 1}, threads).front().sums;
    CHECK(sums.largest.index == 2000);
    CHECK(sums.smallest.index == 1000);
  }
}

TEST_CASE("the scalar loops fuse as std::fma does", "[studies]") {
  const auto check = [](float a, float b, float c) {
    CAPTURE(a, b, c);
    CHECK(studies::loops::fused(a, b, c) == std::fma(a, b, c));
  };
  // The product lies 1 below and 1 above half a last bit of the sum: too little for a double beside it.
  for (const float c : {0x1p60F, 0x1.000002p60F, 0x1.fffffep60F})
    for (const float sign : {1.0F, -1.0F}) {
      check(sign * 0x1.00004p18F, 0x1.ffff8p17F, c);
      check(sign * 0x1.00004p18F, 0x1.00004p18F, c);
      check(sign * 0x1p18F, 0x1p18F, c);
    }
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const auto part = [&](std::uint64_t k) { return static_cast<float>(emu::random_word(11, 3 * i + k) >> 8); };
    check(part(0), part(1) - 0x1p23F, std::ldexp(part(2) + 1, 30 + static_cast<int>(i % 40)));
  }
}

TEST_CASE("every SIMD path and number of threads gives the same bytes, and those of the census", "[studies]") {
  // Formats of every kind in one sweep, so that they share what they may; full buffers and rests.
  std::vector<float> values = with_specials(hard_values(40000, 5));
  for (std::size_t i = 0; i < values.size() / 2; ++i) values[2 * i] = static_cast<float>(emu::random_word(6, i)) * 0x1p-31F;
  const auto tensor = tensors::from_values("t", {values.size()}, values);
  const emu::RoundingOptions options = GENERATE(from_range(deterministic_options()));
  studies::CensusConfig config;
  config.formats = formats_to_test();
  config.options = options;
  const studies::ScaleRange range{-24, 24, 24};
  const auto bytes_of_sweep = [&](int threads) {
    config.threads = threads;
    return reports::to_csv(studies::sweep_table(studies::sweep(tensor, range, config), options));
  };
  const std::string expected = bytes_of_sweep(1);

  on_every_path([&] {
    CAPTURE(emu::name_of(emu::simd_path()));
    CHECK((bytes_of_sweep(1) == expected));
    CHECK((bytes_of_sweep(2) == expected));
    CHECK((bytes_of_sweep(3) == expected));
    for (const int k : range.exponents()) {
      const studies::Scaling scaling{
          .rule = k == 0 ? studies::ScaleRule::none : studies::ScaleRule::number, .number = std::ldexp(1.0, k), .word = "k"};
      const auto census = studies::census(tensor, scaling, config);
      const auto sweep = studies::sweep(tensor, {k, k, 1}, config);
      for (std::size_t i = 0; i < census.size(); ++i)
        CHECK((studies::statistic_cells(census[i].sums) == studies::statistic_cells(sweep[i].sums)));
    }
  });
}
