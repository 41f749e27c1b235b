// SPDX-License-Identifier: Apache-2.0
// The census of what is rounded element by element, held against a loop that does so one at a time.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "studies/census/census.hpp"
#include "studies/census/round_and_count.hpp"

using namespace ulpscope;
using emu::Outcome;

namespace {

/// One of many exponents.
double number_at(std::uint64_t i, int spread) {
  const double significand = static_cast<double>(static_cast<std::int32_t>(emu::random_word(3, 2 * i))) * 0x1p-31;
  return std::ldexp(significand, static_cast<int>(emu::random_word(3, 2 * i + 1) % static_cast<unsigned>(2 * spread)) - spread);
}

/// Numbers below 64, with zeros and subnormal floats among them, and a greater one at one place.
template <class Float>
std::vector<Float> ordinary_values(std::size_t count, std::size_t place_of_largest) {
  std::vector<Float> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto other = static_cast<Float>(i % 4 == 0 ? 0.0 : i % 4 == 1 ? -0.0 : 1e-40);
    values.push_back(i % 29 == 3 ? other : static_cast<Float>(number_at(i, 6)));
  }
  values[place_of_largest] = Float{1e4F};
  return values;
}

/// Numbers of many exponents with zeros, infinities and NaNs among them.
template <class Float>
std::vector<Float> values_of_all_kinds(std::size_t count, int spread) {
  using Limits = std::numeric_limits<Float>;
  const Float specials[] = {0,
                            -Float{0},
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::max(),
                            Limits::denorm_min(),
                            -Limits::min() / 4};
  std::vector<Float> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.push_back(i % 37 == 5 ? specials[i / 37 % 8] : static_cast<Float>(number_at(i, spread)));
  }
  return values;
}

/// A sum in sixteen lanes, and at the end of one half with the other.
class LaneSum {
 public:
  void add(std::size_t i, double x) { lanes_[i % 16] += x; }
  double total() const { return total(0, 1); }

 private:
  double total(std::size_t lane, std::size_t lanes) const {
    return lanes == 16 ? lanes_[lane] : total(lane, 2 * lanes) + total(lane + lanes, 2 * lanes);
  }
  double lanes_[16] = {};
};

/// The same of squares, where they are ordinary.
class LaneSquares {
 public:
  void add(std::size_t i, double x) {
    if (std::fabs(x) < 0x1p-500 || std::fabs(x) > 0x1p500)
      others_.add(x);
    else
      ordinary_.add(i, x * x);
  }
  studies::SquareSum total() const {
    studies::SquareSum sum = others_;
    sum.ordinary() += ordinary_.total();
    return sum;
  }

 private:
  LaneSum ordinary_;
  studies::SquareSum others_;
};

/// Sums of which those of large numbers are apart.
struct MeanSum {
  LaneSum ordinary;
  studies::LargeSum large;

  void add(std::size_t i, double x) {
    if (std::fabs(x) > 0x1p960)
      large.add(x);
    else
      ordinary.add(i, x);
  }
};

