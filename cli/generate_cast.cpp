// SPDX-License-Identifier: Apache-2.0
// The command `generate cast`: its words, its files, its summary.
#include "verify/generate/generate_cast.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/generate_files.hpp"
#include "cli/generate_words.hpp"
#include "cli/output.hpp"
#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "emu/shell_word.hpp"
#include "reports/build_info.hpp"

namespace ulpscope::cli {
namespace {

nlohmann::ordered_json description(const emu::Format format, const emu::RoundingOptions& options,
                                   const verify::CastCase& made) {
  nlohmann::ordered_json json{
      {"ulpscope", reports::version()},
      {"operation", "cast"},
      {"from", "float32"},
      {"to", emu::format_name(format)},
      {"rounding", emu::name_of(options.rounding)},
      {"policy", emu::name_of(options.policy)},
      {"flush_subnormals", options.flush_subnormals},
      {"subnormals_are_zero", options.subnormals_are_zero},
      {"expected", "codes of `to`, one for each input; a NaN is the canonical code, others are right too"},
      {"outside_float32", made.outside_float32},
      {"groups", nlohmann::ordered_json::array()}};
  for (const verify::CastGroup& group : made.groups)
    json["groups"].push_back({{"name", group.name}, {"first", group.first}, {"count", group.count}, {"what", group.what}});
  return json;
}

std::string summary(const emu::Format format, const emu::RoundingOptions& options, const verify::CastCase& made) {
  std::string text = "cast: " + std::to_string(made.input.size()) + " float32 values beside every threshold of " +
                     emu::format_name(format) + ", rounding " + std::string(emu::name_of(options.rounding)) + ", policy " +
                     std::string(emu::name_of(options.policy)) + "\n\n";
  for (const verify::CastGroup& group : made.groups) {
    const std::string count = std::to_string(group.count);
    text += group.name + std::string(12 - group.name.size(), ' ') + std::string(count.size() < 8 ? 8 - count.size() : 0, ' ') +
            count + "  " + group.what + "\n";
  }
  if (made.outside_float32 != 0)
    text += std::to_string(made.outside_float32) + " ties and thresholds are left out: no float32 number is one\n";
  return text;
}

}  // namespace

void GenerateCastWords::add_to(Command& command) {
  command.add_request(request);
  command.add_written("-o", directory, "a new or empty directory, or one whose case is to be replaced", "DIR")->required();
}

void generate_cast(const GenerateCastWords& words) {
  const emu::Format format = requests::parse_format(words.request.to);
  const emu::RoundingOptions options = words.request.rounding.options();
  const verify::CastCase made = verify::generate_cast(format, options);
  const std::vector<std::uint64_t> shape{made.input.size()};
  const CaseDirectory directory(words.directory, Storage::values,
                                {{"input", emu::float32, shape, made.input}, {"expected", format, shape, {}, made.expected}});
  directory.write(description(format, options, made));
  std::string text = summary(format, options, made) + "\nwrote input.npy (float32) expected.npy (codes) case.json\n";
  text +=
      "ulpscope diff " + emu::shell_word(directory.input("expected")) + " YOURS.npy --dtype " + emu::format_name(format) + "\n";
  print(text);
}

}  // namespace ulpscope::cli
