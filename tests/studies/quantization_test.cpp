// SPDX-License-Identifier: Apache-2.0
// Quantizers against closed forms, published errors and elements rounded one by one; recommendations by hand.
#include "studies/quantization/quantization.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "studies/quantization/error_quantiles.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/write.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using studies::Quantized, studies::ScaleRule;

namespace {

std::vector<Quantized> measured(std::vector<std::string> formats, std::vector<std::string> scales,
                                const std::string& input = "normal:0,1:512x512") {
  studies::QuantizationRequest request;
  request.inputs = {input};
  request.formats.to = std::move(formats);
  request.scale = std::move(scales);
  return studies::quantize(request);
}

std::vector<double> elements(const std::string& input) {
  const tensors::Tensor tensor = tensors::synthetic(input, 0);
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, values);
  return values;
}

double decibels(double mse) { return -10 * std::log10(mse); }

Quantized row(const char* scale, emu::Format format, double bits, double sqnr_db) {
  Quantized out{.tensor = "t", .format = format, .scaling = studies::parse_scaling(scale)};
  out.bits_per_element = bits;
  out.count = 100;
  out.sqnr_db = sqnr_db;
  return out;
}

}  // namespace

TEST_CASE("quantiles are those of the sorted numbers", "[quantization]") {
  std::mt19937_64 random(1);
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{10}, std::size_t{1000}, std::size_t{100001}}) {
    std::vector<float> numbers;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t kind = random() % 8;
      const auto significand = static_cast<float>(random() % 4096);
      const float size = std::ldexp(significand, -static_cast<int>(random() % 60));
      numbers.push_back(kind == 0 ? 0.0F : kind == 1 ? std::numeric_limits<float>::infinity() : size);
    }
    std::vector<float> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const std::vector<double> shares{1e-9, 0.25, 0.5, 0.9, 0.999, 1};
    const studies::Numbers pieces = [&](const auto& use) {
      for (std::size_t first = 0; first < n; first += 97)
        use(std::span<const float>(numbers).subspan(first, std::min<std::size_t>(97, n - first)));
    };
    const std::vector<float> found = studies::quantiles(pieces, shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      // the least number with at least q n of the numbers at most it, counted
      const auto reaches = [&](float v) {
        const auto most = std::upper_bound(sorted.begin(), sorted.end(), v) - sorted.begin();
        return static_cast<double>(most) >= shares[i] * static_cast<double>(n);
      };
      const auto expected = std::find_if(sorted.begin(), sorted.end(), reaches);
      INFO(n << ", " << shares[i]);
      REQUIRE(expected != sorted.end());
      CHECK(found[i] == *expected);
    }
  }
  const studies::Numbers none = [](const auto&) {};
  CHECK(std::isnan(studies::quantiles(none, std::vector<double>{0.5}).front()));
  const std::vector<float> with_nan{1, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(), 2};
  const studies::Numbers nans = [&](const auto& use) { use(std::span<const float>(with_nan)); };
  CHECK(studies::quantiles(nans, std::vector<double>{0.5}).front() == 2);
  CHECK(std::isnan(studies::quantiles(nans, std::vector<double>{1}).front()));
}

TEST_CASE("normal numbers: decibels of closed forms and of publications", "[quantization]") {
  // Unscaled, nearest even, saturating: closed forms. No number of this tensor is beyond 448.
  CHECK_THAT(measured({"fp16"}, {"none"}).front().sqnr_db, WithinAbs(73.6509, 0.05));
  CHECK_THAT(measured({"e4m3"}, {"none"}).front().sqnr_db, WithinAbs(31.5211, 0.05));
  // Uniform steps of amax / 127: a twelfth of the step squared.
  double amax = 0, power = 0;
  const std::vector<double> values = elements("normal:0,1:512x512");
  for (const double x : values) amax = std::max(amax, std::fabs(x)), power += x * x;
  const double step = amax / 127, noise = step * step / 12;
  CHECK_THAT(measured({"int8"}, {"amax"}).front().sqnr_db,
             WithinAbs(decibels(noise / (power / static_cast<double>(values.size()))), 0.05));
  // MXFP4: 1.3191e-2 with OCP's floor, 1.3291e-2 with the scale rounded up, +-0.5%; NVFP4: 9.0e-3 (Quartet II, arXiv
  // 2601.22813).
  CHECK_THAT(measured({"e2m1"}, {"mx:floor"}).front().sqnr_db, WithinAbs(decibels(1.3191e-2), 0.05));
  CHECK_THAT(measured({"e2m1"}, {"mx:rceil"}).front().sqnr_db, WithinAbs(decibels(1.3291e-2), 0.05));
  CHECK_THAT(measured({"e2m1"}, {"nvfp4"}).front().sqnr_db, WithinAbs(decibels(9.0e-3), 0.05));
}

