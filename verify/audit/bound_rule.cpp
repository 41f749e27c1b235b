// SPDX-License-Identifier: Apache-2.0
// Judges an output against its enclosure, as `verify` does.
#include "verify/audit/bound_rule.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "verify/audit/compound_rules.hpp"
#include "verify/check_request.hpp"
#include "verify/matmul_bound.hpp"

namespace ulpscope::verify {
namespace {

class BoundJudge {
 public:
  BoundJudge(std::shared_ptr<const Expectation> expectation, const LastRounding& last)
      : expectation_(std::move(expectation)), last_(last), elements_(std::make_shared<std::vector<Expected>>()) {
    std::size_t count = 1;
    for (const std::uint64_t extent : expectation_->shape()) count *= static_cast<std::size_t>(extent);
    elements_->resize(count);
    expectation_->expect(0, *elements_);
  }

  RuleVerdict operator()(std::span<const double>, std::span<const double> output) const {
    RuleVerdict verdict;
    if (const std::string refusal = expectation_->refusal(); !refusal.empty()) {
      verdict.broken = "says nothing: " + refusal;
      return verdict;
    }
    for (std::size_t i = 0; i < output.size(); ++i) {
      const Standing standing = judge(*expectation_, i, (*elements_)[i], output[i], last_);
      verdict.violations += standing == Standing::beyond || standing == Standing::nonfinite;
    }
    verdict.figure = static_cast<double>(verdict.violations);
    verdict.passes = verdict.violations == 0;
    return verdict;
  }

 private:
  std::shared_ptr<const Expectation> expectation_;
  LastRounding last_;
  std::shared_ptr<std::vector<Expected>> elements_;
};

}  // namespace

Allowance correct_allowance(const products::Product& product) {
  Allowance allowance = matmul_allowance(product, {.engine = {}, .false_alarm = {}});
  if (product.engine.empty() || product.engine == "exact") return allowance;
  const auto engine = products::engine_of(product);
  const Allowance of_engine = matmul_allowance(product, {.engine = engine, .false_alarm = {}});
  if (of_engine.relative > allowance.relative) allowance.words = of_engine.words, allowance.refusal = of_engine.refusal;
  allowance.relative = std::max(allowance.relative, of_engine.relative);
  allowance.absolute = std::max(allowance.absolute, of_engine.absolute);
  return allowance;
}

Rule bound_rule() {
  return {"bound", [](const RuleProblem& problem) -> RuleJudge {
            if (problem.product != nullptr)
              return BoundJudge(expect_matmul(*problem.product, correct_allowance(*problem.product)), {problem.out});
            if (problem.check == nullptr) return without_verdict("asks for the operands");
            return BoundJudge({std::shared_ptr<void>(), problem.check->expectation.get()}, problem.check->last);
          }};
}

}  // namespace ulpscope::verify
