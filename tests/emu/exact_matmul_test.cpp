// SPDX-License-Identifier: Apache-2.0
// Exact matrix products: every element against a dot product of its terms, and against MPFR.
#include "emu/exact_matmul.hpp"

#include <mpfr.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/philox.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::deterministic, laws::oracle_format, laws::oracle_mode;

using Codes = std::vector<std::uint32_t>;

enum class Data { any_code, finite, normal };

Codes random_codes(emu::Format f, std::size_t count, Data data, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Codes out(count);
  for (auto& code : out) {
    if (data == Data::normal) {
      code = static_cast<std::uint32_t>(emu::encode(f, f.is_signed() ? normal(random) : std::abs(normal(random))));
      continue;
    }
    // Specials of a narrow format would be in every row: one code in a hundred may be any.
    do {
      code = static_cast<std::uint32_t>(random() & f.code_mask());
    } while ((data == Data::finite || random() % 100 != 0) && (f.is_nan(code) || f.is_infinite(code)));
  }
  return out;
}

struct Problem {
  emu::Format a_format, b_format;
  std::size_t rows, inner, columns;
  Codes a, b;

  emu::ExactMatrix left() const { return {a_format, a, {rows, inner}}; }
  emu::ExactMatrix right() const { return {b_format, b, {inner, columns}}; }
};

Problem random_problem(emu::Format fa, emu::Format fb, std::size_t rows, std::size_t inner, std::size_t columns, Data data,
                       std::mt19937_64& random) {
  return {fa,
          fb,
          rows,
          inner,
          columns,
          random_codes(fa, rows * inner, data, random),
          random_codes(fb, inner * columns, data, random)};
}

std::string place(const Problem& p, std::size_t i, std::size_t j, const emu::Rounded& got) {
  std::ostringstream out;
  out << emu::format_name(p.a_format) << " by " << emu::format_name(p.b_format) << ' ' << p.rows << 'x' << p.inner << 'x'
      << p.columns << " element " << i << ',' << j << ": got "
      << laws::describe(got.code, got.value, static_cast<int>(got.outcome), got.flags);
  return out.str();
}

/// All elements of the product, and the union of their flags.
struct Elements {
  std::vector<emu::Rounded> at;
  emu::Flags flags;
};

Elements multiply(const Problem& p, emu::Format to, const emu::MatmulOptions& options, const emu::MatmulAddend& addend = {}) {
  Elements out{std::vector<emu::Rounded>(p.rows * p.columns), emu::no_flags};
  std::atomic<std::size_t> calls{0};
  const auto sink = [&](std::size_t i, std::size_t j, const emu::Rounded& element) {
    out.at[i * p.columns + j] = element;
    ++calls;
  };
  out.flags = emu::exact_matmul(p.left(), p.right(), to, sink, options, addend);
  REQUIRE(calls == p.rows * p.columns);
  return out;
}

/// Every element against an exact sum of its terms.
void require_dot_products(const Problem& p, emu::Format to, const emu::MatmulOptions& options,
                          const emu::MatmulAddend& addend = {}) {
  const Elements got = multiply(p, to, options, addend);
  emu::Flags flags = emu::no_flags;
  for (std::size_t i = 0; i < p.rows; ++i)
    for (std::size_t j = 0; j < p.columns; ++j) {
      emu::ExactSum sum;
      for (std::size_t k = 0; k < p.inner; ++k)
        sum.add_product(p.a_format, p.a[i * p.inner + k], p.b_format, p.b[k * p.columns + j]);
      if (addend) sum.add(addend(i, j));
      const emu::Rounded expected = sum.rounded(to, options.rounding, emu::rounding_bits(options.seed, i * p.columns + j));
      const emu::Rounded& element = got.at[i * p.columns + j];
      flags = flags | expected.flags;
      if (element.code != expected.code || element.flags != expected.flags || element.outcome != expected.outcome)
        FAIL(place(p, i, j, element) << ", expected " << std::hex << expected.code << " flags " << int{expected.flags});
    }
  REQUIRE(got.flags == flags);
}

/// Sampled elements against MPFR, which adds exactly at 2^-2148 to 2^2088.
void require_mpfr(const Problem& p, emu::Format to, int samples, std::mt19937_64& random) {
  oracle::Number sum(2148 + 2088), a, b, product(2 * oracle::wide);
  for (const emu::Rounding rounding : deterministic) {
    const Elements got = multiply(p, to, {.rounding = {.rounding = rounding}});
    for (int sample = 0; sample < samples; ++sample) {
      const std::size_t i = random() % p.rows, j = random() % p.columns;
      mpfr_set_zero(sum, 1);
      for (std::size_t k = 0; k < p.inner; ++k) {
        oracle::set_value(a, oracle_format(p.a_format), p.a[i * p.inner + k]);
        oracle::set_value(b, oracle_format(p.b_format), p.b[k * p.columns + j]);
        mpfr_mul(product, a, b, MPFR_RNDN);
        if (k == 0) {
          mpfr_set(sum, product, MPFR_RNDN);
        } else {
          mpfr_add(sum, sum, product, rounding == emu::Rounding::downward ? MPFR_RNDD : MPFR_RNDN);
        }
      }
      const oracle::Answer expected = oracle::round(oracle_format(to), sum, oracle_mode(rounding));
      const emu::Rounded& element = got.at[i * p.columns + j];
      if (element.code != expected.code || (mpfr_number_p(sum) != 0 && element.flags != expected.flags))
        FAIL(place(p, i, j, element) << ", expected " << std::hex << expected.code << " flags " << expected.flags);
    }
  }
}

