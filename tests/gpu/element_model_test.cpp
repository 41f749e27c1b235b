// SPDX-License-Identifier: Apache-2.0
// Element operations against MPFR, which shares no code, and against this processor's floats and doubles.
#include "gpu/element_model.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cfenv>
#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "emu/catalogue.hpp"
#include "gpu/adversarial.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using gpu::ElementKind, gpu::ElementModel, gpu::element_result, gpu::test_operands, gpu::TestOperands;

constexpr std::uint64_t seed = 20241115;

std::string words(const ElementModel& model, const TestOperands& x, Code wanted, Code got) {
  std::ostringstream out;
  out << std::hex << "kind " << static_cast<int>(model.kind) << " rounding " << static_cast<int>(model.options.rounding)
      << " operands " << x.a << ' ' << x.b << ' ' << x.c << " oracle " << wanted << " model " << got;
  return out.str();
}

/// The exact value in MPFR, for operands that are no NaNs; NaN where the operation is invalid. 4400 bits hold a product of any
/// two doubles and a third one.
void exact(oracle::Number& out, const ElementModel& model, const TestOperands& x) {
  oracle::Number a(64), b(64), c(64), product(128);
  const auto from = laws::oracle_format(model.from);
  const mpfr_rnd_t direction = model.options.rounding == emu::Rounding::downward ? MPFR_RNDD : MPFR_RNDN;
  oracle::set_value(a, from, x.a);
  if (gpu::numbers_of(model.kind) > 1) oracle::set_value(b, from, x.b);
  switch (model.kind) {
    case ElementKind::convert:
    case ElementKind::convert_randomly: mpfr_set(out, a, direction); break;
    case ElementKind::add: mpfr_add(out, a, b, direction); break;
    case ElementKind::subtract: mpfr_sub(out, a, b, direction); break;
    case ElementKind::multiply: mpfr_mul(out, a, b, direction); break;
    case ElementKind::fma:
      oracle::set_value(c, laws::oracle_format(model.to), x.c);
      mpfr_mul(product, a, b, direction);
      mpfr_add(out, product, c, direction);
      break;
  }
}

Code flushed(emu::Format format, Code code) {
  const Code magnitude = code & format.magnitude_mask();
  const bool subnormal = format.has_zero() && magnitude < format.min_normal_code();
  return subnormal ? code & format.sign_mask() : code;
}

Code by_oracle(const ElementModel& model, TestOperands x) {
  const auto from = laws::oracle_format(model.from), to = laws::oracle_format(model.to);
  const int operands = gpu::operands_of(model.kind);
  const bool nan =
      oracle::is_nan(from, x.a) || (operands > 1 && oracle::is_nan(from, x.b)) || (operands > 2 && oracle::is_nan(to, x.c));
  if (nan) return model.nan_code;
  if (model.options.subnormals_are_zero) {
    x.a = flushed(model.from, x.a);
    x.b = flushed(model.from, x.b);
    x.c = flushed(model.to, x.c);
  }
  oracle::Number value(4400);
  exact(value, model, x);
  if (mpfr_nan_p(static_cast<mpfr_srcptr>(value)) != 0) return model.nan_code;
  const oracle::Options options{.saturating = model.options.policy == emu::Policy::saturating,
                                .flush_subnormals = model.options.flush_subnormals};
  const Code code = oracle::round(to, static_cast<mpfr_srcptr>(value), laws::oracle_mode(model.options.rounding), options).code;
  if (oracle::is_nan(to, code)) return model.nan_code;
  return model.relu && (code & model.to.sign_mask()) != 0 ? 0 : code;
}

void check_against_oracle(const ElementModel& model, std::uint64_t count) {
  std::uint64_t mismatches = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const TestOperands x = test_operands(model, seed, i);
    const Code wanted = by_oracle(model, x), got = element_result(model, x.a, x.b, x.c);
    if (wanted != got && ++mismatches == 1) UNSCOPED_INFO(words(model, x, wanted, got));
  }

  CHECK(mismatches == 0);
}

std::vector<ElementModel> variants(ElementKind kind, emu::Format from, emu::Format to) {
  std::vector<ElementModel> models;
  for (const emu::RoundingOptions& options : laws::every_option()) {
    if (options.tininess == emu::Tininess::before_rounding) continue;
    ElementModel model{.kind = kind, .from = from, .to = to, .options = options};
    models.push_back(model);
    model.relu = true;
    models.push_back(model);
  }
  return models;
}

