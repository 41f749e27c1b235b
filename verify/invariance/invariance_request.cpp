// SPDX-License-Identifier: Apache-2.0
// The words of conditions, and how each output that moved was summed.
#include "verify/invariance/invariance_request.hpp"

#include <algorithm>
#include <charconv>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/explain/explain.hpp"
#include "verify/invariance/sum_orders.hpp"

namespace ulpscope::verify {
namespace {

/// The claimed way to sum where the request names no engine.
constexpr const char* claim_without_engine = "fma";

std::uint64_t row_length(const ResolvedInvariance& invariance) {
  const std::vector<std::uint64_t> shape = invariance.check.expectation->shape();
  return invariance.rows_are_elements || shape.empty() ? 1 : shape.back();
}

/// Rows of a matrix, as it is stored.
tensors::Tensor rows_of(const tensors::Tensor& matrix, std::uint64_t first, std::uint64_t rows) {
  const std::uint64_t columns = matrix.shape.back();
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  matrix.source->read(first * columns, std::span(values));
  tensors::Tensor part = tensors::from_values(matrix.label, {rows, columns}, std::move(values));
  part.dtype = matrix.dtype;
  return part;
}

/// The product of these rows of A alone; nothing where more than A is by rows.
std::optional<products::Product> product_of_rows(const products::Product& product, const Condition& condition,
                                                 std::uint64_t rows) {
  if (condition.first_row == 0 && condition.output.shape == std::vector<std::uint64_t>{rows, condition.output.shape.back()} &&
      product.a.input.tensor.shape.front() == rows)
    return product;
  const products::MatmulInput& a = product.a.input;
  const bool plain =
      a.tensor.shape.size() == 2 && !a.transposed && !product.a.scales && (!product.c || product.c->shape.size() < 2);
  if (!plain) return std::nullopt;
  products::Product part = product;
  part.a.input.tensor = rows_of(a.tensor, condition.first_row, rows);
  return part;
}

std::string explained_product(const ResolvedInvariance& invariance, const Condition& condition, std::uint64_t rows) {
  std::optional<products::Product> product = product_of_rows(*invariance.product, condition, rows);
  if (!product) return {};
  if (product->engine.empty()) product->engine = claim_without_engine;
  const ExplainResult result = explain({.product = *product, .d = condition.output, .seconds = invariance.seconds});
  switch (result.verdict) {
    case ExplainVerdict::holds: return "as " + product->engine + " sums";
    case ExplainVerdict::explained: return result.findings.front().hypothesis.sentence();
    default: return {};
  }
}

std::string explained_sums(const ResolvedInvariance& invariance, const Condition& condition) {
  const tensors::Tensor& x = invariance.check.inputs.front().tensor;
  const std::optional<emu::Format> in = emu::parse_format(invariance.sums->in.empty() ? x.dtype.name : invariance.sums->in);
  const bool is_float32 = emu::parse_format(invariance.sums->acc) == emu::float32 && in && emu::fits_float(*in);
  if (!is_float32 || invariance.sums->axis != "last" || x.shape.empty() || x.shape.back() < 2) return {};
  return sum_order({x, *in, condition.output, condition.first_row, invariance.check.last});
}

std::string explained(const ResolvedInvariance& invariance, const Condition& condition, std::uint64_t rows) {
  if (invariance.seconds <= 0) return {};
  if (invariance.product) return explained_product(invariance, condition, rows);
  return invariance.sums ? explained_sums(invariance, condition) : std::string();
}

void explain_pairs(const ResolvedInvariance& invariance, InvarianceResult& result) {
  std::vector<std::optional<std::string>> words(invariance.conditions.size());
  const auto of = [&](std::size_t i) -> const std::string& {
    if (!words[i]) words[i] = explained(invariance, invariance.conditions[i], result.conditions[i].rows);
    return *words[i];
  };
  for (PairResult& pair : result.pairs) {
    if (pair.rows_moved == 0) continue;
    for (const std::size_t i : {pair.condition, pair.other})
      if (!of(i).empty()) pair.cause += (pair.cause.empty() ? "" : "; ") + result.conditions[i].name + ": " + of(i);
  }
}

}  // namespace

ConditionWords parse_condition(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == word.size())
    throw Error("--output '" + word + "': write NAME=FILE, such as alone=row0.npy@0");
  ConditionWords words{word.substr(0, equals), word.substr(equals + 1)};
  const std::size_t at = words.file.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == words.file.size()) return words;
  const std::string row = words.file.substr(at + 1);
  const auto [end, error] = std::from_chars(row.data(), row.data() + row.size(), words.first_row);
  if (error != std::errc{} || end != row.data() + row.size()) {
    words.first_row = 0;
    return words;  // an @ of the file's name
  }
  words.file.resize(at);
  return words;
}

InvarianceResult judged(const ResolvedInvariance& invariance, const studies::Progress& progress) {
  InvarianceResult result = verify::invariance({.expectation = *invariance.check.expectation,
                                                .last = invariance.check.last,
                                                .row_length = row_length(invariance),
                                                .conditions = invariance.conditions,
                                                .threads = invariance.threads,
                                                .progress = progress});
  explain_pairs(invariance, result);
  return result;
}

studies::StudyResult study_of(const InvarianceResult& result) {
  studies::StudyResult study{.tables = {invariance_table(result)}, .findings = invariance_findings(result)};
  switch (result.outcome()) {
    case Outcome::pass: break;
    case Outcome::fail: study.outcome = studies::StudyOutcome::failed; break;
    case Outcome::vacuous: study.outcome = studies::StudyOutcome::vacuous; break;
  }
  return study;
}

}  // namespace ulpscope::verify
