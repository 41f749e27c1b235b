// SPDX-License-Identifier: Apache-2.0
// Takes entry after entry, unless another file says otherwise.
#include "studies/cast/merged_metadata.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "emu/json_input.hpp"
#include "emu/visible.hpp"
#include "studies/cast/layouts.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {
namespace {

using Json = nlohmann::ordered_json;

/// FILE of the labels FILE:NAME.
std::set<std::string> files_holding(const tensors::Inputs& opened) {
  std::set<std::string> files;
  for (const auto* const group : {&opened.kept, &opened.integers, &opened.opaque, &opened.others})
    for (const tensors::Tensor& tensor : *group)
      if (const std::string ending = ":" + emu::visible(tensor.name); tensor.label.ends_with(ending))
        files.insert(tensor.label.substr(0, tensor.label.size() - ending.size()));
  return files;
}

std::vector<std::string> files_of(const std::string& input, const std::set<std::string>& holding) {
  const std::string path = tensors::file_of(input);
  if (path.empty()) return {};
  const auto checkpoint = tensors::checkpoint_of(path);
  std::vector<std::string> files = checkpoint ? checkpoint->files : std::vector{path};
  if (path != input) std::erase_if(files, [&](const std::string& file) { return !holding.contains(emu::visible(file)); });
  return files;
}

}  // namespace

MergedMetadata merged_metadata(const std::vector<std::string>& inputs, const tensors::Inputs& opened) {
  MergedMetadata merged;
  std::vector<std::pair<std::string, Json>> all;  // in the order of the files; ordered JSON looks for a key by walking
  std::map<std::string, std::size_t> places;
  const std::set<std::string> holding = files_holding(opened);
  std::set<std::string> disputed;
  for (const std::string& input : inputs)
    for (const std::string& file : files_of(input, holding))
      for (const std::string& said : tensors::all_metadata(file)) {
        const std::string of_file = with_wide_codes(said, {});  // which are said anew
        if (of_file.empty()) continue;
        const Json entries = emu::parse_json<Json>(of_file);
        for (const auto& [key, value] : entries.items()) {
          const auto [place, is_new] = places.emplace(key, all.size());
          if (is_new)
            all.emplace_back(key, value);
          else if (all[place->second].second != value && disputed.insert(key).second)
            merged.disputed.push_back(key);
        }
      }
  std::erase_if(all, [&](const auto& entry) { return disputed.contains(entry.first); });
  Json::object_t entries;
  for (auto& [key, value] : all) entries.emplace_back(std::move(key), std::move(value));
  if (!entries.empty()) merged.json = Json(std::move(entries)).dump();
  return merged;
}

std::string disputed_words(const MergedMetadata& merged, const std::string& written) {
  constexpr std::size_t most_named = 3;
  const Json entries = written.empty() ? Json::object() : emu::parse_json<Json>(written);
  std::set<std::string> said_anew;
  for (const auto& entry : entries.items()) said_anew.insert(entry.key());
  std::size_t lost = 0;
  std::string names;
  for (const std::string& key : merged.disputed) {
    if (said_anew.contains(key)) continue;
    if (++lost <= most_named) names += (lost == 1 ? "'" : ", '") + emu::visible(key) + "'";
  }
  if (lost == 0) return {};
  return "left out of __metadata__, for the files say different things: " + names +
         (lost > most_named ? " and " + std::to_string(lost - most_named) + " more" : "");
}

}  // namespace ulpscope::studies
