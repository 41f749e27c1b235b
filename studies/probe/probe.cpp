// SPDX-License-Identifier: Apache-2.0
// Direct probes, then the layout, then the fit, then each feature put in doubt.
#include "studies/probe/probe.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_cases.hpp"
#include "studies/probe/probe_direct.hpp"
#include "studies/probe/probe_fit.hpp"
#include "studies/probe/probe_layout.hpp"
#include "studies/probe/probe_numbers.hpp"
#include "studies/probe/probe_telling.hpp"
#include "studies/probe/probe_variants.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using emu::Engine;

constexpr std::array ranges{ProbeRange::plain, ProbeRange::tiny, ProbeRange::plain, ProbeRange::any, ProbeRange::huge};
constexpr int most_rounds = 24;             ///< of fitting and checking
constexpr std::size_t usual_products = 64;  ///< asked for at once; twice as many where no step ends within them
constexpr std::size_t longest_step = 2 * usual_products - 1;  ///< of those tried

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
    if (report_.recovered) {
      const std::size_t longer = layout_.all ? check_longer() : 0;
      report_.disagreements += longer;
      const std::string lengths = layout_.all ? filled(", {} of them of {} products", longer_checks(), longer_products()) : "";
      note("disagreements", std::to_string(report_.disagreements),
           filled("the recovered engine and the unit on {} random inner products that it was not fitted to{}, seed {}",
                  options_.last_checks + (layout_.all ? longer_checks() : 0), lengths, options_.seed));
    }
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

  /// Where terms are far enough above the least exponent is known from the bits that are kept, which a step of one or two
  /// products hardly shows.
  std::vector<ProbeLayout> layouts_and_floors() const {
    std::vector<ProbeLayout> all = layouts();
    if (!layout_.floor || layout_.floor->plain >= layout_.floor->surely_plain) return all;
    std::vector<ProbeLayout> sure = all;
    for (ProbeLayout& layout : sure) layout.floor->plain = layout.floor->surely_plain;
    if (layout_.step < 3) std::swap(all, sure);
    all.insert(all.end(), sure.begin(), sure.end());
    return all;
  }

  void recover(const ProbeBench& bench) {
    const Code nan_code = nan_result(bench);
    std::size_t tried = 0, asked = 0;
    for (const ProbeLayout& layout : layouts_and_floors()) {
      layout_.floor = layout.floor;
      ProbeCases cases = cases_of(bench, options_.seed + 1);
      ProbeAnswers answers(bench, cases, layout);
      const auto kinds = probe_kinds(answers, layout, nan_code);
      tried += kinds.size();
      asked = answers.size();
      std::optional<ProbeNumbers> numbers;
      for (int round = 0; round < most_rounds; ++round) {
        report_.recovered = fitting_engine(answers, kinds);
        if (!report_.recovered) break;
        if (!numbers.emplace(*report_.recovered, answers, layout).settle()) continue;
        report_.recovered = numbers->engine();
        std::vector<Engine> equals = numbers->ends();
        equals.insert(equals.begin(), *report_.recovered);
        const bool all = std::all_of(equals.begin(), equals.end(),
                                     [&](const Engine& engine) { return survives(bench, cases, answers, layout, engine); });
        if (all && last_check(bench, answers, round) == 0) break;
      }
      if (!report_.recovered) continue;
      layout_ = layout;
      note("exchangeable", group_words(layout_), layout_.group_evidence);
      for (const ProbeFeature& feature : features_of(*report_.recovered)) conclude(feature, answers, *numbers);
      return;
    }
    note("exchangeable", group_words(layout_), layout_.group_evidence);
    note("summation", "not recovered", filled("none of {} kinds of engines gives all of {} answers", tried, asked));
    if (layout_.floor) note("least_exponent", "not recovered", layout_.floor->evidence);
  }

  /// Whether no random inner product tells a variant's answer from the recovered engine's and finds the variant right. A
  /// product that tells is asked and kept. `engine`: whose variants; it gives the same answers as the recovered one.
  bool survives(const ProbeBench& bench, ProbeCases& cases, ProbeAnswers& answers, const ProbeLayout& layout,
                const Engine& engine) const {
    constexpr int attempts = 1200;
    for (const ProbeFeature& feature : features_of(engine)) {
      for (const ProbeVariant& variant : feature.variants) {
        if (answers.refutation(variant.engine) != nullptr) continue;
        if (feature.name.ends_with("cut") && !tell(bench, answers, layout, variant.engine)) return false;
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

  /// Asks what tells an engine from the recovered one; whether the unit gives the recovered one's answers.
  bool tell(const ProbeBench& bench, ProbeAnswers& answers, const ProbeLayout& layout, const Engine& other) const {
    bool right = true;
    for (const ProbeCase& probe : telling_cases(bench, layout, *report_.recovered, other))
      right &= bench.same(answers.add(ProbeSubset::any, probe).answer, bench.emulated(*report_.recovered, probe));
    return right;
  }

  /// Whether an engine at an end of a range of bits gives all answers with a variant of this feature.
  static bool fits_at_an_end(const std::string& name, const std::string& word, const ProbeAnswers& answers,
                             const ProbeNumbers& numbers) {
    for (const Engine& end : numbers.ends())
      for (const ProbeFeature& feature : features_of(end))
        for (const ProbeVariant& variant : feature.variants)
          if (feature.name == name && variant.word == word && answers.refutation(variant.engine) == nullptr) return true;
    return false;
  }

  /// A feature is what no answer refutes.
  void conclude(const ProbeFeature& feature, const ProbeAnswers& answers, const ProbeNumbers& numbers) {
    const auto number = numbers.words(feature);
    std::string words = feature.word, evidence;
    std::size_t refuted = 0;
    for (const ProbeVariant& variant : feature.variants) {
      const ProbeAnswer* const refutation = answers.refutation(variant.engine);
      if (refutation == nullptr || (!number && fits_at_an_end(feature.name, variant.word, answers, numbers))) {
        words += " or " + variant.word;
        continue;
      }
      ++refuted;
      if (!evidence.empty()) continue;
      const ProbeBench& bench = answers.bench();
      evidence = filled("{} gives {}; were it {}, {}", bench.words(refutation->probe), bench.words(refutation->answer),
                        variant.word, bench.words(bench.emulated(variant.engine, refutation->probe)));
    }
    const bool tells = refuted > 0 || feature.variants.empty() || feature.name == "summation";
    note(feature.name, number ? *number : tells ? words : not_observable, evidence);
  }

  std::size_t longer_checks() const { return options_.last_checks / 4; }
  std::size_t longer_products() const { return multiple_of(operation_.products, longest_step + 2); }

  /// Of an engine whose one step takes all products: disagreements on more of them than any step that was tried. A step that is
  /// longer shows there.
  std::size_t check_longer() {
    const ProbeBench bench = bench_of(longest_step + 2);
    ProbeCases cases = cases_of(bench, options_.seed + 2 + most_rounds);
    std::vector<ProbeCase> probes;
    for (std::size_t i = 0; i < longer_checks(); ++i)
      probes.push_back(cases.among(bench.products(), ranges[i % ranges.size()]));
    const auto given = bench.answers(probes);
    std::size_t disagreements = 0;
    for (std::size_t i = 0; i < probes.size(); ++i)
      disagreements += bench.same(bench.emulated(*report_.recovered, probes[i]), given[i]) ? 0U : 1U;
    const auto step = std::find_if(report_.findings.begin(), report_.findings.end(),
                                   [](const Finding& finding) { return finding.feature == "step_products"; });
    if (disagreements > 0) step->result = filled("at least {}", longest_step + 1);
    return disagreements;
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
