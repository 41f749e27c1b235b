// SPDX-License-Identifier: Apache-2.0
// What becomes of elements whose block has an extreme scale.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/census.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/tensor.hpp"

using namespace ulpscope;
using emu::Outcome;

namespace {

studies::ErrorSums census_of(std::vector<float> values, const char* scale, emu::Format format, emu::Policy policy) {
  const std::uint64_t count = values.size();
  const auto tensor = tensors::from_values("t", {count}, std::move(values));
  studies::CensusConfig config;
  config.formats = {format};
  config.options.policy = policy;
  return studies::census(tensor, studies::parse_scaling(scale), config).front().sums;
}

/// Numbers that say how many of them were read.
class Counted final : public tensors::Source {
 public:
  explicit Counted(std::vector<float> values) : values_(std::move(values)) {}
  void read(std::uint64_t first, std::span<float> out) const override { copy(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { copy(first, out); }
  void read_codes(std::uint64_t, std::span<emu::Code>) const override {}
  std::uint64_t count() const { return count_; }

 private:
  template <class T>
  void copy(std::uint64_t first, std::span<T> out) const {
    count_ += out.size();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values_[static_cast<std::size_t>(first) + i]);
  }
  std::vector<float> values_;
  mutable std::uint64_t count_ = 0;
};

/// The number of a list (ascending, even codes first) that is nearest to x; of two the one with the even place.
float nearest_of(const std::vector<float>& numbers, float x) {
  const float magnitude = std::min(std::fabs(x), numbers.back());
  std::size_t best = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const double now = std::fabs(double{numbers[i]} - double{magnitude}),
                 before = std::fabs(double{numbers[best]} - double{magnitude});
    if (now < before || (now == before && i % 2 == 0)) best = i;
  }
  return std::copysign(numbers[best], x);
}

std::vector<float> numbers_of_e4m3() {
  std::vector<float> numbers;
  for (int exponent = 0; exponent < 16; ++exponent)
    for (int fraction = 0; fraction < (exponent == 15 ? 7 : 8); ++fraction)
      numbers.push_back(exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                      : std::ldexp(1.0F + static_cast<float>(fraction) / 8, exponent - 7));
  return numbers;
}

std::vector<float> some_numbers(std::size_t count) {
  std::vector<float> numbers;
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    numbers.push_back((static_cast<float>(state >> 8) / 0x1p24F - 0.5F) * std::ldexp(1.0F, static_cast<int>(i % 41) / 8));
  }
  return numbers;
}

studies::QuantizedTensor in_nvfp4_tiles(std::uint64_t rows, std::uint64_t columns, std::vector<float> values) {
  return {tensors::from_values("t", {rows, columns}, std::move(values)),
          emu::e2m1,
          {.policy = emu::Policy::saturating},
          studies::parse_scaling("nvfp4:16x16"),
          0};
}

std::vector<double> values_of(const studies::QuantizedTensor& tensor, std::size_t count) {
  std::vector<double> values(count);
  std::vector<emu::Code> codes(count);
  tensor.read(0, values, codes);
  return values;
}

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a scale is a number, a power of two, or a rule's word", "[studies]") {
  for (const auto& [word, number] : {std::pair{"2^20", 0x1p20},
                                     {"2^-3", 0.125},
                                     {"2^0", 1.0},
                                     {"2^1023", 0x1p1023},
                                     {"2^-1074", 0x1p-1074},
                                     {"0x1.8p3", 12.0},
                                     {"1e-3", 1e-3}}) {
    CAPTURE(word);
    CHECK(studies::parse_scaling(word).rule == studies::ScaleRule::number);
    CHECK(studies::parse_scaling(word).number == number);
  }
  for (const char* const word :
       {"2^", "2^x", "2^1.5", "2^1024", "2^-1075", "2^99999999999", "2^3 ", "-1", "0", "inf", "nan", "", "amix"})
    CHECK_THROWS_AS(studies::parse_scaling(word), Error);
}

