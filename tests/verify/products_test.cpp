// SPDX-License-Identifier: Apache-2.0
// Sums, dot products and convolutions.
#include "verify/operations/products.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <vector>

#include "tests/verify/big.hpp"
#include "tests/verify/operations_data.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

/// A two-dimensional convolution as the loops over the input say it: every element of x goes where it is seen.
struct Planes {
  std::size_t batch = 2, in = 4, out = 6, groups = 2, height = 7, width = 6, kh = 3, kw = 2;
  std::array<std::size_t, 2> stride{2, 1}, padding{1, 2}, dilation{1, 2};
  std::size_t rows() const { return (height + 2 * padding[0] - dilation[0] * (kh - 1) - 1) / stride[0] + 1; }
  std::size_t columns() const { return (width + 2 * padding[1] - dilation[1] * (kw - 1) - 1) / stride[1] + 1; }

  template <class Add>
  void scatter(const Add& add) const {
    for (std::size_t n = 0; n < batch; ++n)
      for (std::size_t c = 0; c < in; ++c)
        for (std::size_t y = 0; y < height; ++y)
          for (std::size_t x = 0; x < width; ++x)
            for (std::size_t i = 0; i < kh; ++i)
              for (std::size_t j = 0; j < kw; ++j) {
                const std::ptrdiff_t top =
                    static_cast<std::ptrdiff_t>(y + padding[0]) - static_cast<std::ptrdiff_t>(i * dilation[0]);
                const std::ptrdiff_t left =
                    static_cast<std::ptrdiff_t>(x + padding[1]) - static_cast<std::ptrdiff_t>(j * dilation[1]);
                if (top < 0 || left < 0 || static_cast<std::size_t>(top) % stride[0] != 0 ||
                    static_cast<std::size_t>(left) % stride[1] != 0)
                  continue;
                const auto row = static_cast<std::size_t>(top) / stride[0], column = static_cast<std::size_t>(left) / stride[1];
                if (row >= rows() || column >= columns()) continue;
                const std::size_t per_group = out / groups, group = c / (in / groups);
                for (std::size_t o = group * per_group; o < (group + 1) * per_group; ++o)
                  add(((n * out + o) * rows() + row) * columns() + column, ((n * in + c) * height + y) * width + x,
                      ((o * (in / groups) + c % (in / groups)) * kh + i) * kw + j);
              }
  }
};

}  // namespace

TEST_CASE("sum and dot: values in float64 and exactly, whatever cancels", "[verify][products]") {
  std::mt19937_64 random(1);
  constexpr std::size_t n = 200;
  for (const double size : {1.0, 1e-43, 1e30}) {
    const auto a = normals(random, 3 * n, size, emu::float32), b = normals(random, 3 * n, 1e5, emu::float32);
    const auto sum = verify::expect_sum({.x = values({3, n}, a), .last = {emu::float32}});
    const auto dot = verify::expect_dot({.a = values({3, n}, a), .b = values({3, n}, b), .last = {emu::bfloat16}});
    std::vector<verify::Expected> sums(3), dots(3);
    sum->expect(0, sums);
    dot->expect(0, dots);
    for (std::size_t row = 0; row < 3; ++row) {
      Big of_sum, of_dot;
      for (std::size_t i = (row + 1) * n; i-- > row * n;) {
        of_sum = of_sum + Big(static_cast<double>(a[i]));
        of_dot = of_dot + Big(static_cast<double>(a[i])) * Big(static_cast<double>(b[i]));
      }
      CHECK(encloses(sums[row].value, sums[row].radius, of_sum));
      CHECK(encloses(dots[row].value, dots[row].radius, of_dot));
      CHECK(sum->precise(row).rounded == static_cast<double>(of_sum.nearest_float()));
      CHECK((Big(dot->precise(row).high) + Big(dot->precise(row).low) - of_dot).magnitude() <=
            Big(std::ldexp(std::fabs(dot->precise(row).high), -100)));
    }
  }
  CHECK(verify::expect_sum({.x = values({3, n}, std::vector<float>(3 * n)), .axis = verify::Axis::all, .last = {emu::float32}})
            ->shape()
            .empty());
}

