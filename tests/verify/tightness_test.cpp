// SPDX-License-Identifier: Apache-2.0
// How near errors come to bounds, in cases worked out by hand.
#include "verify/tightness.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_bound.hpp"
#include "reports/render.hpp"
#include "tensors/synthetic.hpp"

namespace {

using namespace ulpscope;
using verify::TightnessConfig;
using verify::TightnessRow;

TightnessConfig small() {
  TightnessConfig config;
  config.lengths = {64, 1000, 4096};
  config.shape = {4, 5};
  return config;
}

}  // namespace

TEST_CASE("no share exceeds 1, and those of the probabilistic bound are no less", "[verify][tightness]") {
  TightnessConfig config = small();
  for (const char* const engine : {"amx_bf16", "cdna2", "cdna3", "avx512_bf16"})
    config.accumulations.push_back(studies::find_accumulation(engine, emu::bfloat16, emu::float32, 0));

  const std::vector<TightnessRow> rows = verify::tightness(config);

  CHECK(rows.size() == std::size_t{18} * 4 * 3);
  double closest = 0;
  for (const TightnessRow& row : rows) {
    CAPTURE(row.accumulation.name, row.distribution, row.length);
    CHECK(row.bounded);
    if (row.nonfinite > 0) continue;
    const verify::Shares &d = row.observed_over_bound, &p = row.observed_over_probable;
    CHECK(d.max <= 1);
    CHECK(p.max <= 1);
    CHECK((d.median <= d.q90 && d.q90 <= d.q99 && d.q99 <= d.max));
    CHECK((d.median <= p.median && d.max <= p.max));
    closest = std::max(closest, p.max);
  }
  CHECK(closest > 0.2);
}

TEST_CASE("shares of one product worked out by hand", "[verify][tightness]") {
  // Three outputs: chains of float32 fused multiply-adds over float16 numbers, with their sums in float64.
  const std::size_t length = 300;
  TightnessConfig config;
  config.accumulations = {studies::find_accumulation("fma", emu::float16, emu::float32, 0)};
  config.distributions = {"uniform:0,1"};
  config.lengths = {length};
  config.shape = {1, 3};
  config.seed = 5;
  std::vector<float> a(length), b(3 * length);
  tensors::synthetic("uniform:0,1:1x300", 5).source->read(0, std::span(a));
  tensors::synthetic("uniform:0,1:300x3", 6).source->read(0, std::span(b));
  const auto to_half = [](float x) {  // 11 significand bits to nearest, ties to even: all are normal halfs
    const float spacing = std::ldexp(1.0F, std::max(std::ilogb(x), -14) - 10);
    return std::nearbyint(x / spacing) * spacing;
  };
  std::vector<double> shares;
  for (std::size_t j = 0; j < 3; ++j) {
    double exact = 0;
    float chain = 0;
    for (std::size_t k = 0; k < length; ++k) {
      const float x = to_half(a[k]), y = to_half(b[3 * k + j]);
      exact += static_cast<double>(x) * static_cast<double>(y);
      chain = std::fma(x, y, chain);
    }
    const double gamma = 300 * 0x1p-24 / (1 - 300 * 0x1p-24);
    shares.push_back(std::fabs(static_cast<double>(chain) - exact) / (gamma * exact));
  }
  std::sort(shares.begin(), shares.end());

  const TightnessRow row = verify::tightness(config).front();

  CHECK(row.elements == 3);
  CHECK(std::fabs(row.observed_over_bound.median / shares[1] - 1) < 1e-6);
  CHECK(std::fabs(row.observed_over_bound.max / shares[2] - 1) < 1e-6);
  CHECK(row.observed_over_bound.q90 == row.observed_over_bound.max);
}

TEST_CASE("tightness does not depend on the number of threads", "[verify][tightness]") {
  TightnessConfig config = small();
  config.lengths = {64, 200};
  config.threads = 1;
  const std::string one = reports::to_csv(verify::tightness_table(verify::tightness(config)));
  config.threads = 5;

  CHECK(reports::to_csv(verify::tightness_table(verify::tightness(config))) == one);
}
