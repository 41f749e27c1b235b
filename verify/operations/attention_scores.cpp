// SPDX-License-Identifier: Apache-2.0
// Scores by float64 sums with the bound of a kernel's, and the same in 200 digits.
#include "verify/operations/attention_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/special_functions.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Exponentials of base 2 take scores, masks and sinks times this.
constexpr double log2_e = 0x1.71547652b82fep+0;

bool is_minus_infinity(double x) { return x == -infinity; }

double largest_magnitude(const std::vector<float>& values) {
  double most = 0;
  for (const float x : values)
    if (std::isfinite(x)) most = std::max(most, std::fabs(static_cast<double>(x)));
  return most;
}

/// c tanh(s / c). It changes by less than its argument does; the quotient, tanh (0.8 ulp) and the product cost 4 * 2^-53 of it.
Ball capped(double cap, const Ball& score) {
  const double value = cap * emu::tanh(score.value / cap);
  return {value, (score.radius + std::fabs(value) * 0x1p-50 + cap * 0x1p-1060) * (1 + 0x1p-49)};
}

/// The error of a kernel's c tanh(s / c) where that of s is `error`. tanh changes by 1 - tanh^2 of what its argument does, at
/// most where that is nearest to 0. The quotient's own errors, relatively e, change it by e (1 + 3 e) of itself at most: x
/// (1 - tanh(x)^2) <= tanh(x).
double capped_error(const KernelArithmetic& arithmetic, double cap, const Ball& y, double error) {
  const double nearest = std::max(0.0, (std::fabs(y.value) - y.radius) / cap - error / cap);
  const double slope = std::min(1.0, 1 - nearest * nearest + 0x1p-48);
  const double steps = 2 * function_relative(arithmetic) + 3 * unit(arithmetic.format);
  const double own = emu::expm1(steps * (1 + 3 * steps)) * upper(y) + arithmetic.function_abs * cap;
  return error * slope + own + underflow(arithmetic.format) * (1 + 2 * cap);
}

}  // namespace

AttentionRows::AttentionRows(Attention operation)
    : op_(std::move(operation)),
      shape_(laid_out(op_)),
      mask_(op_.mask, shape_),
      descales_(row_descales(op_.descales, shape_,
                             !op_.sequences.block_table && !op_.sequences.query_starts && !op_.sequences.key_starts)),
      sinks_(sinks_of(op_.sinks, shape_)),
      keys_by_depth_(op_.k.elements.size()) {
  for (std::uint64_t b = 0; b < shape_.sequences.size(); ++b)
    for (std::uint64_t head = 0; head < shape_.kv_heads; ++head) {
      const std::uint64_t keys = shape_.sequences[static_cast<std::size_t>(b)].keys, first = shape_.first_row(b, head);
      for (std::uint64_t i = 0; i < keys * shape_.depth; ++i) {
        const std::uint64_t key = i / shape_.depth, at = i % shape_.depth;
        keys_by_depth_[static_cast<std::size_t>(first * shape_.depth + at * keys + key)] =
            op_.k.elements[static_cast<std::size_t>(first * shape_.depth + i)];
      }
    }
  plain_.whole = scale();
  plain_.scale = upper(plain_.whole);
  if (!descales_.q.empty() || !descales_.k.empty())
    most_q_ = largest_magnitude(op_.q.elements), most_k_ = largest_magnitude(op_.k.elements);
  most_value_scale_ = largest_magnitude(descales_.v);
  for (const float x : descales_.v)
    if (x != 0) least_value_scale_ = std::min(least_value_scale_, std::fabs(static_cast<double>(x)));
}

AttentionRules AttentionRows::declared() const {
  return {.scores = op_.scores, .probabilities = op_.probabilities, .sight = {op_.causal, op_.window}, .softcap = op_.softcap};
}

Ball AttentionRows::scale() const {
  return op_.scale ? Ball(*op_.scale) : Ball(1.0) / sqrt(Ball(static_cast<double>(shape_.depth)));
}

AttentionRows::Factor AttentionRows::factor(std::uint64_t row, std::uint64_t key_row, const AttentionRules& rules) const {
  const bool of_q = rules.descales_q && !descales_.q.empty(), of_k = rules.descales_k && !descales_.k.empty();
  if (!of_q && !of_k) return plain_;
  const double q = of_q ? static_cast<double>(descales_.q[static_cast<std::size_t>(row)]) : 1;
  const double k = of_k ? static_cast<double>(descales_.k[static_cast<std::size_t>(key_row)]) : 1;
  Factor out = plain_;
  out.whole = plain_.whole * Ball(q * k);  // a product of two float32, exact
  out.descale = std::fabs(q * k);
  out.roundings = (of_q ? 1 : 0) + (of_k ? 1 : 0);
  const double elements = (of_q ? std::fabs(k) * most_k_ : 0) + (of_k ? std::fabs(q) * most_q_ : 0) + 1;
  out.of_elements = underflow(op_.arithmetic.format) * static_cast<double>(shape_.depth) * elements * plain_.scale;
  return out;
}

