// SPDX-License-Identifier: Apache-2.0
// How deep a line of TOML nests, seen before it is parsed: toml++ 3.3 calls itself for each part of a dotted key, and limits
// arrays and inline tables alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ulpscope::requests {

/// The first line (from 1) that nests tables and arrays deeper than `most` by itself: each part of a key or header, each array
/// and each inline table is a level. A header and a line below it are counted apart; text that is no TOML is seen up to its
/// first fault.
std::optional<std::size_t> line_deeper_than(std::size_t most, std::string_view text);

}  // namespace ulpscope::requests
