// SPDX-License-Identifier: Apache-2.0
// Direct probes, then the layout, then the fit, then each feature put in doubt.
#include "studies/probe/probe.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_cases.hpp"
#include "studies/probe/probe_direct.hpp"
#include "studies/probe/probe_fit.hpp"
#include "studies/probe/probe_layout.hpp"
#include "studies/probe/probe_variants.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using emu::Engine;

constexpr std::array ranges{ProbeRange::plain, ProbeRange::tiny, ProbeRange::plain, ProbeRange::any, ProbeRange::huge};
constexpr int most_rounds = 24;             ///< of fitting and checking
constexpr std::size_t usual_products = 64;  ///< asked for at once; twice as many where no step ends within them

std::size_t multiple_of(std::size_t products, std::size_t least) { return (least + products - 1) / products * products; }

/// Whether a layout keeps all those products apart that were seen not to be exchangeable: a product is so with the first one of
/// every group before its own. That two were never seen to differ proves less.
bool keeps_apart(const ProbeLayout& layout, const ProbeLayout& seen) {
  std::vector<std::size_t> first_of;
  for (std::size_t k = 0; k < seen.step; ++k) {
    for (std::size_t group = 0; group < std::min(seen.group_of[k], first_of.size()); ++group)
      if (layout.group_of[first_of[group]] == layout.group_of[k]) return false;
    if (seen.group_of[k] == first_of.size()) first_of.push_back(k);
  }
  return true;
}

class Probe {
 public:
  Probe(const gpu::Unit& unit, const gpu::Operation& operation, const ProbeOptions& options)
      : unit_(unit), operation_(operation), options_(options) {}

  ProbeReport run() {
    if (auto finding = zero_operand_finding(bench_of(usual_products))) report_.findings.push_back(std::move(*finding));
    find_layout();
    const ProbeBench bench = bench_of(layout_.all ? usual_products : std::max(usual_products, 2 * layout_.step));
    note("step_products", layout_.all ? "all" : std::to_string(layout_.step), layout_.step_evidence);
    recover(bench);
    for (Finding& finding : direct_findings(bench, layout_.step)) report_.findings.push_back(std::move(finding));
    if (report_.recovered)
      note("disagreements", std::to_string(report_.disagreements),
           filled("the recovered engine and the unit on {} random inner products that it was not fitted to, seed {}",
                  options_.last_checks, options_.seed));
    return std::move(report_);
  }

 private:
  void note(std::string feature, std::string result, std::string evidence) {
    report_.findings.push_back({std::move(feature), std::move(result), std::move(evidence)});
  }
  ProbeBench bench_of(std::size_t products) const { return {unit_, operation_, multiple_of(operation_.products, products)}; }

  ProbeCases cases_of(const ProbeBench& bench, std::uint64_t seed) const {
    ProbeCases cases(bench, seed);
    cases.set_distances(distances_);
    if (layout_.floor) cases.set_floor(layout_.floor->plain);
    return cases;
  }

  void find_layout() {
    for (const std::size_t products : {usual_products, 2 * usual_products}) {
      const ProbeBench bench = bench_of(products);
      layout_.floor = addend_floor(bench);
      distances_ = cut_distances(bench, layout_.floor ? layout_.floor->plain : bench.operation().accumulator.min_exponent());
      ProbeCases cases = cases_of(bench, options_.seed);
      layout_.step = step_length(bench, cases, layout_.step_evidence);
      if (layout_.step > 0) return find_groups(bench, cases, layout_);
    }
    layout_.all = true;
    const ProbeBench bench = bench_of(usual_products);
    ProbeCases cases = cases_of(bench, options_.seed);
    layout_.step = bench.products();
    find_groups(bench, cases, layout_);
  }

  /// The layout found, then the other ways to deal out a step that keep apart what must be, larger groups first.
  std::vector<ProbeLayout> layouts() const {
    std::vector<ProbeLayout> all{layout_};
    for (std::size_t size = layout_.step; size >= 2; --size) {
      if (layout_.step % size != 0) continue;
      for (std::size_t run = 1; run <= size; ++run) {
        if (size % run != 0) continue;
        ProbeLayout other = layout_;
        other.groups = layout_.step / size;
        other.run = run;
        other.regular = true;
        for (std::size_t k = 0; k < layout_.step; ++k) other.group_of[k] = k / run % other.groups;
        if (other.group_of != layout_.group_of && keeps_apart(other, layout_)) all.push_back(std::move(other));
        if (size == layout_.step) break;
      }
    }
    ProbeLayout apart = layout_;
    apart.groups = layout_.step;
    apart.regular = false;
    all.push_back(apart);
    return all;
  }

  void recover(const ProbeBench& bench) {
    const Code nan_code = nan_result(bench);
    std::size_t tried = 0, asked = 0;
    for (const ProbeLayout& layout : layouts()) {
      ProbeCases cases = cases_of(bench, options_.seed + 1);
      ProbeAnswers answers(bench, cases, layout);
      const auto kinds = probe_kinds(answers, layout, nan_code);
      tried += kinds.size();
      asked = answers.size();
      for (int round = 0; round < most_rounds; ++round) {
        report_.recovered = fitting_engine(answers, kinds);
        if (!report_.recovered) break;
        if (survives(bench, cases, answers, layout) && last_check(bench, answers, round) == 0) break;
      }
      if (!report_.recovered) continue;
      layout_ = layout;
      note("exchangeable", group_words(layout_), layout_.group_evidence);
      for (const ProbeFeature& feature : features_of(*report_.recovered)) conclude(feature, answers);
      return;
    }
    note("exchangeable", group_words(layout_), layout_.group_evidence);
    note("summation", "not recovered", filled("none of {} kinds of engines gives all of {} answers", tried, asked));
    if (layout_.floor) note("least_exponent", "not recovered", layout_.floor->evidence);
  }

