// SPDX-License-Identifier: Apache-2.0
// Weighted sums of V for each query, each with its error.
#include "verify/operations/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/diagnosis.hpp"
#include "verify/operations/attention_hints.hpp"
#include "verify/operations/attention_hull.hpp"
#include "verify/operations/attention_lse.hpp"
#include "verify/operations/attention_scores.hpp"
#include "verify/operations/kept_rows.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class AttentionExpectation final : public RowExpectation {
 public:
  explicit AttentionExpectation(std::shared_ptr<const AttentionRows> rows)
      : RowExpectation(rows->shape().out, rows->operation().last),
        rows_(std::move(rows)),
        op_(rows_->operation()),
        width_(static_cast<std::size_t>(rows_->shape().width)) {
    for (const AttentionSequence& sequence : rows_->shape().sequences) most_keys_ = std::max(most_keys_, sequence.keys);
  }

  std::string bound() const override {
    const auto name = [](const std::optional<emu::Format>& f) { return f ? emu::format_name(*f) : "not rounded"; };
    return fmt::format("Q K^T: {}; P V: {}; {}; scores {}, probabilities {}",
                       words_of_sum(op_.arithmetic, rows_->shape().depth), words_of_sum(op_.arithmetic, most_keys_),
                       words_of_functions(op_.arithmetic), name(op_.scores), name(op_.probabilities));
  }

  bool diagnoses_from_everywhere() const override { return true; }
  /// Whether the wrong elements are right where a rule is left out or off by one, or lie within the wider bound of scores or
  /// probabilities that are rounded to the 16-bit format of the inputs or of the output.
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    if (std::string hidden = hint_of_hidden_rows(*rows_, width_, indices, outputs); !hidden.empty()) return hidden;
    constexpr std::size_t least = 8;  // a few elements may be right by chance
    std::size_t most = 0;
    std::string best;
    if (indices.size() >= least)
      for (const AttentionHint& hint : broken_rules(*rows_)) {
        const std::size_t right = right_with(hint.rules, indices, outputs, last).elements;
        if (std::string found = right_if(right, indices.size(), hint.words); right > most && !found.empty())
          most = right, best = std::move(found);
        if (most == indices.size()) return best;
      }
    if (!may_be_roundings(indices, outputs)) return best;
    for (const AttentionHint& hint : undeclared_roundings(*rows_)) {
      // Roundings make bounds wider, and any fault is within one that is wide enough.
      const Right right = right_with(hint.rules, indices, outputs, last);
      if (right.elements < indices.size() || 2 * right.zeros > right.elements) continue;
      return fmt::format("{0} of {0} wrong elements looked at lie within the wider bound of {1}", right.elements, hint.words);
    }
    return best;
  }

  /// A weight of 0 times a value that is NaN or infinite is NaN, where a kernel multiplies hidden keys too.
  bool admits(std::uint64_t index, double output) const override {
    if (!std::isnan(output)) return false;
    const std::uint64_t row = index / width_, first = rows_->first_value(row);
    const std::uint64_t keys = rows_->shape().sequences[static_cast<std::size_t>(rows_->shape().place(row).batch)].keys;
    for (std::uint64_t key = 0; key < keys; ++key)
      if (!std::isfinite(op_.v.row(first + key)[index % width_]) && rows_->is_hidden(row, key)) return true;
    return false;
  }

 private:
  /// Errors of roundings are many, and of either direction: a few are another fault, and so is a factor of everything.
  bool may_be_roundings(std::span<const std::uint64_t> indices, std::span<const double> outputs) const {
    constexpr std::size_t least = 16, one_in = 8;
    std::size_t larger = 0, smaller = 0;
    std::vector<Expected> elements(width_);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint64_t query = indices[i] / width_;
      if (i == 0 || query != indices[i - 1] / width_) row(query, elements);
      const double exact = elements[indices[i] % width_].value;
      (std::fabs(outputs[i]) > std::fabs(exact) ? larger : smaller) += 1;
    }
    return indices.size() >= least && std::min(larger, smaller) * one_in >= indices.size();
  }
  /// How many elements a kernel may return, and in the place of how many of them a zero.
  struct Right {
    std::size_t elements = 0, zeros = 0;
  };
  /// Of a kernel with these rules; none where more than a tenth of the elements are wrong.
  Right right_with(const AttentionRules& rules, std::span<const std::uint64_t> indices, std::span<const double> outputs,
                   const LastRounding& last) const {
    std::vector<Expected> elements(width_);
    Right right;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint64_t query = indices[i] / width_;
      if (i == 0 || query != indices[i - 1] / width_) row_with(query, rules, elements);
      const Expected& element = elements[indices[i] % width_];
      right.elements += is_right(judge_by(indices[i], element, outputs[i], last)) ? 1 : 0;
      right.zeros += is_right(judge_by(indices[i], element, 0, last)) ? 1 : 0;
      if ((i + 1 - right.elements) * 10 > indices.size()) return {};
    }
    return right;
  }
  /// By the bound alone: precise() is of what is declared.
  Standing judge_by(std::uint64_t index, Expected element, double output, const LastRounding& last) const {
    element.allowed += element.radius;
    element.radius = 0;
    return judge(*this, index, element, output, last);
  }

  /// Sums over the keys for every column of V.
  struct Columns {
    std::vector<double> values, magnitudes, errors;
    std::vector<ValueRange> ranges;
  };
  Columns weighted(std::uint64_t first_value, const AttentionScores& scores, const AttentionWeights& weights,
                   const std::vector<double>& weight_errors, const AttentionRules& rules) const {
    const ValueRange none{infinity, -infinity};
    Columns out{std::vector<double>(width_), std::vector<double>(width_), std::vector<double>(width_),
                std::vector<ValueRange>(width_, none)};
    for (std::size_t j = 0; j < scores.keys.size(); ++j) {
      const std::uint64_t row = first_value + scores.keys[j];
      const double scale = rows_->value_scale(row, rules);
      const double e = weights.exact.each[j].value * scale, w = weight_errors[j] * std::fabs(scale), size_of_e = std::fabs(e);
      const float* v = op_.v.elements.data() + row * width_;
      for (std::size_t c = 0; c < width_; ++c) {
        const double x = static_cast<double>(v[c]), size = std::abs(x);
        out.values[c] += e * x;
        out.magnitudes[c] += size_of_e * size;
        out.errors[c] += w * size;
        out.ranges[c] = {std::min(out.ranges[c].least, x * scale), std::max(out.ranges[c].greatest, x * scale)};
      }
    }
    return out;
  }

  /// The errors of the weights as they enter the second product: rounded to the probabilities' format before or after division.
  static std::vector<double> rounded_errors(const AttentionWeights& weights, const std::optional<emu::Format>& rounded) {
    std::vector<double> out = weights.errors.each;
    if (!rounded) return out;
    const double u = unit(*rounded), least = verify::underflow(*rounded) * upper(weights.exact.sum);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += u * (upper(weights.exact.each[j]) + out[j]) + least;
    return out;
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override { row_with(index, rows_->declared(), elements); }
  void row_with(std::uint64_t index, const AttentionRules& rules, std::span<Expected> elements) const {
    AttentionScores scores = rows_->scores(index, rules);
    if (scores.undefined || scores.keys.empty()) {
      const bool is_zero = !scores.undefined && (!scores.each.empty() || op_.fully_masked == FullyMasked::zero);
      std::fill(elements.begin(), elements.end(), is_zero ? Expected{} : undefined());
      return;
    }
    const AttentionWeights weights = rows_->weights(scores);
    const auto columns =
        weighted(rows_->first_value(index), scores, weights, rounded_errors(weights, rules.probabilities), rules);
    double relative_radius = 0, least_radius = 0;
    for (const Ball& e : weights.exact.each) {
      if (e.value > 0x1p-900)
        relative_radius = std::max(relative_radius, e.radius / e.value);
      else
        least_radius = std::max(least_radius, e.radius);
    }
    // Of factors of V, each of which may be the greatest float32.
    if (rows_->scales_values()) least_radius *= largest(emu::float32);
    const MeanReach reach(op_, rules.probabilities, scores, weights, rows_->scales_values() ? rows_->most_value_scale() : 0);
    for (std::size_t c = 0; c < elements.size(); ++c)
      elements[c] = element(columns, c, weights, {relative_radius, least_radius}, scores, reach);
  }

  struct Radii {
    double relative, absolute;
  };
  Expected element(const Columns& columns, std::size_t c, const AttentionWeights& weights, Radii radii,
                   const AttentionScores& scores, const MeanReach& reach) const {
    const double n = static_cast<double>(scores.each.size()), tiny = underflow(op_.arithmetic.format);
    const double size = columns.magnitudes[c];
    // A weight that is rounded to 0 makes NaN of it.
    if (!std::isfinite(columns.values[c]))
      return {.value = columns.values[c], .magnitude = size, .may_overflow = Overflow::undefined};
    const double radius = (radii.relative + gamma(n + 2, 0x1p-53)) * size + n * radii.absolute * largest(emu::float32);
    const Ball sum(columns.values[c], radius);
    const Ball y = sum / weights.exact.sum;
    double error = columns.errors[c] + sum_relative(op_.arithmetic, scores.each.size()) * (size + columns.errors[c]) + n * tiny;
    // Each term, or the result, is multiplied once more; what underflows may be a code's, before it is.
    if (rows_->scales_values())
      error += unit(op_.arithmetic.format) * (size + error) +
               tiny * (upper(weights.exact.sum) * (1 + 4 * rows_->most_value_scale()) + n * rows_->most_value_scale());
    // A score that overflows takes all the weight, or none.
    const bool in_doubt = scores.overflows || scores.may_hide_keys(weights.greatest.value);
    const double derived =
        in_doubt ? infinity : quotient_error(op_.arithmetic, y, weights.exact.sum, error, weights.errors.sum);
    const double outside = to_range(y, columns.ranges[c], scores, reach);
    Expected out = within(y.value, y.radius, derived < outside ? derived : outside, size / weights.exact.sum.value);
    const double most = largest(op_.arithmetic.format) * rows_->least_value_scale();
    const double largest_value = std::max(std::abs(columns.ranges[c].least), std::abs(columns.ranges[c].greatest));
    const double sums = reach.largest_sum(largest_value), grown = error < sums ? error : sums;
    out.may_overflow =
        scores.overflows ? Overflow::any : overflow_of_sum(sum.value, size, 1 + grown / std::max(size, 0x1p-1000), most);
    if (scores.may_hide_all() && op_.fully_masked == FullyMasked::nan)
      out.may_overflow = out.may_overflow | Overflow::undefined;
    return out;
  }
  /// From the exact result, which is `y`, to the farther end of what a kernel's weighted mean of these values may be. A sink
  /// takes a part of the weights; a kernel may return 0 where all scores are -inf.
  double to_range(const Ball& y, ValueRange values, const AttentionScores& scores, const MeanReach& reach) const {
    const bool has_sink = scores.each.size() > scores.keys.size();
    if (has_sink || scores.overflows || (scores.may_hide_all() && op_.fully_masked == FullyMasked::zero))
      values = {std::min(values.least, 0.0), std::max(values.greatest, 0.0)};
    const ValueRange all = reach.around(values);
    const double whole = all.greatest - all.least;  // the exact result is one of them
    const double from_y = std::max(all.greatest - y.value, y.value - all.least) + y.radius;
    return from_y < whole ? from_y : whole;
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const AttentionRules rules = rows_->declared();
    const auto kept = precise_weights_.of(index, [&] { return precise_weights(index, rules); });
    if (kept->keys.empty()) return precise_of(Real(0), last());
    Real sum = 0;
    for (std::size_t j = 0; j < kept->keys.size(); ++j) {
      const std::uint64_t row = rows_->first_value(index) + kept->keys[j];
      // A product of two float32, exact.
      sum += kept->weights.each[j] *
             (static_cast<double>(op_.v.row(row)[static_cast<std::size_t>(column)]) * rows_->value_scale(row, rules));
    }
    return precise_of(sum / kept->weights.sum, last());
  }

  /// Of a row, in 200 digits.
  struct PreciseWeights {
    std::vector<std::uint64_t> keys;  ///< with a finite score
    Exponentials<Real> weights;       ///< of the keys, then of the sink if there is one
  };
  PreciseWeights precise_weights(std::uint64_t index, const AttentionRules& rules) const {
    PreciseWeights out{rows_->scores(index, rules).keys, {}};
    if (out.keys.empty()) return out;
    const std::vector<Real> scores = rows_->precise_scores(index, out.keys);
    out.weights = exponentials<Real>(scores, *std::max_element(scores.begin(), scores.end()));
    return out;
  }

  std::shared_ptr<const AttentionRows> rows_;
  const Attention& op_;
  std::size_t width_;
  std::uint64_t most_keys_ = 0;
  KeptRows<PreciseWeights> precise_weights_;
};

