// SPDX-License-Identifier: Apache-2.0
// Replays of recorded runs: files and their faults, and gradients counted against the compiler's own float16.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../reports/temporary_directory.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/columns.hpp"
#include "training/scale/scale_study.hpp"

namespace ulpscope::training {
namespace {

std::string file_of(const TemporaryDirectory& directory, const std::string& name, const std::string& text) {
  const std::string path = directory.file(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

/// A .safetensors file of float32 tensors, put together by hand.
std::string gradients_of(const TemporaryDirectory& directory,
                         const std::vector<std::pair<std::string, std::vector<float>>>& tensors,
                         const std::string& dtype = "F32") {
  std::string header = "{", data;
  for (const auto& [name, values] : tensors) {
    const std::string first = std::to_string(data.size());
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" +
              std::to_string(values.size()) + "],\"data_offsets\":[" + first + "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  const std::uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return file_of(directory, "g.safetensors", text + header + data);
}

std::string message(const ScaleRequest& request) {
  try {
    replay(request);
  } catch (const Error& error) {
    return std::string(error.what()).substr(std::string(error.what()).rfind('/') + 1);
  }
  return "";
}

TEST_CASE("a trace of overflows decides for every scaler", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = file_of(directory, "t.csv", "loss,found_inf\n1.5,1\n1.25,0\n1,1\n");
  const ScaleResult result = replay({.trace = path, .scaler = {"pytorch,apex:scale_window=1", "static:2^4"}});
  REQUIRE(result.replays.size() == 3);
  CHECK(result.windows.empty());
  const auto scales = [&](std::size_t i) {
    std::vector<double> all;
    for (const ReplayedStep& row : result.replays[i].steps) {
      CHECK(row.step.skipped == (row.number != 1));
      CHECK(row.found_inf == (row.number != 1));
      all.push_back(row.step.scale);
    }
    return all;
  };
  CHECK(scales(0) == std::vector<double>{65536, 32768, 32768});
  CHECK(scales(1) == std::vector<double>{65536, 32768, 65536});
  CHECK(scales(2) == std::vector<double>{16, 16, 16});
  const auto tables = scale_tables(result);
  CHECK(tables.front().columns == std::vector<std::string>{"scaler", "step", "scale", "found_inf", "skipped", "next_scale"});
  CHECK(tables.front().rows.size() == 9);
  CHECK(scale_findings(result)[0].sentence ==
        "pytorch: 2 of 3 steps skipped, the first 0, the last 2; the last scale is 16384 (2^14).");
}

TEST_CASE("a trace of amax overflows where the scaled amax does", "[training]") {
  const TemporaryDirectory directory;
  // 65520 is the least magnitude that float16 does not hold.
  const std::string path = file_of(directory, "t.csv",
                                   "\xef\xbb\xbf"
                                   "amax,found_inf\n65519.99,1\n65520,0\ninf,0\nnan,0\n0,1\n");
  const ScaleResult result = replay({.trace = path, .scaler = {"static:1", "popart", "te_current"}});
  std::vector<bool> skipped;
  for (const ReplayedStep& row : result.replays[0].steps) skipped.push_back(row.step.skipped);
  CHECK(skipped == std::vector<bool>{false, true, true, true, false});
  for (const ReplayedStep& row : result.replays[1].steps) CHECK_FALSE(row.step.skipped);
  CHECK(result.replays[1].steps[0].step.next_scale == 0.5);  // beyond a sixteenth of the largest number
  CHECK(result.replays[2].steps[1].step.scale == static_cast<double>(65504.0F / 65520.0F));
  REQUIRE(result.windows.size() == 5);
  CHECK(result.windows[1].greatest < 1);
  CHECK(result.windows[0].greatest > 1);
  CHECK_FALSE(result.windows[2].greatest.has_value());
  CHECK_FALSE(result.windows[4].greatest.has_value());
  CHECK(result.remark == path + ": has amax, which decides at every scale; found_inf, of the scale at that time, is not used; "
                                "it is 1 in 2 rows where amax is finite");
  // In e4m3 464 is still rounded to 448, as the tie to even.
  const std::string narrow = file_of(directory, "n.csv", "amax\n464\n464.001\n");
  const ScaleResult e4m3 = replay({.trace = narrow, .scaler = {"static:1"}, .to = "e4m3"});
  CHECK_FALSE(e4m3.replays[0].steps[0].found_inf);
  CHECK(e4m3.replays[0].steps[1].found_inf);
  CHECK(e4m3.windows[0].greatest == 1);
}

TEST_CASE("gradients beyond a format without infinity are counted, and so are those that a scale of 0 leaves nothing of",
          "[training]") {
  const TemporaryDirectory directory;
  const std::string path = gradients_of(directory, {{"0/w", {0.05F, -0.2F, 0.1F, 0.09F}}});
  const ScaleResult narrow = replay({.trace = path, .scaler = {"static:64"}, .to = "e2m1"});
  REQUIRE(narrow.replays[0].steps[0].loss);
  CHECK(narrow.replays[0].steps[0].loss->overflow == 1);  // 12.8 is beyond 6; 6.4 is rounded to 6
  const ScaleResult dead = replay({.trace = path, .scaler = {"static:1e-45"}});
  REQUIRE(dead.replays[0].steps[0].loss);
  CHECK(dead.replays[0].steps[0].loss->to_zero == 4);
  const ScaleResult scaled = replay({.trace = path, .scaler = {"static:1"}});
  CHECK(scaled.replays[0].steps[0].loss->cosine <= 1);
  CHECK(scaled.replays[0].steps[0].loss->elements == 4);

  const std::string infinite = file_of(
      directory, "i.csv", "found_inf\n" + [] {
        std::string rows;
        for (int i = 0; i < 170; ++i) rows += "1\n";
        return rows;
      }());
  const reports::Finding finding = scale_findings(replay({.trace = infinite, .scaler = {"pytorch"}}))[0];
  CHECK(finding.severity == reports::Severity::bad);
  CHECK(finding.sentence.find("the last scale is 0, at which nothing is left of any gradient") != std::string::npos);
}

TEST_CASE("steps have the numbers that a trace gives them", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = file_of(directory, "t.csv", "step,amax\n0,1\n10,1\n20,70000\n30,1\n");

  const ScaleResult result = replay({.trace = path, .scaler = {"static:1"}});

  std::vector<std::uint64_t> numbers;
  for (const ReplayedStep& row : result.replays[0].steps) numbers.push_back(row.number);
  CHECK(numbers == std::vector<std::uint64_t>{0, 10, 20, 30});
  CHECK(result.windows[2].step == 20);
  CHECK(scale_findings(result)[0].sentence.find("1 of 4 steps skipped, the first 20;") != std::string::npos);
}

TEST_CASE("what is beyond a format without infinity is told of an amax, too", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = file_of(directory, "t.csv", "amax\n1\n100\n6.9\n1e6\ninf\n");

  const ScaleResult result = replay({.trace = path, .scaler = {"static:1"}, .to = "e2m1"});

  std::vector<bool> clamped;
  for (const ReplayedStep& row : result.replays[0].steps) {
    CHECK_FALSE(row.found_inf);
    clamped.push_back(row.clamped);
  }
  CHECK(clamped == std::vector<bool>{false, true, false, true, true});  // 6.9 is rounded to 6
  CHECK(scale_findings(result)[0].sentence.find("; 3 beyond the format, which has no infinity") != std::string::npos);
}

TEST_CASE("an infinite or NaN amax is told of every scaler, and halves PopART's scale", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = file_of(directory, "t.csv", "amax\n1e-3\nnan\ninf\n");

  const ScaleResult result = replay({.trace = path, .scaler = {"popart", "te_current", "te_delayed", "ms_amp"}});

  for (const Replay& one : result.replays) {
    CHECK_FALSE(one.steps[0].found_inf);
    CHECK(one.steps[1].found_inf);
    CHECK(one.steps[2].found_inf);
  }
  CHECK(result.replays[0].steps[1].step.next_scale == result.replays[0].steps[1].step.scale / 2);
  const std::string recorded = gradients_of(directory, {{"0/w", {std::nanf(""), 1e-3F}}, {"1/w", {HUGE_VALF, 1e-3F}}});
  const ScaleResult gradients = replay({.trace = recorded, .scaler = {"popart", "te_current"}});
  CHECK(gradients.replays[0].steps[0].step.next_scale == 0.5);
  CHECK(gradients.replays[1].steps[0].found_inf);
}

TEST_CASE("a scaler that raises ends its rows with a remark", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = file_of(directory, "t.csv", "found_inf\n1\n1\n1\n1\n");
  const ScaleResult result = replay({.trace = path, .scaler = {"deepspeed:initial_scale_power=1,hysteresis=1", "keras"}});
  CHECK(result.replays[0].steps.size() == 2);
  CHECK(result.replays[1].steps.size() == 4);
  const reports::Finding finding = scale_findings(result)[0];
  CHECK(finding.severity == reports::Severity::bad);
  CHECK(
      finding.sentence ==
      "deepspeed:initial_scale_power=1,hysteresis=1: 2 of 2 steps skipped, the first 0, the last 1; the last scale is 1 (2^0); "
      "once on its floor, 1 (2^0); it raises at step 1, which ends the training.");
}

/// Gradients of all sizes, from far below float16's least number to beyond its largest.
std::vector<float> gradients(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto fraction = static_cast<float>(random() % (1 << 24)) * 0x1p-23F - 1;
    values.push_back(std::ldexp(fraction, static_cast<int>(random() % 60) - 45));
  }
  values[1] = 0;
  return values;
}

// The compiler's own type; GCC 12 has no _Float16 in C++ for Arm.
#ifdef __aarch64__
using Half = __fp16;
#else
using Half = _Float16;
#endif

/// What scale_gradients() counts, by conversions of the compiler.
ScaledGradients counted(const std::vector<std::vector<float>>& tensors, float scale) {
  ScaledGradients counts;
  long double dot = 0, gg = 0, uu = 0;
  for (const auto& tensor : tensors)
    for (const float g : tensor) {
      const auto y = static_cast<Half>(g * scale);
      const float used = static_cast<float>(y) * (1 / scale);
      const bool finite = std::isfinite(static_cast<float>(y));
      counts.to_zero += g != 0 && used == 0 ? 1 : 0;
      counts.subnormal += static_cast<float>(y) != 0 && std::fabs(static_cast<float>(y)) < 0x1p-14F ? 1 : 0;
      counts.overflow += finite ? 0 : 1;
      counts.found_inf |= !finite;
      dot += static_cast<long double>(g) * static_cast<long double>(used);
      gg += static_cast<long double>(g) * static_cast<long double>(g);
      uu += static_cast<long double>(used) * static_cast<long double>(used);
    }
  counts.cosine = static_cast<double>(dot / (std::sqrt(gg) * std::sqrt(uu)));
  return counts;
}

TEST_CASE("recorded gradients are counted at every scale", "[training]") {
  const TemporaryDirectory directory;
  const std::vector<std::vector<float>> first{gradients(1, 70000), gradients(2, 300)}, second{gradients(3, 5000)};
  const std::string path = gradients_of(directory, {{"10/w", second[0]}, {"2/layer/a", first[0]}, {"2/b", first[1]}});
  const Trace trace = read_trace(path);
  REQUIRE(trace.steps.size() == 2);
  CHECK(trace.steps[0].step == 2);  // by number, not by letter
  CHECK(trace.steps[1].step == 10);
  CHECK(trace.elements() == 75300);
  for (const int power : {-12, 0, 1, 5, 20}) {
    CAPTURE(power);
    const float scale = std::ldexp(1.0F, power);
    for (std::size_t s = 0; s < 2; ++s) {
      const ScaledGradients expected = counted(s == 0 ? first : second, scale);
      for (const int threads : {1, 3}) {
        const ScaledGradients found =
            scale_gradients(trace.steps[s], emu::float16, {.scale = static_cast<double>(scale)}, threads);
        CHECK(found.to_zero == expected.to_zero);
        CHECK(found.subnormal == expected.subnormal);
        CHECK(found.overflow == expected.overflow);
        CHECK(found.found_inf == expected.found_inf);
        if (expected.found_inf)
          CHECK(std::isnan(found.cosine));
        else
          CHECK(std::fabs(found.cosine - expected.cosine) < 1e-12);
      }
    }
  }
}

TEST_CASE("unscaling in the gradients' own format loses small ones twice", "[training]") {
  const TemporaryDirectory directory;
  // 2^-26 becomes 2^-16 at scale 2^10, and zero again when float16 divides it.
  const std::string path = gradients_of(directory, {{"0/w", {0x1p-26F, 0x1p-20F, -0x1p-24F}}});
  const Trace trace = read_trace(path);
  const GradientScaling wide{.scale = 1024};
  GradientScaling narrow = wide;
  narrow.unscaled_in_format = true;
  CHECK(scale_gradients(trace.steps[0], emu::float16, wide, 1).to_zero == 0);
  CHECK(scale_gradients(trace.steps[0], emu::float16, narrow, 1).to_zero == 1);
  const ScaleResult result = replay({.trace = path, .scaler = {"adaptive:init_scale=1024", "genesis:init_scale=1024"}});
  CHECK(result.replays[0].steps[0].loss->to_zero == 0);
  CHECK(result.replays[1].steps[0].loss->to_zero == 1);
}

TEST_CASE("scaled tensors saturate, and the window of safe scales is that of the counts", "[training]") {
  const TemporaryDirectory directory;
  const std::string path = gradients_of(directory, {{"0/w", {3, -0.001F, 0.5F}}, {"1/w", {6, -0.002F, 1}}});
  const ScaleResult result = replay({.trace = path, .scaler = {"te_delayed"}, .to = "e4m3"});
  const auto& steps = result.replays[0].steps;
  CHECK(steps[1].step.scale == static_cast<double>(448.0F / 3.0F));
  CHECK(steps[1].loss->overflow == 1);
  CHECK_FALSE(steps[1].step.skipped);
  CHECK(std::isfinite(steps[1].loss->cosine));
  const Trace trace = read_trace(path);
  for (std::size_t s = 0; s < 2; ++s) {
    const auto at = [&](double scale) { return scale_gradients(trace.steps[s], emu::float8_e4m3fn, {.scale = scale}, 1); };
    const SafeScales& window = result.windows[s];
    CHECK(at(*window.greatest).overflow == 0);
    CHECK(at(*window.greatest * (1 + 1e-12)).overflow == 1);
    CHECK(at(*window.least * (1 + 1e-12)).to_zero == 0);
    CHECK(at(*window.least * (1 - 1e-12)).to_zero == 1);
  }
}

TEST_CASE("a trace that is none is refused in words", "[training]") {
  const TemporaryDirectory directory;
  const auto of_text = [&](const std::string& text) { return message({.trace = file_of(directory, "t.csv", text)}); };
  CHECK(of_text("loss\n1\n") == "t.csv: no column found_inf (0 or 1) or amax; one of them is needed");
  CHECK(of_text("found_inf\n0\n2\n") == "t.csv: row 3: found_inf '2': give 0 or 1");
  CHECK(of_text("amax\n-1\n") == "t.csv: row 2: amax '-1': give a number of at least 0, inf or nan");
  CHECK(of_text("amax\nx\n") == "t.csv: row 2: amax 'x': give a number of at least 0, inf or nan");
  CHECK(of_text("amax\n") == "t.csv: holds no step");
  CHECK(of_text("amax\n1\n\n2\n") == "t.csv: row 3 is blank");
  CHECK(of_text("amax\r\n1\r\n\r\n2\r\n") == "t.csv: row 3 is blank");
  CHECK(of_text("\namax\n1\n") == "t.csv: row 1 is blank");
  CHECK(of_text("amax\r\n1\r\n2\r\n\r\n").empty());
  CHECK(of_text("amax,amax\n1,2\n") == "t.csv: has several columns amax; leave one");
  CHECK(of_text("step,amax\n100,1\n105,1\n102,1\n") ==
        "t.csv: row 4: step 102 is behind step 105: a trace is of one run, and its steps ascend");
  CHECK(of_text("step,amax\n1.5,1\n") == "t.csv: row 2: step '1.5': give a whole number");
  CHECK(message({.trace = file_of(directory, "t.csv", "amax\n1\n"), .to = "e8m0"}) ==
        "--to float8_e8m0fnu: has no sign; gradients need one");
  CHECK(message({.trace = file_of(directory, "t.csv", "found_inf\n0\n"), .scaler = {"te_current"}}) ==
        "scaler te_current: follows the largest magnitude (amax), which is not given");
  CHECK(message({.trace = gradients_of(directory, {{"layer", {1}}})}).ends_with("layer1.weight"));
  CHECK(message({.trace = gradients_of(directory, {{"1/layer", {1}}}, "I32")}).find("gradients are floating-point numbers") !=
        std::string::npos);
}

}  // namespace
}  // namespace ulpscope::training
