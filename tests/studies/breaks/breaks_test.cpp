// SPDX-License-Identifier: Apache-2.0
// Values by hand, of the literature, and of loops over numbers rounded here, none of which is the emulator's.
#include "studies/breaks/breaks.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/philox.hpp"
#include "reports/render.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using emu::Rounding;
using studies::ScaleCause;
using studies::ScaleOutcome;

namespace {

/// Sums and limits alone, and no inner products.
studies::BreaksRequest without_functions() {
  studies::BreaksRequest request;
  request.function = {};
  request.sums.terms = 4096;
  request.sums.lengths = {};
  return request;
}

studies::BreaksRequest one_function(const std::string& name, const std::string& format, const std::string& scales) {
  studies::BreaksRequest request = without_functions();
  request.function = {name};
  request.formats.to = {format};
  request.rounding = {"nearest_even"};
  request.log2_scale = scales;
  request.sums.terms = 1;
  return request;
}

const studies::SumRow& sum_of(const studies::BreaksResult& result, const std::string& name, emu::Format format,
                              Rounding rounding = Rounding::nearest_even, std::uint64_t terms = 0) {
  const auto found = std::find_if(result.sums.begin(), result.sums.end(), [&](const studies::SumRow& row) {
    return row.name == name && row.format == format && row.rounding == rounding && (terms == 0 || row.terms == terms);
  });
  REQUIRE(found != result.sums.end());
  return *found;
}

double limit_of(const studies::BreaksResult& result, const std::string& what, emu::Format format) {
  const auto found = std::find_if(result.limits.begin(), result.limits.end(), [&](const studies::LimitRow& row) {
    return row.what == what && row.format == format && row.rounding == Rounding::nearest_even;
  });
  REQUIRE(found != result.limits.end());
  return found->value;
}

const studies::ScalePoint& point_of(const studies::BreaksResult& result, emu::Format arithmetic, int log2_scale) {
  for (const studies::Curve& curve : result.curves)
    if (curve.of.arithmetic == arithmetic)
      for (const studies::ScalePoint& point : curve.points)
        if (point.log2_scale == log2_scale) return point;
  FAIL("no such point");
  std::abort();
}

/// To bfloat16, stochastically, for 2^-126 <= x: away from zero where the random bits are below the discarded fraction's first
/// 32 bits.
double to_bfloat16(double x, std::uint32_t random) {
  const double spacing = std::ldexp(1.0, std::ilogb(x) - 7), below = std::floor(x / spacing);
  const auto fraction = static_cast<std::uint64_t>(std::ldexp(x / spacing - below, 32));
  return (below + (random < fraction ? 1 : 0)) * spacing;
}

}  // namespace

TEST_CASE("sums, weights and moments stop where they are known to", "[studies][breaks]") {
  const studies::BreaksResult result = studies::measure(without_functions());

  struct Known {
    const char* name;
    emu::Format format;
    double value;
    std::uint64_t stops_at;
  };
  // N. J. Higham, "Half precision arithmetic: fp16 versus bfloat16" (2018), for harmonic sums in both; the 8 bit ones and the
  // iterations have few enough steps to be followed by hand. Ones: 2^p + 1 is a tie that goes back.
  for (const Known& known : {Known{"harmonic", emu::fp16, 7.0859375, 513},
                             {"harmonic", emu::bf16, 5.0625, 65},
                             {"harmonic", emu::e4m3, 3, 9},
                             {"harmonic", emu::e5m2, 2, 5},
                             {"ones", emu::fp16, 2048, 2049},
                             {"ones", emu::bf16, 256, 257},
                             {"ones", emu::e4m3, 16, 17},
                             {"ones", emu::e5m2, 8, 9},
                             {"thousandths", emu::bf16, 1, 1},
                             {"thousandths", emu::fp16, 1.9765625, 0},
                             {"thousandths_kahan", emu::bf16, 2, 0},
                             {"thousandths_kahan", emu::fp16, 2, 0},
                             {"sgd_weight", emu::bf16, 0.8046875, 147},
                             {"sgd_weight", emu::fp16, 0.9755859375, 359},
                             {"sgd_weight", emu::e4m3, 0.21875, 22},
                             {"sgd_weight", emu::e5m2, 0.125, 12},
                             {"adam_second_moment", emu::bf16, 0.25, 257}}) {
    CAPTURE(known.name, known.format.fraction_bits);
    const studies::SumRow& row = sum_of(result, known.name, known.format);
    CHECK(row.value == known.value);
    CHECK(row.stops_at == known.stops_at);
    CHECK(row.deviation == 0);
    CHECK_THAT(row.rel_error, WithinRel(std::fabs(row.value - row.exact) / row.exact, 1e-12));
  }
}

