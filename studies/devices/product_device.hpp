// SPDX-License-Identifier: Apache-2.0
// What a model predicts for a whole product, computed by the device that runs the emulator.
#pragma once

#include <optional>
#include <vector>

#include "gpu/device_emulator.hpp"
#include "gpu/library.hpp"
#include "studies/devices/product_models.hpp"

namespace ulpscope::studies {

/// Codes of D in the order of rows; nothing where gpu::EmulatedProduct cannot say what the model says: only equal consecutive
/// parts of whole steps, not promoted too, joined in float32 from the first on, and nothing scaled.
/// @throws ulpscope::Error when the device fails.
std::optional<std::vector<emu::Code>> predict_on_device(const gpu::DeviceEmulator& emulator, const gpu::LibraryCall& call,
                                                        const ProductModel& model, const gpu::MatrixProduct& product);

}  // namespace ulpscope::studies
