// SPDX-License-Identifier: Apache-2.0
// Readers that need every study: of study files, and of the parts that shards write.
#include <cstdlib>
#include <string_view>

#include "emu/error.hpp"
#include "requests/toml.hpp"
#include "studies/shards/part_file.hpp"
#include "study_files/plan.hpp"
#include "study_files/study_part.hpp"
#include "tests/fuzz/targets.hpp"

namespace ulpscope::fuzz {

void read_study(const std::uint8_t* data, std::size_t size) {
  try {
    study_files::plan(requests::parse_toml({reinterpret_cast<const char*>(data), size}, "input"), {});
  } catch (const Error&) {
  }
}

void read_parts(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  try {
    if (study_files::is_study_part(all)) {
      const std::string cells = to_text(study_files::study_part_of(all, "input"));
      if (to_text(study_files::study_part_of(cells, "again")) != cells) std::abort();
    }
  } catch (const Error&) {
  }
  try {
    const studies::PartFile part = studies::part_of(all, "input");
    const std::string text = to_text(part);
    if (to_text(studies::part_of(text, "again")) != text) std::abort();
    for (const studies::TensorPart& whole : studies::merged({part}, {"input"}))
      for (const studies::PartialSums& sums : whole.census) static_cast<void>(sums.finish());
    static_cast<void>(studies::merged({part, part}, {"input", "again"}));
  } catch (const Error&) {
  }
}

}  // namespace ulpscope::fuzz