TEST_CASE("the harmonic sum in float32 stops after two million terms", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.formats.to = {"fp32"};
  request.rounding = {"nearest_even"};
  request.sums.terms = 2097160;

  const studies::SumRow row = sum_of(studies::measure(request), "harmonic", emu::fp32);

  CHECK_THAT(row.value, WithinRel(15.40368271, 1e-9));
  CHECK(row.stops_at == 2097152);
}

TEST_CASE("inner products of uniform numbers stagnate to nearest, and not by chance", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.formats.to = {"fp16"};
  request.rounding = {"nearest_even", "stochastic"};
  request.sums.terms = 1;
  request.sums.lengths = {1000, 10000, 100000};
  request.sums.repetitions = 4;
  const studies::BreaksResult result = studies::measure(request);
  const auto error = [&](const char* name, Rounding rounding, std::uint64_t terms) {
    return sum_of(result, name, emu::fp16, rounding, terms).rel_error;
  };

  // From 2048 on half a spacing is 1, more than any product: 1 - 2048/25000 is lost.
  CHECK(sum_of(result, "dot_uniform", emu::fp16, Rounding::nearest_even, 100000).value == 2048);
  CHECK_THAT(error("dot_uniform", Rounding::nearest_even, 100000), WithinAbs(0.918, 0.002));
  CHECK_THAT(error("dot_uniform", Rounding::nearest_even, 10000), WithinAbs(0.25, 0.02));
  CHECK(error("dot_uniform", Rounding::nearest_even, 1000) < 0.02);
  // The longer one goes on from where the shorter ones end, whose last terms may be small.
  CHECK(sum_of(result, "dot_uniform", emu::fp16, Rounding::nearest_even, 100000).stops_at > 10000);
  CHECK(sum_of(result, "dot_uniform", emu::fp16, Rounding::nearest_even, 10000).stops_at == 0);
  for (const std::uint64_t terms : {std::uint64_t{1000}, std::uint64_t{10000}, std::uint64_t{100000}}) {
    CHECK(error("dot_uniform", Rounding::stochastic, terms) < 0.03);
    // Over the magnitudes of the products, which are 2/pi on average, and not over their sum, which is near 0.
    const studies::SumRow& normal = sum_of(result, "dot_normal", emu::fp16, Rounding::nearest_even, terms);
    CHECK(normal.rel_error < 0.002);
    CHECK(normal.stops_at == 0);  // at -128 to -256 half a spacing is 1/16
    CHECK_THAT(normal.rel_error,
               WithinRel(std::fabs(normal.value - normal.exact) / (0.6366 * static_cast<double>(terms)), 0.1));
  }
}

TEST_CASE("stochastic rounding keeps on average what nearest rounding loses", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.formats.to = {"bf16"};
  request.sums.repetitions = 64;
  const studies::BreaksResult result = studies::measure(request);

  for (const char* name : {"harmonic", "thousandths", "ones"}) {
    CAPTURE(name);
    const studies::SumRow& row = sum_of(result, name, emu::bf16, Rounding::stochastic);
    const double error_of_mean = row.deviation / std::sqrt(64.0);
    CHECK(row.deviation > 0);
    CHECK(row.stops_at == 0);
    CHECK_THAT(row.value, WithinAbs(row.exact, 4 * error_of_mean));
    CHECK(sum_of(result, name, emu::bf16).value < row.exact - 4 * error_of_mean);
  }
}

