// SPDX-License-Identifier: Apache-2.0
// What the emulated library of an engine is asked, and the engine that answers it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "gpu/library.hpp"

namespace ulpscope::gpu {

/// The calls of cuBLAS and cuBLASLt that the engine of this name can stand in for; those on float32 are in float32 itself.
std::vector<LibraryCall> calls_of_engine(const std::string& name);

/// What operands of the fast compute types become.
emu::Format taken_as(const LibraryCall& call, emu::Format format);

/// The mode of an engine for a call, if it has one.
std::optional<emu::Engine> engine_for(const std::string& name, const LibraryCall& call);

}  // namespace ulpscope::gpu
