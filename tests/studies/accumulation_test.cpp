// SPDX-License-Identifier: Apache-2.0
// What accumulators lose, in cases whose answer is known.
#include "studies/accumulation/accumulation.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"
#include "tensors/synthetic.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using studies::Accumulation;
using studies::AccumulationErrors;

namespace {

Accumulation hopper_fp8(std::size_t promote = 0) {
  return studies::find_accumulation("sm_90", emu::e4m3, emu::float32, promote);
}

std::vector<AccumulationErrors> errors_of(const Accumulation& accumulation, const std::string& distribution,
                                          const std::string& lengths, studies::OutputShape shape = {}) {
  studies::AccumulationConfig config;
  config.accumulations = {accumulation};
  config.distributions = {distribution};
  config.lengths = studies::parse_lengths(lengths);
  config.shape = shape;
  std::vector<AccumulationErrors> errors;
  for (const auto& row : studies::accumulate(config)) errors.push_back(row.errors);
  return errors;
}

/// A small study of everything.
studies::AccumulationConfig small_study() {
  studies::AccumulationConfig config;
  config.lengths = {1, 5, 64, 200, 256};
  config.shape = {6, 7};
  return config;
}

}  // namespace

TEST_CASE("an all-ones product on the short accumulator stops at 16384, and does not with promotion",
          "[studies][accumulation]") {
  // uniform:1,1 is 1 everywhere: the sum is K. With 13 fraction bits 16384 + 32 ones is cut to 16384.
  const std::vector<AccumulationErrors> stopped = errors_of(hopper_fp8(), "uniform:1,1", "4096:65536", {2, 2});
  const std::vector<AccumulationErrors> promoted = errors_of(hopper_fp8(128), "uniform:1,1", "4096:65536", {2, 2});

  REQUIRE(stopped.size() == 5);
  for (std::size_t i = 0; i < stopped.size(); ++i) {
    const double k = 4096 * std::ldexp(1.0, static_cast<int>(i));
    CHECK(stopped[i].max_abs == std::max(0.0, k - 16384));
    CHECK(stopped[i].max_rel == std::max(0.0, k - 16384) / k);
    CHECK(promoted[i].max_abs == 0);
    CHECK(promoted[i].rms_exact == k);
  }
}

TEST_CASE("the published behaviour of the short accumulator at K = 4096", "[studies][accumulation]") {
  const AccumulationErrors uniform = errors_of(hopper_fp8(), "uniform:0,1", "4096").front();
  CHECK_THAT(uniform.mean_signed_rel, WithinAbs(-6.6e-2, 0.05e-2));
  CHECK(uniform.mean_rel == -uniform.mean_signed_rel);  // every output is too small

  const AccumulationErrors normal = errors_of(hopper_fp8(), "normal:0,1", "4096", {128, 128}).front();
  CHECK(normal.frobenius >= 1.3e-3);
  CHECK(normal.frobenius <= 1.4e-3);
  CHECK(std::fabs(normal.mean_signed) < 0.01 * normal.rms);
}

TEST_CASE("the error grows with the length of the sum, and promotion keeps it where it is", "[studies][accumulation]") {
  const auto growth = [](const Accumulation& accumulation, const char* distribution) {
    const auto errors = errors_of(accumulation, distribution, "256:16384", {16, 16});
    return std::log2(errors.back().frobenius / errors.front().frobenius) / 6;
  };
  const auto to_float32 = [](const char* engine) { return studies::find_accumulation(engine, emu::float16, emu::float32, 0); };

  // Errors of nearest rounding are like a random walk, those of truncation add up: K^(1/2), and K for sums of one sign.
  CHECK_THAT(growth(to_float32("fma"), "uniform:0,1"), WithinAbs(0.5, 0.1));
  CHECK_THAT(growth(to_float32("fma"), "normal:0,1"), WithinAbs(0.5, 0.1));
  CHECK_THAT(growth(to_float32("sm_70"), "uniform:0,1"), WithinAbs(1, 0.1));
  CHECK_THAT(growth(to_float32("sm_90"), "uniform:0,1"), WithinAbs(1, 0.1));
  CHECK_THAT(growth(to_float32("pairwise"), "uniform:0,1"), WithinAbs(0, 0.05));
  CHECK(growth(hopper_fp8(), "uniform:0,1") > 0.9);
  CHECK_THAT(growth(hopper_fp8(128), "uniform:0,1"), WithinAbs(0, 0.05));
  CHECK_THAT(growth(hopper_fp8(128), "normal:0,1"), WithinAbs(0, 0.05));
}

