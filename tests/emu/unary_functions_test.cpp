// SPDX-License-Identifier: Apache-2.0
// Functions of spans against the function of each code, and their quick values on float32 against the C library's long double.
#include "emu/unary_functions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"

namespace {

using namespace ulpscope;
using emu::UnaryFunction;
using laws::How;

template <class Word>
std::vector<Word> applied(const UnaryFunction& function, emu::Format format, const std::vector<Word>& codes, const How& how) {
  std::vector<Word> out(codes.size());
  const std::span<Word> outs(out);
  emu::apply(function, format, std::span<const Word>(codes), std::span(&how.options, 1), std::span(&outs, 1));
  return out;
}

/// Compares the codes from `first` on, `step` apart.
void require_each(emu::Format format, const How& how, std::uint64_t first = 0, std::uint64_t step = 1) {
  laws::with_word(format, 0, [&]<class Word>(Word) {
    std::vector<Word> codes;
    for (std::uint64_t i = 0; i <= (format.code_mask() - first) / step; ++i)
      codes.push_back(static_cast<Word>(first + i * step));
    for (const UnaryFunction& function : emu::unary_functions()) {
      const std::vector<Word> out = applied(function, format, codes, how);
      std::size_t i = 0;
      while (i < codes.size() && out[i] == function.rounded(format, codes[i], how.options, 0).code) ++i;
      if (i == codes.size()) continue;
      INFO(function.name << " of " << emu::format_name(format) << " code " << +codes[i] << ' '
                         << emu::name_of(how.options.rounding));
      CHECK(out[i] == function.rounded(format, codes[i], how.options, 0).code);
    }
  });
}

/// The functions once more: of 64 bits of precision, which are off by some of the last.
std::optional<long double> in_long_double(std::string_view name, float argument) {
  const long double x = argument, root_half = std::sqrt(0.5L), pi = 4 * std::atan(1.0L);
  if (name == "exp") return std::exp(x);
  if (name == "exp2") return std::exp2(x);
  if (name == "exp10") return std::pow(10.0L, x);
  if (name == "expm1") return std::expm1(x);
  if (name == "log") return std::log(x);
  if (name == "log2") return std::log2(x);
  if (name == "log10") return std::log10(x);
  if (name == "log1p") return std::log1p(x);
  if (name == "sin") return std::sin(x);
  if (name == "cos") return std::cos(x);
  if (name == "tan") return std::tan(x);
  if (name == "sinh") return std::sinh(x);
  if (name == "cosh") return std::cosh(x);
  if (name == "tanh") return std::tanh(x);
  const long double rest = x - std::nearbyint(x);  // of half turns; odd whole numbers before it change the sign
  const bool is_odd = std::nearbyint(x) / 2 != std::nearbyint(std::nearbyint(x) / 2);
  const long double sine = (is_odd ? -1 : 1) * std::sin(pi * rest),
                    cosine = (is_odd ? -1 : 1) * std::sin(pi * (0.5L - std::fabs(rest)));
  if (name == "sinpi") return sine;
  if (name == "cospi") return cosine;
  if (name == "tanpi" && cosine != 0) return sine / cosine;
  if (name == "asin") return std::asin(x);
  if (name == "acos") return std::acos(x);
  if (name == "atan") return std::atan(x);
  if (name == "asinh") return std::asinh(x);
  if (name == "acosh") return std::acosh(x);
  if (name == "atanh") return std::atanh(x);
  if (name == "erfc") return std::erfc(x);
  if (name == "erf") return std::erf(x);
  if (name == "sqrt") return std::sqrt(x);
  if (name == "cbrt") return std::cbrt(x);
  if (name == "rcp") return 1 / x;
  if (name == "rsqrt") return 1 / std::sqrt(x);
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "softplus") return std::fmax(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
  if (std::isinf(x)) return std::nullopt;  // gates, of which the limit is asked
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "gelu") return x * std::erfc(-x * root_half) / 2;
  if (name == "gelu_tanh") return x / (1 + std::exp(-2 * std::sqrt(2 / pi) * (x + 0.044715L * x * x * x)));
  return std::nullopt;
}