/// What the processor makes of two or three numbers.
template <class Float>
Float by_processor(ElementKind kind, Float a, Float b, Float c) {
  const volatile Float x = a, y = b, z = c;
  switch (kind) {
    case ElementKind::add: return x + y;
    case ElementKind::subtract: return x - y;
    case ElementKind::multiply: return x * y;
    default: return std::fma(x, y, z);
  }
}

}  // namespace

TEST_CASE("conversions of every code of 16 bits or fewer are MPFR's, of some codes in other directions") {
  const emu::Format formats[] = {emu::float16, emu::bfloat16, emu::e4m3, emu::e5m2, emu::e3m2, emu::e2m1, emu::e8m0};
  for (const emu::Format from : formats)
    for (const emu::Format to : formats)
      for (const ElementModel& model : variants(ElementKind::convert, from, to)) {
        const bool plain = model.options == emu::RoundingOptions{} && !model.relu;
        const Code step = plain || from.bits() <= 8 ? 1 : 61;
        std::uint64_t mismatches = 0;
        for (Code a = 0; a <= from.code_mask(); a += step) {
          const Code wanted = by_oracle(model, {a, 0, 0}), got = element_result(model, a, 0, 0);
          if (wanted != got && ++mismatches == 1) UNSCOPED_INFO(words(model, {a, 0, 0}, wanted, got));
        }
        CHECK(mismatches == 0);
      }
}

TEST_CASE("conversions from float32, tf32 and float64 are MPFR's") {
  for (const emu::Format from : {emu::float32, emu::tf32, emu::float64})
    for (const emu::Format to :
         {emu::float64, emu::float32, emu::tf32, emu::float16, emu::bfloat16, emu::e4m3, emu::e5m2, emu::e2m1, emu::e8m0})
      for (const ElementModel& model : variants(ElementKind::convert, from, to)) check_against_oracle(model, 400);
}

TEST_CASE("arithmetic is MPFR's, the result in the operands' format or another one") {
  struct Pair {
    emu::Format from, to;
  };
  const Pair pairs[] = {{emu::float16, emu::float16},  {emu::bfloat16, emu::bfloat16}, {emu::float32, emu::float32},
                        {emu::float64, emu::float64},  {emu::float16, emu::float32},   {emu::bfloat16, emu::float32},
                        {emu::float32, emu::float16},  {emu::float64, emu::float32},   {emu::e4m3, emu::e4m3},
                        {emu::float16, emu::bfloat16}, {emu::float32, emu::float64}};
  for (const auto& [from, to] : pairs)
    for (const ElementKind kind : {ElementKind::add, ElementKind::subtract, ElementKind::multiply, ElementKind::fma})
      for (const ElementModel& model : variants(kind, from, to)) check_against_oracle(model, 300);
}

TEMPLATE_TEST_CASE("arithmetic is the processor's", "", float, double) {
  using Word = std::conditional_t<sizeof(TestType) == 4, std::uint32_t, std::uint64_t>;
  const emu::Format format = sizeof(TestType) == 4 ? emu::float32 : emu::float64;
  const std::pair<int, emu::Rounding> directions[] = {{FE_TONEAREST, emu::Rounding::nearest_even},
                                                      {FE_TOWARDZERO, emu::Rounding::toward_zero},
                                                      {FE_UPWARD, emu::Rounding::upward},
                                                      {FE_DOWNWARD, emu::Rounding::downward}};
  for (const auto& [direction, rounding] : directions)
    for (const ElementKind kind : {ElementKind::add, ElementKind::subtract, ElementKind::multiply, ElementKind::fma}) {
      const ElementModel model{.kind = kind, .from = format, .to = format, .options = {.rounding = rounding}};
      std::uint64_t mismatches = 0;
      for (std::uint64_t i = 0; i < 100000; ++i) {
        const TestOperands x = test_operands(model, seed, i);
        const auto number = [](Code code) { return std::bit_cast<TestType>(static_cast<Word>(code)); };
        std::fesetround(direction);
        const TestType result = by_processor(kind, number(x.a), number(x.b), number(x.c));
        std::fesetround(FE_TONEAREST);
        const Code wanted = std::isnan(result) ? model.nan_code : Code{std::bit_cast<Word>(result)};
        const Code got = element_result(model, x.a, x.b, x.c);
        if (wanted != got && ++mismatches == 1) UNSCOPED_INFO(words(model, x, wanted, got));
      }
      CHECK(mismatches == 0);
    }
}

