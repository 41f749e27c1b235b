// SPDX-License-Identifier: Apache-2.0
// What other people's converters do, by name: one row per target format, each with its source. A row that no source states and
// no run confirms is not here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "verify/conform/conform_rules.hpp"

namespace ulpscope::verify {

/// The rules of a published converter, by a word.
struct Preset {
  std::string_view name;    ///< as the command line has it
  emu::Format to;           ///< the format it converts to
  Rules rules;              ///< what it does
  std::string_view source;  ///< the document that says so
};

/// Rows of one preset are neighbours.
std::span<const Preset> presets() noexcept;

/// The row of a preset for a format. Names: case ignored, `-` and `_` alike.
/// @throws ulpscope::Error when there is no such preset, or none for this format, naming those that are.
const Preset& find_preset(const std::string& name, emu::Format to);

/// Every name, once.
std::vector<std::string> preset_names();

}  // namespace ulpscope::verify
