// SPDX-License-Identifier: Apache-2.0
// A claim is a sentence and a function that measures; adding one is one line in the table at the end.
#include "studies/claims/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "reports/compare/csv_file.hpp"
#include "requests/parts.hpp"
#include "studies/accumulation/accumulation.hpp"
#include "studies/breaks/breaks.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "studies/claims/judgement.hpp"
#include "tensors/synthetic.hpp"

namespace ulpscope::studies {
namespace {

using verdicts::fails, verdicts::holds, verdicts::unmeasured, verdicts::within_limits;

std::string number(double x) { return digits(x, 3); }
using reports::whole;
std::string power(int k) { return "2^" + std::to_string(k); }

/// What rounding does to a synthetic tensor.
ErrorSums rounded(const std::string& tensor, emu::Format format, const ClaimsRequest& request) {
  const CensusConfig config{
      .formats = {format}, .options = {}, .seed = request.seed, .threads = request.threads, .progress = {}};
  return census(tensors::synthetic(tensor, request.seed), parse_scaling("none"), config).front().sums;
}

/// Signal to rounding noise of normal numbers, in dB.
double sqnr(emu::Format format, const ClaimsRequest& request) {
  const ErrorSums sums = rounded("normal:0,1:262144", format, request);
  return decibels(sums.input, sums.error);
}

/// How many of 2^0, 2^-1, ... 2^-40 become zero: gradients spread over some 40 binades.
std::uint64_t powers_lost(emu::Format format) {
  std::uint64_t lost = 0;
  for (int i = 0; i <= 40; ++i) lost += emu::round_to(format, std::ldexp(1.0, -i)).value == 0 ? 1 : 0;
  return lost;
}

/// The largest |round(x) - x| of 512 numbers of a binade, in units of the binade's least number; the largest of fp16's is
/// 65504.
double worst_error(emu::Format format, int exponent) {
  double worst = 0;
  for (int i = 0; i < 512; ++i) {
    const double x = 1 + (i + 0.5) / 512, scaled = std::ldexp(x, exponent);
    worst = std::max(worst, std::fabs(std::ldexp(emu::round_to(format, scaled).value, -exponent) - x));
  }
  return worst;
}

Judgement bf16_precision(const ClaimsRequest& request) {
  const double fp16 = emu::epsilon(emu::fp16) / 2, bf16 = emu::epsilon(emu::bf16) / 2;
  const double fp16_db = sqnr(emu::fp16, request), bf16_db = sqnr(emu::bf16, request);
  int first = 128, last = -127, finer = 0;
  for (int e = -126; e <= 127; ++e)
    if (worst_error(emu::fp16, e) < worst_error(emu::bf16, e)) first = std::min(first, e), last = e, ++finer;
  return {.verdict = bf16 < fp16 ? holds : fails,
          .sentence = "bf16 rounds " + number(bf16 / fp16) + " times as coarsely as fp16 (normal numbers: " + number(bf16_db) +
                      " dB of signal to noise against " + number(fp16_db) + "); it errs no more only outside the binades " +
                      power(first) + " to " + power(last) + ".",
          .measurements = {{"unit_roundoff", "bfloat16", bf16, fp16, "derived: fp16's"},
                           {"sqnr_db", "bfloat16, normal:0,1", bf16_db, fp16_db, "measured: fp16's"},
                           {"binades_finer", "float16 than bfloat16", whole(static_cast<std::uint64_t>(finer))}}};
}

/// The share of decimals with `count` digits in [low, high] that come back: printed with as many, the rounded number is the
/// same.
double decimals_kept(emu::Format format, int count, double low, double high) {
  const int first = count == 3 ? 100 : 1000;
  std::uint64_t kept = 0, all = 0;
  for (int k = -12; k <= 6; ++k) {
    double unit = 1;  // 10^|k|, exact
    for (int i = 0; i < std::abs(k); ++i) unit *= 10;
    for (int m = first; m < 10 * first; ++m) {
      const double x = k < 0 ? m / unit : m * unit;
      if (x < low || x > high) continue;
      ++all;
      kept += digits(emu::round_to(format, x).value, count) == digits(x, count) ? 1 : 0;
    }
  }
  return static_cast<double>(kept) / static_cast<double>(all);
}

Judgement fp16_digits(const ClaimsRequest&) {
  const double most = emu::max_finite(emu::fp16), normal = emu::min_normal(emu::fp16), least = emu::min_positive(emu::fp16);
  const double three = decimals_kept(emu::fp16, 3, normal, most), four = decimals_kept(emu::fp16, 4, normal, most);
  const double below = decimals_kept(emu::fp16, 3, least, normal);
  const bool as_said = most == 65504 && three == 1 && four > 0 && four < 1;
  return {.verdict = !as_said     ? fails
                     : below == 1 ? holds
                                  : within_limits,
          .sentence = number(100 * three) + "% of the decimals of 3 digits from " + number(normal) + " to " + digits(most, 5) +
                      " come back from fp16, " + number(100 * four) + "% of those of 4; from " + number(least) + " to " +
                      number(normal) + " " + number(100 * below) + "% of those of 3.",
          .measurements = {{"decimals_kept", "3 digits, subnormal", below, 1.0, "the claim"},
                           {"max_finite", "float16", most, 65504.0, "the claim"},
                           {"decimals_kept", "3 digits, normal", three, 1.0, "the claim"},
                           {"decimals_kept", "4 digits, normal", four}}};
}

Judgement layer_norm_fp16(const ClaimsRequest& request) {
  BreaksRequest asked;
  asked.function = {"layer_norm"};
  asked.formats.to = {"fp16"};
  asked.rounding = {"nearest_even"};
  asked.elements = 1024;
  asked.sums.terms = 1;
  asked.sums.lengths = {};
  asked.seed = request.seed;
  asked.threads = request.threads;
  const std::vector<Curve> curves = measure(asked).curves;
  std::vector<Measurement> measurements;
  std::string sentence = "Of normal inputs times 2^-40 to 2^40, 1024 to a vector, results are right";
  for (const Curve& curve : curves) {
    const std::string arithmetic = emu::format_name(curve.of.arithmetic);
    const auto right = curve.window().right;
    measurements.push_back({"scales_right", "layer_norm, float16, operations in " + arithmetic, whole(curve.scales_right()),
                            whole(curve.scales_held()), "derived: scales at which fp16 holds inputs and results"});
    sentence +=
        right.empty() ? " at no scale" : " from " + power(right.front().log2_scale) + " to " + power(right.back().log2_scale);
    sentence += " with operations in " + arithmetic + (&curve == &curves.back() ? "." : ",");
  }
  const std::uint64_t right = curves.front().scales_right(), held = curves.front().scales_held();
  return {.verdict = right == held ? holds
                     : right == 0  ? fails
                                   : within_limits,
          .sentence = sentence,
          .measurements = measurements};
}

Judgement bf16_loss_scaling(const ClaimsRequest& request) {
  const std::string gradients = "lognormal:-14,4:65536";
  const auto lost = [&](emu::Format format) {
    const ErrorSums sums = rounded(gradients, format, request);
    return sums.of(emu::Outcome::to_zero) + sums.of(emu::Outcome::overflow);
  };
  const std::uint64_t fp16 = lost(emu::fp16), bf16 = lost(emu::bf16), powers = powers_lost(emu::bf16);
  const char* const none = "chosen: a loss scale is there to keep these";
  return {.verdict = bf16 == 0 && powers == 0 ? holds : fails,
          .sentence = "Of the 41 powers 2^0 to 2^-40 bf16 loses " + std::to_string(powers) + " and fp16 " +
                      std::to_string(powers_lost(emu::fp16)) + ", of " + gradients + " " + std::to_string(bf16) + " and " +
                      std::to_string(fp16) + ". A scale would add nothing to bf16's 8 significand bits.",
          .measurements = {{"lost", "bfloat16, " + gradients, whole(bf16), whole(0), none},
                           {"lost", "bfloat16, 2^0 to 2^-40", whole(powers), whole(0), none},
                           {"lost", "float16, " + gradients, whole(fp16)},
                           {"lost", "float16, 2^0 to 2^-40", whole(powers_lost(emu::fp16))}}};
}

/// ||A'B' - AB|| / ||AB|| in Frobenius norms, A' and B' the rounded operands: normal numbers, 1024 products a sum.
double product_error(emu::Format format, const ClaimsRequest& request) {
  AccumulationConfig config;
  config.accumulations = {find_accumulation("fma", format, emu::float32, 0)};
  config.distributions = {"normal:0,1"};
  config.lengths = {1024};
  config.seed = request.seed;
  config.threads = request.threads;
  return accumulate(config).front().errors.rounding;
}

Judgement fp8_loss(const ClaimsRequest& request) {
  const double error = product_error(emu::e4m3, request), allowed = std::sqrt(2e-3);
  const std::uint64_t lost = powers_lost(emu::e4m3), lost_e5m2 = powers_lost(emu::e5m2);
  const double e4m3_db = sqnr(emu::e4m3, request), fp16_db = sqnr(emu::fp16, request);
  const SumConfig sums{.lengths = {}};
  const SumRow harmonic = sums_of(emu::e4m3, {}, sums, draw_operands(sums)).front();
  return {.verdict = error > allowed ? fails
                     : lost == 0     ? holds
                                     : within_limits,
          .sentence = "Operands in e4m3 change a product of normal numbers by " + number(100 * error) + "%, where " +
                      number(100 * allowed) + "% is allowed; but " + std::to_string(lost) +
                      " of the 41 powers 2^0 to 2^-40 become zero (e5m2: " + std::to_string(lost_e5m2) +
                      "), signal to noise falls from fp16's " + number(fp16_db) + " to " + number(e4m3_db) +
                      " dB, and a harmonic sum stops at " + number(harmonic.value) + ".",
          .measurements = {{"rel_frobenius_error", "float8_e4m3fn, normal:0,1, K = 1024", error, allowed,
                            "DeepGEMM, tests/test_fp8_fp4.py: 1 - 2<x,y>/(<x,x> + <y,y>) < 1e-3, half the square of this"},
                           {"lost", "float8_e4m3fn, 2^0 to 2^-40", whole(lost), whole(0),
                            "chosen: nothing is lost if no gradient becomes zero"},
                           {"lost", "float8_e5m2, 2^0 to 2^-40", whole(lost_e5m2)},
                           {"sqnr_db", "float8_e4m3fn, normal:0,1", e4m3_db, fp16_db, "measured: fp16's"},
                           {"harmonic_sum", "float8_e4m3fn", harmonic.value, harmonic.exact, "derived: in float64"}}};
}

/// The column `speedup_over_float32` of a cost.csv, of products in float16; what was not measured is left out.
std::vector<double> speedups(const std::string& path) {
  const reports::CsvFile file = reports::read_csv(path);
  const auto column = [&](const std::string& name) {
    const auto found = std::find(file.columns.begin(), file.columns.end(), name);
    if (found == file.columns.end())
      throw Error(path + ": has no column " + name + "; give what `ulpscope devices cost --csv` writes");
    return static_cast<std::size_t>(found - file.columns.begin());
  };
  const std::size_t format = column("format"), speedup = column("speedup_over_float32");
  std::vector<double> all;
  for (const auto& row : file.rows)
    if (row[format] == emu::format_name(emu::float16) && requests::read_real(row[speedup], {}).empty())
      all.push_back(requests::real_of(row[speedup]));
  return all;
}

Judgement fp16_speed(const ClaimsRequest& request) {
  constexpr double claimed = 16;  // 312 and 19.5 teraflops: NVIDIA A100 datasheet, FP16 Tensor Core and FP32
  const std::vector<double> all = request.cost.empty() ? std::vector<double>() : speedups(request.cost);
  if (all.empty())
    return {.verdict = unmeasured,
            .sentence =
                "No GPU's times are here; `ulpscope devices cost --csv` writes them where there is one, and `cost` reads "
                "them.",
            .measurements = {{"speedup_over_float32", "float16", "", claimed, "the claim"}}};
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return {.verdict = *least >= claimed ? holds
                     : *most < claimed ? fails
                                       : within_limits,
          .sentence = "Products in fp16 are " + number(*least) + " to " + number(*most) +
                      " times as fast as in fp32, by shape (" + std::to_string(all.size()) + " of them).",
          .measurements = {{"speedup_over_float32", "float16, fastest shape", *most, claimed, "the claim"},
                           {"speedup_over_float32", "float16, slowest shape", *least, claimed, "the claim"}}};
}

struct Claim {
  std::string_view name, statement;
  Judgement (*judge)(const ClaimsRequest& request);
};
constexpr std::array claims{Claim{"bf16_precision", "bf16 is more precise than fp16", bf16_precision},
                            Claim{"fp16_digits", "fp16 holds +-65504 with 3 to 4 digits", fp16_digits},
                            Claim{"layer_norm_fp16", "layer norm is fine in fp16", layer_norm_fp16},
                            Claim{"bf16_loss_scaling", "bf16 needs no loss scaling", bf16_loss_scaling},
                            Claim{"fp8_loss", "fp8 loses little", fp8_loss},
                            Claim{"fp16_speed", "fp16 is 16 times faster than fp32", fp16_speed}};

const Claim& find_claim(const std::string& name) {
  const auto* const found = std::find_if(claims.begin(), claims.end(), [&](const Claim& claim) { return claim.name == name; });
  if (found == claims.end())
    throw Error("unknown claim '" + name + "'; nearest: " + emu::comma_separated(emu::closest_words(name, claim_names())));
  return *found;
}

}  // namespace

std::vector<std::string> claim_names() {
  std::vector<std::string> names;
  for (const Claim& claim : claims) names.emplace_back(claim.name);
  return names;
}

void ClaimsRequest::describe(requests::Fields& fields) {
  fields.add("claim", claim, "claims to measure").as_commas().as_value("CLAIM,...").shown();
  fields.add("cost", cost, "times of a GPU's products, as `ulpscope devices cost --csv` writes them").as_value("FILE");
  requests::describe_seed(fields, seed, "key of synthetic numbers");
  requests::describe_threads(fields, threads);
}

StudyResult run(const ClaimsRequest& request, const Progress& progress) {
  std::vector<Statement> statements;
  for (const std::string& name : request.claim) {
    const Claim& claim = find_claim(name);
    statements.push_back({name, std::string(claim.statement), [&claim, &request] { return claim.judge(request); }});
  }
  return judge_all(statements, "claims", progress);
}

Work work_of(const ClaimsRequest& request) {
  for (const std::string& name : request.claim) find_claim(name);
  if (!request.cost.empty()) speedups(request.cost);
  return {.operations = request.claim.size(), .rows = request.claim.size()};
}

}  // namespace ulpscope::studies
