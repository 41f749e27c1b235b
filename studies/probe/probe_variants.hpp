// SPDX-License-Identifier: Apache-2.0
// The features of an engine in words, each with the engines that differ in it alone: a feature is known when an answer of the
// unit refutes every one of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emu/engine.hpp"

namespace ulpscope::studies {

/// An engine that differs in one feature.
struct ProbeVariant {
  std::string word;    ///< what the feature would be
  emu::Engine engine;  ///< which has it
};

/// One feature of an engine, and engines without it.
struct ProbeFeature {
  std::string name;                    ///< as in the tables of `ulpscope probe`
  std::string word;                    ///< what it is
  std::vector<ProbeVariant> variants;  ///< the same engine but for this; numbers: one less, one more, further ones
  bool is_number = false;              ///< whether `word` is a number of bits
  /// Of a number: the engine with another one.
  std::function<emu::Engine(int bits)> with_bits = {};
  /// The same with all numbers of its alignment and the least exponent changed by as much; null where c takes no part in it.
  std::function<emu::Engine(int bits)> with_bits_and_least_exponent = {};
};

/// Products, order and addend of an engine: `16 products and c fused`.
std::string order_words(const emu::Engine& engine);

/// The features that an engine of its kind has.
std::vector<ProbeFeature> features_of(const emu::Engine& engine);

}  // namespace ulpscope::studies
