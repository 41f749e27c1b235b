// SPDX-License-Identifier: Apache-2.0
// Asks the checks.
#include "verify/evidence/public_study.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "emu/encode.hpp"
#include "tensors/parallel.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/rules.hpp"

namespace ulpscope::verify {
namespace {

/// A check without a rule accepts everything.
Rule rule_of(const PublicCheck& check) {
  if (check.rule != "none") return parse_rule(check.rule);
  return {check.rule, [](const RuleProblem&) -> RuleJudge {
            return [](std::span<const double>, std::span<const double>) { return RuleVerdict{.passes = true}; };
          }};
}

/// Whether the right output times a factor is accepted.
class Scaled {
 public:
  Scaled(const CorrectOutput& source, const RuleJudge& judge) : source_(source), judge_(judge) {}

  bool accepts(double factor) const {
    std::vector<double> d = source_.correct;
    for (double& x : d) x = emu::round_to(source_.out, x * factor).value;
    return judge_(source_.reference, d).passes;
  }

  /// The farthest factor from 1 towards `end` that is accepted, to one part in a thousand.
  double farthest(double end) const {
    if (accepts(end)) return end;
    double inside = 1, outside = end;
    while (std::fabs(outside - inside) > 5e-4 * std::max(inside, 0.1)) {
      const double middle = outside > 2 ? std::sqrt(inside * outside) : (inside + outside) / 2;
      (accepts(middle) ? inside : outside) = middle;
    }
    return std::round(inside * 1000) / 1000;
  }

 private:
  const CorrectOutput& source_;
  const RuleJudge& judge_;
};

/// What the check, the bound and equality of all bits say of each output, and which scales the check accepts.
void judge_outputs(PublicResult& result, const CorrectOutput& source, const RuleProblem& problem,
                   const std::vector<FedOutput>& fed) {
  const RuleJudge judge = rule_of(result.check).prepare(problem), bound = bound_rule().prepare(problem);
  for (const FedOutput& output : fed) {
    JudgedOutput judged{.name = output.name, .is_right = output.is_right, .applicable = !output.values.empty()};
    if (judged.applicable) {
      for (std::size_t i = 0; i < output.values.size(); ++i)
        judged.changed += emu::encode(source.out, output.values[i]) != emu::encode(source.out, source.correct[i]);
      judged.accepted = judge(source.reference, output.values).passes;
      const RuleVerdict verdict = bound(source.reference, output.values);
      if (verdict.broken.empty()) judged.within_bound = verdict.passes;
      judged.same_bits = judged.changed == 0;
    }
    result.outputs.push_back(std::move(judged));
  }
  const Scaled scaled(source, judge);
  constexpr double large = 1024;
  if (!scaled.accepts(1)) {
    result.least_scale = result.most_scale = std::numeric_limits<double>::quiet_NaN();
  } else {
    result.least_scale = scaled.farthest(0);
    result.most_scale = scaled.accepts(large) ? std::numeric_limits<double>::infinity() : scaled.farthest(large);
  }
}

/// The wrong outputs, and behind them the right ones.
std::vector<FedOutput> with_right(std::vector<FedOutput> outputs, std::vector<FedOutput> right) {
  for (FedOutput& output : right) outputs.push_back(std::move(output));
  return outputs;
}

void ask_product(PublicResult& result, const Sample& sample) {
  const PublicCheck& check = result.check;
  const MutationSource source = mutation_source(product_of(check, sample), sample.seed);
  result.engine = source.config.engine;
  result.rows = source.shape.m, result.columns = source.shape.n;
  const double outputs = static_cast<double>(std::max<std::uint64_t>(check.m, result.rows)) *
                         static_cast<double>(std::max<std::uint64_t>(check.n, result.columns));
  judge_outputs(result, source, {source.out, source.shape.d, &source.config},
                with_right(wrong_outputs(source, outputs), right_outputs(source)));
}

void ask_operation(PublicResult& result, std::uint64_t seed) {
  const std::unique_ptr<const OperationSource> source = operation_of(result.check, seed);
  result.columns = source->columns, result.rows = source->correct.size() / source->columns;
  judge_outputs(result, *source, {source->out, source->check().expectation->shape(), nullptr, &source->check()},
                with_right(wrong_outputs(*source), right_outputs(*source)));
}

PublicResult asked(const PublicCheck& check, const Sample& sample) {
  PublicResult result{.check = check};
  if (check.fit == Fit::no) return result;
  if (check.request.empty())
    ask_product(result, sample);
  else
    ask_operation(result, sample.seed);
  return result;
}

std::uint64_t count_of(const PublicResult& result, const std::function<bool(const JudgedOutput&)>& is) {
  return static_cast<std::uint64_t>(std::ranges::count_if(result.outputs, is));
}

}  // namespace

std::uint64_t PublicResult::wrong() const { return count_of(*this, &JudgedOutput::is_wrong); }
std::uint64_t PublicResult::wrong_accepted() const {
  return count_of(*this, [](const JudgedOutput& output) { return output.is_wrong() && output.accepted; });
}
std::uint64_t PublicResult::right() const { return count_of(*this, &JudgedOutput::is_right); }
std::uint64_t PublicResult::right_rejected() const {
  return count_of(*this, [](const JudgedOutput& output) { return output.is_right && !output.accepted; });
}

std::vector<PublicResult> ask_public_checks(const PublicConfig& config) {
  const std::vector<PublicCheck> checks = public_checks();
  std::vector<PublicResult> results(checks.size());
  std::mutex telling;
  std::uint64_t done = 0;
  tensors::for_each_index(checks.size(), config.threads, [&](std::size_t i) {
    results[i] = asked(checks[i], config.sample);
    const std::scoped_lock lock(telling);
    if (config.progress) config.progress(++done, checks.size());
  });
  return results;
}

}  // namespace ulpscope::verify
