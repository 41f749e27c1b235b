// SPDX-License-Identifier: Apache-2.0
// Wrong and right outputs of a product, and of another operation.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/audit/audit_trials.hpp"
#include "verify/audit/mutant_makers.hpp"
#include "verify/audit/mutants_of_operation.hpp"
#include "verify/audit/operation_trials.hpp"
#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {
namespace {

std::vector<double> times(const CorrectOutput& source, double factor) {
  std::vector<double> d = source.correct;
  for (double& x : d) x = emu::round_to(source.out, x * factor).value;
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

/// The grades that are fed of a mutant of an operation.
struct FedGrades {
  std::string_view name;
  std::vector<double> severities;
};
std::vector<double> fed_grades(const MutantName& mutant) {
  static const std::vector<FedGrades> all{
      {"scale_off", {10}}, {"tail_dropped", {1, 8, 16}}, {"element_off", {1024}}, {"noise", {16}}};
  const auto found = std::ranges::find(all, mutant.name, &FedGrades::name);
  return found == all.end() ? mutant.severities : found->severities;
}

/// `scale_off_10%`, `tail_dropped_8`.
std::string graded_name(const MutantName& mutant, double severity) {
  if (!mutant.is_graded()) return mutant.name;
  return mutant.name + "_" + std::to_string(static_cast<int>(severity)) + (mutant.unit == "%" ? "%" : "");
}

FedOutput fed(std::string name, MutantOutput output) {
  return {.name = std::move(name), .values = output ? std::move(*output) : std::vector<double>{}};
}

}  // namespace

std::vector<FedOutput> wrong_outputs(const MutationSource& source, double outputs) {
  std::vector<FedOutput> all;
  const auto feed = [&](std::string name, MutantOutput output) { all.push_back(fed(std::move(name), std::move(output))); };
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

std::vector<FedOutput> wrong_outputs(const OperationSource& source) {
  std::vector<FedOutput> all{fed("negated", source.judged(times(source, -1))),
                             fed("halved", source.judged(times(source, 0.5)))};
  for (const OperationMutant& mutant : mutants_of(source))
    for (const double severity : fed_grades(mutant))
      all.push_back(fed(graded_name(mutant, severity), mutant.make(source, severity)));
  return all;
}

std::vector<FedOutput> right_outputs(const OperationSource& source) {
  constexpr std::size_t plain_trials = 8;
  std::vector<FedOutput> all{{.name = "exact", .is_right = true, .values = source.reference}};
  if (!without_trials(source).empty()) return all;
  for (std::size_t i = 0; i < plain_trials; ++i)
    all.push_back({.name = "plain_" + std::to_string(i + 1), .is_right = true, .values = plain_trial(source, i).first});
  return all;
}

}  // namespace ulpscope::verify
