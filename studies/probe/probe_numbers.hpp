// SPDX-License-Identifier: Apache-2.0
// The numbers of an alignment that the answers leave possible. They may trade off: where no answer shows how many bits are kept
// below the greatest term, more of them cut at the same place under a least exponent that is higher by as many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "studies/probe/probe_fit.hpp"
#include "studies/probe/probe_layout.hpp"
#include "studies/probe/probe_variants.hpp"

namespace ulpscope::studies {

/// The values of one number with which engines give all answers.
struct ProbeNumberRange {
  std::string feature;  ///< whose number it is
  int least = 0;        ///< of the values
  int greatest = 0;     ///< and the greatest
  /// Numbers of bits: the least exponent is higher by as many. Least exponents: there need not be one.
  bool other_least_exponent = false;
  emu::Engine lowest = {}, highest = {};  ///< which have the least and the greatest value
};

/// The numbers of an engine that gives all answers.
class ProbeNumbers {
 public:
  /// `answers` and `layout` must outlive it.
  ProbeNumbers(const emu::Engine& engine, ProbeAnswers& answers, const ProbeLayout& layout)
      : engine_(engine), answers_(answers), layout_(layout) {}

  /// Finds the ranges, and asks the unit what tells the engine from those at their ends until nothing does. Where the unit
  /// refutes the engine, the one with the next number takes its place. False: none of them gives all answers.
  bool settle();
  /// The engine, or the one in its place.
  const emu::Engine& engine() const { return engine_; }

  /// A number in words; nothing where the feature is none or has no range.
  std::optional<std::string> words(const ProbeFeature& feature) const;
  /// The engines at the ends of ranges of bits, but for the engine itself.
  std::vector<emu::Engine> ends() const;

 private:
  bool fits(const emu::Engine& engine);
  void find();
  bool replace(const std::string& feature);
  std::optional<emu::Engine> fitting(const ProbeFeature& feature, int bits);
  ProbeNumberRange bits_of(const ProbeFeature& feature);
  ProbeNumberRange least_exponents();
  ProbeNumberRange greatest_least_exponent();
  const ProbeNumberRange* range_of(const std::string& feature) const;

  emu::Engine engine_;
  ProbeAnswers& answers_;
  const ProbeLayout& layout_;
  std::vector<ProbeNumberRange> ranges_;
};

}  // namespace ulpscope::studies