TEST_CASE("elements of an nvfp4 block whose stored scale is 0 become zero", "[studies]") {
  // The block's scale would be 1e-6 * 448, below half of the least e4m3 number, 2^-9.
  std::vector<float> x(32);
  x[0] = 1, x[16] = 1e-6F, x[17] = -3e-7F;
  const auto policy = GENERATE(emu::Policy::saturating, emu::Policy::nonsaturating);
  const emu::Format format = GENERATE(emu::e2m1, emu::e4m3, emu::e5m2);

  const auto sums = census_of(x, "nvfp4", format, policy);

  CHECK(sums.of(Outcome::zero) == 29);
  CHECK(sums.of(Outcome::to_zero) == 2);
  CHECK(sums.of(Outcome::overflow) == 0);
  CHECK(sums.of(Outcome::exact) + sums.of(Outcome::rounded) == 1);
  CHECK(sums.lost == 0);
  CHECK(sums.max_rel == 1);
  CHECK(sums.sum_abs == static_cast<double>(1e-6F) + static_cast<double>(3e-7F));
  CHECK(sums.error.value().significand == sums.saturating_error.value().significand);
}

TEST_CASE("a block without a scale keeps its NaNs and loses numbers too large for the product", "[studies]") {
  std::vector<float> x(32);
  x[0] = 3e38F, x[16] = 1e30F, x[17] = not_a_number;  // 1e30 times the largest float32 is no float32

  const auto sums = census_of(x, "nvfp4", emu::e2m1, emu::Policy::saturating);

  CHECK(sums.of(Outcome::to_zero) == 1);
  CHECK(sums.of(Outcome::nan) == 1);
  CHECK(sums.of(Outcome::overflow) == 0);
  CHECK(sums.max_ulp < 4);  // of a number with one fraction bit that becomes 0
}

TEST_CASE("an amax that is no float32 gives no scale", "[studies]") {
  const double amax = GENERATE(1e300, 1e-300);
  const auto tensor = tensors::from_values("t", {3}, std::vector<double>{-amax, amax / 1000, 0});
  CHECK(studies::ScaleMap(studies::parse_scaling("amax"), emu::e4m3, tensor).uniform().multiply == 1);
}

TEST_CASE("mx blocks at the ends of e8m0 count what they lose", "[studies]") {
  const char* const scale = GENERATE("mx:floor", "mx:ceil", "mx:rceil", "mx:even");
  std::vector<float> x(96);
  x[0] = 1;
  x[32] = std::numeric_limits<float>::denorm_min();  // the least scale is 2^-127: 2^-149 becomes 2^-22
  x[64] = infinity, x[65] = 1;                       // the scale is NaN

  const auto sums = census_of(x, scale, emu::e2m1, emu::Policy::saturating);

  CHECK(sums.of(Outcome::exact) == 1);
  CHECK(sums.of(Outcome::to_zero) == 1);
  CHECK(sums.of(Outcome::infinite) == 1);
  CHECK(sums.of(Outcome::zero) == 62);
  CHECK(sums.of(Outcome::overflow) == 31);  // finite numbers that become NaN
  CHECK(sums.lost == 31);
  CHECK(sums.lost_when_saturating == 31);
}