void require_numbers(const Attention& operation) {
  if (operation.block == 0) throw Error("the block of an online softmax has at least 1 key");
  if (operation.scale && !std::isfinite(*operation.scale)) throw Error("the scale of the scores is a finite number");
  if (operation.softcap && !(*operation.softcap > 0 && std::isfinite(*operation.softcap)))
    throw Error("--softcap: a finite number above 0");
}

std::shared_ptr<const AttentionRows> rows_of(Attention operation) {
  require_numbers(operation);
  const bool declared = operation.fully_masked != FullyMasked::undeclared;
  auto rows = std::make_shared<const AttentionRows>(std::move(operation));
  if (declared) return rows;
  if (const auto row = rows->fully_masked()) {
    const AttentionPlace place = rows->shape().place(*row);
    const bool several = rows->shape().heads * rows->shape().sequences.size() > 1;
    throw Error(
        fmt::format("query {}{} sees no key: say with --fully-masked what such rows hold, nan (the formula's 0/0) or zero",
                    place.query, several ? fmt::format(" of head {} of sequence {}", place.head, place.batch) : ""));
  }
  return rows;
}

}  // namespace

std::unique_ptr<Expectation> expect_attention(Attention operation) {
  return std::make_unique<AttentionExpectation>(rows_of(std::move(operation)));
}

AttentionExpectations expect_attention_and_lse(Attention operation, const LastRounding& lse) {
  const auto rows = rows_of(std::move(operation));
  return {std::make_unique<AttentionExpectation>(rows), expect_lse(rows, lse)};
}

}  // namespace ulpscope::verify
