// SPDX-License-Identifier: Apache-2.0
// What each kind of case provokes, seen from the kernel that it is to catch.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "tests/verify/generate_exact.hpp"
#include "verify/generate/generate.hpp"
#include "verify/generate/generate_engine.hpp"

namespace {

using namespace ulpscope;
using verify::CaseRequest;
using verify::MatmulCase;

MatmulCase made(std::string_view kind, const CaseRequest& request) {
  return verify::generate_case(verify::find_case_kind(kind), request);
}

CaseRequest request_of(emu::Format in, emu::Format out, std::size_t m, std::size_t n, std::size_t k) {
  return {.m = m, .n = n, .k = k, .a = in, .b = in, .out = out};
}

double fact(const MatmulCase& x, std::string_view name) {
  for (const verify::CaseFact& f : x.facts)
    if (f.name == name) return f.value;
  return std::numeric_limits<double>::quiet_NaN();
}

std::span<const float> row_of(const std::vector<float>& d, std::size_t i, std::size_t n) {
  return std::span(d).subspan(i * n, n);
}

}  // namespace

TEST_CASE("alignment data tell the fraction bits of an engine", "[verify][generate]") {
  struct Asked {
    const char* engine;
    emu::Format in;
  };
  for (const Asked& asked : {Asked{"sm_70", emu::float16},
                             {"sm_80", emu::float16},
                             {"sm_80", emu::bfloat16},
                             {"sm_90", emu::float16},
                             {"sm_90", emu::tf32},
                             {"sm_90", emu::float8_e4m3fn},
                             {"sm_100", emu::float8_e5m2}}) {
    for (const std::size_t k : {3U, 61U}) {
      const CaseRequest request = request_of(asked.in, emu::float32, 8, 8, k);
      const MatmulCase x = made("alignment", request);
      const auto outcome = verify::outcome_on(asked.engine, request, x);
      const int bits = emu::find_engine(asked.engine, {asked.in, asked.in}).model.stages[0].fraction_bits;
      const int large = static_cast<int>(fact(x, "large_log2"));
      CAPTURE(asked.engine, k);
      REQUIRE(fact(x, "first_bit") <= bits);
      REQUIRE(fact(x, "last_bit") > bits);
      std::set<int> seen;
      for (std::size_t i = 0; i < outcome.d.size(); ++i) {
        const int bit = large - std::ilogb(x.expected[i]);
        seen.insert(bit);
        CHECK((outcome.d[i] != 0) == (bit <= bits));
      }
      CHECK(seen.contains(bits));
      CHECK(seen.contains(bits + 1));
      CHECK(outcome.differing > 0);
      CHECK(verify::outcome_on("fma", request, x).differing == 0);
    }
  }
}

TEST_CASE("the order of additions shows in the result, and so does a last product left out", "[verify][generate]") {
  for (const emu::Format in : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::tf32, emu::float32}) {
    const CaseRequest request = request_of(in, emu::float32, 4, 3, 65);
    const MatmulCase x = made("order", request);
    const auto chain = verify::outcome_on("fma", request, x).d, pairs = verify::outcome_on("pairwise", request, x).d;
    const double small = std::ldexp(1, static_cast<int>(fact(x, "small_log2")));
    for (std::size_t i = 0; i < request.m; ++i)
      for (std::size_t j = 0; j < request.n; ++j) {
        const std::size_t at = i * request.n + j;
        CAPTURE(i, j);
        CHECK(std::fabs(static_cast<double>(x.expected[at])) == 62 * small);
        if (i == 3) {  // without a large term
          CHECK((chain[at] == x.expected[at] && pairs[at] == x.expected[at]));
          continue;
        }
        if (i % 2 == 0) CHECK(chain[at] == 0);
        CHECK(std::fabs(chain[at]) < std::fabs(x.expected[at]));
        CHECK(chain[at] != pairs[at]);
        const mpz_class without_last =
            verify::dot(request, x, i, j) - verify::product(verify::a_at(request, x, i, 64), verify::b_at(request, x, 64, j));
        CHECK((abs(without_last) > 1000 * abs(verify::dot(request, x, i, j))));
      }
  }
}

