// SPDX-License-Identifier: Apache-2.0
// Probes as a table, and what the engine that claims to compute the same answers beside a real unit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "gpu/unit.hpp"
#include "reports/table.hpp"

namespace ulpscope::studies {

enum class ProbeModel : std::uint8_t { without, beside };

/// engine, a, b, accumulator, scales, feature, result, evidence; beside a model: instruction, model_engine, model, the last
/// being the same feature of the emulated engine that `Operation::engine` names (`not recovered` and the like included). One
/// row for each operation and feature; an operation whose unit fails has the one row `failure`. `progress` is told the
/// operations done.
reports::Table probe_table(const gpu::Unit& unit, std::span<const gpu::Operation> operations, std::uint64_t seed,
                           ProbeModel model, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace ulpscope::studies