TEST_CASE("int8 with a scale for each row and each group of 128, element by element", "[quantization]") {
  const std::string input = "studentt:3:64x300";
  const std::vector<double> values = elements(input);
  const std::size_t columns = 300;
  struct Case {
    const char* rule;
    std::size_t block;  // elements of a row under one scale
  };
  for (const Case& of : {Case{"row", columns}, Case{"1x128", 128}}) {
    std::vector<double> relative;
    double signal = 0, noise = 0;
    std::uint64_t to_zero = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t start = i / columns * columns + i % columns / of.block * of.block;
      const std::size_t end = std::min(i / columns * columns + columns, start + of.block);
      double amax = 0;
      for (std::size_t k = start; k < end; ++k) amax = std::max(amax, std::fabs(values[k]));
      const float scale = 127.0F / static_cast<float>(amax);
      const double code = std::clamp(std::nearbyint(static_cast<double>(static_cast<float>(values[i]) * scale)), -127.0, 127.0);
      const double error = code / static_cast<double>(scale) - values[i];
      signal += values[i] * values[i], noise += error * error;
      to_zero += code == 0 ? 1 : 0;
      relative.push_back(std::fabs(error) / std::fabs(values[i]));
    }
    std::sort(relative.begin(), relative.end());
    const Quantized row = measured({"int8"}, {of.rule}, input).front();
    INFO(of.rule);
    CHECK(row.to_zero == to_zero);
    CHECK_THAT(row.sqnr_db, WithinAbs(10 * std::log10(signal / noise), 1e-9));
    for (std::size_t q = 0; q < studies::told_quantiles.size(); ++q) {
      const auto rank = static_cast<std::size_t>(std::ceil(studies::told_quantiles[q] * static_cast<double>(relative.size())));
      CHECK(static_cast<double>(row.relative_errors[q]) >= relative[rank - 1]);
      CHECK(static_cast<double>(std::nextafter(row.relative_errors[q], 0.0F)) < relative[rank - 1]);
    }
    CHECK(row.max_relative_error == relative.back());
  }
}

TEST_CASE("bits of an element count the stored scales", "[quantization]") {
  const double n = 512 * 512;
  CHECK(measured({"e4m3"}, {"none"}).front().bits_per_element == 8);
  CHECK(measured({"e4m3"}, {"amax"}).front().bits_per_element == 8 + 32 / n);
  CHECK(measured({"e4m3"}, {"4"}).front().bits_per_element == 8 + 32 / n);
  CHECK(measured({"e4m3"}, {"row"}).front().bits_per_element == 8 + 32.0 / 512);
  CHECK(measured({"e4m3"}, {"1x128"}).front().bits_per_element == 8.25);
  CHECK(measured({"e4m3"}, {"128x128"}).front().bits_per_element == 8 + 32.0 / (128 * 128));
  CHECK(measured({"e2m3"}, {"mx:rceil"}).front().bits_per_element == 6.25);
  CHECK(measured({"e2m1"}, {"nvfp4"}).front().bits_per_element == 4.5 + 32 / n);
  CHECK(measured({"e4m3"}, {"1x128"}, "normal:0,1:2x130").front().bits_per_element == 8 + 4 * 32.0 / 260);  // short blocks, too
}

