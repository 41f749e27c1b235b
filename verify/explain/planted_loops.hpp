// SPDX-License-Identifier: Apache-2.0
// The plain loops of which planted kernels are made.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "emu/rounding.hpp"
#include "verify/explain/planted_kernel.hpp"

namespace ulpscope::verify {

using Indices = std::vector<std::size_t>;  ///< products of a sum, by their places in K

/// The sum of some products of output (i, j) in an order, as an engine has it.
using Summing = std::function<float(const PlantedProblem&, std::size_t i, std::size_t j, const Indices& ks, float start)>;

/// x as a number of `format`.
float rounded(emu::Format format, double x, emu::RoundingOptions options = {});

/// By the claimed engine.
float claimed_sum(const PlantedProblem& p, std::size_t i, std::size_t j, const Indices& ks, float start);
/// In float32, every product and every sum rounded.
float multiply_add(const PlantedProblem& p, std::size_t i, std::size_t j, const Indices& ks, float start);
/// Every sum rounded to bfloat16.
float in_bfloat16(const PlantedProblem& p, std::size_t i, std::size_t j, const Indices& ks, float start);
/// By another engine.
Summing of_engine(const std::string& engine);

/// 0 .. k - 1.
Indices ascending(std::size_t k);
/// Parts of 0 .. k - 1 of one length, and parts that take turns every `run` products.
std::vector<Indices> lengths_of(std::size_t k, std::size_t length);
/// Product i goes to part (i / run) % lanes.
std::vector<Indices> lanes_of(std::size_t k, std::size_t lanes, std::size_t run);
/// Of the chains when an engine splits K.
std::size_t chain_length(const PlantedProblem& p, const std::string& engine, std::size_t parts);

/// C, where the sum begins.
float start_of(const PlantedProblem& p, std::size_t i, std::size_t j);
/// What is done to a sum that began with C (without scales).
float epilogue(const PlantedProblem& p, std::size_t i, std::size_t j, float sum);

/// All outputs.
template <class Element>
std::vector<float> each(const PlantedProblem& p, Element element) {
  std::vector<float> d;
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j) d.push_back(element(i, j));
  return d;
}

/// One chain over `ks`, and the claimed epilogue.
std::vector<float> whole(const PlantedProblem& p, const Indices& ks, const Summing& sum = claimed_sum);
/// Chains over parts of K, added up: ascending (a), descending (d), pairwise (p).
std::vector<float> in_parts(const PlantedProblem& p, const std::vector<Indices>& parts, char way,
                            const Summing& sum = claimed_sum);

/// A fault that no hypothesis has.
Plant unknown_plant(Draws& draws);
/// A fault of each kind; `problem` is what it will happen to.
Plant known_plant(PlantKind kind, const PlantedProblem& problem, Draws& draws);

}  // namespace ulpscope::verify
