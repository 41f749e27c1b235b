// SPDX-License-Identifier: Apache-2.0
// Verdicts, and the numbers under them against closed forms and counts made another way.
#include "studies/claims/claims.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "emu/error.hpp"
#include "tests/oracle/rounding_oracle.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

studies::StudyResult judged(const std::string& claim, const std::string& cost = "") {
  studies::ClaimsRequest request;
  request.claim = {claim};
  request.cost = cost;
  return studies::run(request, {});
}

std::string verdict_of(const studies::StudyResult& result) { return std::get<std::string>(result.tables[0].rows.at(0).at(2)); }
std::string sentence_of(const studies::StudyResult& result) { return std::get<std::string>(result.tables[0].rows.at(0).at(3)); }

double measured(const studies::StudyResult& result, const std::string& what, const std::string& where) {
  for (const auto& row : result.tables[1].rows) {
    if (row[1] != reports::Cell(what) || row[2] != reports::Cell(where)) continue;
    if (const auto* const count = std::get_if<std::int64_t>(&row[3])) return static_cast<double>(*count);
    return std::get<double>(row[3]);
  }
  FAIL("nothing measured: " << what << ", " << where);
  return 0;
}

/// A CSV file of these lines.
std::string cost_file(const TemporaryDirectory& directory, const std::vector<std::string>& lines) {
  const std::string path = directory.file(std::to_string(directory.names().size()) + ".csv");
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << '\n';
  return path;
}

/// The share of decimals of so many digits in [low, high] whose float16 is printed as the same decimal.
double printed_alike(int digits, double low, double high) {
  const oracle::Format half{5, 10, 15, oracle::ieee};
  std::uint64_t alike = 0, all = 0;
  for (int exponent = -9; exponent <= 4; ++exponent)
    for (int m = digits == 3 ? 100 : 1000; m < (digits == 3 ? 1000 : 10000); ++m) {
      char decimal[40], back[40];
      std::snprintf(decimal, sizeof decimal, "%c.%0*de%+03d", '0' + m / (digits == 3 ? 100 : 1000), digits - 1,
                    m % (digits == 3 ? 100 : 1000), exponent);
      const double x = std::strtod(decimal, nullptr);
      if (x < low || x > high) continue;
      std::snprintf(back, sizeof back, "%.*e", digits - 1, oracle::round(half, x, oracle::nearest_even).value);
      ++all;
      alike += std::string(decimal) == back ? 1 : 0;
    }
  return static_cast<double>(alike) / static_cast<double>(all);
}

}  // namespace

TEST_CASE("bf16 is not more precise than fp16", "[studies][claims]") {
  const studies::StudyResult result = judged("bf16_precision");

  CHECK(verdict_of(result) == "false");
  CHECK(measured(result, "unit_roundoff", "bfloat16") == 0x1p-8);
  // fp16: 10 log10(1 / integral of (x - round(x))^2 over the normal density) = 73.6509; a sample of 2^18 is within 0.1 of it.
  CHECK_THAT(std::get<double>(result.tables[1].rows[1][4]), WithinAbs(73.6509, 0.1));
  CHECK_THAT(measured(result, "sqnr_db", "bfloat16, normal:0,1"), WithinAbs(73.6509 - 60.206 * 0.3, 0.1));  // 3 bits
  CHECK(measured(result, "binades_finer", "float16 than bfloat16") == 32);  // 2^-17 is as coarse in both
  CHECK(sentence_of(result).find("outside the binades 2^-16 to 2^15.") != std::string::npos);
}

TEST_CASE("three decimals come back from normal fp16, and some of four", "[studies][claims]") {
  const studies::StudyResult result = judged("fp16_digits");

  CHECK(verdict_of(result) == "true within limits");
  CHECK(measured(result, "max_finite", "float16") == 65504);
  CHECK(measured(result, "decimals_kept", "3 digits, normal") == 1);
  CHECK(printed_alike(3, 0x1p-14, 65504) == 1);
  CHECK_THAT(measured(result, "decimals_kept", "4 digits, normal"), WithinAbs(printed_alike(4, 0x1p-14, 65504), 1e-9));
  CHECK_THAT(measured(result, "decimals_kept", "3 digits, subnormal"), WithinAbs(printed_alike(3, 0x1p-24, 0x1p-14), 1e-9));
}

TEST_CASE("layer norm in fp16 is right while its squares fit, in float32 while its inputs do", "[studies][claims]") {
  const studies::StudyResult result = judged("layer_norm_fp16");

  CHECK(verdict_of(result) == "true within limits");
  // 1024 squares of 2^3 z add up to 65536; the largest of 2048 normal numbers is between 2 and 4, so that 2^15 z overflows. At
  // 2^-25 most inputs are zero.
  CHECK(sentence_of(result) ==
        "Of normal inputs times 2^-40 to 2^40, 1024 to a vector, results are right from 2^-24 to 2^2 with operations in "
        "float16, from 2^-24 to 2^14 with operations in float32.");
}

