// SPDX-License-Identifier: Apache-2.0
// The reader of study files, which needs every study.
#include <string_view>

#include "emu/error.hpp"
#include "requests/toml.hpp"
#include "study_files/plan.hpp"
#include "tests/fuzz/targets.hpp"

namespace ulpscope::fuzz {

void read_study(const std::uint8_t* data, std::size_t size) {
  try {
    study_files::plan(requests::parse_toml({reinterpret_cast<const char*>(data), size}, "input"), {});
  } catch (const Error&) {
  }
}

}  // namespace ulpscope::fuzz
