// SPDX-License-Identifier: Apache-2.0
// Rules about the whole tensor: sums in float64.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/math.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

/// Sums over all elements, in float64: within chunks in the order of the elements, chunk by chunk.
struct Sums {
  double reference = 0, output = 0, product = 0, error = 0;  ///< of squares, except `product`
};

Sums sums_of(std::span<const double> reference, std::span<const double> output) {
  constexpr std::size_t chunk = 1024;
  Sums total;
  for (std::size_t first = 0; first < reference.size(); first += chunk) {
    Sums part;
    for (std::size_t i = first; i < std::min(first + chunk, reference.size()); ++i) {
      const double r = reference[i], o = output[i];
      part.reference += r * r, part.output += o * o, part.product += r * o, part.error += (o - r) * (o - r);
    }
    total.reference += part.reference, total.output += part.output;
    total.product += part.product, total.error += part.error;
  }
  return total;
}

/// The mean of term(reference, output) over all elements, in the same order.
template <class Term>
double mean_of(std::span<const double> reference, std::span<const double> output, Term term) {
  constexpr std::size_t chunk = 1024;
  double total = 0;
  for (std::size_t first = 0; first < reference.size(); first += chunk) {
    double part = 0;
    for (std::size_t i = first; i < std::min(first + chunk, reference.size()); ++i) part += term(reference[i], output[i]);
    total += part;
  }
  return total / static_cast<double>(reference.size());
}

double absolute_error(double r, double o) { return std::fabs(o - r); }
double squared_error(double r, double o) { return (o - r) * (o - r); }

/// The greatest of term(reference, output); a NaN stays one.
template <class Term>
double greatest(std::span<const double> reference, std::span<const double> output, Term term) {
  double most = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double value = term(reference[i], output[i]);
    if (std::isnan(value)) return value;
    most = std::max(most, value);
  }
  return most;
}

RuleVerdict verdict_of(bool passes, double figure, double limit) {
  return {.passes = passes, .figure = figure, .limit = limit, .violations = passes ? 0U : 1U};
}

}  // namespace

RuleVerdict judge_calc_diff(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double squares = sums.reference + sums.output;
  const double difference = squares == 0 ? 0 : 1 - 2 * sums.product / squares;  // as DeepGEMM since January 2026
  return verdict_of(difference < limit, difference, limit);
}

RuleVerdict judge_cosine(double limit, std::span<const double> reference, std::span<const double> output) {
  constexpr double least_norm = 1e-8;  // `eps` of torch.nn.functional.cosine_similarity
  const Sums sums = sums_of(reference, output);
  // Not std::max: a NaN stays one.
  const auto at_least = [](double norm) { return norm < least_norm ? least_norm : norm; };
  const double cosine = sums.product / (at_least(std::sqrt(sums.reference)) * at_least(std::sqrt(sums.output)));
  return verdict_of(cosine >= limit, cosine, limit);
}

RuleVerdict judge_sqnr(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double decibels = 20 * emu::log10(std::sqrt(sums.reference) / std::sqrt(sums.error));
  return verdict_of(decibels >= limit, decibels, limit);
}

RuleVerdict judge_frobenius(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double relative = std::sqrt(sums.error) / std::sqrt(sums.reference);
  return verdict_of(relative <= limit, relative, limit);
}

RuleVerdict judge_pcc(double limit, std::span<const double> reference, std::span<const double> output) {
  const double mean_r = mean_of(reference, output, [](double r, double) { return r; });
  const double mean_o = mean_of(reference, output, [](double, double o) { return o; });
  const double both = mean_of(reference, output, [=](double r, double o) { return (r - mean_r) * (o - mean_o); });
  const double of_r = mean_of(reference, output, [=](double r, double) { return (r - mean_r) * (r - mean_r); });
  const double of_o = mean_of(reference, output, [=](double, double o) { return (o - mean_o) * (o - mean_o); });
  const double correlation = both / (std::sqrt(of_r) * std::sqrt(of_o));
  return verdict_of(correlation >= limit, correlation, limit);
}

RuleVerdict judge_mse(double limit, std::span<const double> reference, std::span<const double> output) {
  const double mean = mean_of(reference, output, squared_error);
  return verdict_of(mean <= limit, mean, limit);
}

RuleVerdict judge_nmse(double limit, std::span<const double> reference, std::span<const double> output) {
  const Sums sums = sums_of(reference, output);
  const double relative = sums.error / sums.reference;
  return verdict_of(relative <= limit, relative, limit);
}

RuleVerdict judge_nrmse(double limit, std::span<const double> reference, std::span<const double> output) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::span<const double> tensor : {reference, output})
    for (const double x : tensor) low = std::min(low, x), high = std::max(high, x);
  const double error = std::sqrt(mean_of(reference, output, squared_error));
  const double relative = error == 0 ? 0 : error / (high - low);
  return verdict_of(relative <= limit, relative, limit);
}

RuleVerdict judge_mean_abs(double limit, std::span<const double> reference, std::span<const double> output) {
  const double mean = mean_of(reference, output, absolute_error);
  return verdict_of(mean <= limit, mean, limit);
}

RuleVerdict judge_mean_rel(double limit, RelativeTo of, std::span<const double> reference, std::span<const double> output) {
  const double mean =
      mean_of(reference, output, [of](double r, double o) { return o == r ? 0 : std::fabs(o - r) / magnitude_of(of, r, o); });
  return verdict_of(mean <= limit, mean, limit);
}

RuleVerdict judge_l1(double limit, std::span<const double> reference, std::span<const double> output) {
  const double error = mean_of(reference, output, absolute_error);
  const double relative = error / mean_of(reference, output, [](double r, double) { return std::fabs(r); });
  return verdict_of(relative <= limit, relative, limit);
}

RuleVerdict judge_rms_rel(double limit, std::span<const double> reference, std::span<const double> output) {
  const double rms = std::sqrt(mean_of(reference, output, [](double r, double) { return r * r; }));
  const double mean = std::sqrt(mean_of(reference, output, [rms](double r, double o) {
    const double relative = (o - r) / (std::isnan(rms) ? rms : std::max(rms, std::fabs(r)));
    return o == r ? 0 : relative * relative;
  }));
  return verdict_of(mean <= limit, mean, limit);
}

RuleVerdict judge_baseline(double factor, double atol, std::span<const double> baseline, std::span<const double> reference,
                           std::span<const double> output) {
  const double error = greatest(reference, output, absolute_error);
  const double limit = factor * greatest(reference, baseline, absolute_error) + atol;
  return verdict_of(error <= limit, error, limit);
}

}  // namespace ulpscope::verify