std::vector<emu::Format> operand_formats() {
  std::vector<emu::Format> out;
  for (const emu::NamedFormat& one : emu::catalogue)
    if (one.format.precision() <= emu::ExactMatrix::most_precision) out.push_back(one.format);
  for (const emu::Format custom : {emu::Format{2, 13, 1, emu::Specials::ieee}, emu::Format{8, 15, 127, emu::Specials::ieee},
                                   emu::Format{8, 7, 1023, emu::Specials::fnuz}, emu::Format{11, 4, 1023, emu::Specials::ieee},
                                   emu::Format{2, 0, 1, emu::Specials::ieee}, emu::Format{5, 2, -3, emu::Specials::finite}})
    out.push_back(custom);
  return out;
}

}  // namespace

TEST_CASE("every element is the dot product of its row and column, NaN, infinities and zero signs included", "[exact_matmul]") {
  std::mt19937_64 random(1);
  for (const emu::Format f : operand_formats())
    for (const Data data : {Data::any_code, Data::finite, Data::normal})
      for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::downward, emu::Rounding::stochastic})
        for (const emu::Format to : {emu::fp32, f}) {
          require_dot_products(random_problem(f, f, 9, 17, 21, data, random), to,
                               {.rounding = {.rounding = rounding}, .seed = 5});
        }
}

TEST_CASE("operands of two formats, in every direction and policy", "[exact_matmul]") {
  std::mt19937_64 random(2);
  const emu::Format pairs[][2] = {
      {emu::e4m3, emu::e5m2}, {emu::fp16, emu::e2m1}, {emu::bf16, emu::e8m0}, {emu::tf32, emu::fp16}};
  for (const auto& pair : pairs)
    for (const emu::Rounding rounding : deterministic)
      for (const emu::Policy policy : {emu::Policy::nonsaturating, emu::Policy::saturating})
        for (const emu::Format to : {emu::fp32, emu::fp16, emu::e4m3, emu::fp64}) {
          require_dot_products(random_problem(pair[0], pair[1], 5, 33, 10, Data::any_code, random), to,
                               {.rounding = {.rounding = rounding, .policy = policy}});
        }
}

TEST_CASE("sampled elements are what MPFR gives", "[exact_matmul]") {
  std::mt19937_64 random(3);
  for (const emu::Format f : operand_formats())
    for (const Data data : {Data::any_code, Data::finite, Data::normal})
      for (const emu::Format to : {emu::fp32, emu::e5m2})
        require_mpfr(random_problem(f, f, 13, 40, 11, data, random), to, 20, random);
}

TEST_CASE("sizes of nothing, of one and of odd numbers", "[exact_matmul]") {
  std::mt19937_64 random(4);
  for (const std::size_t rows : {0U, 1U, 3U, 65U, 130U})
    for (const std::size_t inner : {0U, 1U, 2U, 7U})
      for (const std::size_t columns : {0U, 1U, 7U, 8U, 9U, 17U})
        for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::downward})
          require_dot_products(random_problem(emu::fp16, emu::fp16, rows, inner, columns, Data::any_code, random), emu::fp16,
                               {.rounding = {.rounding = rounding}});
}

