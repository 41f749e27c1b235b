// SPDX-License-Identifier: Apache-2.0
// What a matrix unit computes, found out by asking it. The probes are those of Fasi, Higham, Mikaitis and Pranesh (PeerJ CS
// 7:e330), Khattak and Mikaitis (doi 10.1145/3830409) and Xie et al. (arXiv 2511.10909v2); docs/probes.md says what each of
// them feeds in and why the answer tells. The unit is a black box: its formats, the length of its instruction and its answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::studies {

/// How an engine is probed.
struct ProbeOptions {
  std::uint64_t seed = 0;          ///< of the random inner products
  std::size_t last_checks = 2000;  ///< inner products of the last check
};

/// One feature of a unit.
struct Finding {
  std::string feature;   ///< the word of the table, e.g. `fraction_bits`
  std::string result;    ///< a word or a number; `not observable` where no experiment could have told
  std::string evidence;  ///< one sentence: what was fed in, and the answer
};

/// What was found out about an engine.
struct ProbeReport {
  std::vector<Finding> findings;  ///< one a feature
  /// An engine that gives all answers seen; nothing where no description of the kinds tried does. Where the answers leave a
  /// choice it has the simplest one: no least exponent, the fewest bits.
  std::optional<emu::Engine> recovered;
  std::size_t disagreements = 0;  ///< of `recovered` with the unit in the last check
};

/// The result of a feature; empty where the report has none of that name.
std::string result_of(const ProbeReport& report, const std::string& feature);

inline constexpr const char* not_observable = "not observable";  ///< the result of a feature that no answer depends on

/// Probes one operation of a unit through gpu::Unit::multiply alone.
/// @throws ulpscope::Error when the device fails.
ProbeReport probe(const gpu::Unit& unit, const gpu::Operation& operation, const ProbeOptions& options = {});

}  // namespace ulpscope::studies
