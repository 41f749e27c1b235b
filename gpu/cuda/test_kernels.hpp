// SPDX-License-Identifier: Apache-2.0
// The numbered tests of gpu/adversarial.hpp, made on the device, and the comparison of element operations with their models.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/adversarial.hpp"
#include "gpu/cuda/instruction.hpp"

namespace ulpscope::gpu::cuda {

/// Inner products number `begin`, begin + 1, ..., those of one array one behind the other.
void make_products(const TestShape& shape, std::uint64_t seed, std::uint64_t begin, std::size_t count, const TestCodes& to);

/// Whether test i is the operand of code i.
bool visits_every_operand(const ElementModel& model);

/// Operands number `begin`, begin + 1, ...; b and c may be null where the operation does not take them.
void make_operands(const ElementModel& model, std::uint64_t seed, std::uint64_t begin, std::size_t count, emu::Code* a,
                   emu::Code* b, emu::Code* c);

/// Counts the results d that are not the model's, and marks each: wrong[i] is 1 or 0.
void compare_elements(const ElementModel& model, const DeviceElements& elements, unsigned long long* mismatches,
                      std::uint8_t* wrong);

}  // namespace ulpscope::gpu::cuda