void AttentionRows::dot_products(std::uint64_t row, std::uint64_t first_row, std::uint64_t keys, KeyRange range,
                                 std::vector<double>& dots, std::vector<double>& sizes) const {
  const auto n = static_cast<std::size_t>(range.end - range.begin);
  dots.assign(n, 0);
  sizes.assign(n, 0);
  const auto q = op_.q.row(row);
  const float* matrix = keys_by_depth_.data() + first_row * shape_.depth + range.begin;
  for (std::size_t d = 0; d < q.size(); ++d) {
    const double x = static_cast<double>(q[d]);
    const float* line = matrix + d * keys;
    for (std::size_t j = 0; j < n; ++j) {
      const double term = x * static_cast<double>(line[j]);
      dots[j] += term;
      sizes[j] += std::abs(term);
    }
  }
}

AttentionScores AttentionRows::scores(std::uint64_t row, const AttentionRules& rules) const {
  const AttentionPlace place = shape_.place(row);
  const AttentionSequence& sequence = shape_.sequences[static_cast<std::size_t>(place.batch)];
  const std::uint64_t first_row = shape_.first_row(place.batch, shape_.kv_head(place.head));
  KeyRange range = rules.sight.range(sequence, place.query);
  range.end = std::max(range.begin, std::min(range.end, sequence.keys - std::min(sequence.keys, rules.keys_left_out)));
  std::vector<double> dots, sizes;
  dot_products(row, first_row, sequence.keys, range, dots, sizes);
  AttentionScores out;
  const MaskRow added = rules.masks ? mask(place) : MaskRow{};
  const bool by_key = rules.descales_k && !descales_.k.empty();
  Factor of_key = range.begin == range.end ? plain_ : factor(row, first_row, rules);
  for (std::uint64_t key = range.begin; key < range.end; ++key) {
    const auto j = static_cast<std::size_t>(key - range.begin);
    if (by_key) of_key = factor(row, first_row + key, rules);
    add_score(out, key, {dots[j], sizes[j], added.at(key)}, of_key, rules);
  }
  const auto& sink = sinks_[static_cast<std::size_t>(place.head)];
  if (rules.sinks && sink) {
    out.each.emplace_back(*sink);
    double& greatest = *sink < 0 && -*sink * log2_e > largest(op_.arithmetic.format) ? out.lowered : out.kept;
    greatest = std::max(greatest, *sink);
    out.errors.push_back(0);  // of its exponential's argument alone, which weights() counts
    out.overflows = out.overflows || std::fabs(*sink) > largest(op_.arithmetic.format);
  }
  return out;
}

void AttentionRows::add_score(AttentionScores& out, std::uint64_t key, const KeySums& sums, const Factor& factor,
                              const AttentionRules& rules) const {
  const auto [dot, size, added] = sums;
  if (is_minus_infinity(added) && !rules.caps_masked) return;
  double s = dot * factor.whole.value;
  if (rules.softcap && std::isinf(s)) s = std::copysign(*rules.softcap, s);
  s += added;
  if (std::isnan(s) || s == infinity) out.undefined = true;
  if (!std::isfinite(s) && !(rules.caps_masked && is_minus_infinity(s))) return;
  const double u = unit(op_.arithmetic.format), tiny = underflow(op_.arithmetic.format);
  const double n = static_cast<double>(shape_.depth), most = largest(op_.arithmetic.format), scale = upper(factor.whole);
  const Ball product = Ball(dot, gamma(n, 0x1p-53) * size) * factor.whole;
  // What underflows is lost in units of Q K^T, whether the codes are multiplied before or behind it.
  const double least = factor.descale > 0 ? std::max(1.0, 1 / factor.descale) : 1;
  double error = sum_relative(op_.arithmetic, shape_.depth) * size + n * tiny * least;
  if (rules.scores) error += unit(*rules.scores) * (std::abs(dot) + error) + verify::underflow(*rules.scores) * least;
  if (factor.roundings > 0) error += gamma(factor.roundings, u) * (size + error) + factor.of_elements / (scale > 0 ? scale : 1);
  const double before = upper(product) + error * scale;
  Ball score = product;
  if (!rules.softcap) {
    // The factor is rounded, and its product, and the sum with the mask.
    error = error * scale + 3 * u * ((std::abs(dot) + error) * scale + std::abs(added)) + 2 * tiny;
    score = product + Ball(added);
  } else if (rules.caps_masked) {
    error = error * scale + 3 * u * ((std::abs(dot) + error) * scale + std::abs(added)) + 2 * tiny;
    score = std::isinf(added) ? Ball(-*rules.softcap) : capped(*rules.softcap, product + Ball(added));
    error = capped_error(op_.arithmetic, *rules.softcap, score, error);
  } else {
    error = error * scale + 2 * u * (std::abs(dot) + error) * scale + 2 * tiny;
    const Ball y =
        std::isinf(product.value) ? Ball(std::copysign(*rules.softcap, product.value)) : capped(*rules.softcap, product);
    error = capped_error(op_.arithmetic, *rules.softcap, y, error);
    error += u * (upper(y) + error + std::abs(added));
    score = y + Ball(added);
  }
  const double sums_of_codes = size * std::max(1.0, factor.descale);
  out.overflows = out.overflows || sums_of_codes * (1 + plain_.scale) > most || size * scale > most || before > most ||
                  (rules.scores && sums_of_codes > largest(*rules.scores));
  const double reach = std::abs(added) + upper(score) + error;
  out.overflows = out.overflows || (added >= 0 && reach > most);
  double& greatest = added < 0 && reach * log2_e > most ? out.lowered : out.kept;
  greatest = std::max(greatest, score.value);
  out.keys.push_back(key);
  out.each.push_back(score);
  out.errors.push_back(error);
}

