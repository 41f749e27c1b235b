// SPDX-License-Identifier: Apache-2.0
// Wrong and right outputs of a product.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/audit/audit_trials.hpp"
#include "verify/audit/mutant_makers.hpp"
#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {
namespace {

MutantOutput times(const MutationSource& source, double factor) {
  std::vector<double> d = source.correct;
  for (double& x : d) x = emu::round_to(source.config.out, x * factor).value;
  return d;
}

/// C, rounded to the output's format.
MutantOutput c_alone(const MutationSource& source) {
  if (source.c.size() != source.correct.size()) return std::nullopt;
  std::vector<double> d = source.c;
  for (double& x : d) x = emu::round_to(source.config.out, x).value;
  return d;
}

MutantOutput rows_reversed(const MutationSource& source) {
  const std::size_t n = source.shape.n, m = source.shape.m;
  if (m < 2) return std::nullopt;
  std::vector<double> d;
  for (std::size_t row = m; row-- > 0;)
    d.insert(d.end(), source.correct.begin() + static_cast<std::ptrdiff_t>(row * n),
             source.correct.begin() + static_cast<std::ptrdiff_t>((row + 1) * n));
  return d;
}

/// Operands whose numbers lose the bits that a narrower format does not have.
MutantOutput inputs_truncated(const MutationSource& source, emu::Format narrow) {
  const auto cut = [&](MutableOperand operand, emu::Format own) {
    constexpr emu::RoundingOptions toward_zero{.rounding = emu::Rounding::toward_zero, .policy = emu::Policy::saturating};
    for (double& x : operand.values) x = emu::round_to(own, emu::round_to(narrow, x, toward_zero).value, toward_zero).value;
    return operand;
  };
  return product_of(source, cut(source.a, source.config.a.rounding.format), cut(source.b, source.config.b.rounding.format));
}

/// As many elements as one tile has, and at most a quarter, are those of another product.
MutantOutput stale_tile(const MutationSource& source, double outputs) {
  constexpr double tile = 128.0 * 128.0;  // of kernels for large products
  const MutantOutput other = stale_output(source, 0);
  if (!other) return std::nullopt;
  const double count = static_cast<double>(source.correct.size());
  const double stale = std::max(1.0, std::min(count / 4, std::round(count * tile / outputs)));
  std::vector<double> d = source.correct;
  std::copy_n(other->begin(), static_cast<std::ptrdiff_t>(stale), d.begin());
  return d;
}

}  // namespace

std::vector<FedOutput> wrong_outputs(const MutationSource& source, double outputs) {
  std::vector<FedOutput> all;
  const auto feed = [&](std::string name, MutantOutput output) {
    all.push_back({.name = std::move(name), .values = output ? std::move(*output) : std::vector<double>{}});
  };
  feed("zeros", zeros(source, 0));
  feed("nan_everywhere", nan_everywhere(source, 0));
  feed("constant_mean", constant_mean(source, 0));
  feed("negated", times(source, -1));
  feed("halved", times(source, 0.5));
  feed("scale_off_10%", scale_off(source, 10));
  feed("c_alone", c_alone(source));
  feed("c_missing", c_missing(source, 0));
  feed("rows_reversed", rows_reversed(source));
  feed("stale_tile", stale_tile(source, outputs));
  for (const int tail : {1, 8, 16}) feed("k_dropped_" + std::to_string(tail), k_dropped(source, tail));
  feed("inputs_in_tf32", inputs_in_tf32(source, 0));
  feed("inputs_in_bfloat16", inputs_in_bfloat16(source, 0));
  feed("inputs_truncated_to_tf32", inputs_truncated(source, emu::tf32));
  feed("inputs_truncated_to_bfloat16", inputs_truncated(source, emu::bfloat16));
  return all;
}

std::vector<FedOutput> right_outputs(const MutationSource& source) {
  std::vector<FedOutput> all{{.name = "exact", .is_right = true, .values = source.reference}};
  for (const std::string& engine : trial_engines(source))
    all.push_back({.name = engine,
                   .is_right = true,
                   .values = engine == source.config.engine ? source.correct : output_of_trial(source, {.engine = engine}, 0)});
  return all;
}

}  // namespace ulpscope::verify
