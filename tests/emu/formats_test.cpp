// SPDX-License-Identifier: Apache-2.0
// The facts of the published tables, typed here, against those that Format computes from its four numbers.
// Sources: IEEE 754-2019 table 3.5; OFP8 1.0 tables 1 and 2; MX 1.0 tables 1 to 5; the ml_dtypes README;
// gfloat 0.5.2, format_info_p3109.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/names.hpp"

namespace {
using namespace ulpscope;

struct Facts {
  std::string name;
  int bits, exponent_bits, fraction_bits, bias;
  double max, min_normal, min_positive;
  int infinities, nans;  ///< codes that are infinite, codes that are NaN (-1: too many to count)
  emu::Code nan_code;
  bool negative_zero;
};

const std::vector<Facts> table{
    {"float64", 64, 11, 52, 1023, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 2, -1, 0x7fffffffffffffff, true},
    {"float32", 32, 8, 23, 127, 0x1.fffffep127, 0x1p-126, 0x1p-149, 2, -1, 0x7fffffff, true},
    {"tf32", 19, 8, 10, 127, 0x1.ffcp127, 0x1p-126, 0x1p-136, 2, 2046, 0x3ffff, true},
    {"float16", 16, 5, 10, 15, 65504, 0x1p-14, 0x1p-24, 2, 2046, 0x7fff, true},
    {"bfloat16", 16, 8, 7, 127, 3.3895313892515355e38, 0x1p-126, 0x1p-133, 2, 254, 0x7fff, true},
    {"float8_e5m2", 8, 5, 2, 15, 57344, 0x1p-14, 0x1p-16, 2, 6, 0x7f, true},
    {"float8_e4m3fn", 8, 4, 3, 7, 448, 0x1p-6, 0x1p-9, 0, 2, 0x7f, true},
    {"float8_e4m3", 8, 4, 3, 7, 240, 0x1p-6, 0x1p-9, 2, 14, 0x7f, true},
    {"float8_e3m4", 8, 3, 4, 3, 15.5, 0x1p-2, 0x1p-6, 2, 30, 0x7f, true},
    {"float8_e4m3fnuz", 8, 4, 3, 8, 240, 0x1p-7, 0x1p-10, 0, 1, 0x80, false},
    {"float8_e5m2fnuz", 8, 5, 2, 16, 57344, 0x1p-15, 0x1p-17, 0, 1, 0x80, false},
    {"float8_e4m3b11fnuz", 8, 4, 3, 11, 30, 0x1p-10, 0x1p-13, 0, 1, 0x80, false},
    {"float8_e8m0fnu", 8, 8, 0, 127, 0x1p127, 0x1p-127, 0x1p-127, 0, 1, 0xff, false},
    {"binary8p1se", 8, 7, 0, 64, 0x1p62, 0x1p-63, 0x1p-63, 2, 1, 0x80, false},
    {"binary8p1ue", 8, 8, 0, 128, 0x1p125, 0x1p-127, 0x1p-127, 1, 1, 0xff, false},
    {"binary8p3se", 8, 5, 2, 16, 49152, 0x1p-15, 0x1p-17, 2, 1, 0x80, false},
    {"binary8p3ue", 8, 6, 2, 32, 0x1.4p31, 0x1p-31, 0x1p-33, 1, 1, 0xff, false},
    {"binary8p3uf", 8, 6, 2, 32, 0x1.8p31, 0x1p-31, 0x1p-33, 0, 1, 0xff, false},
    {"binary8p4se", 8, 4, 3, 8, 224, 0x1p-7, 0x1p-10, 2, 1, 0x80, false},
    {"binary8p4ue", 8, 5, 3, 16, 53248, 0x1p-15, 0x1p-18, 1, 1, 0xff, false},
    {"binary8p4uf", 8, 5, 3, 16, 57344, 0x1p-15, 0x1p-18, 0, 1, 0xff, false},
    {"binary8p7sf", 8, 1, 6, 1, 0x1.fcp0, 1, 0x1p-6, 0, 1, 0x80, false},
    {"binary8p8uf", 8, 1, 7, 1, 0x1.fcp0, 1, 0x1p-7, 0, 1, 0xff, false},
    {"float6_e3m2fn", 6, 3, 2, 3, 28, 0x1p-2, 0x1p-4, 0, 0, 0, true},
    {"float6_e2m3fn", 6, 2, 3, 1, 7.5, 1, 0x1p-3, 0, 0, 0, true},
    {"float4_e2m1fn", 4, 2, 1, 1, 6, 1, 0x1p-1, 0, 0, 0, true},
};

TEST_CASE("every catalogue format has the published range, precision and special codes", "[formats]") {
  REQUIRE(table.size() == emu::catalogue.size());
  for (const Facts& facts : table) {
    INFO(facts.name);
    const auto format = emu::parse_format(facts.name);
    REQUIRE(format.has_value());
    CHECK(format->bits() == facts.bits);
    CHECK(format->exponent_bits == facts.exponent_bits);
    CHECK(format->fraction_bits == facts.fraction_bits);
    CHECK(format->precision() == facts.fraction_bits + 1);
    CHECK(format->bias == facts.bias);
    CHECK(emu::max_finite(*format) == facts.max);
    CHECK(emu::min_normal(*format) == facts.min_normal);
    CHECK(emu::min_positive(*format) == facts.min_positive);
    CHECK(std::ldexp(1.0, format->min_exponent()) == facts.min_normal);
    CHECK(format->max_exponent() == std::ilogb(facts.max));
    CHECK(emu::epsilon(*format) == std::ldexp(1.0, -facts.fraction_bits));
    CHECK(format->has_infinity() == (facts.infinities > 0));
    CHECK(format->has_nan() == (facts.nans != 0));
    CHECK(format->has_negative_zero() == facts.negative_zero);
    if (facts.nans != 0) CHECK(format->nan_code() == facts.nan_code);
    if (facts.bits > 19) continue;
    int infinities = 0, nans = 0;
    for (emu::Code code = 0; code <= format->code_mask(); ++code) {
      infinities += std::isinf(emu::decode(*format, code));
      nans += std::isnan(emu::decode(*format, code));
      CHECK(format->is_nan(code) == std::isnan(emu::decode(*format, code)));
      CHECK(format->is_infinite(code) == std::isinf(emu::decode(*format, code)));
      CHECK(format->is_zero(code) == (emu::decode(*format, code) == 0));
    }
    CHECK(infinities == facts.infinities);
    CHECK(nans == facts.nans);
  }
}

TEST_CASE("the numbers of the small formats are those of the OCP tables", "[formats]") {
  const auto numbers = [](emu::Format format) {
    std::vector<double> out;
    for (emu::Code code = 0; code <= format.magnitude_mask(); ++code) out.push_back(emu::decode(format, code));
    return out;
  };
  CHECK(numbers(emu::e2m1) == std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6});
  CHECK(numbers(emu::e2m3) == std::vector<double>{0,     0.125, 0.25,  0.375, 0.5,   0.625, 0.75, 0.875, 1,    1.125, 1.25,
                                                  1.375, 1.5,   1.625, 1.75,  1.875, 2,     2.25, 2.5,   2.75, 3,     3.25,
                                                  3.5,   3.75,  4,     4.5,   5,     5.5,   6,    6.5,   7,    7.5});
  CHECK(numbers(emu::e3m2) == std::vector<double>{0,     0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75,
                                                  0.875, 1,      1.25,  1.5,    1.75, 2,      2.5,   3,      3.5, 4,     5,
                                                  6,     7,      8,     10,     12,   14,     16,    20,     24,  28});
  for (emu::Code code = 0; code < 255; ++code)
    CHECK(emu::decode(emu::e8m0, code) == std::ldexp(1.0, static_cast<int>(code) - 127));
}

