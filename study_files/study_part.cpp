// SPDX-License-Identifier: Apache-2.0
// JSON of the cells' own, each under the digest of its request.
#include "study_files/study_part.hpp"

#include <set>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/visible.hpp"
#include "reports/build_info.hpp"

namespace ulpscope::study_files {
namespace {

using Json = nlohmann::json;

constexpr const char* study_part_kind = "part of a study file";
constexpr const char* not_a_part = "is no part of a study file, or not all of it";

StudyPart read_study_part(const Json& json) {
  if (json.at("ulpscope").get<std::string>() != study_part_kind || !json.at("cells").is_object()) throw Error(not_a_part);
  StudyPart part{.version = json.at("version").get<std::string>(),
                 .commit = json.at("commit").get<std::string>(),
                 .study = json.at("study").get<std::string>(),
                 .text = json.at("text").get<std::string>(),
                 .only = json.at("only").get<std::vector<std::string>>(),
                 .arguments = json.at("arguments").get<std::vector<std::string>>(),
                 .cells = {}};
  for (const auto& [digest, value] : json.at("cells").items()) {
    std::optional<studies::StudyResult> result = result_of_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!result) throw Error("has a cell that is no result: " + digest);
    part.cells.emplace(digest, *std::move(result));
  }
  return part;
}

}  // namespace

std::vector<std::string> own_digests(const std::vector<PlannedStudy>& studies, std::uint64_t index, std::uint64_t count) {
  std::set<std::string> known;
  std::vector<std::string> own;
  for (const PlannedStudy& study : studies)
    for (const GridCell& cell : study.cells) {
      const std::string digest = digest_of(cell);
      if (known.insert(digest).second && (known.size() - 1) % count == index) own.push_back(digest);
    }
  return own;
}

std::string to_text(const StudyPart& part) {
  Json json{{"ulpscope", study_part_kind}, {"version", part.version}, {"commit", part.commit},       {"study", part.study},
            {"text", part.text},           {"only", part.only},       {"arguments", part.arguments}, {"cells", Json::object()}};
  for (const auto& [digest, result] : part.cells) json["cells"][digest] = Json::parse(to_json(result));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_study_part(std::string_view text) {
  // Within a string the marks would have a stroke before them.
  return text.find("\"ulpscope\": \"" + std::string(study_part_kind) + "\"") != std::string_view::npos;
}

StudyPart study_part_of(std::string_view text, const std::string& name) {
  const auto fail = [&](const std::string& why) { throw Error(emu::visible(name + ": " + why)); };
  try {
    return read_study_part(Json(emu::parse_json(text)));
  } catch (const emu::BadJson& problem) {
    fail(std::string("is no part of a study file: ") + problem.what());
  } catch (const Error& problem) {
    fail(problem.what());
  } catch (const Json::exception&) {
    fail(not_a_part);
  }
  return {};
}

StudyPart merged(std::vector<StudyPart> parts, const std::vector<std::string>& names) {
  const auto fail = [](const std::string& name, const std::string& why) { throw Error(emu::visible(name + ": " + why)); };
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const std::string why = reports::unlike_this_program(parts[i].version, parts[i].commit); !why.empty())
      fail(names[i], why);
  StudyPart all = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    StudyPart& part = parts[i];
    if (part.text != all.text || part.only != all.only || part.study != all.study)
      fail(names[i], "is of another run than " + names.front());
    for (auto& [digest, result] : part.cells)
      if (!all.cells.emplace(digest, std::move(result)).second) fail(names[i], "has cells that another part has, too");
  }
  return all;
}

std::optional<studies::StudyResult> PartCells::find(const GridCell& cell) const {
  const auto found = part_.cells.find(digest_of(cell));
  if (found == part_.cells.end()) return std::nullopt;
  return found->second;
}

void PartCells::keep(const GridCell&, const studies::StudyResult&) const { throw Error("a cell is in no part"); }

void check_complete(const std::vector<PlannedStudy>& studies, const StudyPart& part) {
  for (const PlannedStudy& study : studies)
    for (const GridCell& cell : study.cells)
      if (!part.cells.contains(digest_of(cell))) throw Error(emu::visible(where(study, cell) + "is in no part"));
}

}  // namespace ulpscope::study_files
