// SPDX-License-Identifier: Apache-2.0
// For each field of an engine the values nearest to its own.
#include "studies/probe/probe_variants.hpp"

#include <algorithm>
#include <functional>

#include "emu/names.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Addend;
using emu::Cut;
using emu::Engine;
using emu::Rounding;
using emu::Stage;
using emu::Summing;

std::string count_words(int products) { return products == Stage::all ? "all" : std::to_string(products); }

std::string addend_words(const Stage& stage) {
  switch (stage.addend) {
    case Addend::first: return stage.summing == Summing::pairwise ? ", then c" : " after c";
    case Addend::last: return ", then c";
    case Addend::none: break;
  }
  return "";
}

std::string groups_words(const Engine& engine) {
  const Stage& stage = engine.stages[0];
  if (stage.terms == Stage::all || stage.terms == engine.products) return count_words(engine.products) + " products";
  const int groups = (engine.products + stage.terms - 1) / stage.terms;
  const std::string dealt =
      stage.run == 0 ? "" : filled(" (k{} mod {})", stage.run == 1 ? "" : filled("/{}", stage.run), groups);
  return filled("{} groups of {}{}", groups, stage.terms, dealt);
}

const char* cut_word(Cut cut) { return cut == Cut::downward ? "downward" : "toward_zero"; }

class Features {
 public:
  explicit Features(const Engine& engine) : engine_(engine) {}

  ProbeFeature& add(std::string name, std::string word) {
    features_.push_back({.name = std::move(name), .word = std::move(word), .variants = {}});
    return features_.back();
  }

  void vary(ProbeFeature& feature, const std::string& word, const std::function<void(Engine&)>& change) const {
    Engine other = engine_;
    change(other);
    if (other != engine_) feature.variants.push_back({word, other});
  }

  /// A number of bits that may be one less, one more, or much more.
  void number(const std::string& name, std::size_t stage, int Stage::*field) {
    const int value = engine_.stages[stage].*field;
    ProbeFeature& feature = add(name, std::to_string(value));
    feature.is_number = true;
    feature.with_bits = [=, engine = engine_](int bits) {
      Engine other = engine;
      other.stages[stage].*field = bits;
      return other;
    };
    if (engine_.stages[stage].addend != Addend::none || engine_.stages[stage].carried)
      feature.with_bits_and_least_exponent = [=, engine = engine_](int bits) {
        Engine other = engine;
        Stage& s = other.stages[stage];
        const int more = bits - value;
        s.fraction_bits += more;
        if (s.addend_fraction_bits >= 0) s.addend_fraction_bits += more;
        if (s.addend_window != Stage::unlimited) s.addend_window += more;
        other.least_exponent += more;
        return other;
      };
    for (const int other : {value - 1, value + 1, value + 3, value + 8})
      if (other >= 0 && other <= 60) vary(feature, std::to_string(other), [&](Engine& e) { e.stages[stage].*field = other; });
  }

  void rounding(const std::string& name, std::size_t stage) {
    ProbeFeature& feature = add(name, std::string(name_of(engine_.stages[stage].rounding)));
    for (const Rounding other : emu::all_roundings)
      if (other != Rounding::stochastic)
        vary(feature, std::string(name_of(other)), [&](Engine& e) { e.stages[stage].rounding = other; });
  }

  void alignment(const std::string& prefix, std::size_t stage) {
    const Stage& s = engine_.stages[stage];
    number(prefix + "fraction_bits", stage, &Stage::fraction_bits);
    if (s.addend_fraction_bits >= 0) number("addend_fraction_bits", stage, &Stage::addend_fraction_bits);
    ProbeFeature& cut = add(prefix + "cut", cut_word(s.cut));
    vary(cut, cut_word(s.cut == Cut::downward ? Cut::toward_zero : Cut::downward),
         [=](Engine& e) { e.stages[stage].cut = s.cut == Cut::downward ? Cut::toward_zero : Cut::downward; });
    if (s.addend_fraction_bits < 0) return;
    const bool unlimited = s.addend_window == Stage::unlimited;
    ProbeFeature& window = add("addend_window", unlimited ? "unlimited" : std::to_string(s.addend_window));
    for (const int other : {s.addend_window - 1, s.addend_window + 1, s.addend_fraction_bits, s.addend_fraction_bits + 1})
      if (other < Stage::unlimited - 1)
        vary(window, std::to_string(other), [=](Engine& e) { e.stages[stage].addend_window = other; });
    vary(window, "unlimited", [=](Engine& e) { e.stages[stage].addend_window = Stage::unlimited; });
  }

