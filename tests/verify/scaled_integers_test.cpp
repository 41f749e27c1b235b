// SPDX-License-Identifier: Apache-2.0
// Sums in int32 that float32 scales (W8A8): kernels here are loops over 64 bit integers and floats.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "emu/catalogue.hpp"
#include "products/scales.hpp"
#include "tensors/tensor.hpp"
#include "verify/integer_matmul.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using verify::IntegerOverflow;
using Floats = std::vector<float>;
using Shape = std::vector<std::uint64_t>;

/// To nearest even, with the bits of float32. Of numbers.
float to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}
/// To the 11 bits of float16, in its normal range.
float to_fp16(float x) {
  const float big = x * 8193;  // T. J. Dekker's split: 2^13 + 1
  return big - (big - x);
}

/// A W8A8 product: scales of rows of A and of columns of B, C of columns.
struct Case {
  std::size_t m, n, k;
  std::vector<std::int64_t> a, b;
  Floats scale_a, scale_b, c = {};
  std::size_t group = 0;  ///< of K with scales of their own: `scale_b` has a row of columns for each; 0: all

  std::int64_t sum(std::size_t i, std::size_t j, std::size_t first, std::size_t last) const {
    std::int64_t sum = 0;
    for (std::size_t at = first; at < last; ++at) sum += a[i * k + at] * b[at * n + j];
    return sum;
  }
  products::Product product(emu::Format out) const {
    const auto integers = [](const char* name, Shape shape, const std::vector<std::int64_t>& values) {
      return tensors::from_values(name, std::move(shape), std::vector<double>(values.begin(), values.end()));
    };
    products::Product product{.a = {{integers("A", {m, k}, a)}, {emu::float32}, {}},
                              .b = {{integers("B", {k, n}, b)}, {emu::float32}, {}},
                              .acc = emu::float32,
                              .out = out};
    if (!scale_a.empty())
      product.a.scales =
          products::fit_scales(tensors::from_values("scale_a", {m, 1}, scale_a), product.a.input, products::MatmulSide::a);
    const std::uint64_t groups = group == 0 ? 1 : k / group;
    if (!scale_b.empty())
      product.b.scales =
          products::fit_scales(tensors::from_values("scale_b", {groups, n}, scale_b), product.b.input, products::MatmulSide::b);
    if (!c.empty()) product.c = tensors::from_values("C", {n}, c);
    return product;
  }
};

verify::Verdict judged(const products::Product& product, const Shape& shape, const Floats& d,
                       IntegerOverflow overflow = IntegerOverflow::wrap) {
  const auto expectation = verify::expect_integer_matmul(product, overflow);
  return verify::verify(*expectation, tensors::from_values("D", shape, d), {.last = {product.out}, .threads = 1});
}

std::uint64_t wrong(const Case& in, const Floats& d, emu::Format out) {
  return judged(in.product(out), {in.m, in.n}, d).wrong();
}

Case random_case(std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed, std::size_t group = 0) {
  std::mt19937_64 random(seed);
  const auto integers = [&](std::size_t count) {
    std::vector<std::int64_t> out(count);
    for (auto& x : out) x = static_cast<std::int64_t>(random() % 255) - 127;
    return out;
  };
  const auto floats = [&](std::size_t count) {
    Floats out(count);
    for (float& x : out) x = static_cast<float>(random() % 1000003 + 1000) * 0x1.234567p-27F;
    return out;
  };
  Case in{m, n, k, integers(m * k), integers(k * n), {}, {}};
  in.scale_a = floats(m), in.scale_b = floats(n * (group == 0 ? 1 : k / group)), in.c = floats(n);
  in.group = group;
  return in;
}

enum class Order { sum_by_a, sum_by_b, scales_first, c_fused };
constexpr std::array every_order{Order::sum_by_a, Order::sum_by_b, Order::scales_first, Order::c_fused};

float scaled(float sum, float a, float b, float c, Order order) {
  switch (order) {
    case Order::sum_by_a: return sum * a * b + c;
    case Order::sum_by_b: return c + sum * b * a;
    case Order::scales_first: return a * b * sum + c;
    default: return std::fma(sum, a * b, c);
  }
}

struct Fault {
  std::size_t row_shift = 0, dropped = 0;
  bool no_scale_a = false, half_scales = false;
};

