// SPDX-License-Identifier: Apache-2.0
// Draws an engine, a cut and an order, and computes the product so.
#include "verify/audit/audit_trials.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "verify/audit/mutant_makers.hpp"

namespace ulpscope::verify {
namespace {

/// What numbers are drawn for; those of the mutants are smaller.
enum Stream : std::uint64_t { of_engines = 100, of_splits, of_promotions, of_orders };

products::ChosenEngine engine_of(const MutationSource& source, const std::string& word) {
  products::ChosenEngine engine = products::engine_of(source.config, word);
  if (engine.split) throw Error(word + ": is a split product; audit takes engines");
  return engine;
}

/// Fraction bits that a sum keeps at least: of its alignments and of its result.
int kept_bits(const emu::Engine& engine) {
  int bits = engine.result_fraction_bits < 0 ? engine.accumulator.fraction_bits : engine.result_fraction_bits;
  for (int i = 0; i < engine.stage_count; ++i) {
    const emu::Stage& stage = engine.stages[static_cast<std::size_t>(i)];
    if (stage.summing == emu::Summing::aligned) bits = std::min(bits, stage.fraction_bits);
  }
  return bits;
}

bool flushes(const emu::Engine& engine) {
  return engine.subnormal_inputs_are_zero || engine.subnormal_addend_is_zero || engine.subnormal_results_are_zero;
}

/// The places of K in an order of their own for each trial (Fisher and Yates; Durstenfeld, CACM 7 (1964), 420).
std::vector<std::size_t> order_of(const MutationSource& source, std::size_t index) {
  std::vector<std::size_t> order(source.shape.k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(drawn(source, of_orders + index, i, i))]);
  return order;
}

MutableOperand permuted(const MutableOperand& operand, const std::vector<std::size_t>& order) {
  MutableOperand out = operand;
  for (std::size_t matrix = 0; matrix < operand.matrices; ++matrix)
    for (std::size_t line = 0; line < operand.lines; ++line)
      for (std::size_t k = 0; k < operand.k; ++k)
        out.values[out.at(matrix, line, k)] = operand.values[operand.at(matrix, line, order[k])];
  return out;
}

}  // namespace

std::string Trial::word() const {
  std::string text = engine;
  if (split_k != 1) text += ", K split in " + std::to_string(split_k);
  if (promote != 0) text += ", promoted every " + std::to_string(promote);
  return text + (permuted ? ", K in another order" : "");
}

std::vector<std::string> trial_engines(const MutationSource& source) {
  const std::string& own = source.config.engine;
  const emu::Engine model = engine_of(source, own).model;
  const auto computes_alike = [&](const emu::Engine& other) {
    return kept_bits(other) >= kept_bits(model) && (flushes(model) || !flushes(other));
  };
  std::vector<std::string> engines{own};
  for (const std::string& name : emu::engine_names()) {
    if (name == own) continue;
    try {
      if (computes_alike(engine_of(source, name).model)) engines.push_back(name);
    } catch (const Error&) {  // it does not take these formats
    }
  }
  return engines;
}

Trial draw_trial(const MutationSource& source, const std::vector<std::string>& engines, std::size_t index) {
  constexpr std::array<std::size_t, 6> splits{1, 2, 3, 4, 8, 16};
  constexpr std::size_t promotion = 128;  // products; arXiv 2412.19437, 3.3.2
  Trial trial{.engine = engines[static_cast<std::size_t>(drawn(source, of_engines, index, engines.size()))]};
  trial.split_k = std::min(splits[static_cast<std::size_t>(drawn(source, of_splits, index, splits.size()))], source.shape.k);
  const int products = engine_of(source, trial.engine).model.products;
  const bool may_promote = products != emu::Stage::all && promotion % static_cast<std::size_t>(products) == 0;
  if (may_promote && drawn(source, of_promotions, index, 2) == 1) trial.promote = promotion;
  // Scales lie over K: another order of the products would meet others.
  const bool scaled = source.config.a.scales || source.config.b.scales;
  trial.permuted = !scaled && drawn(source, of_promotions, index, 4) >= 2;
  return trial;
}

std::vector<double> output_of_trial(const MutationSource& source, const Trial& trial, std::size_t index) {
  MutationSource other = source;
  other.config.engine = trial.engine;
  other.config.split_k = trial.split_k;
  other.config.promote = trial.promote;
  if (!trial.permuted) return product_of(other, source.a, source.b);
  const std::vector<std::size_t> order = order_of(source, index);
  return product_of(other, permuted(source.a, order), permuted(source.b, order));
}

}  // namespace ulpscope::verify