TEST_CASE("one product worked out by hand", "[studies][accumulation]") {
  // A single output: the sum of the rounded operands' products in double, and the float32 chain of fused multiply-adds.
  const std::size_t length = 300;
  std::vector<float> a(length), b(length);
  tensors::synthetic("uniform:0,1:1x300", 5).source->read(0, std::span(a));
  tensors::synthetic("uniform:0,1:300x1", 6).source->read(0, std::span(b));
  double exact = 0, unrounded = 0;
  float chain = 0;
  const auto to_half = [](float x) {  // 11 significand bits to nearest, ties to even: all are normal halfs
    const float spacing = std::ldexp(1.0F, std::max(std::ilogb(x), -14) - 10);
    return std::nearbyint(x / spacing) * spacing;
  };
  for (std::size_t k = 0; k < length; ++k) {
    const float x = to_half(a[k]), y = to_half(b[k]);
    exact += static_cast<double>(x) * static_cast<double>(y);
    unrounded += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    chain = std::fma(x, y, chain);
  }
  studies::AccumulationConfig config;
  config.accumulations = {studies::find_accumulation("fma", emu::float16, emu::float32, 0)};
  config.distributions = {"uniform:0,1"};
  config.lengths = {length};
  config.shape = {1, 1};
  config.seed = 5;

  const AccumulationErrors errors = studies::accumulate(config).front().errors;

  const double error = static_cast<double>(chain) - exact;
  REQUIRE(error != 0);
  CHECK_THAT(errors.rms_exact, WithinRel(exact, 0x1p-50));
  CHECK_THAT(errors.mean_signed, WithinRel(error, 0x1p-20));
  CHECK(errors.max_abs == std::fabs(errors.mean_signed));
  CHECK_THAT(errors.mean_signed_rel, WithinRel(error / exact, 0x1p-20));
  CHECK_THAT(errors.componentwise, WithinRel(std::fabs(error) / exact, 0x1p-20));
  CHECK_THAT(errors.rounding, WithinRel(std::fabs(exact - unrounded) / unrounded, 0x1p-20));
}

TEST_CASE("the study tells an engine from a wrong one", "[studies][accumulation]") {
  // One fraction bit more or less, a step half as long, the other rounding: each changes what the study reports.
  const auto csv = [](const char* engine) {
    studies::AccumulationConfig config;
    config.accumulations = {studies::find_accumulation(engine, emu::e4m3, emu::float32, 0)};
    config.accumulations[0].name = "engine";
    config.lengths = {512};
    config.shape = {8, 8};
    std::vector<studies::AccumulationRow> rows = studies::accumulate(config);
    for (studies::AccumulationRow& row : rows) row.errors.bound = 0, row.accumulation.evidence = "evidence";
    return reports::to_csv(studies::accumulation_table(rows));
  };
  const std::string right = csv("sm_90");

  CHECK(csv("block:n=32,f=13,out=rz,bits=13,least=-133") == right);
  CHECK(csv("block:n=32,f=14,out=rz,bits=13,least=-133") != right);
  CHECK(csv("block:n=32,f=12,out=rz,bits=13,least=-133") != right);
  CHECK(csv("block:n=16,f=13,out=rz,bits=13,least=-133") != right);
  CHECK(csv("block:n=32,f=13,out=rn,bits=13,least=-133") != right);
}

TEST_CASE("no error exceeds its bound", "[studies][accumulation]") {
  studies::AccumulationConfig config = small_study();
  config.distributions.insert(config.distributions.end(), {"uniform:1,1", "uniform:-0.001,0.001", "lognormal:-9,4"});
  config.lengths.push_back(8192);

  std::size_t bounded = 0;
  for (const auto& row : studies::accumulate(config)) {
    if (std::isnan(row.errors.bound) || row.errors.nonfinite != 0) continue;
    ++bounded;
    CAPTURE(row.accumulation.name, row.distribution, row.length);
    CHECK(row.errors.componentwise <= row.errors.bound);
  }

  CHECK(bounded > 400);
}

TEST_CASE("errors of accumulation do not depend on the number of threads", "[studies][accumulation]") {
  studies::AccumulationConfig config = small_study();
  config.threads = 1;
  const std::string one = reports::to_csv(studies::accumulation_table(studies::accumulate(config)));
  config.threads = 5;

  CHECK(reports::to_csv(studies::accumulation_table(studies::accumulate(config))) == one);
}

