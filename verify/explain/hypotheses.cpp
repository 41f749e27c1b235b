// SPDX-License-Identifier: Apache-2.0
// Collects single causes, joins pairs, and prints them.
#include "verify/explain/hypotheses.hpp"

#include <algorithm>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"

namespace ulpscope::verify {
namespace {

using Causes = std::vector<Cause>;

template <class Word>
std::string joined(const std::vector<Cause>& causes, const char* between, Word word_of) {
  std::string text;
  for (const Cause& cause : causes) text += (text.empty() ? "" : between) + word_of(cause);
  return text;
}

void append(Causes& causes, Causes more) {
  causes.insert(causes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}
Causes together(std::initializer_list<Causes> lists) {
  Causes all;
  for (const Causes& list : lists) append(all, list);
  return all;
}

std::vector<Hypothesis> each_alone(Causes causes) {
  std::vector<Hypothesis> hypotheses;
  for (Cause& cause : causes) hypotheses.push_back({{std::move(cause)}});
  return hypotheses;
}

void add_pairs(std::vector<Hypothesis>& pairs, const Causes& first, const Causes& second) {
  for (const Cause& x : first)
    for (const Cause& y : second) pairs.push_back({{x, y}});
}

/// Inputs rounded to a format, on engines that take it and not the claimed formats.
void add_downgrades(std::vector<Hypothesis>& pairs, const Claim& claim) {
  for (const Cause& format : format_causes(claim)) {
    Kernel kernel = claim.kernel;
    format.change(kernel);
    if (kernel.a.format() == claim.a() && kernel.b.format() == claim.b()) continue;
    for (const Cause& engine : engine_causes(claim, kernel.a.format(), kernel.b.format())) pairs.push_back({{format, engine}});
  }
}

}  // namespace

std::string Hypothesis::word() const {
  return joined(causes, " + ", [](const Cause& cause) { return cause.word; });
}
std::string Hypothesis::sentence() const {
  return joined(causes, " and ", [](const Cause& cause) { return cause.sentence; });
}
Kernel Hypothesis::kernel(const Kernel& declared) const {
  Kernel kernel = declared;
  for (const Cause& cause : causes) cause.change(kernel);
  return kernel;
}
bool Hypothesis::is(const std::string& word) const {
  std::vector<std::string> words{""};
  for (const Cause& cause : causes) {
    std::vector<std::string> longer;
    for (const std::string& before : words) {
      const std::string start = before.empty() ? "" : before + " + ";
      longer.push_back(start + cause.word);
      for (const std::string& other : cause.also) longer.push_back(start + other);
    }
    words = std::move(longer);
  }
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool Hypothesis::has_command() const {
  return std::all_of(causes.begin(), causes.end(), [](const Cause& cause) { return !cause.options.empty(); });
}

Claim claim_of(const products::Product& config) {
  return {config, products::matmul_shape(config.a.input, config.b.input), declared_kernel(config)};
}

std::size_t Claim::step() const {
  return kernel.chain.engine ? static_cast<std::size_t>(std::max(kernel.chain.engine->products, 1)) : 1;
}

std::vector<Hypothesis> single_hypotheses(const Claim& claim) {
  return each_alone(
      together({engine_causes(claim, claim.a(), claim.b()), format_causes(claim), input_causes(claim), part_causes(claim),
                library_causes(claim, true), sum_causes(claim), result_causes(claim), order_causes(claim), join_causes(claim),
                split_causes(claim), block_causes(claim), end_causes(claim), epilogue_causes(claim), layout_causes(claim)}));
}

std::vector<Hypothesis> summation_hypotheses(const Claim& claim) {
  const auto accumulator = [](const Chain& chain) { return chain.engine ? chain.engine->accumulator : chain.accumulator; };
  std::vector<Hypothesis> sums = each_alone(together({engine_causes(claim, claim.a(), claim.b()), part_causes(claim),
                                                      library_causes(claim, false), sum_causes(claim), order_causes(claim)}));
  std::erase_if(sums, [&](const Hypothesis& hypothesis) {
    return accumulator(hypothesis.kernel(claim.kernel).chain) != accumulator(claim.kernel.chain);
  });
  return sums;
}

std::vector<Hypothesis> paired_hypotheses(const Claim& claim) {
  std::vector<Hypothesis> pairs;
  const Causes sums = together({engine_causes(claim, claim.a(), claim.b()), sum_causes(claim), block_causes(claim)});
  const Causes parts = part_causes(claim), orders = order_causes(claim), results = result_causes(claim);
  const Causes inputs = together({format_causes(claim), input_causes(claim)});
  Causes nearest_away = inputs;
  std::erase_if(nearest_away, [](const Cause& cause) { return cause.word != "in:nearest_away"; });
  const Causes others = together({end_causes(claim), epilogue_causes(claim), layout_causes(claim)});
  add_downgrades(pairs, claim);
  add_pairs(pairs, sums, parts);
  add_pairs(pairs, sums, results);
  add_pairs(pairs, sums, inputs);
  add_pairs(pairs, sums, orders);
  add_pairs(pairs, parts, results);
  add_pairs(pairs, parts, inputs);
  add_pairs(pairs, inputs, results);
  add_pairs(pairs, sums, others);
  add_pairs(pairs, others, results);
  add_pairs(pairs, orders, parts);
  add_pairs(pairs, sum_causes(claim), library_causes(claim, false));
  // As numbers of tf32 come out of cvt.rna.
  if (claim.a() == emu::tf32) add_pairs(pairs, nearest_away, join_causes(claim));
  return pairs;
}

}  // namespace ulpscope::verify
