// SPDX-License-Identifier: Apache-2.0
// Generated operands have what they promise.
#include "verify/generate/generate.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tests/verify/generate_exact.hpp"

namespace {

using namespace ulpscope;
using verify::CaseRequest;
using verify::MatmulCase;

struct Formats {
  emu::Format in, out;
};

const std::vector<Formats> all_formats{
    {emu::float16, emu::float16},     {emu::bfloat16, emu::bfloat16},         {emu::float8_e4m3fn, emu::bfloat16},
    {emu::float8_e5m2, emu::float16}, {emu::float8_e5m2, emu::float8_e4m3fn}, {emu::tf32, emu::float32},
    {emu::float32, emu::float32},     {emu::float32, emu::bfloat16},          {emu::float8_e4m3fn, emu::float8_e4m3fn}};

CaseRequest request_of(const Formats& formats, std::size_t m, std::size_t n, std::size_t k) {
  return {.m = m, .n = n, .k = k, .a = formats.in, .b = formats.in, .out = formats.out};
}

std::string words(const Formats& formats) { return emu::format_name(formats.in) + " " + emu::format_name(formats.out); }

MatmulCase made(std::string_view kind, const CaseRequest& request) {
  return verify::generate_case(verify::find_case_kind(kind), request);
}

/// The message with which a request is refused; empty where it is not.
std::string refusal(std::string_view kind, const CaseRequest& request) {
  try {
    made(kind, request);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

bool has(const MatmulCase& x, std::string_view fact) {
  return std::any_of(x.facts.begin(), x.facts.end(), [&](const verify::CaseFact& f) { return f.name == fact; });
}

/// A sum in float32 in some order, one rounding each.
float summed(const CaseRequest& r, const MatmulCase& x, std::size_t i, std::size_t j, const std::vector<std::size_t>& order) {
  float sum = 0;
  for (const std::size_t k : order)
    sum = static_cast<float>(static_cast<double>(sum) +
                             static_cast<double>(verify::a_at(r, x, i, k)) * static_cast<double>(verify::b_at(r, x, k, j)));
  return sum;
}

}  // namespace

TEST_CASE("what is expected is the exact product, rounded once", "[verify][generate]") {
  for (const verify::CaseKind& kind : verify::case_kinds()) {
    if (kind.name == "one_nan") continue;
    std::size_t judged = 0;
    for (const Formats& formats : all_formats) {
      for (const std::size_t k : {7U, 67U}) {
        CaseRequest request = request_of(formats, 6, 5, k);
        request.condition = 100;
        if (!refusal(kind.name, request).empty()) continue;
        const MatmulCase x = made(kind.name, request);
        ++judged;
        for (std::size_t i = 0; i < request.m; ++i)
          for (std::size_t j = 0; j < request.n; ++j) {
            CAPTURE(kind.name, words(formats), k, i, j);
            const double right = verify::rounded(request.out, verify::dot(request, x, i, j));
            const auto got = static_cast<double>(x.expected[i * request.n + j]);
            REQUIRE((got == right || (std::isnan(got) && std::isnan(right))));
          }
      }
    }
    CAPTURE(kind.name);
    CHECK(judged >= 2);
  }
}

TEST_CASE("cases said to be exact in any order are, in four orders of float32 additions", "[verify][generate]") {
  for (const verify::CaseKind& kind : verify::case_kinds()) {
    if (kind.name == "one_nan" || kind.name == "signed_zero") continue;
    for (const Formats& formats : all_formats) {
      const CaseRequest request = request_of(formats, 16, 5, 19);
      if (!refusal(kind.name, request).empty()) continue;
      const MatmulCase x = made(kind.name, request);
      if (!x.any_order_is_exact) continue;
      std::vector<std::size_t> ascending(request.k), descending(request.k), strided(request.k), other(request.k);
      for (std::size_t k = 0; k < request.k; ++k) {
        ascending[k] = k, descending[k] = request.k - 1 - k, strided[k] = k * 7 % request.k, other[k] = k * 11 % request.k;
      }
      for (std::size_t i = 0; i < request.m; ++i)
        for (std::size_t j = 0; j < request.n; ++j)
          for (const auto* order : {&ascending, &descending, &strided, &other}) {
            CAPTURE(kind.name, words(formats), i, j);
            REQUIRE((verify::units(summed(request, x, i, j, *order), verify::unit_log2) == verify::dot(request, x, i, j)));
          }
    }
  }
}

TEST_CASE("ties are ties, and the others as near to one as is said", "[verify][generate]") {
  for (const Formats& formats : all_formats) {
    for (const std::size_t k : {1U, 2U, 5U, 13U, 64U, 257U}) {
      const CaseRequest request = request_of(formats, 7, 9, k);
      if (!refusal("ties", request).empty()) continue;
      const MatmulCase x = made("ties", request);
      const bool beside = has(x, "beside_log2");
      const auto tie_bits = static_cast<std::size_t>(request.out.precision()) + 1;
      for (std::size_t i = 0; i < request.m; ++i)
        for (std::size_t j = 0; j < request.n; ++j) {
          CAPTURE(words(formats), k, i, j);
          const mpz_class exact = abs(verify::dot(request, x, i, j));
          if (!beside || j % 3 == 0) {
            REQUIRE(verify::significant_bits(exact) == tie_bits);
            continue;
          }
          const mpz_class step = mpz_class(1) << mpz_scan1(exact.get_mpz_t(), 0);
          const bool below = j % 3 == 1;
          REQUIRE(verify::significant_bits(below ? mpz_class(exact + step) : mpz_class(exact - step)) == tie_bits);
        }
    }
  }
  // What the common formats take: one product where operands are as wide as the output, few where they are narrower.
  CHECK(refusal("ties", request_of({emu::float16, emu::float16}, 3, 3, 1)).empty());
  CHECK(refusal("ties", request_of({emu::bfloat16, emu::bfloat16}, 3, 3, 1)).empty());
  CHECK(refusal("ties", request_of({emu::float8_e4m3fn, emu::bfloat16}, 3, 3, 4)).empty());
  CHECK(refusal("ties", request_of({emu::float4_e2m1fn, emu::bfloat16}, 3, 3, 64)).empty());
  CHECK(has(made("ties", request_of({emu::float16, emu::float16}, 3, 3, 4)), "beside_log2"));
}

TEST_CASE("condition numbers are within a factor of 8 of what was asked for", "[verify][generate]") {
  struct Asked {
    emu::Format in;
    double condition;
    std::size_t k;
  };
  for (const Asked& asked : {Asked{emu::float16, 1e6, 101},
                             {emu::bfloat16, 1e12, 64},
                             {emu::float8_e4m3fn, 1e4, 65},
                             {emu::float8_e5m2, 1e5, 33},
                             {emu::tf32, 1e10, 30},
                             {emu::float32, 1e16, 40}}) {
    CaseRequest request = request_of({asked.in, emu::float32}, 3, 4, asked.k);
    request.condition = asked.condition;
    const MatmulCase x = made("cancellation", request);
    for (std::size_t i = 0; i < request.m; ++i)
      for (std::size_t j = 0; j < request.n; ++j) {
        mpz_class magnitudes = 0;
        for (std::size_t k = 0; k < request.k; ++k)
          magnitudes += abs(verify::product(verify::a_at(request, x, i, k), verify::b_at(request, x, k, j)));
        const mpq_class condition(2 * magnitudes, abs(verify::dot(request, x, i, j)));
        CAPTURE(emu::format_name(asked.in), i, j, condition.get_d());
        CHECK(condition.get_d() <= 8 * asked.condition);
        CHECK(condition.get_d() >= asked.condition / 8);
      }
  }
}

TEST_CASE("thresholds of the output format are among the exact outputs", "[verify][generate]") {
  for (const Formats& formats : {Formats{emu::float16, emu::float16},
                                 {emu::bfloat16, emu::bfloat16},
                                 {emu::bfloat16, emu::float16},
                                 {emu::float8_e5m2, emu::float8_e4m3fn},
                                 {emu::float32, emu::float32}}) {
    CaseRequest request = request_of(formats, 40, 2, 64);
    const MatmulCase x = made("thresholds", request);
    std::set<std::string> exact;
    for (std::size_t i = 0; i < request.m; ++i) exact.insert(mpz_class(abs(verify::dot(request, x, i, 0))).get_str());
    const oracle::Format f = verify::oracle_format(formats.out);
    const std::uint64_t last = oracle::max_finite_code(f);
    const auto value = [&](std::uint64_t code) {
      return mpz_class(verify::units(static_cast<float>(oracle::value_of(f, code)), verify::unit_log2));
    };
    const mpz_class gap = value(last) - value(last - 1), least = value(1), normal = value(std::uint64_t{1} << f.fraction_bits);
    CAPTURE(words(formats));
    CHECK(exact.contains(value(last).get_str()));
    CHECK(exact.contains(mpz_class(value(last) + gap / 2).get_str()));
    CHECK(exact.contains(mpz_class(value(last) + gap / 2 - gap / 8).get_str()));
    CHECK(exact.contains(mpz_class(least / 2).get_str()));
    CHECK(exact.contains(mpz_class(least / 2 + least / 8).get_str()));
    CHECK(exact.contains(mpz_class(least + least / 2).get_str()));
    CHECK(exact.contains(normal.get_str()));
    CHECK(exact.contains(mpz_class(normal - least / 2).get_str()));
  }
}

TEST_CASE("a seed makes one case, another seed another", "[verify][generate]") {
  for (const char* kind : {"ties", "cancellation", "outliers", "zero_blocks", "subnormals", "large_k_bias", "one_nan"}) {
    CaseRequest request = request_of({emu::float16, emu::float16}, 9, 8, 40);
    const MatmulCase first = made(kind, request), again = made(kind, request);
    request.seed = 1;
    const MatmulCase other = made(kind, request);
    const auto words_of = [](const std::vector<float>& values) {
      return std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
    };
    CAPTURE(kind);
    CHECK(words_of(first.a) + words_of(first.b) == words_of(again.a) + words_of(again.b));
    CHECK(words_of(first.a) + words_of(first.b) != words_of(other.a) + words_of(other.b));
  }
}

TEST_CASE("what cannot be made is refused in one line that says what could", "[verify][generate]") {
  using Catch::Matchers::ContainsSubstring;
  const Formats halves{emu::float16, emu::float16};
  CHECK_THAT(refusal("ties", request_of({emu::float8_e4m3fn, emu::bfloat16}, 3, 3, 1)),
             ContainsSubstring("--k 1 is too small"));
  CHECK_THAT(refusal("order", request_of(halves, 3, 3, 3)), ContainsSubstring("give 4 or more"));
  CHECK_THAT(refusal("order", request_of({emu::float4_e2m1fn, emu::bfloat16}, 3, 3, 64)), ContainsSubstring("greater range"));
  CHECK_THAT(refusal("overflow_partial", request_of(halves, 3, 3, 64)), ContainsSubstring("--acc float16"));
  CHECK_THAT(refusal("tiny_amax", request_of(halves, 3, 3, 64)), ContainsSubstring("--in bfloat16"));
  CHECK_THAT(refusal("one_nan", request_of({emu::float4_e2m1fn, emu::bfloat16}, 3, 3, 64)), ContainsSubstring("has no NaN"));
  CHECK_THAT(refusal("signed_zero", request_of({emu::float8_e4m3fnuz, emu::bfloat16}, 3, 3, 64)),
             ContainsSubstring("has no -0"));
  CHECK_THAT(refusal("subnormals", request_of({{5, 0, 15, emu::Specials::fn}, emu::bfloat16}, 3, 3, 64)),
             ContainsSubstring("no subnormal"));
  CHECK_THAT(refusal("ties", request_of({emu::float8_e8m0fnu, emu::bfloat16}, 3, 3, 64)), ContainsSubstring("float8_e8m0fnu"));
  CHECK_THAT(refusal("ties", request_of({emu::float64, emu::bfloat16}, 3, 3, 64)), ContainsSubstring("float64"));
  CHECK_THAT(refusal("ties", request_of(halves, 0, 3, 64)), ContainsSubstring("1 or more"));
  CaseRequest hard = request_of({emu::float4_e2m1fn, emu::bfloat16}, 3, 3, 64);
  hard.condition = 1e6;
  hard.condition = 1e6;
  CHECK_THAT(refusal("cancellation", hard), ContainsSubstring("do not reach condition about 1e6"));
  hard.condition = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(refusal("cancellation", hard), ContainsSubstring("from 8"));
  CHECK_THAT(refusal("tise", request_of(halves, 3, 3, 3)), ContainsSubstring("nearest: ties"));
}