Floats kernel(const Case& in, Order order, bool bf16, Fault fault = {}) {
  Floats d;
  for (std::size_t i = 0; i < in.m; ++i)
    for (std::size_t j = 0; j < in.n; ++j) {
      const auto sum = static_cast<float>(in.sum(i, j, 0, in.k - fault.dropped));
      float a = fault.no_scale_a ? 1 : in.scale_a[(i + fault.row_shift) % in.m], b = in.scale_b[j];
      if (fault.half_scales) a = to_fp16(a), b = to_fp16(b);
      const float x = scaled(sum, a, b, in.c.empty() ? 0 : in.c[j], order);
      d.push_back(bf16 ? to_bf16(x) : x);
    }
  return d;
}

}  // namespace

TEST_CASE("scaled integer sums pass in every order of the factors", "[verify][integers]") {
  for (const std::size_t k : {64U, 4096U}) {
    Case in = random_case(9, 33, k, k);
    for (std::size_t at = 0; at < k; ++at) in.a[at] = 127, in.b[at * 33] = at % 8 == 0 ? 126 : 127;  // a sum beyond 2^24
    for (const Order order : every_order) {
      CAPTURE(k, static_cast<int>(order));
      CHECK(wrong(in, kernel(in, order, false), emu::float32) == 0);
      CHECK(wrong(in, kernel(in, order, true), emu::bfloat16) == 0);
    }
    in.c.clear();
    for (const Order order : every_order) CHECK(wrong(in, kernel(in, order, false), emu::float32) == 0);
  }
}

TEST_CASE("the bound of scaled integer sums is some ulps of float32, whatever K is", "[verify][integers]") {
  for (const std::size_t k : {16U, 4096U, 65536U}) {
    Case in = random_case(2, 3, k, 5);
    in.c.clear();
    const auto expectation = verify::expect_integer_matmul(in.product(emu::bfloat16), IntegerOverflow::wrap);
    std::vector<verify::Expected> elements(6);
    expectation->expect(0, elements);
    for (const verify::Expected& e : elements) {
      REQUIRE(e.value != 0);
      CHECK(e.allowed <= 3.01 * 0x1p-24 * std::fabs(e.value));
      CHECK(e.allowed >= 2 * 0x1p-24 * std::fabs(e.value));
    }
  }
}

TEST_CASE("one rounding of the exact scaled sum counts as equal", "[verify][integers]") {
  Case in = random_case(7, 11, 300, 6);
  in.c.clear();
  std::mt19937_64 random(6);
  for (float& x : in.scale_a) x = static_cast<float>(random() % 255 + 1) * 0x1p-9F;
  for (float& x : in.scale_b) x = static_cast<float>(random() % 255 + 1) * 0x1p-9F;
  Floats d;
  for (std::size_t i = 0; i < in.m; ++i)
    for (std::size_t j = 0; j < in.n; ++j) {
      const double exact = static_cast<double>(in.sum(i, j, 0, in.k)) * static_cast<double>(in.scale_a[i]) *
                           static_cast<double>(in.scale_b[j]);  // of 47 bits at most
      d.push_back(static_cast<float>(exact));
    }
  CHECK(judged(in.product(emu::float32), {in.m, in.n}, d).equal == in.m * in.n);
  for (float& x : d) x = std::nextafter(x, 1e9F);
  const auto off = judged(in.product(emu::float32), {in.m, in.n}, d);
  CHECK(off.equal == 0);
  for (float& x : d) x = std::nextafter(std::nextafter(x, 1e9F), 1e9F);  // three ulps are more than two roundings
  CHECK(wrong(in, d, emu::float32) == in.m * in.n);
}

TEST_CASE("a product, a scale or the bits of a scale that are missing are beyond the bound", "[verify][integers]") {
  for (const bool with_c : {false, true}) {
    Case in = random_case(32, 48, 4096, 7);
    if (!with_c) in.c.clear();
    for (std::size_t j = 0; j < in.n; ++j) in.b[4095 * in.n + j] = 1;
    for (std::size_t i = 0; i < in.m; ++i) in.a[i * in.k + 4095] = 1;
    const std::uint64_t all = std::uint64_t{32} * 48;
    const auto in_float32 = [&](const Fault& fault) {
      return wrong(in, kernel(in, Order::scales_first, false, fault), emu::float32);
    };
    const auto in_bf16 = [&](const Fault& fault) {
      return wrong(in, kernel(in, Order::scales_first, true, fault), emu::bfloat16);
    };
    REQUIRE(in_float32({}) == 0);
    REQUIRE(in_bf16({}) == 0);
    CHECK(in_float32({.dropped = 1}) == all);  // 1 of sums of some 300000
    CHECK(in_float32({.row_shift = 1}) == all);
    CHECK(in_float32({.no_scale_a = true}) == all);
    CHECK(in_float32({.half_scales = true}) > all * 9 / 10);
    CHECK(in_bf16({.row_shift = 1}) > all * 9 / 10);
    CHECK(in_bf16({.no_scale_a = true}) == all);
    CHECK(in_bf16({.half_scales = true}) > all / 50);  // those that round to the other side
    for (std::size_t j = 0; j < in.n; ++j) in.b[4095 * in.n + j] = 127;
    for (std::size_t i = 0; i < in.m; ++i) in.a[i * in.k + 4095] = 127;
    CHECK(in_bf16({.dropped = 1}) > all / 3);
  }
}

