// SPDX-License-Identifier: Apache-2.0
// Applies rules to an output, and audits them on a corner of the same product.
#include "cli/verify_rules.hpp"

#include <algorithm>
#include <span>

#include "verify/audit/audit.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/exact_output.hpp"

namespace ulpscope::cli {
namespace {

/// Lines of A and of B whose product is audited.
constexpr std::uint64_t audited_lines = 32;

/// The first lines of an operand of two dimensions.
tensors::Tensor first_lines(const tensors::Tensor& tensor, std::size_t axis) {
  std::vector<std::uint64_t> shape = tensor.shape;
  shape[axis] = std::min(shape[axis], audited_lines);
  const std::uint64_t row = tensor.shape[1], kept = shape[1];
  std::vector<double> values(static_cast<std::size_t>(shape[0] * kept));
  for (std::uint64_t i = 0; i < shape[0]; ++i)
    tensor.source->read(i * row, std::span(values).subspan(static_cast<std::size_t>(i * kept), static_cast<std::size_t>(kept)));
  return tensors::from_values(tensor.label, shape, std::move(values));
}

products::Product small(products::Product product) {
  if (product.engine.empty()) product.engine = "exact";
  const bool plain = product.a.input.tensor.shape.size() == 2 && product.b.input.tensor.shape.size() == 2 &&
                     !product.a.scales && !product.b.scales && !product.c;
  if (!plain) return product;
  product.a.input.tensor = first_lines(product.a.input.tensor, product.a.input.transposed ? 1 : 0);
  product.b.input.tensor = first_lines(product.b.input.tensor, product.b.input.transposed ? 0 : 1);
  return product;
}

std::string living(const verify::AuditResult& audited, std::size_t rule) {
  std::string words;
  for (const verify::AuditedMutant* mutant : audited.required_that_live(rule)) {
    const std::string severity = mutant->mutant.severity_word();
    words += (words.empty() ? "" : "; ") + mutant->mutant.kind->name + (severity.empty() ? "" : " " + severity);
  }
  return words.empty() ? "none of those that every check must reject" : words;
}

}  // namespace

reports::Table rules_table(const std::vector<std::string>& words, const products::Product& product,
                           const verify::Expectation& expectation, const tensors::Tensor& output) {
  std::vector<double> values(static_cast<std::size_t>(output.count()));
  output.source->read(0, std::span(values));
  const std::vector<double> exact = verify::exact_output(expectation, {.out = expectation.out()}, product.threads);
  verify::AuditConfig config{.product = small(product), .rules = {}, .bound = verify::bound_rule()};
  for (const std::string& word : words) config.rules.push_back(verify::parse_rule(word));
  const verify::AuditResult audited = verify::audit(config);
  reports::Table table{"rules", {"rule", "verdict", "figure", "limit", "violations", "lets_through"}, {}};
  const verify::RuleProblem problem{expectation.out(), output.shape, &product};
  for (std::size_t i = 0; i < config.rules.size(); ++i) {
    const verify::RuleVerdict verdict = config.rules[i].prepare(problem)(exact, values);
    const char* const says = !verdict.broken.empty() ? "none" : verdict.passes ? "accepts" : "rejects";
    table.rows.push_back({config.rules[i].word, says, verdict.figure, verdict.limit,
                          static_cast<std::int64_t>(verdict.violations), living(audited, i)});
  }
  return table;
}

}  // namespace ulpscope::cli