TEST_CASE("the n-th operation takes the n-th random bits", "[studies][breaks]") {
  constexpr std::uint64_t seed = 7;
  std::uint64_t operation = 1;  // the first rounds the start
  double sum = 0;
  const auto rounded = [&](double x) { return to_bfloat16(x, emu::rounding_bits(seed, operation++)); };
  for (int n = 1; n <= 500; ++n) {
    const double term = rounded(1.0 / n);
    sum = rounded(sum + term);
  }
  studies::BreaksRequest request = without_functions();
  request.rounding = {"stochastic"};
  request.sums.terms = 500;
  request.sums.repetitions = 1;
  request.seed = seed;

  CHECK(sum_of(studies::measure(request), "harmonic", emu::bf16, Rounding::stochastic).value == sum);
}

TEST_CASE("exp, squares and constants give up where they are known to", "[studies][breaks]") {
  const studies::BreaksResult result = studies::measure(without_functions());

  // ln 65520 = 11.0901 lies between two numbers that are 2^-7 apart; e^x is half the least subnormal at -25 ln 2 = -17.3287.
  CHECK(limit_of(result, "exp_last_finite", emu::fp16) == 11.0859375);
  CHECK(std::exp(11.0859375) < 65520);
  CHECK(std::exp(11.0859375 + 0x1p-7) > 65520);
  CHECK(limit_of(result, "exp_first_zero", emu::fp16) == -17.34375);
  CHECK(limit_of(result, "square_last_finite", emu::fp16) == 255.875);          // 256^2 = 65536
  CHECK(limit_of(result, "square_last_finite", emu::e4m3) == 20);               // 22^2 = 484 > 464
  CHECK(limit_of(result, "square_last_zero", emu::e5m2) == 0x1.4p-9);           // 1.25^2 2^-18 < 2^-17 < 1.5^2 2^-18
  CHECK(limit_of(result, "update_of_one_first_kept", emu::bf16) == 0x1.02p-8);  // 2^-8 is a tie
  CHECK(limit_of(result, "update_of_one_first_kept", emu::fp16) == 0x1.004p-11);
  CHECK(limit_of(result, "update_of_one_first_kept_down", emu::bf16) == 0x1.02p-9);  // numbers below 1 are twice as dense
  CHECK(limit_of(result, "update_of_one_first_kept_down", emu::fp16) == 0x1.004p-12);
  CHECK(limit_of(result, "epsilon_1e-8", emu::fp16) == 0);
  CHECK_THAT(limit_of(result, "epsilon_1e-8", emu::bf16), WithinRel(1e-8, 0x1p-8));
  CHECK(limit_of(result, "epsilon_1e-5", emu::e4m3) == 0);
  CHECK(limit_of(result, "beta2_0.999", emu::bf16) == 1);
  CHECK(limit_of(result, "beta2_0.999", emu::fp16) == 0.9990234375);
  for (const studies::LimitRow& row : result.limits) CHECK(row.rounding != Rounding::stochastic);
}

TEST_CASE("rounding upward loses nothing that is positive", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.rounding = {"upward"};
  const studies::BreaksResult result = studies::measure(request);

  for (const studies::LimitRow& row : result.limits) {
    CAPTURE(row.what);
    if (row.what == "exp_first_zero" || row.what == "square_last_zero") CHECK(std::isnan(row.value));
    if (row.what == "epsilon_1e-8") CHECK(row.value >= 1e-8);
    if (row.what == "update_of_one_first_kept") CHECK(row.value == emu::min_positive(row.format));
  }
  for (const studies::SumRow& row : result.sums) CHECK(!(row.value < row.exact));
}