TEST_CASE("partial sums leave the accumulator's range, results do not", "[verify][generate]") {
  struct Asked {
    emu::Format in, accumulator;
  };
  for (const Asked& asked : {Asked{emu::float16, emu::float16},
                             {emu::float8_e4m3fn, emu::float16},
                             {emu::float8_e5m2, emu::float16},
                             {emu::bfloat16, emu::float32},
                             {emu::float32, emu::float32}}) {
    for (const std::size_t k : {5U, 8U, 129U}) {
      CaseRequest request = request_of(asked.in, emu::bfloat16, 5, 3, k);
      request.accumulator = asked.accumulator;
      const MatmulCase x = made("overflow_partial", request);
      const mpz_class limit =
          mpz_class(1) << static_cast<mp_bitcnt_t>(asked.accumulator.max_exponent() + 1 - verify::unit_log2);
      for (std::size_t i = 0; i < request.m; ++i)
        for (std::size_t j = 0; j < request.n; ++j) {
          mpz_class sum = 0, greatest = 0;
          for (std::size_t s = 0; s < k; ++s) {
            sum += verify::product(verify::a_at(request, x, i, s), verify::b_at(request, x, s, j));
            greatest = std::max(greatest, mpz_class(abs(sum)));
          }
          CAPTURE(i, j, k);
          CHECK((greatest >= limit) == (i % 2 == 0));
          CHECK((4 * greatest >= limit) == (i != 3));  // which is the small product alone
          const float d = std::fabs(x.expected[i * request.n + j]);
          CHECK((d == 1 || d == 1.5F));
        }
      if (asked.accumulator != emu::float32) continue;
      const auto chain = verify::outcome_on("fma", request, x).d;
      for (const float d : row_of(chain, 0, request.n)) CHECK(!std::isfinite(d));
      for (const float d : row_of(chain, 1, request.n)) CHECK(std::isfinite(d));
    }
  }
}

TEST_CASE("one NaN makes one row of NaN, one infinity one row of infinities", "[verify][generate]") {
  CHECK(verify::find_case_kind("one_nan").provokes.find("one infinity where --in and --out have it and M is 2 or more") !=
        std::string_view::npos);
  for (const emu::Format in : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::tf32, emu::float32})
    for (const std::size_t m : {1U, 2U, 9U})
      for (const std::size_t k : {1U, 70U, 1000U}) {
        const CaseRequest request = request_of(in, emu::float16, m, 6, k);
        const MatmulCase x = made("one_nan", request);
        std::size_t nan = 0, infinite = 0;
        for (std::size_t i = 0; i < m; ++i) {
          const auto row = row_of(x.expected, i, 6);
          const auto all = [&](auto holds) { return std::all_of(row.begin(), row.end(), holds); };
          const bool is_nan = all([](float d) { return std::isnan(d); }),
                     is_infinite = all([](float d) { return std::isinf(d); });
          CHECK((is_nan || is_infinite || all([](float d) { return std::isfinite(d); })));
          nan += is_nan, infinite += is_infinite;
        }
        CHECK(nan == 1);
        CHECK(infinite == (m > 1 && in.has_infinity() ? 1U : 0U));
        CHECK(std::count_if(x.a.begin(), x.a.end(), [](float a) { return std::isnan(a); }) == 1);
        CHECK(std::count_if(x.b.begin(), x.b.end(), [](float b) { return !std::isfinite(b); }) == 0);
      }
}

TEST_CASE("positive products drift on accumulators that truncate", "[verify][generate]") {
  const CaseRequest request = request_of(emu::float8_e4m3fn, emu::float32, 4, 4, 2048);
  const MatmulCase x = made("large_k_bias", request);
  const auto cut = verify::outcome_on("sm_90", request, x).d;
  CHECK(*std::min_element(x.a.begin(), x.a.end()) > 0);
  CHECK(*std::min_element(x.b.begin(), x.b.end()) > 0);
  for (std::size_t i = 0; i < cut.size(); ++i) CHECK(cut[i] < 0.99F * x.expected[i]);
}

TEST_CASE("a permuted row, column or k changes the product", "[verify][generate]") {
  for (const emu::Format in : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float32})
    for (const std::size_t k : {1U, 3U, 40U}) {
      const CaseRequest request = request_of(in, emu::bfloat16, 8, 8, k);
      const MatmulCase x = made("permutation", request);
      std::set<float> seen(x.expected.begin(), x.expected.end());
      CAPTURE(k);
      CHECK(seen.size() == 64);
      if (k == 1) continue;
      for (std::size_t i = 0; i < request.m; ++i) {  // A's k meets the next of B
        for (std::size_t j = 0; j < request.n; ++j) {
          mpz_class moved = 0;
          for (std::size_t s = 0; s < k; ++s)
            moved += verify::product(verify::a_at(request, x, i, s), verify::b_at(request, x, (s + 1) % k, j));
          CHECK((moved != verify::dot(request, x, i, j)));
        }
      }
    }
}