  /// Whether no random inner product tells a variant's answer from the recovered engine's and finds the variant right. A
  /// product that tells is asked and kept.
  bool survives(const ProbeBench& bench, ProbeCases& cases, ProbeAnswers& answers, const ProbeLayout& layout) const {
    constexpr int attempts = 1200;
    for (const ProbeFeature& feature : features_of(*report_.recovered)) {
      for (const ProbeVariant& variant : feature.variants) {
        if (answers.refutation(variant.engine) != nullptr) continue;
        for (int i = 0; i < attempts; ++i) {
          const ProbeRange range = ranges[static_cast<std::size_t>(i) % ranges.size()];
          const ProbeCase probe = cases.among(i % 2 == 0 ? layout.step : bench.products(), range);
          const Code expected = bench.emulated(*report_.recovered, probe);
          if (bench.same(expected, bench.emulated(variant.engine, probe))) continue;
          answers.add(range == ProbeRange::plain ? ProbeSubset::chain : ProbeSubset::any, probe);
          if (!bench.same(bench.answer(probe), expected)) return false;
          break;
        }
      }
    }
    return true;
  }

  /// A feature is what no answer refutes.
  void conclude(const ProbeFeature& feature, const ProbeAnswers& answers) {
    std::string words = feature.word, evidence;
    std::size_t refuted = 0;
    bool less_refuted = false, more_refuted = false;
    for (const ProbeVariant& variant : feature.variants) {
      const ProbeAnswer* const refutation = answers.refutation(variant.engine);
      if (refutation == nullptr) {
        if (!feature.is_number || std::abs(std::stoi(variant.word) - std::stoi(feature.word)) == 1)
          words += " or " + variant.word;
        continue;
      }
      ++refuted;
      if (feature.is_number) (std::stoi(variant.word) < std::stoi(feature.word) ? less_refuted : more_refuted) = true;
      if (!evidence.empty()) continue;
      const ProbeBench& bench = answers.bench();
      evidence = filled("{} gives {}; were it {}, {}", bench.words(refutation->probe), bench.words(refutation->answer),
                        variant.word, bench.words(bench.emulated(variant.engine, refutation->probe)));
    }
    const bool tells = refuted > 0 || feature.variants.empty() || feature.name == "summation";
    if (feature.name == "least_exponent" && feature.word == "none") {
      words = greatest_least_exponent(answers);
    } else if (!tells) {
      words = not_observable;
    } else if (feature.is_number && refuted < feature.variants.size() && less_refuted && !more_refuted) {
      words = "at least " + feature.word;
    }
    note(feature.name, words, evidence);
  }

  /// The greatest least exponent that no answer refutes, for an engine that needs none.
  std::string greatest_least_exponent(const ProbeAnswers& answers) const {
    Engine engine = *report_.recovered;
    const auto refuted = [&](int exponent) {
      engine.least_exponent = exponent;
      return answers.refutation(engine) != nullptr;
    };
    int fits = engine.accumulator.min_exponent() - most_kept_bits, beyond = engine.accumulator.min_exponent() + most_kept_bits;
    if (!refuted(beyond)) return not_observable;
    if (refuted(fits)) return "none";
    while (beyond - fits > 1) {
      const int middle = fits + (beyond - fits) / 2;
      (refuted(middle) ? beyond : fits) = middle;
    }
    return "at most " + std::to_string(fits);
  }

  /// Disagreements of the recovered engine and the unit on inner products of its own; they are kept for another fit.
  std::size_t last_check(const ProbeBench& bench, ProbeAnswers& answers, int round) {
    ProbeCases cases = cases_of(bench, options_.seed + 2 + static_cast<std::uint64_t>(round));
    std::vector<ProbeCase> probes;
    for (std::size_t i = 0; i < options_.last_checks; ++i)
      probes.push_back(cases.among(i % 2 == 0 ? layout_.step : bench.products(), ranges[i % ranges.size()]));
    const auto given = bench.answers(probes);
    report_.disagreements = 0;
    for (std::size_t i = 0; i < probes.size(); ++i) {
      if (bench.same(bench.emulated(*report_.recovered, probes[i]), given[i])) continue;
      ++report_.disagreements;
      answers.add(ranges[i % ranges.size()] == ProbeRange::plain ? ProbeSubset::chain : ProbeSubset::any, probes[i]);
    }
    return report_.disagreements;
  }

  const gpu::Unit& unit_;
  const gpu::Operation& operation_;
  const ProbeOptions options_;
  ProbeLayout layout_;
  std::vector<int> distances_;
  ProbeReport report_;
};

}  // namespace

std::string result_of(const ProbeReport& report, const std::string& feature) {
  for (const Finding& finding : report.findings)
    if (finding.feature == feature) return finding.result;
  return "";
}

ProbeReport probe(const gpu::Unit& unit, const gpu::Operation& operation, const ProbeOptions& options) {
  return Probe(unit, operation, options).run();
}

}  // namespace ulpscope::studies
