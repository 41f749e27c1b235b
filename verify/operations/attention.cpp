// SPDX-License-Identifier: Apache-2.0
// Scores, weights and weighted sums of each query, each with its error.
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
#include "verify/operations/attention_shape.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/real.hpp"
#include "verify/operations/softmax_weights.hpp"

namespace ulpscope::verify {
namespace {

/// What a query makes of the keys it sees.
struct Scores {
  bool undefined = false;
  bool overflows = false;           ///< in the kernel's arithmetic, possibly
  std::vector<std::uint64_t> keys;  ///< those with a finite score
  std::vector<Ball> each;
  std::vector<double> errors;  ///< of a kernel's
};

template <class T>
T greatest_of(const std::vector<T>& scores) {
  return *std::max_element(scores.begin(), scores.end(), [](const T& a, const T& b) {
    if constexpr (std::is_same_v<T, Ball>)
      return a.value < b.value;
    else
      return a < b;
  });
}

/// What is rounded on the way, and to what; none: not beside the arithmetic.
struct Intermediates {
  std::optional<emu::Format> scores = {}, probabilities = {};
};

class AttentionExpectation final : public RowExpectation {
 public:
  AttentionExpectation(Attention operation, AttentionShape shape)
      : RowExpectation(shape.out, operation.last),
        op_(std::move(operation)),
        shape_(std::move(shape)),
        keys_by_depth_(op_.k.elements.size()) {
    const std::uint64_t size = shape_.keys * shape_.depth;
    for (std::uint64_t i = 0; i < op_.k.elements.size(); ++i) {
      const std::uint64_t matrix = i / size, key = i % size / shape_.depth, at = i % shape_.depth;
      keys_by_depth_[matrix * size + at * shape_.keys + key] = op_.k.elements[i];
    }
  }

  std::string bound() const override {
    const auto name = [](const std::optional<emu::Format>& f) { return f ? emu::format_name(*f) : "not rounded"; };
    return fmt::format("Q K^T: {}; P V: {}; {}; scores {}, probabilities {}", words_of_sum(op_.arithmetic, shape_.depth),
                       words_of_sum(op_.arithmetic, shape_.keys), words_of_functions(op_.arithmetic), name(op_.scores),
                       name(op_.probabilities));
  }

  /// Whether the wrong elements are right where scores or probabilities are rounded to the format of the inputs or of the
  /// output.
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    if (!may_be_roundings(indices, outputs)) return {};
    for (const Intermediates& undeclared : undeclared_roundings()) {
      const std::size_t right = right_with(undeclared, indices, outputs, last);
      if (const std::string found = right_if(right, indices.size(), words_of(undeclared)); !found.empty()) return found;
    }
    return {};
  }

  /// The first query that sees no key; none where every one sees some.
  std::optional<std::uint64_t> fully_masked() const {
    for (std::uint64_t query = 0; query < shape_.queries; ++query) {
      const std::uint64_t visible = shape_.visible(op_.causal, query);
      std::uint64_t key = 0;
      while (key < visible && is_hidden(mask(query, key))) ++key;
      if (key == visible) return query;
    }
    return std::nullopt;
  }

  /// A weight of 0 times a value that is NaN or infinite is NaN, where a kernel multiplies hidden keys too.
  bool admits(std::uint64_t index, double output) const override {
    if (!std::isnan(output)) return false;
    const std::uint64_t row = index / shape_.width, visible = shape_.visible(op_.causal, row % shape_.queries);
    for (std::uint64_t key = 0; key < shape_.keys; ++key)
      if ((key >= visible || is_hidden(mask(row, key))) && !std::isfinite(value_at(row, key, index % shape_.width)))
        return true;
    return false;
  }

 private:
  std::uint64_t kv_matrix(std::uint64_t row) const { return shape_.kv_of(row / shape_.queries); }
  double mask(std::uint64_t row, std::uint64_t key) const {
    if (!op_.mask) return 0;
    return static_cast<double>(op_.mask->elements[static_cast<std::size_t>(row % shape_.queries * shape_.keys + key)]);
  }
  Ball scale() const { return op_.scale ? Ball(*op_.scale) : Ball(1.0) / sqrt(Ball(static_cast<double>(shape_.depth))); }
  Real precise_scale() const {
    return op_.scale ? Real(*op_.scale) : Real(Real(1) / sqrt(Real(static_cast<double>(shape_.depth))));
  }
  double value_at(std::uint64_t row, std::uint64_t key, std::uint64_t column) const {
    return static_cast<double>(
        op_.v.elements[static_cast<std::size_t>((kv_matrix(row) * shape_.keys + key) * shape_.width + column)]);
  }