TEST_CASE("the sum of a scalar is the scalar", "[verify]") {
  for (const verify::Axis axis : {verify::Axis::last, verify::Axis::all}) {
    const auto sum = verify::expect_sum({.x = values({}, {3.5F}), .axis = axis, .last = {emu::float32}});
    const auto dot = verify::expect_dot({.a = values({}, {3.5F}), .b = values({}, {2}), .axis = axis, .last = {emu::float32}});
    std::vector<verify::Expected> elements(2);
    sum->expect(0, std::span(elements).first(1)), dot->expect(0, std::span(elements).last(1));
    CHECK((sum->shape().empty() && dot->shape().empty()));
    CHECK((elements[0].value == 3.5 && elements[1].value == 7));
    CHECK(sum->precise(0).rounded == 3.5);
  }
}

TEST_CASE("the sum of no numbers is 0, and nothing else is right", "[verify]") {
  for (const verify::Axis axis : {verify::Axis::last, verify::Axis::all}) {
    const auto sum = verify::expect_sum({.x = values({3, 0}, {}), .axis = axis, .last = {emu::float32}});
    const auto dot =
        verify::expect_dot({.a = values({3, 0}, {}), .b = values({3, 0}, {}), .axis = axis, .last = {emu::float32}});
    const std::size_t count = axis == verify::Axis::all ? 1 : 3;
    CHECK((sum->shape().size() == (axis == verify::Axis::all ? 0U : 1U) && sum->shape() == dot->shape()));
    for (const auto* const expectation : {sum.get(), dot.get()}) {
      CHECK(judge_all(*expectation, std::vector<float>(count), {emu::float32, {}}).equal == count);
      CHECK(judge_all(*expectation, std::vector<float>(count, 0x1p-149F), {emu::float32, {}}).beyond == count);
      CHECK(expectation->precise(0).rounded == 0);
    }
  }
  const auto none = verify::expect_sum({.x = values({0, 3}, {}), .last = {emu::float32}});
  CHECK(none->shape() == std::vector<std::uint64_t>{0});
}

TEST_CASE("sum and dot: sums in any order are within the bound, lost terms beyond", "[verify][products]") {
  std::mt19937_64 random(2);
  constexpr std::size_t n = 1000, rows = 20;
  const auto a = normals(random, rows * n, 1, emu::bfloat16), b = normals(random, rows * n, 1, emu::bfloat16, 0.5);
  const auto dot = [&](emu::Format compute) {
    return verify::expect_dot(
        {.a = values({rows, n}, a), .b = values({rows, n}, b), .arithmetic = {.format = compute}, .last = {emu::float32}});
  };
  const auto kernel = [&](emu::Format compute, std::size_t step, std::size_t end) {
    std::vector<float> y(rows);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t start = 0; start < step; ++start)
        for (std::size_t i = start; i < end; i += step)
          y[row] = as(compute, y[row] + as(compute, a[row * n + i] * b[row * n + i]));
    return y;
  };
  for (const std::size_t step : std::initializer_list<std::size_t>{1, 7, 128}) {
    CHECK(judge_all(*dot(emu::float32), kernel(emu::float32, step, n), {emu::float32}).wrong() == 0);
    CHECK(judge_all(*dot(emu::float16), kernel(emu::float16, step, n), {emu::float32}).wrong() == 0);
    CHECK(judge_all(*dot(emu::float32), kernel(emu::float16, step, n), {emu::float32}).beyond > rows / 4);
  }
  CHECK(judge_all(*dot(emu::float32), kernel(emu::float32, 1, n - 1), {emu::float32}).beyond > rows / 2);
  CHECK(!dot(emu::bfloat16)->refusal().empty());
  CHECK(dot(emu::float32)->refusal().empty());
}