TEST_CASE("layer norm in fp16 breaks where its squares do, and lives where float32 computes", "[studies][breaks]") {
  // The squares of 64 centred normal numbers add up to about 64 4^k: 65536 at k = 5. The inputs reach 65520 at k = 15.
  const studies::BreaksResult result = studies::measure(one_function("layer_norm", "fp16", "3:14"));

  CHECK(point_of(result, emu::fp16, 4).outcome == ScaleOutcome::right);
  const studies::ScalePoint& broken = point_of(result, emu::fp16, 6);
  CHECK(broken.outcome == ScaleOutcome::zero);  // x / infinity
  CHECK(broken.cause == ScaleCause::arithmetic);
  CHECK(broken.to_zero == 128);
  CHECK(broken.inputs_overflow == 0);
  CHECK(broken.once_rel_frobenius_error < 0x1p-11);
  CHECK(point_of(result, emu::fp32, 14).outcome == ScaleOutcome::right);
}

TEST_CASE("Adam in fp16 divides by zero where squares of gradients do not survive", "[studies][breaks]") {
  const studies::BreaksResult result = studies::measure(one_function("adam", "fp16", "-20:4"));

  CHECK(point_of(result, emu::fp16, -20).outcome == ScaleOutcome::nonfinite);
  CHECK(point_of(result, emu::fp16, -20).cause == ScaleCause::arithmetic);
  CHECK(point_of(result, emu::fp16, 4).outcome == ScaleOutcome::right);
  CHECK(point_of(result, emu::fp32, -20).outcome == ScaleOutcome::right);
}

TEST_CASE("what breaks a result is told: the result, the inputs or the arithmetic", "[studies][breaks]") {
  // 64 squares of 2^8 z are beyond 65520, 2^8 z is not; the largest of 128 normals is between 1 and 4.
  CHECK(point_of(studies::measure(one_function("sum_of_squares", "fp16", "8:8")), emu::fp16, 8).cause == ScaleCause::result);
  const studies::BreaksResult shifted = studies::measure(one_function("softmax", "fp16", "13:16"));
  CHECK(point_of(shifted, emu::fp16, 13).cause == ScaleCause::none);
  CHECK(point_of(shifted, emu::fp16, 13).to_zero == 0);  // shares of e^-1000 are zero in fp16 however they are computed
  CHECK(point_of(shifted, emu::fp16, 16).cause == ScaleCause::inputs);
  CHECK(point_of(shifted, emu::fp16, 16).inputs_overflow > 0);
  const studies::BreaksResult plain = studies::measure(one_function("softmax_unshifted", "fp16", "0:5"));
  CHECK(point_of(plain, emu::fp16, 0).cause == ScaleCause::none);
  CHECK(point_of(plain, emu::fp16, 5).cause == ScaleCause::arithmetic);
}

TEST_CASE("the window of a curve is its longest run of right points", "[studies][breaks]") {
  studies::Curve curve;
  for (const char c : std::string("x..x...xx.")) {
    studies::ScalePoint point;
    point.log2_scale = static_cast<int>(curve.points.size());
    point.outcome = c == '.' ? ScaleOutcome::right : ScaleOutcome::wrong;
    point.cause = c == '.' ? ScaleCause::none : ScaleCause::arithmetic;
    curve.points.push_back(point);
  }

  const studies::Curve::Window window = curve.window();

  CHECK(window.right.front().log2_scale == 4);
  CHECK(window.right.back().log2_scale == 6);
  REQUIRE(window.below != nullptr);
  REQUIRE(window.above != nullptr);
  CHECK(window.below->log2_scale == 3);
  CHECK(window.above->log2_scale == 7);
  CHECK(curve.scales_right() == 6);
  CHECK(curve.scales_held() == 10);
}

TEST_CASE("a function rounded once errs by no more than what arithmetic makes of it", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.function = studies::scaled_function_names();
  request.rounding = {"nearest_even"};
  request.log2_scale = "-2:2";
  for (const studies::Curve& curve : studies::measure(request).curves) {
    CAPTURE(curve.of.function->name, curve.of.format.fraction_bits);
    const std::string_view name = curve.of.function->name;
    CHECK(curve.outputs == (name.starts_with("cross") || name.starts_with("sum") ? 2 : 128));
    for (const studies::ScalePoint& point : curve.points) CHECK(point.once_rel_frobenius_error <= point.rel_frobenius_error);
  }
}