  /// q . k of the first `count` keys, and the sums of |q||k|.
  void dot_products(std::uint64_t row, std::uint64_t count, std::vector<double>& dots, std::vector<double>& sizes) const {
    const auto n = static_cast<std::size_t>(count);
    dots.assign(n, 0);
    sizes.assign(n, 0);
    const auto q = op_.q.row(row);
    const float* matrix = keys_by_depth_.data() + kv_matrix(row) * shape_.keys * shape_.depth;
    for (std::size_t d = 0; d < q.size(); ++d) {
      const double x = static_cast<double>(q[d]);
      const float* line = matrix + d * shape_.keys;
      for (std::size_t j = 0; j < n; ++j) {
        const double term = x * static_cast<double>(line[j]);
        dots[j] += term;
        sizes[j] += std::abs(term);
      }
    }
  }

  /// Roundings of scores and probabilities that are not declared and that kernels have, the rarer ones last.
  /// Errors of roundings are many, and of either direction: a few are another fault, and so is a factor of everything.
  bool may_be_roundings(std::span<const std::uint64_t> indices, std::span<const double> outputs) const {
    constexpr std::size_t least = 16, one_in = 8;
    std::size_t larger = 0, smaller = 0;
    const auto width = static_cast<std::size_t>(shape_.width);
    std::vector<Expected> elements(width);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint64_t query = indices[i] / width;
      if (i == 0 || query != indices[i - 1] / width) row_with(query, {op_.scores, op_.probabilities}, elements);
      const double exact = elements[indices[i] % width].value;
      (std::fabs(outputs[i]) > std::fabs(exact) ? larger : smaller) += 1;
    }
    return indices.size() >= least && std::min(larger, smaller) * one_in >= indices.size();
  }
  std::vector<Intermediates> undeclared_roundings() const {
    std::vector<emu::Format> formats;
    for (const std::optional<emu::Format> format : {op_.q.format, std::optional(op_.last.out)})
      if (format && format->bits() <= 16 && format->precision() < op_.arithmetic.format.precision() &&
          std::find(formats.begin(), formats.end(), *format) == formats.end())
        formats.push_back(*format);
    std::vector<Intermediates> out;
    for (const emu::Format format : formats) {
      if (!op_.probabilities) out.push_back({op_.scores, format});
      if (!op_.scores) out.push_back({format, op_.probabilities});
      if (!op_.scores && !op_.probabilities) out.push_back({format, format});
    }
    return out;
  }
  std::string words_of(const Intermediates& undeclared) const {
    std::string what, options;
    const auto add = [&](const char* name, const std::optional<emu::Format>& format,
                         const std::optional<emu::Format>& declared) {
      if (!format || format == declared) return;
      what += fmt::format("{}{} are rounded to {}", what.empty() ? "" : " and ", name, emu::format_name(*format));
      options += fmt::format("{}--{} {}", options.empty() ? "" : " ", name, emu::format_name(*format));
    };
    add("scores", undeclared.scores, op_.scores);
    add("probabilities", undeclared.probabilities, op_.probabilities);
    return "where " + what + ": " + options + " says so";
  }
  /// How many of the elements a kernel with these roundings may return.
  std::size_t right_with(const Intermediates& rounded, std::span<const std::uint64_t> indices, std::span<const double> outputs,
                         const LastRounding& last) const {
    const auto width = static_cast<std::size_t>(shape_.width);
    std::vector<Expected> elements(width);
    std::size_t right = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint64_t query = indices[i] / width;
      if (i == 0 || query != indices[i - 1] / width) row_with(query, rounded, elements);
      right += is_right(judge(*this, indices[i], elements[indices[i] % width], outputs[i], last)) ? 1 : 0;
    }
    return right;
  }

  Scores scores_of(std::uint64_t row, const std::optional<emu::Format>& rounded) const {
    const std::uint64_t visible = shape_.visible(op_.causal, row % shape_.queries);
    std::vector<double> dots, sizes;
    dot_products(row, visible, dots, sizes);
    Scores out;
    const Ball factor = scale();
    for (std::uint64_t j = 0; j < visible; ++j) add_score(out, j, {dots[j], sizes[j], mask(row, j)}, factor, rounded);
    return out;
  }

  /// q . k of a key, the sum of |q||k|, and what the mask adds.
  struct KeySums {
    double dot, size, added;
  };
  void add_score(Scores& out, std::uint64_t key, const KeySums& sums, const Ball& factor,
                 const std::optional<emu::Format>& rounded) const {
    const auto [dot, size, added] = sums;
    const double s = dot * factor.value + added;
    if (is_hidden(added)) return;
    if (std::isnan(s) || s == std::numeric_limits<double>::infinity()) out.undefined = true;
    if (!std::isfinite(s)) return;
    const double u = unit(op_.arithmetic.format), tiny = underflow(op_.arithmetic.format);
    const double n = static_cast<double>(shape_.depth), most = largest(op_.arithmetic.format);
    const Ball product(dot, gamma(n, 0x1p-53) * size);
    const Ball score = product * factor + Ball(added);
    double error = sum_relative(op_.arithmetic, shape_.depth) * size + n * tiny;
    if (rounded) error += unit(*rounded) * (std::abs(dot) + error) + verify::underflow(*rounded);
    // The factor is rounded, and its product, and the sum with the mask.
    error = error * upper(factor) + 3 * u * ((std::abs(dot) + error) * upper(factor) + std::abs(added)) + 2 * tiny;
    out.overflows = out.overflows || size * (1 + upper(factor)) > most || std::abs(added) + upper(score) + error > most ||
                    (rounded && size > largest(*rounded));
    out.keys.push_back(key);
    out.each.push_back(score);
    out.errors.push_back(error);
  }

  /// Sums over the keys for every column of V.
  struct Columns {
    std::vector<double> values, magnitudes, errors;
  };
  Columns weighted(std::uint64_t row, const Scores& scores, const Exponentials<Ball>& weights,
                   const std::vector<double>& weight_errors) const {
    const auto width = static_cast<std::size_t>(shape_.width);
    Columns out{std::vector<double>(width), std::vector<double>(width), std::vector<double>(width)};
    for (std::size_t j = 0; j < scores.keys.size(); ++j) {
      const double e = weights.each[j].value, w = weight_errors[j];
      const float* v = op_.v.elements.data() + (kv_matrix(row) * shape_.keys + scores.keys[j]) * shape_.width;
      for (std::size_t c = 0; c < width; ++c) {
        const double x = static_cast<double>(v[c]), size = std::abs(x);
        out.values[c] += e * x;
        out.magnitudes[c] += e * size;
        out.errors[c] += w * size;
      }
    }
    return out;
  }

  /// The errors of the weights as they enter the second product: rounded to the probabilities' format before or after division.
  static std::vector<double> rounded_errors(const Exponentials<Ball>& weights, const std::vector<double>& errors,
                                            const std::optional<emu::Format>& rounded) {
    std::vector<double> out = errors;
    if (!rounded) return out;
    const double u = unit(*rounded), least = verify::underflow(*rounded) * upper(weights.sum);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += u * (upper(weights.each[j]) + out[j]) + least;
    return out;
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override {
    row_with(index, {op_.scores, op_.probabilities}, elements);
  }
  void row_with(std::uint64_t index, const Intermediates& rounded, std::span<Expected> elements) const {
    Scores scores = scores_of(index, rounded.scores);
    const bool masked = !scores.undefined && scores.each.empty(), zero = op_.fully_masked == FullyMasked::zero;
    std::fill(elements.begin(), elements.end(), masked && zero ? Expected{} : undefined());
    if (scores.undefined || masked) return;
    const Ball greatest = greatest_of(scores.each);
    // Parts of the keys may be put together by their log-sum-exp, whose size is that of the greatest score.
    const double u = unit(op_.arithmetic.format);
    const double merged = 4 * u * (upper(greatest) + emu::log(static_cast<double>(scores.each.size())) + 1);
    for (double& error : scores.errors) error += merged;
    const auto weights = exponentials<Ball>(scores.each, greatest);
    const ExponentialArithmetic how{.arithmetic = op_.arithmetic, .sums = op_.arithmetic, .block = op_.block};
    const auto errors = exponential_errors(how, weights, scores.each, greatest, scores.errors);
    const auto columns = weighted(index, scores, weights, rounded_errors(weights, errors.each, rounded.probabilities));
    double relative_radius = 0, least_radius = 0;
    for (const Ball& e : weights.each) {
      if (e.value > 0x1p-900)
        relative_radius = std::max(relative_radius, e.radius / e.value);
      else
        least_radius = std::max(least_radius, e.radius);
    }
    for (std::size_t c = 0; c < elements.size(); ++c)
      elements[c] = element(columns, c, weights, errors, {relative_radius, least_radius}, scores);
  }

  struct Radii {
    double relative, absolute;
  };
  Expected element(const Columns& columns, std::size_t c, const Exponentials<Ball>& weights, const ExponentialErrors& errors,
                   Radii radii, const Scores& scores) const {
    const double n = static_cast<double>(scores.each.size()), tiny = underflow(op_.arithmetic.format);
    const double size = columns.magnitudes[c];
    if (!std::isfinite(columns.values[c])) return {.value = columns.values[c], .magnitude = size, .may_overflow = true};
    const double radius = (radii.relative + gamma(n + 1, 0x1p-53)) * size + n * radii.absolute * largest(emu::float32);
    const Ball sum(columns.values[c], radius);
    const Ball y = sum / weights.sum;
    const double error =
        columns.errors[c] + sum_relative(op_.arithmetic, scores.each.size()) * (size + columns.errors[c]) + n * tiny;
    // A score that overflows takes all the weight, or none.
    const double allowed = scores.overflows ? std::numeric_limits<double>::infinity()
                                            : quotient_error(op_.arithmetic, y, weights.sum, error, errors.sum);
    Expected out = within(y.value, y.radius, allowed, size / weights.sum.value);
    out.may_overflow = scores.overflows || size + error > largest(op_.arithmetic.format);
    return out;
  }

  std::vector<Real> precise_scores(std::uint64_t row, const std::vector<std::uint64_t>& keys) const {
    const Real factor = precise_scale();
    const auto q = op_.q.row(row);
    std::vector<Real> out;
    for (const std::uint64_t key : keys) {
      const auto k = op_.k.row(kv_matrix(row) * shape_.keys + key);
      Real dot = 0;
      for (std::size_t d = 0; d < q.size(); ++d) dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
      out.push_back(dot * factor + mask(row, key));
    }
    return out;
  }

  static bool is_hidden(double added) { return added == -std::numeric_limits<double>::infinity(); }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const Scores seen = scores_of(index, op_.scores);
    if (seen.each.empty()) return precise_of(Real(0), last());
    const std::vector<Real> scores = precise_scores(index, seen.keys);
    const auto weights = exponentials<Real>(scores, greatest_of(scores));
    Real sum = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) sum += weights.each[j] * value_at(index, seen.keys[j], column);
    return precise_of(sum / weights.sum, last());
  }

  Attention op_;
  AttentionShape shape_;
  std::vector<float> keys_by_depth_;  ///< K transposed
};

}  // namespace

std::unique_ptr<Expectation> expect_attention(Attention operation) {
  if (operation.block == 0) throw Error("the block of an online softmax has at least 1 key");
  if (operation.scale && !std::isfinite(*operation.scale)) throw Error("the scale of the scores is a finite number");
  AttentionShape shape = attention_shape(operation);
  const bool declared = operation.fully_masked != FullyMasked::undeclared;
  auto expectation = std::make_unique<AttentionExpectation>(std::move(operation), std::move(shape));
  if (const auto query = expectation->fully_masked(); query && !declared)
    throw Error(fmt::format(
        "query {} sees no key: say with --fully-masked what such rows hold, nan (the formula's 0/0) or zero", *query));
  return expectation;
}

}  // namespace ulpscope::verify
