// SPDX-License-Identifier: Apache-2.0
// The engines that give the answers of a unit: kinds of engines by the layout found, each with its numbers chosen step by step
// by what the answers leave possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "studies/probe/probe_bench.hpp"
#include "studies/probe/probe_cases.hpp"
#include "studies/probe/probe_layout.hpp"

namespace ulpscope::studies {

/// An inner product and what the unit answers.
struct ProbeAnswer {
  ProbeCase probe;       ///< what was asked
  emu::Code answer = 0;  ///< what came back
};

/// What the unit was asked, by what it can tell.
enum class ProbeSubset : std::uint8_t {
  one_group,   ///< products of the first group of the first step, c = 0
  one_step,    ///< products of the first step, c = 0
  low_addend,  ///< and a c that is not above the products
  addend,      ///< and any c
  chain,       ///< several steps
  huge,
  tiny,
  any,
};
inline constexpr std::size_t probe_subsets = 8;  ///< how many subsets there are

/// What a unit was asked, and what it answered, by subset.
class ProbeAnswers {
 public:
  /// Asks the unit; `layout` says what a step and a group are.
  ProbeAnswers(const ProbeBench& bench, ProbeCases& cases, const ProbeLayout& layout);

  /// The answers of a subset.
  const std::vector<ProbeAnswer>& of(ProbeSubset subset) const { return answers_[static_cast<std::size_t>(subset)]; }
  /// Asks the unit for one more.
  const ProbeAnswer& add(ProbeSubset subset, const ProbeCase& probe);
  /// Whether the engine gives all answers of these subsets. The answers that refuted an engine last are looked at first, those
  /// of all subsets before the others.
  bool agrees(const emu::Engine& engine, std::span<const ProbeSubset> subsets);
  /// The answer with the fewest terms that the engine does not give; nullptr: it gives all.
  const ProbeAnswer* refutation(const emu::Engine& engine) const;
  /// Answers in all subsets.
  std::size_t size() const;
  /// The most fraction bits that a normal answer has.
  int fraction_bits_seen() const;
  /// The bench that was asked.
  const ProbeBench& bench() const { return bench_; }

 private:
  void add_pairs(const ProbeLayout& layout);
  void add_tiny_pairs(int last);
  void add_lone_addends(int least, int most);
  void add_carries(const ProbeLayout& layout);
  void add_random(ProbeCases& cases, const ProbeLayout& layout);
  bool agrees(const emu::Engine& engine, ProbeSubset subset, std::size_t first, std::size_t last);

  const ProbeBench& bench_;
  std::vector<ProbeAnswer> answers_[probe_subsets];
  std::vector<std::size_t> order_[probe_subsets];
};

/// One choice to make: what it may be, the simplest first, and the answers that decide.
struct ProbeChoice {
  std::vector<ProbeSubset> deciders;  ///< whose answers an option must give
  /// Appends what an engine may be, this choice made.
  std::function<void(const emu::Engine&, std::vector<emu::Engine>&)> options;
};

/// A kind of engine, with its choices in the order in which they can be made.
struct ProbeKind {
  emu::Engine start;                 ///< before any choice
  std::vector<ProbeChoice> choices;  ///< in this order
};

/// The kinds that fit a layout, the simplest first.
std::vector<ProbeKind> probe_kinds(const ProbeAnswers& answers, const ProbeLayout& layout, emu::Code nan_code);

/// The first engine of the first kind that gives all answers.
std::optional<emu::Engine> fitting_engine(ProbeAnswers& answers, const std::vector<ProbeKind>& kinds);

}  // namespace ulpscope::studies