TEST_CASE("the findings name what breaks, and the first answers the question", "[studies][breaks]") {
  studies::BreaksRequest request = one_function("layer_norm", "fp16", "0:8");
  request.rounding = {"nearest_even", "stochastic"};
  request.sums.terms = 600;
  const std::vector<reports::Finding> findings = studies::breaks_findings(studies::measure(request));

  const auto has = [&](const std::string& words) {
    return std::any_of(findings.begin(), findings.end(), [&](const auto& f) { return f.sentence.find(words) == 0; });
  };
  CHECK(findings.front().sentence ==
        "Of 1 pairs of a function and a format 1 break at scales at which the format holds inputs and results (float16 1), 0 "
        "with operations in float32; 2 of 6 sums stop growing.");
  CHECK(findings[1].sentence ==
        "layer_norm in float16 is right from 2^0 to 2^4; at 2^5 all results are zero: the format holds inputs and results, not "
        "what is between; with operations in float32 it is right from 2^0 to 2^8.");
  CHECK(findings[1].value == reports::Cell(std::int64_t{5}));
  CHECK(findings[1].threshold == reports::Cell(std::int64_t{9}));
  CHECK(has("exp(x) overflows in float16 above x = 11.0901; 11.0859375 is the last number below."));
  CHECK(has("A weight of 1 in float16 does not change where less than 0.000488758 is added to it."));
  CHECK(has("A weight of 1 in float16 does not change where less than 0.000244379 is taken from it."));
  CHECK(has("Adam's epsilon of 1e-8 is 0 in float16"));
  CHECK(has("The harmonic sum in float16 stops at 7.0859375 with term 513; 600 terms give 6.9"));
  for (const reports::Finding& finding : findings) {
    CAPTURE(finding.sentence);
    CHECK(finding.source.empty() == (finding.threshold == reports::Cell("")));
  }
}

TEST_CASE("a sum that overflows does not stop growing", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.formats.to = {"e5m2"};
  request.rounding = {"upward"};  // from 8 on each one adds a spacing
  const studies::BreaksResult result = studies::measure(request);
  const std::vector<reports::Finding> findings = studies::breaks_findings(result);

  CHECK(std::isinf(sum_of(result, "ones", emu::e5m2, Rounding::upward).value));
  CHECK(std::any_of(findings.begin(), findings.end(), [](const auto& f) {
    return f.sentence == "A sum of ones in float8_e5m2 overflows; 4096 terms give 4096." &&
           f.severity == reports::Severity::bad;
  }));
  std::size_t stopped = 0;
  for (const studies::SumRow& row : result.sums) stopped += row.stops_at != 0 && std::isfinite(row.value) ? 1 : 0;
  CHECK(findings.front().sentence.ends_with(std::to_string(stopped) + " of 6 sums stop growing."));
}

TEST_CASE("where things break does not depend on the number of threads", "[studies][breaks]") {
  studies::BreaksRequest request = without_functions();
  request.function = {"softmax", "adam"};
  request.log2_scale = "-30:30:15";
  request.sums.terms = 100;
  request.sums.lengths = {50};
  const auto csv = [&](int threads) {
    request.threads = threads;
    std::string all;
    for (const reports::Table& table : studies::run(request, {}).tables) all += reports::to_csv(table);
    return all;
  };

  CHECK(csv(1) == csv(5));
}

TEST_CASE("what the study cannot do is refused with the nearest words", "[studies][breaks]") {
  using Catch::Matchers::Message;
  CHECK_THROWS_MATCHES(studies::work_of(one_function("softmacks", "fp16", "0:0")), Error,
                       Message("unknown function 'softmacks'; nearest: softmax, adam, gelu"));
  CHECK_THROWS_MATCHES(studies::work_of(one_function("softmax", "e8m0", "0:0")), Error,
                       Message("--to float8_e8m0fnu: has no sign; sums and functions need one"));
}
