// SPDX-License-Identifier: Apache-2.0
// Costs and errors by format, on an emulated library with a clock.
#include "studies/devices/device_cost.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tests/studies/devices/named_cells.hpp"
#include "tests/studies/devices/wrapped_library.hpp"

namespace {

using namespace ulpscope;

/// The emulated library with a clock: a product takes as many microseconds as its operands have bits; and without float64 or
/// fp8 if it is old.
class Clocked final : public testing::WrappedLibrary {
 public:
  explicit Clocked(bool old = false) : old_(old) {}
  std::string name() const override { return "clocked"; }
  std::vector<gpu::LibraryCall> calls() const override {
    std::vector<gpu::LibraryCall> calls = WrappedLibrary::calls();
    if (old_) std::erase_if(calls, [](const auto& call) { return call.a.bits() == 8 || call.a == emu::float64; });
    return calls;
  }
  gpu::LibraryTime time(const gpu::LibraryCall& call, const gpu::LibraryAlgorithm& /*algorithm*/, std::size_t /*m*/,
                        std::size_t /*n*/, std::size_t /*k*/) const override {
    if (old_ && call.a == emu::bfloat16) throw Error("cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
    return {call.a.bits() * 1e-6, call.a.bits() * 0.5e-6, 5};
  }

 private:
  bool old_;
};

/// The emulated library; counts the matrices that it draws.
class Drawing final : public testing::WrappedLibrary {
 public:
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    ++drawn;
    WrappedLibrary::draw_normal(format, seed, operand, codes);
  }
  mutable std::size_t drawn = 0;
};

studies::DeviceCostConfig config_for(studies::ProductShape shape) {
  studies::DeviceCostConfig config;
  config.shapes = {shape};
  return config;
}

}  // namespace

TEST_CASE("each format's error is that of its operands' and its result's rounding", "[studies]") {
  const testing::NamedCells rows{studies::device_cost(Clocked(), config_for({24, 16, 96}))};

  // An operand rounded to nearest with p bits is off by a share of at most 2^-p, at random by 0.36 to 0.6 of 2^-p on average
  // (root mean square over a binade); two operands add their squares, the result its own.
  const auto expect = [&](std::size_t row, const std::string& format, double least, double most) {
    CAPTURE(row, format, rows.number(row, "error"));
    CHECK(rows.text(row, "format") == format);
    CHECK(rows.number(row, "error") > least);
    CHECK(rows.number(row, "error") < most);
  };
  REQUIRE(rows.table.rows.size() == 11);
  expect(0, "float32", 0x1p-27, 0x1p-22);
  expect(1, "tf32", 0x1p-12, 0x1p-10);  // cut off, not rounded
  expect(2, "float16", 0x1p-13, 0x1p-11);
  expect(3, "bfloat16", 0x1p-10, 0x1p-8);
  expect(4, "float8_e4m3fn", 0x1p-6, 0x1p-4);
  expect(6, "float8_e5m2,float8_e4m3fn", 0x1p-5, 0x1p-3);
  for (const std::size_t row : {8u, 9u, 10u}) expect(row, "float8_e4m3fn", 0x1p-6, 0x1p-4);
  CHECK(rows.text(8, "scale_mode_a") == "OUTER_VEC_32F");
  CHECK(rows.text(10, "scale_mode_a") == "VEC128_32F");
  CHECK(rows.text(10, "scale_mode_b") == "BLK128x128_32F");
}

TEST_CASE("block scales keep what fp4 loses", "[studies]") {
  const testing::NamedCells rows{studies::device_cost(gpu::EmulatedLibrary("sm_100"), config_for({24, 16, 96}))};

  // e2m1 has two bits: an error of 0.36 to 0.6 of 2^-2, and where a block's numbers are small beside its greatest one, more.
  const std::size_t last = rows.table.rows.size() - 1;
  CHECK(rows.text(last, "scale_mode_a") == "VEC16_UE4M3");
  CHECK(rows.text(last - 1, "scale_mode_a") == "VEC32_UE8M0");
  CHECK(rows.number(last, "error") > 0x1p-4);
  CHECK(rows.number(last, "error") < 0x1p-2);
  CHECK(rows.number(last - 1, "error") < 0x1p-4);
  CHECK(rows.count(last, "bytes") == (24 * 96 + 96 * 16) / 2 + 2 * 24 * 16);
}

