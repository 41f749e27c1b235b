// SPDX-License-Identifier: Apache-2.0
// Log-sum-exp of each query's scores, with its error.
#include "verify/operations/attention_lse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/encode.hpp"
#include "emu/math.hpp"
#include "verify/diagnosis.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Kernels may leave a maximum as it is until another exceeds it by a factor of 2^8 (FlashAttention-4): the sum may then be
/// that much larger, and the maximum smaller.
constexpr double stale_maximum = 5.6;  // 8 ln 2 = 5.55

/// The output's shape without its last dimension, heads before rows, as FlashAttention returns it.
std::vector<std::uint64_t> lse_shape(const AttentionShape& shape) {
  if (shape.is_packed) return {shape.heads, shape.sequence_of.size()};
  if (shape.has_heads_last()) return {shape.out[0], shape.out[2], shape.out[1]};
  return {shape.out.begin(), shape.out.end() - 1};
}

/// How far ln x is from ln y where y is within `error` < x of it: -ln(1 - r) <= r / (1 - r).
double log_error(double x, double error) { return error < x ? error / (x - error) : infinity; }

/// ln x. emu::log errs by less than 0.9 ulp. Precondition: x > radius.
Ball log_of(const Ball& x) {
  const double value = emu::log(x.value);
  return {value, (log_error(x.value, x.radius) + std::fabs(value) * 0x1p-52 + 0x1p-1060) * (1 + 0x1p-48)};
}

class LseExpectation final : public RowExpectation {
 public:
  LseExpectation(std::shared_ptr<const AttentionRows> rows, const LastRounding& last)
      : RowExpectation(lse_shape(rows->shape()), last), rows_(std::move(rows)), columns_(shape().back()) {}

  std::string bound() const override {
    const KernelArithmetic& arithmetic = rows_->operation().arithmetic;
    return fmt::format("Q K^T: {}; {}; natural logarithm", words_of_sum(arithmetic, rows_->shape().depth),
                       words_of_functions(arithmetic));
  }

  /// A row without keys: FlashAttention-2 returns +inf, kernels whose output is 0/0 may return NaN.
  bool admits(std::uint64_t index, double output) const override {
    const bool may_be_nan = rows_->operation().fully_masked == FullyMasked::nan;
    if (!std::isinf(output) && !(std::isnan(output) && may_be_nan)) return false;
    const AttentionScores scores = rows_->scores(row_of(index), rows_->declared());
    return !scores.undefined && scores.each.empty();
  }

  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    constexpr std::size_t least = 8;  // a few elements may be right by chance
    if (indices.size() < least) return {};
    const auto right = [&](const AttentionRules& rules, double factor) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        Expected element = of_row(row_of(indices[i]), rules);
        element.allowed += element.radius;
        element.radius = 0;
        // A kernel that multiplies by log2(e) last has one rounding more, and the output's in another unit.
        if (factor != 1) element.allowed += 2 * unit(last.out) * std::fabs(element.value);
        count += is_right(judge(*this, indices[i], element, scaled(outputs[i], factor, last), last)) ? 1 : 0;
      }
      return right_if(count, indices.size(), factor == 1 ? "without the sinks" : "as logarithms to base 2");
    };
    AttentionRules without_sinks = rows_->declared();
    without_sinks.sinks = false;
    if (const std::string found = right(rows_->declared(), 0x1.62e42fefa39efp-1); !found.empty()) return found;
    return rows_->operation().sinks ? right(without_sinks, 1) : std::string();
  }

 private:
  /// A number of the output's format.
  static double scaled(double output, double factor, const LastRounding& last) {
    return factor == 1 ? output : emu::round_to(last.out, output * factor).value;
  }

  std::uint64_t row_of(std::uint64_t index) const {
    if (!rows_->shape().has_heads_last()) return index;
    // Of packed rows all are those of one sequence here.
    const std::uint64_t heads = rows_->shape().heads, head = index / columns_ % heads, sequence = index / columns_ / heads;
    return (sequence * columns_ + index % columns_) * heads + head;
  }

  void row(std::uint64_t index, std::span<Expected> elements) const override {
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = of_row(row_of(index * columns_ + i), rows_->declared());
  }

  Expected of_row(std::uint64_t row, const AttentionRules& rules) const {
    AttentionScores scores = rows_->scores(row, rules);
    if (scores.undefined) return undefined();
    if (scores.each.empty()) return {.value = -infinity, .magnitude = infinity};
    const AttentionWeights weights = rows_->weights(scores);
    const KernelArithmetic& arithmetic = rows_->operation().arithmetic;
    const Ball sum = weights.exact.sum;
    const Ball y = weights.greatest + log_of(sum);
    // Whichever maximum is subtracted comes back; the sum's relative error is the logarithm's absolute one. The logarithm, its
    // conversion from base 2, that of the maximum and the addition have their own, twice where parts are put together.
    const double u = unit(arithmetic.format), n = static_cast<double>(scores.each.size());
    const double log_size = emu::log(n) + stale_maximum, size = upper(weights.greatest) + log_size;
    double allowed = log_error(sum.value - sum.radius, weights.errors.sum);
    allowed += 2 * ((function_relative(arithmetic) + 2 * u) * log_size + 4 * u * size + underflow(arithmetic.format));
    const bool in_doubt = scores.overflows || scores.may_hide_keys(weights.greatest.value);
    Expected out = within(y.value, y.radius, in_doubt ? infinity : allowed, size);
    out.may_overflow = in_doubt ? Overflow::any : Overflow::none;
    if (scores.may_hide_all() && rows_->operation().fully_masked == FullyMasked::nan)
      out.may_overflow = out.may_overflow | Overflow::undefined;
    return out;
  }

  Precise precise_element(std::uint64_t index, std::uint64_t column) const override {
    const std::uint64_t row = row_of(index * columns_ + column);
    const AttentionScores seen = rows_->scores(row, rows_->declared());
    if (seen.each.empty()) return precise_of(Real(0), last());
    const std::vector<Real> scores = rows_->precise_scores(row, seen.keys);
    const Real greatest = *std::max_element(scores.begin(), scores.end());
    const Real sum = exponentials<Real>(scores, greatest).sum;
    return precise_of(greatest + log(sum), last());
  }

  std::shared_ptr<const AttentionRows> rows_;
  std::uint64_t columns_;
};

}  // namespace

std::unique_ptr<Expectation> expect_lse(std::shared_ptr<const AttentionRows> rows, const LastRounding& last) {
  return std::make_unique<LseExpectation>(std::move(rows), last);
}

}  // namespace ulpscope::verify