  void summation();
  void ends();
  std::vector<ProbeFeature> all();

 private:
  const Engine& engine_;
  std::vector<ProbeFeature> features_;
};

/// The orders nearest to that of the engine.
void Features::summation() {
  ProbeFeature& feature = add("summation", order_words(engine_));
  const auto other = [&](const std::function<void(Engine&)>& change) {
    Engine engine = engine_;
    change(engine);
    vary(feature, order_words(engine), change);
  };
  const Stage& first = engine_.stages[0];
  if (engine_.stage_count == 1 && first.addend != Addend::none) {
    if (first.summing == Summing::aligned) other([](Engine& e) { e.stages[0].summing = Summing::exact; });
    if (first.summing == Summing::sequential) {
      other([](Engine& e) { e.stages[0].addend = e.stages[0].addend == Addend::first ? Addend::last : Addend::first; });
      if (engine_.products != 1) other([](Engine& e) { e.stages[0].descending = !e.stages[0].descending; });
    } else {
      other([](Engine& e) { e.stages[0].summing = Summing::sequential; });
    }
    if (first.summing != Summing::sequential && first.summing != Summing::pairwise && !first.carried)
      other([](Engine& e) {
        e.stages[0].addend = Addend::none;
        e.stages[1] = {};
        e.stages[1].summing = Summing::sequential;
        e.stages[1].addend = Addend::last;
        e.stage_count = 2;
      });
  } else {
    if (first.carried) other([](Engine& e) { e.stages[0].carried = false; });
    if (first.addend == Addend::none && !first.rounded)
      other([](Engine& e) {
        e.stages[0].rounded = true;
        e.stages[0].rounding = Rounding::nearest_even;
      });
    if (first.run > 0) other([](Engine& e) { e.stages[0].run = 0; });
    if (first.terms != engine_.products && first.terms != Stage::all && !first.carried)
      other([](Engine& e) {
        e.stages[0].terms = e.products;
        e.stages[0].run = 0;
      });
  }
}

void Features::ends() {
  const Stage& last = engine_.last_stage();
  bool aligned = false, aligned_with_addend = false, aligned_rounded = false, cut_off = false;
  for (int i = 0; i < engine_.stage_count; ++i) {
    const Stage& stage = engine_.stages[static_cast<std::size_t>(i)];
    if (stage.summing != Summing::aligned) continue;
    aligned = true;
    aligned_with_addend |= stage.addend != Addend::none || stage.carried;
    aligned_rounded |= stage.rounded;
    cut_off |= stage.rounded && stage.rounding == Rounding::toward_zero;
  }
  if (aligned_rounded) {
    const int full = engine_.accumulator.fraction_bits;
    const int bits = engine_.result_fraction_bits < 0 ? full : engine_.result_fraction_bits;
    ProbeFeature& feature = add("result_fraction_bits", std::to_string(bits));
    for (const int other : {bits - 1, bits + 1})
      if (other >= 1 && other <= full)
        vary(feature, std::to_string(other), [&](Engine& e) { e.result_fraction_bits = other == full ? -1 : other; });
  }
  if (aligned_with_addend) {
    const int least = engine_.least_exponent;
    const bool none = least == Engine::no_least_exponent;
    ProbeFeature& feature = add("least_exponent", none ? "none" : std::to_string(least));
    const int start = engine_.accumulator.min_exponent();
    const std::vector<int> others = none
                                        ? std::vector{start, start - 4, start - 6, start - 7, start - 12, start - 30, start + 4}
                                        : std::vector{least - 1, least + 1, least - 4, least + 3, Engine::no_least_exponent};
    for (const int other : others)
      vary(feature, other == Engine::no_least_exponent ? "none" : std::to_string(other),
           [&](Engine& e) { e.least_exponent = other; });
  }
  if (aligned && cut_off) {
    ProbeFeature& feature = add("overflow", engine_.overflow_is_infinity ? "infinity" : "greatest finite");
    vary(feature, engine_.overflow_is_infinity ? "greatest finite" : "infinity",
         [](Engine& e) { e.overflow_is_infinity = !e.overflow_is_infinity; });
  } else if (last.summing != Summing::aligned || last.rounding != Rounding::toward_zero) {
    add("overflow", "as the rounding says");
  }
  ProbeFeature& inputs = add("subnormal_inputs", engine_.subnormal_inputs_are_zero ? "zero" : "kept");
  vary(inputs, engine_.subnormal_inputs_are_zero ? "kept" : "zero",
       [](Engine& e) { e.subnormal_inputs_are_zero = !e.subnormal_inputs_are_zero; });
  ProbeFeature& addend = add("subnormal_addend", engine_.subnormal_addend_is_zero ? "zero" : "kept");
  vary(addend, engine_.subnormal_addend_is_zero ? "kept" : "zero",
       [](Engine& e) { e.subnormal_addend_is_zero = !e.subnormal_addend_is_zero; });
  ProbeFeature& results = add("subnormal_results", engine_.subnormal_results_are_zero ? "zero" : "kept");
  vary(results, engine_.subnormal_results_are_zero ? "kept" : "zero",
       [](Engine& e) { e.subnormal_results_are_zero = !e.subnormal_results_are_zero; });
}