TEST_CASE("pairs that nobody uses are left out, and a request of nothing else is refused", "[quantization]") {
  CHECK_FALSE(is_used_with(emu::integer(8), ScaleRule::none));
  CHECK_FALSE(is_used_with(emu::e4m3, ScaleRule::nvfp4));
  CHECK_FALSE(is_used_with(emu::fp16, ScaleRule::tile_1x128));
  CHECK(is_used_with(emu::fp16, ScaleRule::amax));
  CHECK(is_used_with(emu::integer(4), ScaleRule::tile_1x128));
  CHECK_THROWS_MATCHES(measured({"int8"}, {"none"}), Error,
                       Catch::Matchers::Message("--to, --scale: none of these formats is used with one of these scales"));
}

TEST_CASE("ranks are by decibels among codes of as many bits", "[quantization]") {
  const std::vector<Quantized> rows = measured({"e2m1", "e4m3", "int8", "e5m2", "fp16"}, {"amax", "row"});
  int bits = 99, rank = 0;
  double before = 0;
  for (const Quantized& row : rows) {
    if (row.format.bits() != bits) {
      CHECK(row.format.bits() < bits);
      bits = row.format.bits(), rank = 0, before = std::numeric_limits<double>::infinity();
    }
    CHECK(row.rank == ++rank);
    CHECK(row.sqnr_db <= before);
    before = row.sqnr_db;
  }
  CHECK(rows.size() == 9);  // fp16 has no row scale, others two
  // Normal numbers at 8 bits: integers beat e4m3, which beats e5m2.
  CHECK(rows[1].format == emu::integer(8));
}

TEST_CASE("recommended is what reaches the decibels with fewest bits", "[quantization]") {
  const std::vector<Quantized> rows{row("none", emu::fp16, 16, 70), row("mx:rceil", emu::e4m3, 8.25, 31),
                                    row("none", emu::e4m3, 8, 29), row("1x128", emu::integer(8), 8.25, 40),
                                    row("nvfp4", emu::e2m1, 4.5, 20)};
  const auto at = [&](double wanted) { return studies::recommend(rows, {.sqnr_db = wanted}); };
  CHECK(at(30).choice.format == emu::integer(8));  // of two with as many bits the better
  CHECK(at(30).reaches);
  CHECK(at(30).reason == "with fewer bits float8_e4m3fn, none comes nearest: 29 dB");
  CHECK(at(20).choice.format == emu::e2m1);
  CHECK(at(20).reason == "the fewest bits asked for reach 20 dB");
  CHECK(at(29).choice.scaling.word == "none");
  CHECK(at(71).choice.format == emu::fp16);
  CHECK_FALSE(at(71).reaches);
  CHECK(at(71).reason == "none reaches 71 dB; the nearest is float16, none, 70 dB");
}

TEST_CASE("the reason tells what was left out, and why, where it would have been nearer", "[quantization]") {
  const std::vector<Quantized> rows{row("none", emu::bf16, 16, 52), row("none", emu::e5m2, 8, 26)};
  const auto reason = [&](const std::vector<Quantized>& kept, double wanted, double left_out_db, double bits = 8) {
    return studies::recommend(kept, {.sqnr_db = wanted}, {{row("none", emu::e4m3, bits, left_out_db), "no infinity"}}).reason;
  };
  const std::string others = "; left out are such as float8_e4m3fn, none (8 bits, 32 dB): no infinity";
  CHECK(reason(rows, 30, 32) == "with fewer bits float8_e5m2, none comes nearest: 26 dB" + others);
  CHECK(reason(rows, 30, 25) == "with fewer bits float8_e5m2, none comes nearest: 26 dB");
  CHECK(reason({rows[0]}, 30, 32) == "the fewest bits that are left reach 30 dB" + others);
  CHECK(reason({rows[0]}, 30, 32, 16) == "the fewest bits asked for reach 30 dB");  // it has no fewer bits
  CHECK(reason({rows[1]}, 30, 32) == "none reaches 30 dB; the nearest is float8_e5m2, none, 26 dB" + others);
  CHECK(reason(rows, 60, 32) == "none reaches 60 dB; the nearest is bfloat16, none, 52 dB");
}