TEST_CASE("float32 and float64 codes are the processor's own", "[formats]") {
  for (const float x : {0.0f, -0.0f, 1.0f, -3.14f, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(),
                        std::numeric_limits<float>::min(), -std::numeric_limits<float>::infinity()}) {
    const double value = emu::decode(emu::fp32, std::bit_cast<std::uint32_t>(x));
    CHECK(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(static_cast<double>(x)));
  }
  for (const double x : {0.0, -0.0, 1.0, -3.14, std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::min(), -std::numeric_limits<double>::infinity()}) {
    const auto code = std::bit_cast<std::uint64_t>(x);
    CHECK(std::bit_cast<std::uint64_t>(emu::decode(emu::fp64, code)) == code);
  }
}

TEST_CASE("classes of codes: signaling NaN, subnormal, negative", "[formats]") {
  CHECK(emu::fp16.is_signaling_nan(0x7c01));
  CHECK_FALSE(emu::fp16.is_signaling_nan(0x7e00));
  CHECK_FALSE(emu::fp16.is_signaling_nan(0x7c00));
  CHECK(emu::e5m2.is_signaling_nan(0x7d));
  CHECK_FALSE(emu::e5m2.is_signaling_nan(0x7e));
  CHECK_FALSE(emu::e4m3.is_signaling_nan(0x7f));
  CHECK(emu::fp16.is_subnormal(0x03ff));
  CHECK(emu::fp16.is_subnormal(0x8001));
  CHECK_FALSE(emu::fp16.is_subnormal(0x0400));
  CHECK_FALSE(emu::e8m0.is_subnormal(0));
  CHECK(emu::fp16.is_negative(0x8000));
  CHECK_FALSE(emu::e8m0.is_negative(0xff));
}

TEST_CASE("the spacing at x is that of its binade, at least that of the subnormals", "[formats]") {
  CHECK(emu::spacing_exponent(emu::fp16, 1.0) == -10);
  CHECK(emu::spacing_exponent(emu::fp16, -2048.0) == 1);
  CHECK(emu::spacing_exponent(emu::fp16, 0x1p-20) == -24);
  CHECK(emu::spacing_exponent(emu::fp16, 0.0) == -24);
  CHECK(emu::spacing_exponent(emu::e4m3, 448.0) == 5);
  CHECK(emu::spacing_exponent(emu::e4m3, 1e300) > 900);
  CHECK(emu::spacing_exponent(emu::fp64, 0x1p-1074) == -1074);
  CHECK(emu::spacing_exponent(emu::e8m0, 0x1p-130) == -127);
}

}  // namespace