TEST_CASE("integer sums of groups of K are scaled and added in any order", "[verify][integers]") {
  const Case in = random_case(5, 17, 512, 8, 64);
  const auto sums = [&](bool rising, std::size_t scale_shift, bool once) {
    Floats d;
    for (std::size_t i = 0; i < in.m; ++i)
      for (std::size_t j = 0; j < in.n; ++j) {
        float sum = rising ? in.c[j] : 0;
        for (std::size_t g = 0; g < 8; ++g) {
          const std::size_t at = rising ? g : 7 - g;
          const float scale = in.scale_b[(at + scale_shift) % 8 * in.n + j];
          const auto part = static_cast<float>(in.sum(i, j, at * 64, at * 64 + 64));
          sum += once ? part * scale : part * (in.scale_a[i] * scale);
        }
        d.push_back((once ? sum * in.scale_a[i] : sum) + (rising ? 0 : in.c[j]));
      }
    return d;
  };
  CHECK(wrong(in, sums(true, 0, false), emu::float32) == 0);
  CHECK(wrong(in, sums(false, 0, false), emu::float32) == 0);
  CHECK(wrong(in, sums(false, 0, true), emu::float32) == 0);
  CHECK(wrong(in, sums(false, 1, false), emu::float32) == in.m * in.n);
}

TEST_CASE("groups of K are those of operands stored transposed and in batches", "[verify][integers]") {
  const Case in = random_case(6, 4, 64, 9, 16);
  Floats d;
  std::vector<double> a, b;
  Floats scale_b;
  for (std::size_t i = 0; i < in.m; ++i)
    for (std::size_t j = 0; j < in.n; ++j) {
      float sum = 0;
      for (std::size_t g = 0; g < 4; ++g)
        sum += static_cast<float>(in.sum(i, j, g * 16, g * 16 + 16)) * in.scale_b[g * in.n + j];
      d.push_back(sum);
    }
  for (std::size_t matrix = 0; matrix < 2; ++matrix) {  // A as two matrices of three rows, (K,M); B twice, (N,K)
    for (std::size_t at = 0; at < in.k; ++at)
      for (std::size_t i = 0; i < 3; ++i) a.push_back(static_cast<double>(in.a[(matrix * 3 + i) * in.k + at]));
    for (std::size_t j = 0; j < in.n; ++j)
      for (std::size_t at = 0; at < in.k; ++at) b.push_back(static_cast<double>(in.b[at * in.n + j]));
    for (std::size_t j = 0; j < in.n; ++j)
      for (std::size_t g = 0; g < 4; ++g) scale_b.push_back(in.scale_b[g * in.n + j]);
  }
  products::Product product{.a = {{tensors::from_values("A", {2, in.k, 3}, a), true}, {emu::float32}, {}},
                            .b = {{tensors::from_values("B", {2, in.n, in.k}, b), true}, {emu::float32}, {}},
                            .acc = emu::float32,
                            .out = emu::float32};
  product.b.scales =
      products::fit_scales(tensors::from_values("scale_b", {2, in.n, 4}, scale_b), product.b.input, products::MatmulSide::b);
  CHECK(judged(product, {2, 3, in.n}, d).wrong() == 0);
  std::swap(d[0], d[3]);
  CHECK(judged(product, {2, 3, in.n}, d).wrong() == 2);
}