TEST_CASE("NaNs of operands survive where the device lets them, the first one before the others") {
  ElementModel model{.kind = ElementKind::fma, .from = emu::float32, .to = emu::float32};
  model.nan_result = emu::NanResult::operand;
  model.nan_code = 0xffc00000;

  CHECK(element_result(model, 0xff812345, 0x7fc00002, 0x7fc00003) == 0xffc12345);
  CHECK(element_result(model, 0, 0x7fc00002, 0x7fc00003) == 0x7fc00002);
  CHECK(element_result(model, 0, 0x7f800000, 0x7fc00003) == 0x7fc00003);
  CHECK(element_result(model, 0, 0x7f800000, 0) == 0xffc00000);
  model.kind = ElementKind::convert;
  model.to = emu::float16;
  CHECK(element_result(model, 0xff812345, 0, 0) == 0xfe09);
  model.nan_result = emu::NanResult::canonical;
  model.nan_code = 0x7fff;
  CHECK(element_result(model, 0xff812345, 0, 0) == 0x7fff);
}

// What an H200 answered: tests/recordings/h200.recording.
TEST_CASE("NaNs of operands survive as in float64 on NVIDIA's GPUs: those of b, of the addend, of a") {
  ElementModel model{.kind = ElementKind::fma, .from = emu::float64, .to = emu::float64};
  model.nan_result = emu::NanResult::second_operand;
  model.nan_code = 0xfff8000000000000;
  constexpr Code quiet = 0x7ff8000000000001, other = 0xfff8000000000002, third = 0x7ff8000000000003;
  constexpr Code signaling = 0xfff0123400000000;

  CHECK(element_result(model, quiet, other, third) == other);
  CHECK(element_result(model, quiet, 0, third) == third);
  CHECK(element_result(model, signaling, 0, third) == third);
  CHECK(element_result(model, signaling, 0, 0) == 0xfff8123400000000);
  CHECK(element_result(model, quiet, signaling, third) == 0xfff8123400000000);
  CHECK(element_result(model, 0x7ff0000000000000, 0, 0) == 0xfff8000000000000);
  model.kind = ElementKind::add;
  CHECK(element_result(model, quiet, other, 0) == other);
  CHECK(element_result(model, quiet, 0, 0) == quiet);
}

// Arm Architecture Reference Manual, DDI 0487: FPProcessNaNs, FPProcessNaNs3, FPMulAdd.
TEST_CASE("NaNs of operands survive as on Arm: signaling ones first, the addend before the factors") {
  ElementModel model{.kind = ElementKind::fma, .from = emu::float32, .to = emu::float32};
  model.nan_result = emu::NanResult::signaling_operand;
  model.nan_code = 0x7fc00000;
  constexpr Code quiet = 0x7fc00001, other = 0xffc00002, third = 0x7fc00003, signaling = 0xff812345, louder = 0x7f800007;
  constexpr Code infinite = 0x7f800000;

  CHECK(element_result(model, quiet, other, third) == third);
  CHECK(element_result(model, quiet, other, 0) == quiet);
  CHECK(element_result(model, 0, other, 0) == other);
  CHECK(element_result(model, quiet, signaling, third) == 0xffc12345);
  CHECK(element_result(model, louder, signaling, third) == 0x7fc00007);
  CHECK(element_result(model, louder, other, signaling) == 0xffc12345);
  CHECK(element_result(model, infinite, 0, third) == 0x7fc00000);
  CHECK(element_result(model, 0, infinite, third) == 0x7fc00000);
  CHECK(element_result(model, 0, infinite, signaling) == 0xffc12345);
  CHECK(element_result(model, 0, infinite, 0) == 0x7fc00000);
  model.kind = ElementKind::add;
  CHECK(element_result(model, quiet, signaling, 0) == 0xffc12345);
  CHECK(element_result(model, quiet, other, signaling) == quiet);
  model.kind = ElementKind::convert;
  model.to = emu::bfloat16;
  CHECK(element_result(model, louder, 0, 0) == 0x7fc0);
}

