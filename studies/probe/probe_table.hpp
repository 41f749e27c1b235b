// SPDX-License-Identifier: Apache-2.0
// Probes as a table, and what the engine that claims to compute the same answers beside a real unit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "gpu/unit.hpp"
#include "reports/table.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::studies {

/// Whether the table has the answers of the emulated engine too.
enum class ProbeModel : std::uint8_t { without, beside };

/// How long it may take, and who is told on the way.
struct ProbeWork {
  Deadline deadline = {};             ///< operations that are not done by then have the one row `not checked`
  std::function<bool()> usable = {};  ///< of the device (gpu::Device); null: always
  WorkLog* log = nullptr;             ///< of operations; null: no process goes on
  std::function<void(const reports::Table&)> so_far = {};  ///< the operations done, in their order, each time that one is
};

/// engine, a, b, accumulator, scales, feature, result, evidence; beside a model: instruction, model_engine, model, the last
/// being the same feature of the emulated engine that `Operation::engine` names (`not recovered` and the like included). One
/// row for each operation and feature; an operation whose unit fails has the one row `failure`. `progress` is told the
/// operations done. Where a unit takes the device's context with it, the operations that are not done have the one row
/// `not checked`, or none where there is a log.
reports::Table probe_table(const gpu::Unit& unit, std::span<const gpu::Operation> operations, std::uint64_t seed,
                           ProbeModel model, const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {},
                           const ProbeWork& work = {});

}  // namespace ulpscope::studies
