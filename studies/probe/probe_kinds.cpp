// SPDX-License-Identifier: Apache-2.0
// The kinds of engines that a layout leaves possible.
#include <algorithm>
#include <array>
#include <bit>

#include "studies/probe/probe_fit.hpp"

namespace ulpscope::studies {
namespace {

using emu::Addend;
using emu::Cut;
using emu::Engine;
using emu::Rounding;
using emu::Stage;
using emu::Summing;
using Engines = std::vector<Engine>;

constexpr std::array roundings{Rounding::nearest_even, Rounding::toward_zero, Rounding::nearest_away,
                               Rounding::downward,     Rounding::upward,      Rounding::to_odd};
constexpr std::array cuts{Cut::toward_zero, Cut::downward};
constexpr int most_bits = most_kept_bits;

/// Every rounding of a stage.
ProbeChoice rounding_of(std::size_t stage, std::vector<ProbeSubset> deciders) {
  return {std::move(deciders), [stage](const Engine& engine, Engines& out) {
            for (const Rounding rounding : roundings) {
              out.push_back(engine);
              out.back().stages[stage].rounding = rounding;
            }
          }};
}

/// Every cut, every number of fraction bits and, of a rounded sum, every rounding; its width is that of the widest answer seen,
/// or the accumulator's.
ProbeChoice alignment_of(std::size_t stage, int bits_seen, std::vector<ProbeSubset> deciders) {
  return {std::move(deciders), [stage, bits_seen](const Engine& engine, Engines& out) {
            for (const int bits : {-1, bits_seen}) {
              if (bits == engine.accumulator.fraction_bits) continue;
              for (int f = 0; f <= most_bits; ++f) {
                for (const Cut cut : cuts) {
                  for (const Rounding rounding : roundings) {
                    out.push_back(engine);
                    out.back().result_fraction_bits = bits;
                    Stage& s = out.back().stages[stage];
                    s.fraction_bits = f;
                    s.cut = cut;
                    s.rounding = rounding;
                  }
                }
              }
            }
          }};
}

ProbeChoice cut_of(std::size_t stage, std::vector<ProbeSubset> deciders) {
  return {std::move(deciders), [stage](const Engine& engine, Engines& out) {
            for (int f = 0; f <= most_bits; ++f) {
              for (const Cut cut : cuts) {
                out.push_back(engine);
                out.back().stages[stage].fraction_bits = f;
                out.back().stages[stage].cut = cut;
              }
            }
          }};
}

/// How far the addend of a last alignment is kept.
ProbeChoice addend_cut_of(std::size_t stage, std::vector<ProbeSubset> deciders) {
  return {std::move(deciders), [stage](const Engine& engine, Engines& out) {
            for (int f = 0; f <= most_bits; ++f) {
              for (const Cut cut : cuts) {
                for (int window = f; window <= f + 9; ++window) {
                  out.push_back(engine);
                  Stage& s = out.back().stages[stage];
                  s.addend_fraction_bits = f;
                  s.cut = cut;
                  s.addend_window = window == f ? Stage::unlimited : window - 4;
                }
              }
            }
          }};
}

/// What happens at both ends of the range.
void add_ends(ProbeKind& kind, const std::optional<ProbeFloor>& floor, int least_product) {
  kind.choices.push_back({{ProbeSubset::huge}, [](const Engine& engine, Engines& out) {
                            out.insert(out.end(), 2, engine);
                            out.back().overflow_is_infinity = false;
                            out.push_back(engine);
                            out.back().products_overflow = true;
                          }});
  kind.choices.push_back({{ProbeSubset::tiny, ProbeSubset::any}, [=](const Engine& engine, Engines& out) {
                            const int end = engine.accumulator.min_exponent();
                            // Rounded up or down, sums show the cut of products however small.
                            const int least = floor ? floor->exponent - 1 : std::min(end - 64, least_product);
                            const int most = floor ? floor->exponent + most_bits : end + 23;
                            for (const unsigned flushed : {0U, 4U, 7U, 3U, 6U, 1U, 2U, 5U}) {  // the usual ones first
                              out.push_back(engine);
                              out.back().subnormal_inputs_are_zero = (flushed & 1) != 0;
                              out.back().subnormal_addend_is_zero = (flushed & 2) != 0;
                              out.back().subnormal_results_are_zero = (flushed & 4) != 0;
                              const Engine without = out.back();
                              for (int e = least; e <= most; ++e) {
                                out.push_back(without);
                                out.back().least_exponent = e;
                              }
                            }
                          }});
}

class Kinds {
 public:
  Kinds(const ProbeAnswers& answers, const ProbeLayout& layout, emu::Code nan_code)
      : layout_(layout),
        bits_seen_(answers.fraction_bits_seen()),
        least_product_(answers.bench().least_product()),
        exact_sums_fit_(sums_fit(answers.bench().operation(), layout)) {
    const ProbeBench& bench = answers.bench();
    blank_.products = layout.all ? Stage::all : static_cast<int>(layout.step);
    blank_.accumulator = bench.operation().accumulator;
    blank_.nan_code = nan_code;
    blank_.stages[0].terms = blank_.products;
    blank_.stages[0].addend = Addend::first;
    if (bench.scaled()) {
      blank_.scales = emu::EngineScales::products;
      blank_.scale_products = static_cast<int>(bench.operation().scale_products);
    }
  }

