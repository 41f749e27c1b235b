// SPDX-License-Identifier: Apache-2.0
// The keys of a run's random words: each purpose, and the roundings of each batch, have one of their own.
#pragma once

#include <cstdint>

namespace ulpscope::training {

/// Key number `index` of a run.
constexpr std::uint64_t key_of(std::uint64_t seed, std::uint64_t index) { return (seed + 1) * 0x9e3779b97f4a7c15U + index * 2; }

/// Of the stochastic roundings of a run's n-th batch, forward and backward.
constexpr std::uint64_t batch_key(std::uint64_t seed, std::uint64_t batch) { return key_of(seed, 2 * batch + 3); }

/// Of the stochastic roundings of updated weights: a word each, in the order of the parameters, on from step to step.
constexpr std::uint64_t update_key(std::uint64_t seed) { return key_of(seed, 2); }

}  // namespace ulpscope::training