TEST_CASE("the addend joins the sum before it is rounded", "[exact_matmul]") {
  std::mt19937_64 random(5);
  constexpr double values[] = {0.0,
                               -0.0,
                               1.0,
                               -0x1p-1074,
                               0x1p-24,
                               1e300,
                               -3.5,
                               std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  const auto addend = [&](std::size_t i, std::size_t j) { return values[(i * 5 + j) % std::size(values)]; };
  for (const emu::Format f : {emu::e4m3, emu::bf16, emu::e2m1})
    for (const std::size_t inner : {0U, 1U, 20U})
      for (const Data data : {Data::any_code, Data::normal})
        for (const emu::Rounding rounding : deterministic)
          require_dot_products(random_problem(f, f, 6, inner, 19, data, random), emu::fp32,
                               {.rounding = {.rounding = rounding}}, addend);
}

TEST_CASE("the greatest products fill no bin to overflow, and what cancels leaves the least", "[exact_matmul]") {
  // The widest significands allowed, so that a bin is folded after 2^16 products.
  constexpr emu::Format wide{8, 15, 127, emu::Specials::ieee};
  for (const std::size_t inner : {std::size_t{1} << 16, (std::size_t{1} << 18) + 3}) {
    Problem p{wide, wide, 1, inner, 2, Codes(inner), Codes(2 * inner)};
    for (std::size_t k = 0; k < inner; ++k) {
      // The last binade of a group has its significands shifted furthest.
      p.a[k] = static_cast<std::uint32_t>((emu::Code{200} << 15) | 0x7fff);
      p.b[2 * k] = p.a[k];
      p.b[2 * k + 1] = p.a[k] | (k % 2 == 0 ? 0u : static_cast<std::uint32_t>(wide.sign_mask()));
    }
    p.a[inner - 1] = 1;
    p.b[2 * inner - 1] = 1;
    require_dot_products(p, emu::fp64, {});
  }
}

TEST_CASE("results do not depend on the number of threads", "[exact_matmul]") {
  std::mt19937_64 random(6);
  const Problem p = random_problem(emu::bf16, emu::bf16, 150, 64, 61, Data::any_code, random);
  for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::stochastic}) {
    std::optional<std::vector<std::uint16_t>> first;
    for (const int threads : {1, 2, 3, 0}) {
      std::vector<std::uint16_t> out(p.rows * p.columns, 0xdead);
      emu::exact_matmul(p.left(), p.right(), emu::bf16, std::span(out),
                        {.rounding = {.rounding = rounding}, .seed = 9, .threads = threads});
      if (!first) first = out;
      REQUIRE(out == *first);
    }
  }
}

TEST_CASE("strides, floats in and floats out, subnormals as zero", "[exact_matmul]") {
  std::mt19937_64 random(7);
  const std::size_t rows = 5, inner = 6, columns = 4, stride = 9;
  const Codes wide_a = random_codes(emu::fp16, rows * stride, Data::finite, random),
              b = random_codes(emu::fp16, inner * columns, Data::finite, random);
  Problem p{emu::fp16, emu::fp16, rows, inner, columns, {}, b};
  std::vector<float> values;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k) p.a.push_back(wide_a[i * stride + k]);
  for (const auto code : wide_a) values.push_back(static_cast<float>(emu::decode(emu::fp16, code)));
  const Elements expected = multiply(p, emu::fp32, {});

  std::vector<float> from_codes(rows * columns), from_floats(rows * columns);
  const emu::MatrixShape shape{rows, inner, stride};
  emu::exact_matmul(emu::ExactMatrix(emu::fp16, wide_a, shape), p.right(), emu::fp32, std::span(from_codes));
  emu::exact_matmul(emu::ExactMatrix(emu::fp16, std::span<const float>(values), shape), p.right(), emu::fp32,
                    std::span(from_floats));

  for (std::size_t i = 0; i < rows * columns; ++i) {
    REQUIRE(static_cast<double>(from_codes[i]) == expected.at[i].value);
    REQUIRE(static_cast<double>(from_floats[i]) == expected.at[i].value);
  }
  const Codes subnormal{0x0001}, one{0x3c00};
  const emu::ExactMatrix zeroed(emu::fp16, subnormal, {1, 1}, {.subnormals_are_zero = true});
  emu::exact_matmul(zeroed, {emu::fp16, one, {1, 1}}, emu::fp32, std::span(from_codes));
  CHECK(from_codes[0] == 0);
}

TEST_CASE("a float that the format does not hold is refused", "[exact_matmul]") {
  const std::vector values{1.0f, 1.0f + 0x1p-11f};
  CHECK_THROWS_AS(emu::ExactMatrix(emu::fp16, std::span<const float>(values), {1, 2}), Error);
  CHECK_NOTHROW(emu::ExactMatrix(emu::tf32, std::span<const float>(std::vector{1.0f, std::nanf("")}), {1, 2}));
}

TEST_CASE("an exception of the sink comes out, from whichever thread", "[exact_matmul]") {
  const Codes ones(std::size_t{100} * 100, 0x3c00);
  const emu::ExactMatrix a(emu::fp16, ones, {100, 100});
  const auto sink = [](std::size_t i, std::size_t, const emu::Rounded&) {
    if (i == 77) throw std::runtime_error("enough");
  };
  for (const int threads : {1, 3})
    CHECK_THROWS_AS(emu::exact_matmul(a, a, emu::fp32, sink, {.threads = threads}), std::runtime_error);
}

TEST_CASE("512 by 512 by 512 random codes of any format: every element", "[exact_matmul][exhaustive]") {
  std::mt19937_64 random(8);
  for (const emu::Format f : {emu::e4m3, emu::e5m2, emu::fp16, emu::bf16, emu::tf32})
    for (const Data data : {Data::finite, Data::normal})
      require_dot_products(random_problem(f, f, 512, 512, 512, data, random), emu::fp32, {});
}
