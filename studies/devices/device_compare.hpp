// SPDX-License-Identifier: Apache-2.0
// Results of a device beside those of the emulator, bit by bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/engine.hpp"
#include "gpu/elementwise.hpp"
#include "gpu/unit.hpp"
#include "studies/devices/device_portions.hpp"
#include "studies/devices/device_rows.hpp"

namespace ulpscope::studies {

/// Inner products `portion` of a problem.
gpu::InnerProducts part_of(const gpu::Operation& operation, const gpu::InnerProducts& problem, const Portion& portion);
/// Elements `portion` of operands.
gpu::ElementOperands part_of(const gpu::ElementOperands& operands, const Portion& portion);

/// Compares results `d` of a device with the engine's, and counts in `row`. Test `first` + i is the i-th.
void compare(DeviceRow& row, const gpu::Operation& operation, const emu::Engine& engine, const gpu::InnerProducts& problem,
             std::span<const emu::Code> d, std::uint64_t first);
/// The same with what emu claims of an element operation.
void compare(DeviceRow& row, const gpu::ElementOperation& operation, const gpu::ElementOperands& operands,
             std::span<const emu::Code> d, std::uint64_t first);

}  // namespace ulpscope::studies