TEST_CASE("bf16 loses no gradient that fp16 loses", "[studies][claims]") {
  const studies::StudyResult result = judged("bf16_loss_scaling");

  CHECK(verdict_of(result) == "true");
  CHECK(measured(result, "lost", "bfloat16, 2^0 to 2^-40") == 0);
  CHECK(measured(result, "lost", "float16, 2^0 to 2^-40") == 16);  // 2^-25 is a tie that goes to zero
  // e^(-14 + 4 z) < 2^-25 for z < -0.8322, which is 20.27% of all; half of what is above 65520 at z > 6.27 is nothing.
  CHECK_THAT(measured(result, "lost", "float16, lognormal:-14,4:65536"), WithinRel(0.2027 * 65536, 0.03));
}

TEST_CASE("fp8 keeps a product and loses gradients, dB and sums", "[studies][claims]") {
  const studies::StudyResult result = judged("fp8_loss");

  CHECK(verdict_of(result) == "true within limits");
  // Both operands have 31.52 dB: sqrt(2) 10^(-31.52/20) = 0.0375.
  CHECK_THAT(measured(result, "rel_frobenius_error", "float8_e4m3fn, normal:0,1, K = 1024"), WithinRel(0.0375, 0.03));
  CHECK_THAT(measured(result, "sqnr_db", "float8_e4m3fn, normal:0,1"), WithinAbs(31.5211, 0.1));
  CHECK(measured(result, "lost", "float8_e4m3fn, 2^0 to 2^-40") == 31);
  CHECK(measured(result, "lost", "float8_e5m2, 2^0 to 2^-40") == 24);
  CHECK(measured(result, "harmonic_sum", "float8_e4m3fn") == 3);
}

TEST_CASE("a speed is judged by a GPU's times, or not at all", "[studies][claims]") {
  const TemporaryDirectory directory;
  const auto file = [&](const std::vector<std::string>& rows) {
    std::vector<std::string> lines{"format,m,speedup_over_float32"};
    for (const std::string& row : rows) lines.push_back(row);
    return cost_file(directory, lines);
  };
  const std::string slow = file({"float32,256,1", "float16,256,3.5", "bfloat16,256,20", "float16,8192,14.5"});

  CHECK(verdict_of(judged("fp16_speed")) == "unmeasured");
  CHECK(verdict_of(judged("fp16_speed", file({"float16,256,nan"}))) == "unmeasured");
  CHECK(verdict_of(judged("fp16_speed", slow)) == "false");
  CHECK(sentence_of(judged("fp16_speed", slow)) ==
        "Products in fp16 are 3.5 to 14.5 times as fast as in fp32, by shape (2 of them).");
  CHECK(verdict_of(judged("fp16_speed", file({"float16,256,3.5", "float16,8192,16"}))) == "true within limits");
  CHECK(verdict_of(judged("fp16_speed", file({"float16,256,16.5"}))) == "true");
}

TEST_CASE("each claim has a row, a finding that says so, and a source for its threshold", "[studies][claims]") {
  const studies::StudyResult result = studies::run(studies::ClaimsRequest(), {});

  REQUIRE(result.findings.size() == studies::claim_names().size());
  CHECK(result.remarks == std::vector<std::string>{"Of 6 claims: 1 true, 3 true within limits, 1 false, 1 unmeasured."});
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    const auto& row = result.tables[0].rows.at(i);
    const auto text = [&](std::size_t column) { return std::get<std::string>(row.at(column)); };
    CAPTURE(text(0));
    CHECK(text(0) == studies::claim_names()[i]);
    CHECK(result.findings[i].sentence == "\"" + text(1) + "\": " + text(2) + ". " + text(3));
    CHECK((result.findings[i].severity == reports::Severity::good) == (text(2) == "true"));
    CHECK((result.findings[i].severity == reports::Severity::bad) == (text(2) == "false"));
    CHECK_FALSE(result.findings[i].source.empty());
  }

  const std::vector<reports::Figure> figures = studies::claims_figures(result.tables);
  REQUIRE(figures.size() == 1);
  const auto& map = std::get<reports::HeatMap>(figures[0].data);
  CHECK(map.legend.size() == 4);
  REQUIRE(map.groups.size() == result.tables[0].rows.size());
  CHECK(map.groups[0].name == "bf16 is more precise than fp16: false");
  CHECK(map.groups[0].rows[0].cells[0].shade == reports::HeatMap::Shade::severe);
  CHECK(map.groups[0].rows[1].cells[0].shade == reports::HeatMap::Shade::none);
  CHECK(map.groups[1].rows[1].cells[0].text == "65504");
  CHECK(map.groups[5].rows[0].cells[0].text == "-");  // no GPU's times
}

TEST_CASE("claims that are not known, and files that hold no times, are refused", "[studies][claims]") {
  using Catch::Matchers::Message;
  CHECK_THROWS_MATCHES(judged("fp8_lost"), Error,
                       Message("unknown claim 'fp8_lost'; nearest: fp8_loss, fp16_digits, fp16_speed"));
  const TemporaryDirectory directory;
  const std::string other = cost_file(directory, {"format,speed", "float16,3"});
  CHECK_THROWS_MATCHES(judged("fp16_speed", other), Error,
                       Message(other + ": has no column speedup_over_float32; give what `ulpscope devices cost --csv` "
                                       "writes"));
}