TEST_CASE("random bits carry as often as the dropped bits say, the greatest of them first") {
  struct Case {
    emu::Format to;
    gpu::RandomBits random;
    Code number;       ///< float32
    Code below;        ///< the result that is nearer to zero
    std::uint32_t up;  ///< of all random numbers those that lead away from it
  };
  const Case cases[] = {
      {emu::bfloat16, {1, {{15, 0}}}, 0x3f80'4000, 0x3f80, 0x4000},
      {emu::bfloat16, {1, {{31, 16}}}, 0xbf80'c001, 0xbf80, 0xc001},
      {emu::float16, {1, {{12, 0}}}, 0x3f80'0003, 0x3c00, 3},
      {emu::e4m3, {1, {{16, 31}}}, 0x3f80'0000 + (5 << 16), 0x38, 0x4000 + 0x1000},  // 5/16 of the last place
      {emu::e4m3, {1, {{0, 15}}}, 0x3f80'000f, 0x38, 0},                             // below the random bits
      {emu::e2m1, {2, {{8, 15}, {24, 31}}}, 0x3f40'0000, 1, 0x8000},                 // 0.75
      {emu::e2m1, {2, {{23, 16}, {7, 0}}}, 0x3e80'0000, 0, 0x8000},                  // 0.25
  };
  for (const Case& c : cases) {
    CAPTURE(c.to, c.number);
    ElementModel model{.kind = ElementKind::convert_randomly, .from = emu::float32, .to = c.to};
    model.options.rounding = emu::Rounding::stochastic;
    model.random = c.random;
    model.options.random_bits = model.random.count();
    const std::uint32_t all = std::uint32_t{1} << model.random.count();
    std::uint32_t up = 0, wrong = 0;
    for (std::uint32_t number = 0; number < all; ++number) {
      Code word = 0;  // the number put where the model finds it
      int bit = model.random.count();
      for (int i = 0; i < model.random.ranges; ++i) {
        const auto [first, last] = model.random.range[i];
        for (int at = first;; at += first < last ? 1 : -1) {
          word |= Code{number >> --bit & 1} << at;
          if (at == last) break;
        }
      }
      const Code result = element_result(model, c.number, word, 0);
      up += result != c.below ? 1 : 0;
      wrong += (result != c.below) != (number >= all - c.up) || (result != c.below && result != c.below + 1) ? 1 : 0;
    }
    CHECK(up == c.up);
    CHECK(wrong == 0);
  }
}

TEST_CASE("scales without sign are of the magnitude, and formats without NaN have their greatest number") {
  ElementModel scale{.kind = ElementKind::convert, .from = emu::bfloat16, .to = emu::e8m0};
  scale.options.rounding = emu::Rounding::upward;
  scale.ignores_sign = true;

  CHECK(element_result(scale, 0x3f81, 0, 0) == 128);  // a little above 1
  CHECK(element_result(scale, 0xbf81, 0, 0) == 128);
  CHECK(element_result(scale, 0x0000, 0, 0) == 0);
  CHECK(element_result(scale, 0x0040, 0, 0) == 0);  // 2^-127
  CHECK(element_result(scale, 0x0041, 0, 0) == 1);
  CHECK(element_result(scale, 0x7f01, 0, 0) == 0xff);  // above 2^127
  CHECK(element_result(scale, 0xff80, 0, 0) == 0xff);
  scale.options.policy = emu::Policy::saturating;
  CHECK(element_result(scale, 0x7f01, 0, 0) == 0xfe);
  CHECK(element_result(scale, 0xff80, 0, 0) == 0xfe);
  CHECK(element_result(scale, 0xffc0, 0, 0) == 0xff);
}

TEST_CASE("relu takes negative zeros and infinities, and no NaN") {
  const ElementModel model{.kind = ElementKind::convert, .from = emu::float32, .to = emu::e5m2, .relu = true, .nan_code = 0x7f};

  CHECK(element_result(model, 0x80000000, 0, 0) == 0);
  CHECK(element_result(model, 0xff800000, 0, 0) == 0);
  CHECK(element_result(model, 0xffc00000, 0, 0) == 0x7f);
  CHECK(element_result(model, 0x3f800000, 0, 0) == 0x3c);
}