TEST_CASE("an accumulator that overflows has infinite errors", "[studies][accumulation]") {
  const auto half = studies::find_accumulation("fp16_chain", emu::float16, emu::float16, 0);

  const AccumulationErrors errors = errors_of(half, "uniform:16,16", "256:512", {2, 3}).back();

  CHECK(errors.nonfinite == 6);  // 512 * 256 > 65504
  CHECK(errors.max_abs == std::numeric_limits<double>::infinity());
  CHECK(errors.frobenius == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(errors.bound));  // holds where no sum overflows
  const AccumulationErrors finite = errors_of(half, "uniform:16,16", "128", {2, 3}).back();
  CHECK(finite.nonfinite == 0);
  CHECK(finite.bound > 0);
}

TEST_CASE("operands that become NaN have infinite errors", "[studies][accumulation]") {
  const auto powers = studies::find_accumulation("fma", emu::e8m0, emu::float32, 0);  // without a sign

  const AccumulationErrors errors = errors_of(powers, "uniform:-2,-1", "64", {2, 2}).back();

  CHECK(errors.nonfinite == 4);
  for (const double error : {errors.max_abs, errors.mean_abs, errors.rms, errors.mean_signed, errors.max_rel, errors.mean_rel,
                             errors.mean_signed_rel, errors.frobenius, errors.componentwise})
    CHECK(error == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(errors.bound));
}

TEST_CASE("products made of narrower ones stand beside float32's own", "[studies][accumulation]") {
  const auto errors = [](const char* engine, const char* distribution) {
    return errors_of(studies::find_accumulation(engine, emu::float32, emu::float32, 0), distribution, "64:256", {9, 7});
  };
  for (const char* const engine :
       {"fma", "3xtf32", "bf16x3", "bf16x6", "bf16x9:k=64", "f32x1", "ozaki1:slices=6", "ozaki2:moduli=12"})
    for (const AccumulationErrors& e : errors(engine, "normal:0,1")) {
      INFO(engine);
      CHECK(e.nonfinite == 0);
      CHECK(e.rounding == 0);  // float32 operands are what was drawn
      CHECK(e.bound > 0);
      CHECK(e.componentwise <= e.bound);
    }
  // The two parts of bfloat16 that are left out, and what integers keep.
  const double chain = errors("fma", "normal:0,1").back().frobenius;
  CHECK(errors("bf16x3", "normal:0,1").back().frobenius > 4 * chain);
  CHECK(errors("bf16x9", "normal:0,1").back().frobenius < 4 * chain);
  CHECK(errors("ozaki2:moduli=15", "normal:0,1").back().frobenius < 1e-14);
  // 2^128 - 2^119 and more has an infinite first part; the product is within float32's range.
  CHECK(errors("bf16x9", "uniform:3.4e38,3.4e38").back().nonfinite == 63);
  CHECK(errors_of(studies::find_accumulation("bf16x9", emu::float32, emu::float32, 0), "uniform:1e-25,1e-25", "64", {2, 2})
            .back()
            .nonfinite == 0);
}

TEST_CASE("the exact product of float32 operands is that of their integers", "[studies][accumulation]") {
  // Integers of 24 bits: their products have 48, and the sum of 4 is exact in float64.
  const auto e = errors_of(studies::find_accumulation("ozaki2:moduli=20", emu::float32, emu::float32, 0),
                           "integers:-16777216,16777216", "4", {8, 8});
  CHECK(e.back().max_abs == 0);
  CHECK(errors_of(studies::find_accumulation("fma", emu::float32, emu::float32, 0), "integers:-16777216,16777216", "4", {8, 8})
            .back()
            .max_abs > 0);
}

TEST_CASE("what cannot be studied is refused in one line", "[studies][accumulation]") {
  CHECK_THROWS_AS(studies::find_accumulation("sm_91", emu::e4m3, emu::float32, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("sm_80", emu::e4m3, emu::float32, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("sm_90", emu::e4m3, emu::float32, 100), Error);
  CHECK_THROWS_AS(studies::find_accumulation("fma", emu::float64, emu::float32, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("bf16x6", emu::bfloat16, emu::float32, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("bf16x6", emu::float32, emu::float16, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("bf16x6", emu::float32, emu::float32, 64), Error);
  CHECK_THROWS_AS(studies::find_accumulation("ozaki1:slices=99", emu::float32, emu::float32, 0), Error);
  CHECK_THROWS_AS(studies::find_accumulation("fma", emu::float16, emu::float64, 0), Error);
  for (const char* word : {"", "0", "64:", ":64", "64:32", "64:x", "1e3", "64:99999999999"})
    CHECK_THROWS_AS(studies::parse_lengths(word), Error);
  CHECK(studies::parse_lengths("64:300") == std::vector<std::size_t>{64, 128, 256});
  for (const char* word : {"", "32", "32x", "0x4", "4x4x4", "9999x1"})
    CHECK_THROWS_AS(studies::parse_output_shape(word), Error);
}
