// SPDX-License-Identifier: Apache-2.0
// Rules made of others, and the rule that compares an output's error with that of a baseline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/audit/rule_parameters.hpp"
#include "verify/audit/rules.hpp"

namespace ulpscope::verify {

/// Which of several rules must accept an output.
enum class Joined : std::uint8_t {
  all,  ///< `and`
  any,  ///< `or`
};

/// One rule of several; of a single one, that one. The figures are those of the rule that decides: the first that rejects
/// (accepts, where any may), else the first. A rule without a verdict leaves none.
Rule joined(std::string word, std::vector<Rule> rules, Joined how);

/// The numbers for a problem; nothing where one grows with K, and K is not known.
std::optional<std::vector<double>> rule_numbers(const std::vector<RuleArgument>& arguments, const RuleProblem& problem);

/// Judges nothing, and says why.
RuleJudge without_verdict(std::string why);
/// Of a rule that asks for what the problem does not have: `K`, `an engine`, `the operands`. About tensors alone it has no
/// verdict. @throws ulpscope::Error naming the rule where an operation is audited that is no product
RuleJudge without_product(std::string_view word, const std::string& what, const RuleProblem& problem);

/// `baseline`, and `baseline:factor=2,atol=0`: the greatest error is at most `factor` times that of the product as its own
/// engine computes it, and atol. Asks for the operands.
std::string baseline_name();
/// As rule_forms() has it.
std::string baseline_form();
/// @throws ulpscope::Error
Rule baseline_rule(std::string_view word);

}  // namespace ulpscope::verify