TEST_CASE("convolution: the places, groups, strides, paddings and dilations", "[verify][products]") {
  std::mt19937_64 random(3);
  const Planes p;
  const auto x = normals(random, p.batch * p.in * p.height * p.width, 1, emu::bfloat16);
  const auto w = normals(random, p.out * p.in / p.groups * p.kh * p.kw, 1, emu::bfloat16),
             bias = normals(random, p.out, 1, emu::bfloat16);
  const auto expectation = [&](std::uint64_t first_padding) {
    return verify::expect_convolution({.x = values({p.batch, p.in, p.height, p.width}, x),
                                       .weight = values({p.out, p.in / p.groups, p.kh, p.kw}, w),
                                       .bias = values({p.out}, bias),
                                       .stride = {2, 1},
                                       .padding = {first_padding, 2},
                                       .dilation = {1, 2},
                                       .groups = p.groups,
                                       .last = {emu::bfloat16}});
  };
  const std::size_t plane = p.rows() * p.columns(), count = p.batch * p.out * plane;
  std::vector<Big> exact(count);
  std::vector<float> kernel(count);
  for (std::size_t i = 0; i < count; ++i) kernel[i] = bias[i / plane % p.out], exact[i] = Big(static_cast<double>(kernel[i]));
  p.scatter([&](std::size_t out, std::size_t in, std::size_t weight) {
    exact[out] = exact[out] + Big(static_cast<double>(x[in])) * Big(static_cast<double>(w[weight]));
    kernel[out] += x[in] * w[weight];
  });
  const auto right = expectation(1);
  REQUIRE(right->shape() == std::vector<std::uint64_t>{p.batch, p.out, p.rows(), p.columns()});
  std::vector<verify::Expected> all(count);
  right->expect(0, all);
  std::size_t enclosed = 0;
  for (std::size_t i = 0; i < count; ++i) enclosed += encloses(all[i].value, all[i].radius, exact[i]);
  CHECK(enclosed == count);
  for (float& v : kernel) v = as(emu::bfloat16, v);
  CHECK(judge_all(*right, kernel, {emu::bfloat16}).wrong() == 0);

  // Padding on one side only shifts every row by one: declared as 1, computed as 0 and 2 would be.
  std::vector<float> shifted(kernel);
  std::rotate(shifted.begin(), shifted.begin() + static_cast<std::ptrdiff_t>(p.columns()), shifted.end());
  CHECK(judge_all(*right, shifted, {emu::bfloat16}).beyond > count / 2);
  CHECK(expectation(2)->shape() != right->shape());
}

TEST_CASE("convolution in one and three dimensions is that in two with extents of 1", "[verify][products]") {
  std::mt19937_64 random(4);
  const auto x = normals(random, std::size_t{2} * 3 * 20, 1, emu::float16),
             w = normals(random, std::size_t{5} * 3 * 4, 1, emu::float16);
  const auto with = [&](std::vector<std::uint64_t> in, std::vector<std::uint64_t> kernel, std::vector<std::uint64_t> padding) {
    const auto exact = verify::expect_convolution({.x = values(std::move(in), x),
                                                   .weight = values(std::move(kernel), w),
                                                   .padding = std::move(padding),
                                                   .last = {emu::float16}});
    std::vector<verify::Expected> all(std::size_t{2} * 5 * 19);
    exact->expect(0, all);
    std::vector<double> out;
    for (const auto& e : all) out.push_back(e.value);
    return out;
  };
  const auto line = with({2, 3, 20}, {5, 3, 4}, {1});
  CHECK(line == with({2, 3, 20, 1}, {5, 3, 4, 1}, {1, 0}));
  CHECK(line == with({2, 3, 1, 20}, {5, 3, 1, 4}, {0, 1}));
  CHECK(line == with({2, 3, 20, 1, 1}, {5, 3, 4, 1, 1}, {1, 0, 0}));
  CHECK(line == with({2, 3, 1, 1, 20}, {5, 3, 1, 1, 4}, {0, 0, 1}));
  CHECK_THROWS(with({2, 3, 20}, {5, 2, 4}, {1}));
  CHECK_THROWS(with({2, 3, 20}, {5, 3, 23}, {1}));
  CHECK_THROWS(with({2, 3, 20}, {5, 3, 4}, {1, 2}));
}