std::vector<ProbeFeature> Features::all() {
  summation();
  const auto last = static_cast<std::size_t>(engine_.stage_count) - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const Stage& stage = engine_.stages[i];
    const std::string prefix = i == 0 ? "" : i < last ? "join_" : "sum_";
    if (stage.summing == Summing::aligned) alignment(prefix, i);
    if (stage.rounded) rounding(i == last ? "rounding" : "group_rounding", i);
  }
  ends();
  if (engine_.scales != emu::EngineScales::none) {
    using emu::EngineScales;
    const auto word = [](EngineScales scales) {
      return scales == EngineScales::products ? "of each product" : "of group sums";
    };
    const EngineScales other = engine_.scales == EngineScales::products ? EngineScales::group_sums : EngineScales::products;
    ProbeFeature& feature = add("scales", word(engine_.scales));
    if (engine_.stages[0].addend == Addend::none || other == EngineScales::products)
      vary(feature, word(other), [&](Engine& e) { e.scales = other; });
  }
  return std::move(features_);
}

}  // namespace

std::string order_words(const Engine& engine) {
  const Stage& first = engine.stages[0];
  const bool with_addend = first.addend == Addend::first && !first.carried;
  if (engine.stage_count == 1 && engine.products == 1 && first.summing == Summing::sequential)
    return first.addend == Addend::first ? "one product and c fused" : "one product, rounded, then c";
  std::string words = groups_words(engine);
  switch (first.summing) {
    case Summing::aligned: words += with_addend ? " and c aligned" : " aligned"; break;
    case Summing::exact: words += with_addend ? " and c exact" : " exact"; break;
    case Summing::sequential:
      words += filled(" one by one{}{}", first.descending ? " descending" : "", addend_words(first));
      break;
    case Summing::pairwise: words += " in pairs" + addend_words(first); break;
  }
  if (first.carried) words += first.addend == Addend::first ? ", c into the first, each into the next" : ", each into the next";
  if (!first.rounded) words += " not normalised";
  for (int i = 1; i < engine.stage_count; ++i) {
    const Stage& stage = engine.stages[static_cast<std::size_t>(i)];
    const bool single =
        first.carried || first.terms == Stage::all || first.terms == engine.products || i == engine.stage_count - 1;
    const std::string with_c = stage.addend != Addend::none ? " with c" : "";
    if (stage.summing == Summing::aligned)
      words += filled("; sums aligned{}{}", with_c, stage.rounded ? "" : " not normalised");
    else
      words += filled("; {}{}", single && first.carried ? "then" : "sums added",
                      stage.addend == Addend::last ? (first.carried ? " c" : ", then c") : with_c);
  }
  return words;
}

std::vector<ProbeFeature> features_of(const Engine& engine) { return Features(engine).all(); }

}  // namespace ulpscope::studies
