// SPDX-License-Identifier: Apache-2.0
// The probes at the lower end: least exponents, products of zero, and how far apart the terms of a hypothesis may be.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "probe_subjects.hpp"
#include "studies/probe/probe_direct.hpp"
#include "studies/probe/probe_fit.hpp"

namespace {

using namespace ulpscope;
using emu::Engine;
using emu::Format;
using emu::Rounding;
using emu::Stage;
using test::differences, test::operation_of, test::report_of, test::Subject, test::with;

}  // namespace

TEST_CASE("a least exponent anywhere in the range of c is found") {
  struct Case {
    Format in, accumulator;
    int fraction_bits, least;
    Rounding rounding = Rounding::toward_zero;
  };
  const Case all[] = {{emu::float16, emu::float32, 17, -40},
                      {emu::bfloat16, emu::float32, 17, -40},
                      {emu::bfloat16, emu::float32, 17, -40, Rounding::nearest_even},
                      {emu::float16, emu::float32, 25, -60},
                      {emu::bfloat16, emu::float32, 30, -90, Rounding::upward},
                      {emu::float8_e4m3fn, emu::float32, 26, -30},
                      {emu::float8_e5m2, emu::float32, 25, -110},
                      {emu::float16, emu::float16, 13, -8}};
  for (const Case& of : all) {
    CAPTURE(emu::format_name(of.in), emu::format_name(of.accumulator), of.fraction_bits, of.least);
    const Subject subject{of.in, of.in, with(emu::block_fma(12, of.fraction_bits, of.accumulator, of.rounding), [&](Engine& e) {
                            e.least_exponent = of.least;
                          })};

    const auto report = report_of(subject);

    REQUIRE(report.recovered.has_value());
    CHECK(differences(subject, *report.recovered) == 0);
    CHECK(studies::result_of(report, "step_products") == "12");
    CHECK(studies::result_of(report, "fraction_bits") == std::to_string(of.fraction_bits));
    CHECK(studies::result_of(report, "least_exponent") == std::to_string(of.least));
  }
}

TEST_CASE("without a least exponent those are named that would give the same") {
  const auto least_exponent = [](Format in, int fraction_bits) {
    return studies::result_of(report_of({in, in, emu::block_fma(12, fraction_bits)}), "least_exponent");
  };

  // A subnormal c counts with the exponent -126, and a product of float16 is not below 2^-48.
  CHECK(least_exponent(emu::float16, 17) == "at most -126");
  CHECK(least_exponent(emu::float16, 30) == "at most -119");  // 2^(-119 - 30) is the last place of c
}

TEST_CASE("no hypothesis sums more bits than an interpreter has") {
  const auto exponent_of_least = [](Format f) { return std::ilogb(emu::min_positive(f)); };
  const auto exponent_of_greatest = [](Format f) { return std::ilogb(emu::decode(f, f.max_finite_code())); };
  std::size_t exact = 0;
  for (const Format f : {emu::float4_e2m1fn, emu::float8_e4m3fn, emu::float8_e5m2, emu::float16, emu::bfloat16, emu::tf32}) {
    for (const Engine& engine : {emu::block_fma(16, 24), with(emu::block_fma(16, 24), [](Engine& e) {
                                   e.scales = emu::EngineScales::products;
                                   e.scale_products = 32;
                                 })}) {
      CAPTURE(emu::format_name(f), engine.scale_products);
      const Subject subject{f, f, engine};
      const gpu::EmulatedUnit unit("subject", {{operation_of(subject), engine}});
      const studies::ProbeBench bench(unit, operation_of(subject), 64);
      studies::ProbeCases cases(bench, 0);
      studies::ProbeLayout layout;
      layout.step = 16;
      layout.group_of.resize(16);
      layout.groups = 1;
      layout.run = 16;
      layout.regular = true;
      const studies::ProbeAnswers answers(bench, cases, layout);

      for (const studies::ProbeKind& kind : studies::probe_kinds(answers, layout, emu::float32.nan_code())) {
        const Stage& first = kind.start.stages[0];
        if (first.summing != emu::Summing::exact || first.rounded) continue;
        ++exact;
        CHECK(2 * exponent_of_greatest(f) + 2 + 4 - 2 * exponent_of_least(f) <= 127);
      }
    }
  }
  CHECK(exact > 0);
}