TEST_CASE("speeds follow from times and shapes", "[studies]") {
  const testing::NamedCells rows{studies::device_cost(Clocked(), config_for({24, 16, 96}))};

  CHECK(std::abs(rows.number(0, "median_us") - 32) < 1e-9);
  CHECK(std::abs(rows.number(0, "least_us") - 16) < 1e-9);
  CHECK(std::abs(rows.number(0, "tflops") - 2.0 * 24 * 16 * 96 / 32e-6 / 1e12) < 1e-12);
  CHECK(rows.number(0, "speedup_over_float32") == 1);
  CHECK(std::abs(rows.number(2, "speedup_over_float32") - 2) < 1e-12);
  CHECK(std::abs(rows.number(5, "speedup_over_float32") - 4) < 1e-12);
  CHECK(rows.count(0, "bytes") == std::int64_t{4} * (24 * 96 + 96 * 16 + 24 * 16));
  CHECK(rows.count(4, "bytes") == 24 * 96 + 96 * 16 + 2 * 24 * 16);
  CHECK(rows.text(4, "fast_accumulation") == "no");
  CHECK(rows.text(5, "fast_accumulation") == "yes");
}

TEST_CASE("large products are compared with the library's own float64 product", "[studies]") {
  auto config = config_for({24, 16, 96});
  const testing::NamedCells here{studies::device_cost(Clocked(), config)};
  config.most_on_host = 0;

  const testing::NamedCells there{studies::device_cost(Clocked(), config)};

  for (std::size_t row = 0; row < here.table.rows.size(); ++row) {
    CAPTURE(row);
    CHECK(std::abs(here.number(row, "error") / there.number(row, "error") - 1) < 1e-6);
  }
}

TEST_CASE("what a library does not have is left out, what fails is told", "[studies]") {
  auto config = config_for({24, 16, 96});
  config.most_on_host = 0;
  std::vector<std::string> told;
  config.progress = [&](const std::string& words) { told.push_back(words); };

  const testing::NamedCells rows{studies::device_cost(Clocked(true), config)};

  REQUIRE(rows.table.rows.size() == 4);
  CHECK(std::isnan(rows.number(0, "error")));
  CHECK(rows.number(0, "median_us") > 0);
  CHECK(rows.text(0, "remark").empty());
  CHECK(rows.text(3, "remark") == "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  CHECK(std::isnan(rows.number(3, "median_us")));
  CHECK(std::isnan(rows.number(3, "tflops")));
  CHECK(told.size() == 4);
  CHECK(told.front() == "clocked float32 24 by 16 by 96");
}

TEST_CASE("a library without a clock has no times", "[studies]") {
  const testing::NamedCells rows{studies::device_cost(gpu::EmulatedLibrary("sm_90"), config_for({4, 16, 16}))};

  for (std::size_t row = 0; row < rows.table.rows.size(); ++row)
    for (const char* column : {"median_us", "least_us", "tflops", "speedup_over_float32"})
      CHECK(std::isnan(rows.number(row, column)));
}

TEST_CASE("a product is measured while there is time, and told at once", "[studies]") {
  auto config = config_for({4, 16, 16});
  std::size_t told = 0;
  config.so_far = [&](const reports::Table& table) { CHECK(table.rows.size() == ++told); };
  config.deadline = studies::Deadline([&] { return told >= 2; });

  const testing::NamedCells rows{studies::device_cost(Clocked(), config)};

  REQUIRE(rows.table.rows.size() == 11);
  CHECK(told == 11);
  CHECK(rows.number(1, "median_us") > 0);
  CHECK(rows.text(1, "remark").empty());
  CHECK(std::isnan(rows.number(2, "median_us")));
  CHECK(rows.text(2, "remark") == "not measured: time ran out");
}

TEST_CASE("operands are drawn by the library, not here", "[studies]") {
  const Drawing library;

  static_cast<void>(studies::device_cost(library, config_for({4, 16, 16})));

  CHECK(library.drawn > 0);
}

TEST_CASE("the shapes are squares and linear layers", "[studies]") {
  const auto shapes = studies::device_cost_shapes();

  REQUIRE(shapes.size() == 15);
  CHECK(shapes[0].m == 256);
  CHECK(shapes[5].k == 8192);
  CHECK((shapes[6].m == 16 && shapes[6].n == 512 && shapes[6].k == 512));
  CHECK((shapes[14].m == 64 && shapes[14].n == 2048 && shapes[14].k == 2048));
}
