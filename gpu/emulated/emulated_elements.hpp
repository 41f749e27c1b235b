// SPDX-License-Identifier: Apache-2.0
// Element operations of GPUs, emulated.
#pragma once

#include <memory>
#include <string>

#include "gpu/elementwise.hpp"

namespace ulpscope::gpu {

/// A format as PTX spells its type: `f16`, `bf16`, `e4m3`, `ue8m0` (PTX ISA 9.0, "Fundamental types" and "Alternate floating
/// point data formats").
std::string ptx_word(emu::Format format);

/// Conversions and arithmetic of PTX on a device of this compute capability (90 for 9.0).
std::shared_ptr<const Elementwise> emulated_elements(std::string device, int capability);

}  // namespace ulpscope::gpu