namespace {

/// Products and c cut to 24 bits below the greatest exponent, that of a product being the sum of its operands', zeros among
/// them; MMA-Sim's rule, for the few operands of the question.
class WithZeroExponents final : public gpu::Unit {
 public:
  explicit WithZeroExponents(int of_zero, int bits) : of_zero_(of_zero), bits_(bits) {}
  std::string name() const override { return "zero exponents"; }
  std::vector<gpu::Operation> operations() const override { return {}; }
  void multiply(const gpu::Operation& o, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
    const auto exponent = [&](double x) { return x == 0 ? of_zero_ : std::ilogb(x); };
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double c = emu::decode(emu::float32, problem.c[i]);
      std::vector<double> terms{c};
      int greatest = c == 0 ? -1000 : std::ilogb(c);
      for (std::size_t k = 0; k < problem.products; ++k) {
        const double a = emu::decode(o.a, problem.a[i * problem.products + k]);
        const double b = emu::decode(o.b, problem.b[i * problem.products + k]);
        if (a == 0 && b == 0) continue;
        terms.push_back(a * b);
        greatest = std::max(greatest, exponent(a) + exponent(b));
      }
      double sum = 0;
      for (const double term : terms) sum += std::ldexp(std::trunc(std::ldexp(term, bits_ - greatest)), greatest - bits_);
      d[i] = emu::encode(emu::float32, sum, {.rounding = Rounding::toward_zero});
    }
  }

 private:
  int of_zero_, bits_;
};

std::string zero_operand(const gpu::Unit& unit, Format in) {
  const gpu::Operation operation = operation_of({in, in, emu::block_fma(16, 24)});
  const auto finding = studies::zero_operand_finding(studies::ProbeBench(unit, operation, 64));
  return finding ? finding->result : "not asked";
}

}  // namespace

TEST_CASE("no engine gives a product of zero an exponent, and a unit that does is named") {
  std::size_t decided = 0;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (!mode.engine.starts_with("sm_") || mode.model.accumulator != emu::float32) continue;
    for (const Format in : mode.inputs) {
      CAPTURE(mode.engine, emu::format_name(in), mode.instruction);
      const bool asked = in == emu::bfloat16 || in == emu::tf32 || in == emu::float16;
      const bool tells = in != emu::float16 || mode.engine == "sm_70";
      const Subject subject{in, in, mode.model, mode.scale_format};
      const gpu::EmulatedUnit unit("subject", {{operation_of(subject), mode.model}});

      const auto finding = studies::zero_operand_finding(studies::ProbeBench(unit, operation_of(subject), 64));

      REQUIRE(finding.has_value() == asked);
      if (asked) CHECK(finding->result == (tells ? "no exponent" : studies::not_observable));
      decided += asked && tells ? 1 : 0;
    }
  }
  CHECK(decided >= 11);  // bfloat16 and tf32 of five generations, float16 of sm_70

  const std::string named = "the other operand's exponent";
  CHECK(zero_operand(WithZeroExponents(-126, 24), emu::bfloat16) == named);
  CHECK(zero_operand(WithZeroExponents(-126, 25), emu::tf32) == named);
  CHECK(zero_operand(WithZeroExponents(-136, 23), emu::float16) == named);
  CHECK(zero_operand(WithZeroExponents(-1000, 24), emu::bfloat16) == "no exponent");
  CHECK(zero_operand(WithZeroExponents(-110, 24), emu::bfloat16) == "neither");
  CHECK(zero_operand(WithZeroExponents(-136, 24), emu::float16) == studies::not_observable);
}

TEST_CASE("a unit that keeps too few bits of a sum tells nothing of zeros and of products") {
  const auto result = [](const Engine& engine, const char* feature) {
    return studies::result_of(report_of({emu::float16, emu::float16, engine}), feature);
  };
  for (const int bits : {15, 19, 22}) {
    CAPTURE(bits);
    const Engine engine = emu::block_fma(8, bits, emu::float32, bits == 22 ? Rounding::nearest_even : Rounding::toward_zero);
    CHECK(result(engine, "zero_operand") == studies::not_observable);
    CHECK(result(engine, "exact_products") == (bits < 20 ? studies::not_observable : "yes"));
  }
}

TEST_CASE("the answers are those that the published models give") {
  const auto evidence = [](std::string_view name, Format in) {
    const Subject subject{in, in, emu::find_engine(name, {in, in}).model};
    return report_of(subject).findings.front().evidence;
  };
  CHECK(evidence("sm_70", emu::float16).find(" gives 02800001; ") != std::string::npos);
  CHECK(evidence("sm_80", emu::bfloat16).find(" gives 39820200; ") != std::string::npos);
  CHECK(evidence("sm_90", emu::tf32).find(" gives 39804008; ") != std::string::npos);
}
