// SPDX-License-Identifier: Apache-2.0
// The words of conditions, and how each output that moved was summed.
#include "verify/invariance/invariance_request.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/invariance/sum_orders.hpp"

namespace ulpscope::verify {
namespace {

/// The claimed way to sum where the request names no engine.
constexpr const char* claim_without_engine = "fma";

std::uint64_t row_length(const ResolvedInvariance& invariance) {
  const std::vector<std::uint64_t> shape = invariance.check.expectation->shape();
  return invariance.rows_are_elements || shape.empty() ? 1 : shape.back();
}

/// Some rows of a matrix, as it is stored.
tensors::Tensor rows_of(const tensors::Tensor& matrix, const std::vector<std::size_t>& rows, std::uint64_t first = 0) {
  const auto columns = static_cast<std::size_t>(matrix.shape.back());
  std::vector<double> values(rows.size() * columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    matrix.source->read((rows[i] + first) * columns, std::span(values).subspan(i * columns, columns));
  tensors::Tensor part = tensors::from_values(matrix.label, {rows.size(), columns}, std::move(values));
  part.dtype = matrix.dtype;
  return part;
}

/// For each row of an output whether it moved, beside the first of the others that it moved from.
std::vector<char> moved_rows(const ResolvedInvariance& invariance, const InvarianceResult& result, std::size_t i) {
  const Condition& own = invariance.conditions[i];
  std::vector<char> moved(static_cast<std::size_t>(result.conditions[i].rows));
  const auto pair = std::find_if(result.pairs.begin(), result.pairs.end(),
                                 [&](const PairResult& p) { return p.rows_moved != 0 && (p.condition == i || p.other == i); });
  const Condition& other = invariance.conditions[pair->condition == i ? pair->other : pair->condition];
  const std::uint64_t begin = std::max(own.first_row, other.first_row), length = result.row_length;
  std::vector<double> a(static_cast<std::size_t>(length)), b(a.size());
  for (std::uint64_t row = begin; row < begin + pair->rows; ++row) {
    own.output.source->read((row - own.first_row) * length, std::span(a));
    other.output.source->read((row - other.first_row) * length, std::span(b));
    const auto same = [](double x, double y) {
      return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
    };
    moved[static_cast<std::size_t>(row - own.first_row)] = std::equal(a.begin(), a.end(), b.begin(), same) ? 0 : 1;
  }
  return moved;
}

/// A product and its output, or some rows of both.
struct ProductOfRows {
  products::Product product;
  tensors::Tensor output;
};
/// Of an output of some rows these, and of one that takes long some of them; nothing where more than A is by rows.
std::optional<ProductOfRows> product_of_rows(const ResolvedInvariance& invariance, const InvarianceResult& result,
                                             std::size_t i) {
  constexpr std::uint64_t most_products = std::uint64_t{1} << 27, least_rows = 16;
  const products::Product& product = *invariance.product;
  const Condition& condition = invariance.conditions[i];
  const products::MatmulInput& a = product.a.input;
  const std::uint64_t rows = result.conditions[i].rows,
                      row_products = std::max<std::uint64_t>(1, result.row_length * a.tensor.shape.back());
  const bool plain =
      a.tensor.shape.size() == 2 && !a.transposed && !product.a.scales && (!product.c || product.c->shape.size() < 2);
  const auto most = static_cast<std::size_t>(std::max(least_rows, most_products / row_products));
  const bool is_whole = condition.first_row == 0 && rows == result.rows;
  if (is_whole && (!plain || rows <= most)) return ProductOfRows{product, condition.output};
  if (!plain) return std::nullopt;
  const std::vector<std::size_t> some = rows <= most ? chosen_lines(std::vector<char>(static_cast<std::size_t>(rows)), rows)
                                                     : chosen_lines(moved_rows(invariance, result, i), most);
  ProductOfRows part{product, rows_of(condition.output, some)};
  part.product.a.input.tensor = rows_of(a.tensor, some, condition.first_row);
  return part;
}

/// What was found of an output.
struct CauseWords {
  std::string words = {};
  bool is_undeclared = false;  ///< whether it contradicts what is declared

  bool operator==(const CauseWords&) const = default;
};

/// The claim, with what it says of parts of K: those of other outputs are named beside it.
std::string words_of_claim(const products::Product& product) {
  std::string words = "as " + product.engine + " sums";
  if (product.split_k != 1) words += ", split-K = " + std::to_string(product.split_k) + " as declared";
  if (product.promote != 0) words += ", promoted every " + std::to_string(product.promote) + " products as declared";
  return words;
}

/// Whether it is more than another order of the same sums, which nobody declares: inputs or sums of another format, products
/// left out, another epilogue.
bool is_undeclared(const Hypothesis& hypothesis) {
  constexpr std::array orders{"engine=", "split-k=", "promote=", "accumulators=", "blocks=", "order=", "sum=multiply-add"};
  return !std::ranges::all_of(hypothesis.causes, [&](const Cause& cause) {
    const bool is_order = std::ranges::any_of(orders, [&](const char* start) { return cause.word.starts_with(start); });
    return is_order && cause.word.find_first_of('/') == std::string::npos && cause.word.find("lost=") == std::string::npos;
  });
}

CauseWords explained_product(const ResolvedInvariance& invariance, const InvarianceResult& result, std::size_t i,
                             double seconds) {
  std::optional<ProductOfRows> part = product_of_rows(invariance, result, i);
  if (!part) return {};
  if (part->product.engine.empty()) part->product.engine = claim_without_engine;
  const ExplainResult found = explain({.product = part->product, .d = part->output, .seconds = seconds, .counts_sums = false});
  switch (found.verdict) {
    case ExplainVerdict::holds: return {words_of_claim(part->product)};
    case ExplainVerdict::explained: {
      const Hypothesis& hypothesis = found.findings.front().hypothesis;
      return {hypothesis.sentence(), is_undeclared(hypothesis)};
    }
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

/// The outputs that moved, each of which is not the same to the bit as one before it; and of all the one that they are.
struct Distinct {
  std::vector<std::size_t> outputs, same_as;
};
Distinct distinct_outputs(const InvarianceResult& result) {
  const std::size_t count = result.conditions.size();
  Distinct distinct{{}, std::vector<std::size_t>(count)};
  std::vector<char> moved(count);
  for (std::size_t i = 0; i < count; ++i) distinct.same_as[i] = i;
  for (const PairResult& pair : result.pairs) {
    const ConditionResult &a = result.conditions[pair.condition], &b = result.conditions[pair.other];
    if (pair.rows_moved != 0)
      moved[pair.condition] = moved[pair.other] = 1;
    else if (pair.rows == a.rows && pair.rows == b.rows)
      distinct.same_as[pair.other] = std::min(distinct.same_as[pair.other], pair.condition);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (moved[i] != 0 && distinct.same_as[i] == i) distinct.outputs.push_back(i);
  return distinct;
}

void explain_pairs(const ResolvedInvariance& invariance, InvarianceResult& result) {
  using Clock = std::chrono::steady_clock;
  if (invariance.seconds <= 0) return;
  const auto start = Clock::now();
  const Distinct distinct = distinct_outputs(result);
  std::vector<CauseWords> words(result.conditions.size());
  for (std::size_t n = 0; n < distinct.outputs.size(); ++n) {
    const std::size_t i = distinct.outputs[n];
    const double left = invariance.seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (invariance.sums) words[i] = {explained_sums(invariance, invariance.conditions[i])};
    if (invariance.product && left > 0)
      words[i] = explained_product(invariance, result, i, left / static_cast<double>(distinct.outputs.size() - n));
  }
  for (PairResult& pair : result.pairs) {
    // What differs has not one cause: where the words are the same, it is not in them.
    if (pair.rows_moved == 0 || words[distinct.same_as[pair.condition]] == words[distinct.same_as[pair.other]]) continue;
    for (const std::size_t i : {pair.condition, pair.other})
      if (const CauseWords& of = words[distinct.same_as[i]]; !of.words.empty()) {
        pair.cause += (pair.cause.empty() ? "" : "; ") + result.conditions[i].name + ": " + of.words +
                      (of.is_undeclared ? ", which is not what is declared" : "");
        pair.is_undeclared = pair.is_undeclared || of.is_undeclared;
      }
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
  words.file.resize(at), words.has_row = true;
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