AttentionWeights AttentionRows::weights(AttentionScores& scores) const {
  const Ball greatest =
      *std::max_element(scores.each.begin(), scores.each.end(), [](const Ball& a, const Ball& b) { return a.value < b.value; });
  // Parts of the keys may be put together by their log-sum-exp, whose size is that of the greatest score.
  const double u = unit(op_.arithmetic.format);
  const double merged = 4 * u * (upper(greatest) + emu::log(static_cast<double>(scores.each.size())) + 1);
  for (double& error : scores.errors) error += merged;
  AttentionWeights out{greatest, exponentials<Ball>(scores.each, greatest), {}, merged};
  const ExponentialArithmetic how{.arithmetic = op_.arithmetic, .sums = op_.arithmetic, .block = op_.block};
  out.errors = exponential_errors(how, out.exact, scores.each, greatest, scores.errors);
  return out;
}

std::uint64_t AttentionRows::first_value(std::uint64_t row) const {
  const AttentionPlace place = shape_.place(row);
  return shape_.first_row(place.batch, shape_.kv_head(place.head));
}

bool AttentionRows::is_hidden(std::uint64_t row, std::uint64_t key) const {
  const AttentionPlace place = shape_.place(row);
  const KeyRange range = declared().sight.range(shape_.sequences[static_cast<std::size_t>(place.batch)], place.query);
  return key < range.begin || key >= range.end || is_minus_infinity(mask(place).at(key));
}

std::vector<Real> AttentionRows::precise_scores(std::uint64_t row, const std::vector<std::uint64_t>& keys) const {
  Real factor = op_.scale ? Real(*op_.scale) : Real(Real(1) / sqrt(Real(static_cast<double>(shape_.depth))));
  if (!descales_.q.empty()) factor *= static_cast<double>(descales_.q[static_cast<std::size_t>(row)]);
  const AttentionPlace place = shape_.place(row);
  const MaskRow added = mask(place);
  const auto q = op_.q.row(row);
  std::vector<Real> out;
  for (const std::uint64_t key : keys) {
    const std::uint64_t key_row = first_value(row) + key;
    const auto k = op_.k.row(key_row);
    Real dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) dot += static_cast<double>(q[d]) * static_cast<double>(k[d]);
    Real score = dot * factor;
    if (!descales_.k.empty()) score *= static_cast<double>(descales_.k[static_cast<std::size_t>(key_row)]);
    if (op_.softcap) score = *op_.softcap * tanh(Real(score / *op_.softcap));
    out.push_back(score + added.at(key));
  }
  if (const auto& sink = sinks_[static_cast<std::size_t>(place.head)]) out.emplace_back(*sink);
  return out;
}

std::optional<std::uint64_t> AttentionRows::fully_masked() const {
  const Sight sight{op_.causal, op_.window};
  for (std::uint64_t row = 0; row < shape_.rows(); ++row) {
    if (has_sink(row)) continue;
    const AttentionPlace place = shape_.place(row);
    const KeyRange range = sight.range(shape_.sequences[static_cast<std::size_t>(place.batch)], place.query);
    const MaskRow added = mask(place);
    std::uint64_t key = range.begin;
    while (key < range.end && is_minus_infinity(added.at(key))) ++key;
    if (key == range.end) return row;
  }
  return std::nullopt;
}

}  // namespace ulpscope::verify
