// SPDX-License-Identifier: Apache-2.0
// The rules by which outputs are called right elsewhere, each with the semantics of its original, weaknesses and all: so that
// it can be asked what such a rule would have let through. What each computes and where that is from: docs/rules.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "products/product.hpp"

namespace ulpscope::verify {

struct ResolvedCheck;

/// What a rule says of one output.
struct RuleVerdict {
  bool passes = false;           ///< whether the output is accepted
  double figure = 0;             ///< the number that is compared with `limit`; nan where the original computes nan
  double limit = 0;              ///< what `figure` is compared with
  std::uint64_t violations = 0;  ///< elements that break the rule; of a rule about the whole tensor, 1 where it fails
  std::string broken = {};       ///< why there is no verdict (a program that crashed); empty where there is one
};

/// What a rule is told beside the two tensors. All of it outlives the judge that is made of them.
struct RuleProblem {
  emu::Format out;                             ///< of the reference and of the output
  std::vector<std::uint64_t> shape;            ///< of both
  const products::Product* product = nullptr;  ///< what was computed; none where a rule is asked about tensors alone
  const ResolvedCheck* check = nullptr;        ///< the same of an operation that is no product
};

/// Judges outputs of one problem: tensors of one size, in float64, numbers of RuleProblem::out.
using RuleJudge = std::function<RuleVerdict(std::span<const double> reference, std::span<const double> output)>;

/// A rule: what it is called, and how it is made ready for a problem. A rule that needs the operands (such as a derived bound)
/// prepares once what it asks of every output.
struct Rule {
  std::string word;  ///< as typed: `calc_diff:1e-3`
  /// Called once a problem; the judge is asked about each output.
  std::function<RuleJudge(const RuleProblem& problem)> prepare;
};

/// A rule that asks for nothing but the two tensors and their format.
using TensorJudge = std::function<RuleVerdict(emu::Format out, std::span<const double>, std::span<const double>)>;
/// A rule that prepares nothing.
Rule rule_of(std::string word, TensorJudge judge);

/// `allclose:rtol=1e-5,atol=1e-8`, `calc_diff:1e-3` and the others of rule_forms(); what stands after the colon may be left
/// out. `RULE and RULE` asks for both, `RULE or RULE` for one of them; `and` binds closer.
/// @throws ulpscope::Error in one line that says what the rule takes, or names the closest rules.
Rule parse_rule(std::string_view word);

/// The forms of all rules that parse_rule() knows, in the order of the documentation.
std::vector<std::string> rule_forms();

}  // namespace ulpscope::verify
