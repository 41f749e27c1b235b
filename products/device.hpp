// SPDX-License-Identifier: Apache-2.0
// Matrix products on a real unit, in the place of an emulated engine.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "gpu/device.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::products {

/// One instruction of a device.
struct MatmulDevice {
  std::string word;                       ///< the device's id
  std::shared_ptr<const gpu::Unit> unit;  ///< the device's matrix instructions
  gpu::Operation operation;               ///< the instruction
};

/// The instruction for these formats: of those whose name contains `instruction`, the one that the first of `engines` to have
/// any claims to be, else the one with the most products, else the one listed first.
/// @throws ulpscope::Error naming the formats that the device multiplies, gpu::NoDevice where there is no such device.
MatmulDevice choose_device(const std::string& id, const std::string& instruction, const emu::EngineRequest& formats,
                           const std::vector<std::string>& engines);
/// The same of a device that is open.
MatmulDevice choose_device(const gpu::Device& device, const std::string& instruction, const emu::EngineRequest& formats,
                           const std::vector<std::string>& engines);

/// As emu::engine_matmul, every chain run by the device; what surrounds the chains is the same. `problem.engine` says of which
/// step lengths `promote` and `split_k` must be multiples. Where K fills no whole instruction, the fill changes no bit, with
/// one exception: of sums in float16 on instructions that are two steps of the engine (sm_80 to sm_89), the second step makes
/// +0 of a -0 of the first.
/// @throws ulpscope::Error when the device fails; nothing in d counts then.
template <class Float>
void device_matmul(const MatmulDevice& device, const emu::EngineMatmul<Float>& problem, std::span<Float> d);

}  // namespace ulpscope::products