/// One at a time, by the scalar function.
template <class Float>
studies::ErrorSums one_by_one(const std::vector<Float>& values, emu::Format format, const studies::ScaleMap& scales,
                              const tensors::DType& dtype, const emu::RoundingOptions& options, std::uint64_t seed) {
  studies::ErrorSums sums;
  LaneSquares input, error, saturating_error;
  MeanSum sum_signed, sum_abs;
  LaneSum sum_rel;
  const double least_input = options.subnormals_are_zero && dtype.format ? emu::min_normal(*dtype.format) : 0;
  const auto through_float = [&](double x) {
    return scales.multiplies_in_float() ? static_cast<double>(static_cast<float>(x)) : x;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(values[i]);
    const studies::ElementScale& scale = scales.at(i);
    const bool lost = scale.numerator == 0;  // the stored scale is 0
    const double factor = lost ? scale.multiply : through_float(scale.multiply);
    const double exact = scale.divide != 1 ? x / scale.divide : x * factor;
    const double product = lost ? exact : through_float(exact);
    const bool becomes_zero = x != 0 && (std::fabs(x) < least_input || (lost && std::isfinite(x)));
    const double scaled = becomes_zero ? std::copysign(0.0, x) : product;
    emu::Rounded result = emu::round_to(format, scaled, options, emu::rounding_bits(seed, i));
    if (std::isinf(x)) result.outcome = Outcome::infinite;
    if (std::isfinite(x) && !std::isfinite(scaled)) result.outcome = Outcome::overflow;
    if (x != 0 && scaled == 0) result.outcome = format.has_zero() ? Outcome::to_zero : Outcome::rounded;
    ++sums.counts[static_cast<std::size_t>(result.outcome)];
    if (!std::isfinite(x)) continue;
    const double magnitude = std::fabs(x);
    if (magnitude > sums.largest.magnitude) sums.largest = {magnitude, i};
    if (magnitude != 0 && magnitude < sums.smallest.magnitude) sums.smallest = {magnitude, i};
    sums.nonzero += magnitude != 0 ? 1 : 0;
    input.add(i, x);
    emu::RoundingOptions saturating = options;
    saturating.policy = emu::Policy::saturating;
    const bool overflows = result.outcome == Outcome::overflow;
    const double saturated = overflows ? emu::round_to(format, scaled, saturating).value : result.value;
    const double y = result.value * scale.numerator / scale.denominator;
    const double saturated_y = saturated * scale.numerator / scale.denominator;
    if (std::isfinite(saturated_y))
      saturating_error.add(i, saturated_y - x);
    else
      ++sums.lost_when_saturating;
    if (!std::isfinite(y)) {
      ++sums.lost;
      continue;
    }
    const double size = std::fabs(y - x);
    error.add(i, y - x);
    sum_signed.add(i, y - x);
    sum_abs.add(i, size);
    sums.max_abs = std::max(sums.max_abs, size);
    if (magnitude != 0) {
      sum_rel.add(i, size / magnitude);
      sums.max_rel = std::max(sums.max_rel, size / magnitude);
    }
    const double ulps = std::ldexp(std::fabs(result.value - product), -emu::spacing_exponent(format, product));
    sums.max_ulp = std::max(sums.max_ulp, ulps);
  }
  sums.input = input.total(), sums.error = error.total(), sums.saturating_error = saturating_error.total();
  sums.sum_signed = sum_signed.ordinary.total(), sums.sum_abs = sum_abs.ordinary.total(), sums.sum_rel = sum_rel.total();
  sums.large_signed = sum_signed.large, sums.large_abs = sum_abs.large;
  return sums;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool same(const studies::SquareSum& a, const studies::SquareSum& b) {
  return same(a.value().significand, b.value().significand) && a.value().exponent == b.value().exponent;
}
bool same(const studies::ErrorSums& a, const studies::ErrorSums& b) {
  return a.counts == b.counts && a.nonzero == b.nonzero && a.lost == b.lost &&
         a.lost_when_saturating == b.lost_when_saturating && same(a.max_abs, b.max_abs) && same(a.sum_abs, b.sum_abs) &&
         same(a.sum_signed, b.sum_signed) && same(a.large_abs.scaled(), b.large_abs.scaled()) &&
         same(a.large_signed.scaled(), b.large_signed.scaled()) && same(a.max_rel, b.max_rel) && same(a.sum_rel, b.sum_rel) &&
         same(a.max_ulp, b.max_ulp) && same(a.input, b.input) && same(a.error, b.error) &&
         same(a.saturating_error, b.saturating_error) && a.largest.index == b.largest.index &&
         a.smallest.index == b.smallest.index;
}

template <class Float>
void check_all_options(const std::vector<Float>& values, const std::vector<std::uint64_t>& shape) {
  using emu::Rounding;
  const auto tensor = tensors::from_values("t", shape, values);
  const auto scaling = studies::parse_scaling(GENERATE("none", "0.3", "2^5", "2^-5", "amax", "pow2", "row", "row:divide",
                                                       "1x128", "128x128", "mx:floor", "mx:even", "nvfp4"));
  for (const auto& named : emu::catalogue) {
    const studies::ScaleMap scales(scaling, named.format, tensor);
    for (int i = 0; i < 7 * 2 * 2 * 2; ++i) {
      const emu::RoundingOptions options{.rounding = static_cast<Rounding>(i % 7),
                                         .policy = i / 7 % 2 == 0 ? emu::Policy::nonsaturating : emu::Policy::saturating,
                                         .flush_subnormals = i / 14 % 2 != 0,
                                         .subnormals_are_zero = i / 28 != 0,
                                         .random_bits = 7};
      const auto sums = studies::round_and_count<Float>(std::span(values), 0, named.format, scales, tensor.dtype, options, 5);
      CAPTURE(scaling.word, named.name, emu::name_of(options.rounding), emu::name_of(options.policy), options.flush_subnormals,
              options.subnormals_are_zero);
      CHECK(same(sums, one_by_one(values, named.format, scales, tensor.dtype, options, 5)));
    }
  }
}

}  // namespace

