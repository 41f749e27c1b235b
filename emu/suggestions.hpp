// SPDX-License-Identifier: Apache-2.0
// What somebody meant by a word that is not known here: a rounding mode by its name elsewhere, an engine by the name of its
// device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::emu {

/// The rounding mode that `word` means elsewhere (`floor`, CUDA's `ru`, RISC-V's `rtz`), else the nearest words, at most
/// `most`.
std::vector<std::string> closest_roundings(std::string_view word, std::size_t most = 3);

/// The engine of the device that `word` names (`h100`, `RTX-4090`, `mi300x`), else the nearest names, at most `most`.
std::vector<std::string> closest_engines(std::string_view word, std::size_t most = 3);

/// `sweep, eval, probe`: suggestions as a message lists them.
std::string comma_separated(const std::vector<std::string>& words);

}  // namespace ulpscope::emu