  void add(ProbeKind kind) {
    add_ends(kind, layout_.floor, least_product_);
    if (kind.start.scales == emu::EngineScales::none) return kinds_.push_back(std::move(kind));
    kinds_.push_back(kind);
    if (kind.start.stages[0].addend != Addend::none) return;
    kind.start.scales = emu::EngineScales::group_sums;
    kinds_.push_back(std::move(kind));
  }

  Engine grouped() const {
    Engine engine = blank_;
    engine.stages[0].terms = layout_.groups == 1 ? blank_.products : static_cast<int>(layout_.group_size());
    engine.stages[0].run = layout_.groups == 1 || layout_.run == layout_.group_size() ? 0 : static_cast<int>(layout_.run);
    engine.stages[0].addend = Addend::none;
    return engine;
  }

  void chains() {
    for (const bool descending : {false, true}) {
      for (const Addend addend : {Addend::first, Addend::last}) {
        Engine engine = blank_;
        engine.stages[0].summing = Summing::sequential;
        engine.stages[0].addend = addend;
        engine.stages[0].descending = descending;
        add({engine, {rounding_of(0, {ProbeSubset::addend, ProbeSubset::chain})}});
      }
    }
  }

  void interleaved_chains() {
    const auto n = static_cast<int>(layout_.step);
    for (int chains = 2; chains <= n / 2; chains *= 2) {
      if (n % chains != 0) continue;
      for (const int run : {1, 2, 0}) {
        for (const Addend addend : {Addend::last, Addend::first}) {
          Engine engine = blank_;
          engine.stages[0].summing = Summing::sequential;
          engine.stages[0].terms = n / chains;
          engine.stages[0].run = run;
          engine.stages[0].addend = Addend::none;
          engine.stages[1].summing = Summing::sequential;
          engine.stages[1].addend = addend;
          engine.stage_count = 2;
          ProbeKind kind{engine, {}};
          kind.choices.push_back(rounding_of(0, {ProbeSubset::one_group}));
          kind.choices.push_back(rounding_of(1, {ProbeSubset::addend, ProbeSubset::chain, ProbeSubset::one_step}));
          add(kind);
        }
      }
    }
  }

  void pairs() {
    Engine engine = blank_;
    engine.stages[0].summing = Summing::pairwise;
    add({engine, {rounding_of(0, {ProbeSubset::addend, ProbeSubset::chain, ProbeSubset::one_step})}});
  }

  void fused() {
    Engine exact = blank_;
    exact.stages[0].summing = Summing::exact;
    add({exact, {rounding_of(0, {ProbeSubset::addend, ProbeSubset::chain})}});
    add({blank_, {alignment_of(0, bits_seen_, {ProbeSubset::addend, ProbeSubset::chain})}});
  }