TEST_CASE("a census element by element is that of one at a time", "[studies]") {
  check_all_options(values_of_all_kinds<float>(1500, 20), {6, 250});
}

TEST_CASE("a census of doubles is that of one at a time", "[studies]") {
  check_all_options(values_of_all_kinds<double>(1100, 40), {1100});
}

TEST_CASE("a census of blocks that have nothing but ordinary numbers is that of one at a time", "[studies]") {
  check_all_options(ordinary_values<float>(2045, 1300), {5, 409});
}

TEST_CASE("a census of a block that ends with what overflows is that of one at a time", "[studies]") {
  check_all_options(ordinary_values<float>(543, 542), {543});
}

TEST_CASE("a census of ordinary doubles is that of one at a time", "[studies]") {
  check_all_options(ordinary_values<double>(1100, 700), {1100});
}

TEST_CASE("numbers from one end of float32 to the other are counted one way", "[studies]") {
  check_all_options(values_of_all_kinds<float>(700, 126), {7, 100});
}

namespace {

/// Sums of chunks [first, first + count) by the definition: those of the greatest power of two below count, and of the rest.
studies::ErrorSums of_chunks(const std::vector<studies::ErrorSums>& chunks, std::size_t first, std::size_t count) {
  if (count == 1) return chunks[first];
  const std::size_t half = std::bit_ceil(count) / 2;
  studies::ErrorSums sums = of_chunks(chunks, first, half);
  sums.merge(of_chunks(chunks, first + half, count - half));
  return sums;
}

}  // namespace

TEST_CASE("chunks of 65,536 elements are added by a binary tree, on any number of threads", "[studies]") {
  constexpr std::size_t chunk = 65536;
  const auto chunks = static_cast<std::size_t>(GENERATE(1, 2, 3, 6, 7, 65));
  const std::vector<float> values = values_of_all_kinds<float>(chunks * chunk - 100, 20);
  const auto tensor = tensors::from_values("t", {values.size()}, values);
  const studies::ScaleMap scales(studies::parse_scaling("0.3"), emu::e5m2, tensor);
  std::vector<studies::ErrorSums> sums;
  for (std::size_t i = 0; i < chunks; ++i) {
    const auto part = std::span<const float>(values).subspan(i * chunk, std::min(chunk, values.size() - i * chunk));
    sums.push_back(studies::round_and_count(part, i * chunk, emu::e5m2, scales, tensor.dtype, {}, 0));
  }
  for (const int threads : {1, 2}) {
    studies::CensusConfig config;
    config.threads = threads;
    CHECK(same(studies::run_jobs(tensor, {{emu::e5m2, scales}}, config).front(), of_chunks(sums, 0, chunks)));
  }
}