/// Patterns of float32 whose quick value is beyond its bound, and whose result is another number than that of long double where
/// the latter leaves no doubt.
struct Wrong {
  std::uint64_t value = 0, result = 0;
  std::uint32_t example = 0;
};
Wrong compare_floats(const UnaryFunction& function, std::uint64_t first, std::uint64_t end, std::uint64_t step) {
  constexpr std::size_t at_once = 4096;
  Wrong out;
  std::vector<std::uint32_t> codes;
  for (std::uint64_t begin = first; begin < end; begin += at_once * step) {
    codes.clear();
    for (std::uint64_t code = begin; code < end && codes.size() < at_once; code += step)
      codes.push_back(static_cast<std::uint32_t>(code));
    const std::vector<std::uint32_t> results = applied(function, emu::float32, codes, {});
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float x = std::bit_cast<float>(codes[i]), y = std::bit_cast<float>(results[i]);
      const std::optional<long double> exact = in_long_double(function.name, x);
      if (!exact) continue;
      const long double precise = *exact, some = std::fabs(precise) * 0x1p-60L;
      const double quick = function.quick(x);
      bool value_is_wrong = std::isnan(precise) != std::isnan(quick), result_is_wrong = std::isnan(precise) != std::isnan(y);
      if (std::isfinite(precise) && std::isfinite(quick)) {
        const long double radius = std::fabs(precise) * 0x1p-50L + 4 * std::numeric_limits<double>::denorm_min();
        value_is_wrong = std::fabs(precise - quick) > radius + some;
      }
      const auto low = static_cast<float>(precise - some), high = static_cast<float>(precise + some);
      if (low == high) result_is_wrong = y != low;
      if (value_is_wrong || result_is_wrong) out.example = codes[i];
      out.value += value_is_wrong ? 1 : 0;
      out.result += result_is_wrong ? 1 : 0;
    }
  }
  return out;
}

void require_floats(const UnaryFunction& function, std::uint64_t step) {
  constexpr std::uint64_t patterns = std::uint64_t{1} << 32;
  if (function.quick == nullptr) return;
  std::array<Wrong, 2> wrong;
  std::thread other([&] { wrong[1] = compare_floats(function, patterns / 2, patterns, step); });
  wrong[0] = compare_floats(function, 0, patterns / 2, step);
  other.join();
  for (const Wrong& half : wrong) {
    INFO(function.name << " of pattern " << std::hex << half.example);
    CHECK(half.value == 0);
    CHECK(half.result == 0);
  }
}

}  // namespace

TEST_CASE("functions of spans are those of each code of a few bits, in every way", "[emu]") {
  for (const emu::NamedFormat& named : emu::catalogue)
    if (named.format.bits() <= 6 || named.format == emu::float8_e4m3fn || named.format == emu::float8_e8m0fnu ||
        named.format == emu::binary8p3ue || named.format == emu::float8_e5m2fnuz)
      for (const How& how : laws::every_way()) require_each(named.format, how);
  // Numbers up to where floats end, without infinity; 1 beyond the largest number, or subnormal; integers.
  for (const char* word : {"e8m0fn", "e8m0b127uf", "e4m3b127", "e4m3b60", "e4m3b127fn", "e2m5b0"})
    for (const How& how : laws::every_way()) require_each(emu::parse_format(word).value(), how);
  for (const How& how : laws::every_way()) require_each(emu::integer(5), how);
}

TEST_CASE("functions of spans are those of each code of 16 bits", "[emu][long]") {
  require_each(emu::float16, {});
  require_each(emu::bfloat16, {.options = {.rounding = emu::Rounding::toward_zero}, .random = {}});
}

TEST_CASE("functions of spans are those of each code of 16 bits, in every way", "[emu][exhaustive]") {
  for (const How& how : laws::every_plain_way()) {
    require_each(emu::float16, how);
    require_each(emu::bfloat16, how);
  }
}

TEST_CASE("functions of spans of wider formats are those of each code", "[emu]") {
  constexpr std::uint64_t apart = 0x10101, far_apart = 0x4010101010101;
  for (const How& how : laws::every_plain_way()) require_each(emu::float32, how, 3, 1601 * apart);
  require_each(emu::float32, {}, 1, 13 * apart);
  require_each(emu::float64, {}, 1, 31 * far_apart);
}

TEST_CASE("functions of a spread of floats are those of long double", "[emu]") {
  for (const UnaryFunction& function : emu::unary_functions()) require_floats(function, 196563);  // three times a prime
}

TEST_CASE("functions of every float are those of long double", "[emu][exhaustive]") {
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
  for (const UnaryFunction& function : emu::unary_functions()) DYNAMIC_SECTION(function.name) {
      require_floats(function, 1);
    }
#else
  SKIP("only in optimised builds");
#endif
}