  /// Groups, rounded, and c: each group carries on from the one before, or their sums are added one after another.
  void groups_then_addend(Summing summing) {
    for (const bool carried : {true, false}) {
      for (const Addend addend : {Addend::last, Addend::first}) {
        Engine engine = grouped();
        engine.stages[0].summing = summing;
        engine.stages[0].carried = carried && layout_.groups > 1;
        engine.stages[0].addend = carried && addend == Addend::first ? Addend::first : Addend::none;
        if (!(carried && addend == Addend::first)) {
          engine.stage_count = 2;
          engine.stages[1].summing = Summing::sequential;
          engine.stages[1].addend = addend;
        }
        ProbeKind kind{engine, {}};
        const ProbeSubset first = carried ? ProbeSubset::one_step : ProbeSubset::one_group;
        kind.choices.push_back(summing == Summing::aligned ? alignment_of(0, bits_seen_, {first}) : rounding_of(0, {first}));
        kind.choices.push_back(
            rounding_of(engine.stage_count == 2 ? 1 : 0, {ProbeSubset::addend, ProbeSubset::chain, ProbeSubset::one_step}));
        add(kind);
      }
    }
  }

  /// Sums that are not rounded, aligned once more with c; between them, where there are groups, an alignment of the sums.
  void late_addend(Summing summing, bool joined_first) {
    Engine engine = grouped();
    engine.stages[0].summing = summing;
    engine.stages[0].rounded = false;
    engine.stages[0].fraction_bits = most_bits;
    const std::size_t last = joined_first ? 2 : 1;
    engine.stage_count = static_cast<int>(last) + 1;
    engine.stages[1] = engine.stages[last] = {};
    engine.stages[1].fraction_bits = engine.stages[last].fraction_bits = most_bits;
    engine.stages[1].rounded = !joined_first;
    engine.stages[last].addend = Addend::first;
    ProbeKind kind{engine, {}};
    if (summing == Summing::exact) {
      kind.choices.push_back(alignment_of(last, bits_seen_, {ProbeSubset::addend, ProbeSubset::chain, ProbeSubset::one_step}));
      return add(kind);
    }
    kind.choices.push_back(rounding_of(last, {}));
    kind.choices.push_back(cut_of(0, {ProbeSubset::one_group}));
    if (joined_first) kind.choices.push_back(cut_of(1, {ProbeSubset::one_step}));
    kind.choices.push_back({{ProbeSubset::one_step}, [](const Engine& e, Engines& out) { out.push_back(e); }});
    kind.choices.push_back(addend_cut_of(last, {ProbeSubset::low_addend}));
    kind.choices.push_back(cut_of(last, {ProbeSubset::addend, ProbeSubset::chain}));
    add(kind);
  }

  std::vector<ProbeKind> all() {
    const bool whole_groups = layout_.regular && layout_.group_size() > 1;
    if (layout_.groups == 1) {
      if (layout_.step == 1) chains();
      fused();
      if (layout_.step == 2) pairs();
    } else if (layout_.group_size() == 2 && layout_.regular) {
      pairs();
    }
    if (whole_groups) {
      if (exact_sums_fit_) late_addend(Summing::exact, false);  // fewest choices first
      groups_then_addend(Summing::exact);
      groups_then_addend(Summing::aligned);
      late_addend(Summing::aligned, false);
      if (layout_.groups > 1) late_addend(Summing::aligned, true);
    } else {
      chains();
      interleaved_chains();
    }
    return std::move(kinds_);
  }

 private:
  /// Whether an engine can hand on the exact sum of a group in the 127 bits that it has for one, of which an alignment may take
  /// `most_bits` below the sum's unit, and block scales and the sum of all groups a few. bfloat16 has products 2^500 apart.
  static bool sums_fit(const gpu::Operation& operation, const ProbeLayout& layout) {
    constexpr int most = 112;
    const emu::Format a = operation.a, b = operation.b;
    const int above = a.max_exponent() + b.max_exponent() + 2 + static_cast<int>(std::bit_width(layout.group_size()));
    const int below = -(a.min_spacing_exponent() + b.min_spacing_exponent());
    return above + std::max(below, most_bits) <= most;
  }

  const ProbeLayout& layout_;
  int bits_seen_, least_product_;
  bool exact_sums_fit_;
  Engine blank_;
  std::vector<ProbeKind> kinds_;
};

}  // namespace

std::vector<ProbeKind> probe_kinds(const ProbeAnswers& answers, const ProbeLayout& layout, emu::Code nan_code) {
  return Kinds(answers, layout, nan_code).all();
}

}  // namespace ulpscope::studies