TEST_CASE("subnormal operands, and columns of subnormal results", "[verify][generate]") {
  for (const emu::Format in : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::tf32, emu::float32}) {
    const emu::Format out = in == emu::float8_e4m3fn ? in : emu::float16;  // products of e4m3 end above float16's subnormals
    const CaseRequest request = request_of(in, out, 6, 6, 33);
    const MatmulCase x = made("subnormals", request);
    const double normal = oracle::value_of(verify::oracle_format(in), std::uint64_t{1} << in.fraction_bits);
    for (const float a : x.a) CHECK((a != 0 && std::fabs(static_cast<double>(a)) < normal));
    std::size_t subnormal = 0;
    for (std::size_t at = 0; at < x.expected.size(); ++at) {
      const double d = std::fabs(static_cast<double>(x.expected[at]));
      if (at % 2 == 0) CHECK(d < 1024);
      subnormal +=
          at % 2 == 1 && d != 0 && d < oracle::value_of(verify::oracle_format(out), std::uint64_t{1} << out.fraction_bits);
    }
    CHECK(subnormal >= 12);
  }
}

TEST_CASE("zeros have the signs of IEEE 754", "[verify][generate]") {
  for (const std::size_t k : {1U, 2U, 3U, 50U}) {
    const CaseRequest request = request_of(emu::float16, emu::float16, 9, 3, k);
    const MatmulCase x = made("signed_zero", request);
    for (std::size_t i = 0; i < request.m; ++i)
      for (std::size_t j = 0; j < request.n; ++j) {
        float sum = x.c[i * request.n + j];
        for (std::size_t s = 0; s < k; ++s) sum += verify::a_at(request, x, i, s) * verify::b_at(request, x, s, j);
        const float d = x.expected[i * request.n + j];
        CAPTURE(i, j, k);
        CHECK(d == 0);
        CHECK(std::signbit(d) == std::signbit(sum));
      }
    CHECK(std::signbit(x.expected[0]));
    CHECK(!std::signbit(x.expected[2 * request.n]));
    if (k >= 3) CHECK(fact(x, "underflowing_rows") == 2);
  }
}

TEST_CASE("blocks of zeros, of tiny numbers, and outliers are there", "[verify][generate]") {
  const CaseRequest request = request_of(emu::bfloat16, emu::bfloat16, 12, 10, 200);
  const MatmulCase zeros = made("zero_blocks", request);
  for (std::size_t i = 0; i < request.m; ++i)
    for (std::size_t j = 0; j < request.n; ++j) CHECK((zeros.expected[i * request.n + j] == 0) == (i % 4 == 1 || j % 4 == 1));
  for (std::size_t i = 0; i < request.m; ++i) {
    std::size_t blocks = 0;
    for (std::size_t k = 0; k + 32 <= request.k; k += 32) {
      const auto first = zeros.a.begin() + static_cast<std::ptrdiff_t>(i * request.k + k);
      blocks += std::all_of(first, first + 32, [](float a) { return a == 0; });
    }
    CHECK(blocks >= 1);
  }

  const MatmulCase tiny = made("tiny_amax", request);
  std::size_t infinite = 0, subnormal = 0;
  for (std::size_t i = 0; i < request.m; ++i) {
    float amax = 0;
    for (std::size_t k = 0; k < 32; ++k) amax = std::max(amax, std::fabs(tiny.a[i * request.k + k]));
    infinite += std::isinf(448.0F / amax);
    subnormal += amax / 448.0F < std::numeric_limits<float>::min();
  }
  CHECK(infinite >= 2);
  CHECK(infinite < request.m);
  CHECK(subnormal >= 2);
  for (const float d : tiny.expected) CHECK(std::isfinite(d));

  const CaseRequest wide = request_of(emu::bfloat16, emu::bfloat16, 64, 2, 256);
  const MatmulCase outliers = made("outliers", wide);
  std::vector<double> squares(wide.k);
  for (std::size_t at = 0; at < outliers.a.size(); ++at)
    squares[at % wide.k] += std::pow(static_cast<double>(outliers.a[at]), 2);
  std::sort(squares.begin(), squares.end());
  CHECK(squares[wide.k - 1] / squares[wide.k / 2] > 3000);  // 100^2, as far as 64 random numbers tell
  CHECK(squares[wide.k - 2] / squares[wide.k / 2] > 3000);
  CHECK(squares[wide.k - 3] / squares[wide.k / 2] < 4);
}
