// SPDX-License-Identifier: Apache-2.0
// What a check says in one word.
#pragma once

#include <cstdint>
#include <string_view>

namespace ulpscope::verify {

/// What a check says.
enum class Outcome : std::uint8_t {
  pass,
  fail,
  vacuous  ///< the check could not have failed, or its bound is worth nothing: as bad as a failure
};
/// `pass`, `fail`, `vacuous`.
std::string_view name_of(Outcome outcome) noexcept;

}  // namespace ulpscope::verify