TEST_CASE("what is scaled has wrapped around or saturated as declared", "[verify][integers]") {
  Case in{1,        2,           4, {32767, 32767, 32767, 32767}, {32767, 32767, 32767, 32767, 32767, 32767, 32767, -32767},
          {0.375F}, {1.5F, 0.7F}};
  // Sums of 4294705156, and of 2147352578 behind 3221028867, which an order that saturates makes less.
  const auto of = [&](std::int64_t first, std::int64_t second) {
    return Floats{static_cast<float>(first) * 0.375F * 1.5F, static_cast<float>(second) * 0.375F * 0.7F};
  };
  const std::int64_t end = 2147483647, product = std::int64_t{32767} * 32767;
  const auto count = [&](const Floats& d, IntegerOverflow overflow) {
    return judged(in.product(emu::float32), {1, 2}, d, overflow).wrong();
  };
  CHECK(count(of(4 * product - (std::int64_t{1} << 32), 2 * product), IntegerOverflow::wrap) == 0);
  CHECK(count(of(end, 2 * product), IntegerOverflow::saturate) == 0);
  CHECK(count(of(end, end - product), IntegerOverflow::saturate) == 0);
  CHECK(count(of(end, end - product), IntegerOverflow::wrap) == 2);
  CHECK(count(of(4 * product - (std::int64_t{1} << 32), end / 4), IntegerOverflow::saturate) == 2);
}

TEST_CASE("without scales the sum is converted: equal or wrong where float32 has it", "[verify][integers]") {
  Case in{1, 2, 2, {127, 1}, {127, 126, 100, -5}, {}, {}};
  const Floats right{16229, 15997};
  CHECK(judged(in.product(emu::float32), {1, 2}, right).equal == 2);
  CHECK(wrong(in, {16230, 15998}, emu::float32) == 2);
  const Floats in_bf16{16256, 16000};
  CHECK(judged(in.product(emu::bfloat16), {1, 2}, in_bf16).equal == 2);
  CHECK(wrong(in, {16192, 15936}, emu::bfloat16) == 2);
  // C, of int32, is where such a sum starts; alpha multiplies both, and with beta C is a float that joins last.
  products::Product product = in.product(emu::float32);
  product.c = tensors::from_values("C", {2}, Floats{1, -7});
  product.alpha = 0.125;
  CHECK(judged(product, {1, 2}, {16230 / 8.0F, 15990 / 8.0F}).equal == 2);
  product.beta = 0.5;
  product.c = tensors::from_values("C", {2}, Floats{0.75F, -7});
  CHECK(judged(product, {1, 2}, {16229 / 8.0F + 0.375F, 15997 / 8.0F - 3.5F}).equal == 2);
  product.beta.reset();
  CHECK_THROWS(judged(product, {1, 2}, {0, 0}));
}

TEST_CASE("factors that overflow or vanish together are right in the orders in which they do", "[verify][integers]") {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  // 2^20 * 2^120 leaves float32, 2^120 * 2^-130 does not; of a sum of 0 there is 0 * infinity.
  Case in{1, 3, 1, {1024}, {1024, -1024, 0}, {0x1p120F}, {0x1p-130F, 0x1p-130F, 0x1p-130F}};
  CHECK(judged(in.product(emu::float32), {1, 3}, {0x1p10F, -0x1p10F, 0}).equal == 3);
  CHECK(wrong(in, {infinity, -infinity, 0}, emu::float32) == 0);
  CHECK(wrong(in, {-infinity, infinity, infinity}, emu::float32) == 3);
  CHECK(wrong(in, {0, 0, 0}, emu::float32) == 2);  // no factor vanishes but beside 2^-130, which a kernel may flush
  in.scale_b.assign(3, 0x1p20F);
  CHECK(wrong(in, {infinity, -infinity, nan}, emu::float32) == 0);
  // 2^-100 * 2^-60 is 0; 2^20 * 2^-100 * 2^-60 as well, and by the sum first it is the same.
  in.scale_a = {0x1p-100F}, in.scale_b.assign(3, 0x1p-60F);
  CHECK(wrong(in, {0, 0, 0}, emu::float32) == 0);
  in.scale_a = {0x1p-60F}, in.scale_b.assign(3, 0x1p-60F);
  CHECK(wrong(in, {0, 0, 0}, emu::float32) == 2);
  // 2^-70 * 2^-57 is subnormal, and may be flushed before 2^20 makes it 2^-107.
  in.scale_a = {0x1p-70F}, in.scale_b.assign(3, 0x1p-57F);
  CHECK(wrong(in, {0, 0, 0}, emu::float32) == 0);
  CHECK(wrong(in, {0x1p-103F, 0, 0}, emu::float32) == 1);
}
