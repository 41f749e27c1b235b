// SPDX-License-Identifier: Apache-2.0
// Collects single causes, joins two and three, and prints them.
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

void add_pairs(std::vector<Hypothesis>& pairs, const Causes& first, const Causes& second) {
  for (const Cause& x : first)
    for (const Cause& y : second) pairs.push_back({{x, y}});
}

/// Inputs rounded to one of the formats, on engines that take it and not the claimed formats.
void add_downgrades(std::vector<Hypothesis>& pairs, const Claim& claim, const Causes& formats) {
  for (const Cause& format : formats) {
    Kernel kernel = claim.kernel;
    format.change(kernel);
    if (kernel.a.format() == claim.a() && kernel.b.format() == claim.b()) continue;
    for (const Cause& engine : engine_causes(claim, kernel.a.format(), kernel.b.format())) pairs.push_back({{format, engine}});
  }
}

/// Scales on the elements, on engines that take what these are rounded to.
void add_dequantized(std::vector<Hypothesis>& pairs, const Claim& claim) {
  for (const Cause& cause : dequantized_causes(claim)) {
    Kernel kernel = claim.kernel;
    cause.change(kernel);
    const emu::Format format = kernel.epilogue.dequantized->to;
    for (const Cause& engine : engine_causes(claim, format, format)) pairs.push_back({{cause, engine}});
  }
}

/// Scales that are forgotten where the sums are otherwise than claimed: K is cut as if there were none.
void add_unscaled_parts(std::vector<Hypothesis>& pairs, const Claim& claim) {
  Causes unscaled = epilogue_causes(claim);
  std::erase_if(unscaled, [](const Cause& cause) { return cause.word != "scales=none"; });
  Claim bare = claim;
  bare.config.a.scales.reset(), bare.config.b.scales.reset();
  add_pairs(pairs, part_causes(bare), unscaled);
}

emu::Format accumulator_of(const Chain& chain) { return chain.engine ? chain.engine->accumulator : chain.accumulator; }

/// Those of causes of inputs that concern both operands.
Causes of_both_operands(Causes causes) {
  std::erase_if(causes, [](const Cause& cause) { return !cause.word.starts_with("in=") && !cause.word.starts_with("in:"); });
  return causes;
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

std::vector<Hypothesis> each_alone(Causes causes) {
  std::vector<Hypothesis> hypotheses;
  for (Cause& cause : causes) hypotheses.push_back({{std::move(cause)}});
  return hypotheses;
}

std::vector<Hypothesis> single_hypotheses(const Claim& claim) {
  return each_alone(together({engine_causes(claim, claim.a(), claim.b()), format_causes(claim), input_causes(claim),
                              part_causes(claim), tile_part_causes(claim), library_causes(claim, true), sum_causes(claim),
                              result_causes(claim), order_causes(claim), join_causes(claim), split_causes(claim),
                              block_causes(claim), width_causes(claim), end_causes(claim), epilogue_causes(claim),
                              dequantized_causes(claim), layout_causes(claim), lag_causes(claim)}));
}

std::vector<Hypothesis> summation_hypotheses(const Claim& claim) {
  std::vector<Hypothesis> sums = each_alone(together({engine_causes(claim, claim.a(), claim.b()), part_causes(claim),
                                                      library_causes(claim, false), sum_causes(claim), order_causes(claim)}));
  std::erase_if(sums, [&](const Hypothesis& hypothesis) {
    return accumulator_of(hypothesis.kernel(claim.kernel).chain) != accumulator_of(claim.kernel.chain);
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
  add_downgrades(pairs, claim, format_causes(claim));
  add_dequantized(pairs, claim);
  add_pairs(pairs, sums, parts);
  add_pairs(pairs, sums, results);
  add_pairs(pairs, sums, inputs);
  add_pairs(pairs, sums, orders);
  add_pairs(pairs, parts, results);
  add_pairs(pairs, parts, inputs);
  add_pairs(pairs, inputs, results);
  add_pairs(pairs, sums, others);
  add_pairs(pairs, others, results);
  add_unscaled_parts(pairs, claim);
  add_pairs(pairs, engine_causes(claim, claim.a(), claim.b()), lag_causes(claim));
  add_pairs(pairs, orders, parts);
  add_pairs(pairs, sum_causes(claim), library_causes(claim, false));
  // As numbers of tf32 come out of cvt.rna.
  if (claim.a() == emu::tf32) add_pairs(pairs, nearest_away, join_causes(claim));
  return pairs;
}

std::vector<Hypothesis> hypotheses_with(const Claim& claim, const std::vector<Cause>& read_off) {
  std::vector<Hypothesis> pairs;
  add_pairs(pairs,
            together({engine_causes(claim, claim.a(), claim.b()), sum_causes(claim), block_causes(claim), part_causes(claim),
                      tile_part_causes(claim), library_causes(claim, false), order_causes(claim), format_causes(claim),
                      input_causes(claim), result_causes(claim)}),
            read_off);
  return pairs;
}

std::vector<Hypothesis> tile_hypotheses(const Claim& claim) {
  std::vector<Hypothesis> all;
  const Causes tiles = tile_part_causes(claim),
               inputs = of_both_operands(together({format_causes(claim), input_causes(claim)}));
  add_pairs(all, together({engine_causes(claim, claim.a(), claim.b()), sum_causes(claim)}), tiles);
  add_pairs(all, inputs, tiles);
  add_pairs(all, tiles, result_causes(claim));
  Causes parts = part_causes(claim);
  std::erase_if(parts, [](const Cause& cause) { return cause.options.empty(); });
  append(parts, tiles);
  std::vector<Hypothesis> downgrades;
  add_downgrades(downgrades, claim, of_both_operands(format_causes(claim)));
  for (const Hypothesis& downgrade : downgrades) {
    const Chain chain = downgrade.kernel(claim.kernel).chain;
    if (chain.exact || accumulator_of(chain) != claim.config.acc) continue;
    for (const Cause& part : parts) {
      all.push_back(downgrade);
      all.back().causes.push_back(part);
    }
  }
  return all;
}

}  // namespace ulpscope::verify