TEST_CASE("the reason tells what the choice loses", "[quantization]") {
  Quantized choice = row("mx:floor", emu::integer(8), 8.25, 49);
  choice.count = 4, choice.to_zero = 2;
  const auto reason = [&](double wanted) { return studies::recommend({choice}, {.sqnr_db = wanted}).reason; };
  CHECK(reason(30) == "the fewest bits asked for reach 30 dB; as stored 50% become zero");
  CHECK(reason(50) == "none reaches 50 dB; the nearest is int8, mx:floor, 49 dB, in which 50% become zero");
  choice.overflow = 1;
  CHECK(reason(30) == "the fewest bits asked for reach 30 dB; as stored 25% overflow and 50% become zero");
}

TEST_CASE("zeros, NaN and infinities among the elements", "[quantization]") {
  const std::vector<Quantized> rows = measured({"fp16", "int8", "e4m3"}, {"none", "amax", "mx:rceil"}, "normal:0,0:64");
  for (const Quantized& row : rows) CHECK(row.to_zero == 0);
  studies::QuantizationRequest request;
  const TemporaryDirectory folder;
  const std::string empty = folder.file("empty.npy");
  tensors::write_npy(empty, {0}, tensors::Producer<float>([](std::uint64_t, std::span<float>) {}));
  request.inputs = {empty};
  const studies::StudyResult none = studies::run(request, {});
  CHECK(none.tables.at(1).rows.empty());
  CHECK(none.findings.empty());
  CHECK(none.remarks.at(0) == "Nothing is ranked.");
  CHECK(none.remarks.at(1) == empty + " has no finite number");
  const std::vector<Quantized> wide = measured({"fp16"}, {"none"}, "lognormal:0,20:4096");
  CHECK(wide.front().overflow > 0);
  CHECK(wide.front().sqnr_db == -std::numeric_limits<double>::infinity());
}

TEST_CASE("a recommended format keeps infinities and NaN", "[quantization]") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("nonfinite.npy");
  tensors::write_npy(path, {4}, tensors::Producer<float>([](std::uint64_t, std::span<float> out) {
                       const float infinite = std::numeric_limits<float>::infinity();
                       std::ranges::copy(std::array{1.0F, 2.0F, infinite, std::nanf("")}, out.begin());
                     }));
  studies::QuantizationRequest request;
  request.inputs = {path};
  request.scale = {"none", "amax"};
  request.formats.to = {"e2m1", "e4m3", "e5m2", "bf16"};
  const studies::StudyResult kept = studies::run(request, {});
  const std::string& sentence = kept.findings.at(0).sentence;
  CHECK(sentence.starts_with(path + ": store it as float8_e5m2, none"));
  CHECK(sentence.ends_with(
      "; left out are such as float4_e2m1fn, none (4 bits, inf dB): they would lose its infinities or NaN."));
  request.formats.to = {"e2m1", "e4m3"};
  const studies::StudyResult none = studies::run(request, {});
  CHECK(none.findings.empty());
  CHECK(none.remarks.at(1) == path + ": none of these formats keeps it: they would lose its infinities or NaN");
}

TEST_CASE("a scale whose reciprocal is no normal float32 is not stored", "[quantization]") {
  const tensors::Tensor tensor = tensors::synthetic("normal:0,1:8", 0);
  const auto stored = [&](const char* word) {
    return studies::QuantizedTensor(tensor, emu::e4m3, {}, studies::parse_scaling(word), 0).scales().front();
  };
  CHECK(stored("2^126") == 0x1p-126F);
  CHECK(stored("2^-127") == 0x1p127F);
  for (const char* word : {"2^127", "2^150", "2^-128", "1e-39", "1e300"}) CHECK_THROWS_AS(stored(word), Error);
}

TEST_CASE("the same rows at any number of threads", "[quantization]") {
  studies::QuantizationRequest request;
  request.inputs = {"normal:0,1:70x300", "studentt:3:5000"};
  const auto cells = [&](int threads) {
    request.threads = threads;
    return studies::run(request, {}).tables.front().rows;
  };
  CHECK(cells(1) == cells(2));
}