TEST_CASE("nvfp4 in blocks of 16 by 16 follows the published formula", "[studies]") {
  // Transformer Engine's: S = 448 * 6 / amax of the tensor; a block's scale is e4m3(amax * (S * (1 / 6))); elements are
  // multiplied by 1 / (scale * (1 / S)).
  constexpr std::size_t rows = 20, columns = 33, across = 3;
  const std::vector<float> x = some_numbers(static_cast<std::size_t>(rows * columns)), e4m3 = numbers_of_e4m3(),
                           e2m1{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  float amax = 0, of_block[2 * across] = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& block = of_block[i / columns / 16 * across + i % columns / 16];
    block = std::max(block, std::fabs(x[i])), amax = std::max(amax, std::fabs(x[i]));
  }
  const float tensor_scale = 448.0F * 6.0F / amax;

  const studies::QuantizedTensor got = in_nvfp4_tiles(rows, columns, x);

  CHECK(got.scale_format() == "float8_e4m3fn");
  CHECK(got.scale_shape() == std::vector<std::uint64_t>{2, across});
  CHECK(got.tensor_scale() == tensor_scale);
  const std::vector<double> values = values_of(got, x.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t block = i / columns / 16 * across + i % columns / 16;
    const float scale = nearest_of(e4m3, of_block[block] * (tensor_scale * (1.0F / 6.0F)));
    const float rounded = nearest_of(e2m1, x[i] * (1.0F / (scale * (1.0F / tensor_scale))));
    wrong += got.scales()[block] != scale || values[i] != double{rounded} * double{scale} / double{tensor_scale} ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("rows and tiles have scales in each published form", "[studies]") {
  const auto tiles =
      GENERATE(table<const char*, std::size_t, std::size_t>({{"row", 1, 300}, {"1x128", 1, 128}, {"128x128", 128, 128}}));
  const std::string rule = std::get<0>(tiles);
  const std::size_t block_rows = std::get<1>(tiles), block_columns = std::get<2>(tiles);
  const std::string form = GENERATE("", ":pow2", ":divide", ":reciprocal");
  const std::string word = rule + form;
  CAPTURE(word);
  constexpr std::size_t rows = 140, columns = 300;
  const std::vector<float> e4m3 = numbers_of_e4m3();
  std::vector<float> x = some_numbers(std::size_t{rows} * columns);
  std::fill_n(x.begin(), 128, 0.0F);
  x[299] = 1e-44F;  // of 1x128, alone in its block but for smaller ones
  std::fill_n(x.begin() + 256, 43, 0.0F);
  const std::size_t across = (columns + block_columns - 1) / block_columns;
  const auto block_of = [&](std::size_t i) { return i / columns / block_rows * across + i % columns / block_columns; };
  std::vector<float> amax(block_of(x.size() - 1) + 1);
  for (std::size_t i = 0; i < x.size(); ++i) amax[block_of(i)] = std::max(amax[block_of(i)], std::fabs(x[i]));

  const studies::QuantizedTensor got{tensors::from_values("t", {rows, columns}, x),
                                     emu::e4m3,
                                     {.policy = emu::Policy::saturating},
                                     studies::parse_scaling(word),
                                     0};

  const std::vector<double> values = values_of(got, x.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float largest = amax[block_of(i)];
    const float to_multiply = largest == 0 ? 1 : std::min(448.0F / largest, std::numeric_limits<float>::max());
    const float to_divide = largest == 0 ? 1 : std::max(largest / 448.0F, std::numeric_limits<float>::denorm_min());
    float q = 0;
    double value = 0, stored = 0;
    if (form.empty() || form == ":pow2") {
      const float scale = form.empty() ? to_multiply : std::ldexp(1.0F, std::ilogb(to_multiply));
      q = nearest_of(e4m3, x[i] * scale);
      value = double{q} / double{scale}, stored = 1 / double{scale};
    } else {
      const float inverse = std::min(1.0F / to_divide, std::numeric_limits<float>::max());
      q = nearest_of(e4m3, form == ":divide" ? x[i] / to_divide : x[i] * inverse);
      value = double{q} * double{to_divide}, stored = double{to_divide};
    }
    wrong += values[i] != value || got.scales()[block_of(i)] != static_cast<float>(stored) ? 1 : 0;
  }
  CHECK(wrong == 0);
  // A census counts the same.
  studies::CensusConfig config;
  config.formats = {emu::e4m3};
  config.options.policy = emu::Policy::saturating;
  std::uint64_t to_zero = 0;
  for (std::size_t i = 0; i < x.size(); ++i) to_zero += x[i] != 0 && values[i] == 0 ? 1 : 0;
  CHECK(studies::census(tensors::from_values("t", {rows, columns}, x), studies::parse_scaling(word), config)
            .front()
            .sums.of(Outcome::to_zero) == to_zero);
}

TEST_CASE("nvfp4 in blocks of 16 by 16 gives a matrix and its transpose the same numbers", "[studies]") {
  constexpr std::size_t rows = 32, columns = 48;
  const std::vector<float> x = some_numbers(static_cast<std::size_t>(rows * columns));
  std::vector<float> turned(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) turned[i % columns * rows + i / columns] = x[i];

  const auto of_rows = values_of(in_nvfp4_tiles(rows, columns, x), x.size()),
             of_columns = values_of(in_nvfp4_tiles(columns, rows, turned), x.size());

  for (std::size_t i = 0; i < x.size(); ++i) CHECK(of_rows[i] == of_columns[i % columns * rows + i / columns]);
}

TEST_CASE("a known magnitude of the whole tensor spares reading what lies outside a part", "[studies]") {
  constexpr std::uint64_t rows = 64, columns = 100;
  const std::vector<float> numbers = some_numbers(static_cast<std::size_t>(rows * columns));
  float amax = 0;
  for (const float x : numbers) amax = std::max(amax, std::fabs(x));
  const auto [word, read] =
      GENERATE(std::pair{"amax", 0U}, std::pair{"pow2", 0U}, std::pair{"nvfp4", 84U}, std::pair{"nvfp4:16x16", 16 * 100U});
  const auto source = std::make_shared<Counted>(numbers);
  const tensors::Tensor tensor{"t", {}, {"float32", emu::float32}, {rows, columns}, source};
  studies::Scaling scaling = studies::parse_scaling(word);
  const studies::ElementRange part{10 * columns + 17, 80};  // of columns 17 to 96
  const studies::ScaleMap found(scaling, emu::e2m1, tensor, 1, part);
  CHECK(source->count() == rows * columns);
  scaling.shared_amax = amax;
  const studies::ScaleMap known(scaling, emu::e2m1, tensor, 1, part);
  CHECK(source->count() == rows * columns + read);
  CHECK(known.of_tensor(scaling.rule) == found.of_tensor(scaling.rule));
  for (std::uint64_t i = part.first; i < part.first + part.count; ++i) {
    const studies::ElementScale a = known.at(i), b = found.at(i);
    REQUIRE((a.multiply == b.multiply && a.numerator == b.numerator && a.denominator == b.denominator));
  }
  CHECK(studies::amax_of(tensor) == static_cast<double>(amax));
  float of_part = 0;
  for (std::uint64_t i = part.first; i < part.first + part.count; ++i)
    of_part = std::max(of_part, std::fabs(numbers[static_cast<std::size_t>(i)]));
  CHECK(studies::amax_of(tensor, part) == static_cast<double>(of_part));
}

TEST_CASE("a tensor whose scales are too many to be held is read in pieces, with the same results", "[studies]") {
  constexpr std::uint64_t rows = 130, columns = 3001;
  const auto [word, blocks] = GENERATE(table<const char*, std::uint64_t>({{"nvfp4", 5000},
                                                                          {"nvfp4:16x16", 600},
                                                                          {"mx:rceil", 2100},
                                                                          {"1x128", 600},
                                                                          {"128x128", 5},
                                                                          {"row", 25},
                                                                          {"minmax:1x128", 600},
                                                                          {"amax", 1}}));
  const std::vector<float> numbers = some_numbers(static_cast<std::size_t>(rows * columns));
  const auto source = std::make_shared<Counted>(numbers);
  const tensors::Tensor tensor{"t", {}, {"float32", emu::float32}, {2, rows / 2, columns}, source};
  const bool is_integer = std::string(word).starts_with("minmax");
  studies::CensusConfig config;
  config.formats = {is_integer ? emu::parse_format_or_integer("int8").value() : emu::e2m1};
  config.options.rounding = emu::Rounding::stochastic;
  std::uint64_t done = 0;
  config.progress = [&](std::uint64_t elements) {
    CHECK(elements > done);
    done = elements;
  };
  const studies::Scaling scaling = studies::parse_scaling(word);

  const auto whole = studies::census_table(studies::census(tensor, scaling, config), scaling, config.options).rows;
  CHECK(std::exchange(done, 0) == tensor.count());
  const std::uint64_t read = source->count();
  config.most_blocks = blocks;
  const auto pieces = studies::census_table(studies::census(tensor, scaling, config), scaling, config.options).rows;

  CAPTURE(word);
  CHECK(done == tensor.count());
  CHECK(pieces == whole);
  if (std::string(word) == "nvfp4") CHECK(source->count() >= 2 * read + tensor.count());  // a pass more, for the largest of all
}
