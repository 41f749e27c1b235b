// SPDX-License-Identifier: Apache-2.0
// Looks which files there are, and reads indices. Indices are not trusted: they name files beside them, and no others.
#include "tensors/checkpoint.hpp"

#include <glob.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"
#include "files/read_file.hpp"

namespace ulpscope::tensors {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_index = 100'000'000;  // as the header of a .safetensors

/// Files of a folder whose names end like this, by name.
std::vector<std::string> ending_with(const std::string& folder, std::initializer_list<std::string_view> endings) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); }))
      found.push_back((fs::path(folder) / name).string());
  }
  if (error) throw Error(emu::visible(folder + ": cannot be read: " + error.message()));
  std::ranges::sort(found);
  return found;
}

/// Whether a name stands for a file beside the index: a folder below, but none above.
bool is_beside(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

/// index_of() of a file, whose files are there.
Checkpoint read_index(const std::string& path) {
  Checkpoint checkpoint = index_of(files::read_file(path, longest_index), path);
  for (const std::string& name : checkpoint.files) {
    std::error_code ignored;
    if (!fs::exists(name, ignored)) throw Error(emu::visible(path + ": names " + name + ", which is not there"));
  }
  return checkpoint;
}

Checkpoint of_folder(const std::string& folder) {
  const std::vector<std::string> indices = ending_with(folder, {index_ending});
  if (indices.size() > 1)
    throw Error(emu::visible(folder + ": holds " + std::to_string(indices.size()) + " indices; name one of " +
                             emu::comma_separated(indices)));
  if (!indices.empty()) return read_index(indices.front());
  Checkpoint checkpoint{.files = ending_with(folder, {".safetensors"})};
  if (checkpoint.files.empty()) checkpoint.files = ending_with(folder, {".gguf"});
  if (checkpoint.files.empty()) checkpoint.files = ending_with(folder, {".npz", ".npy"});
  if (checkpoint.files.empty())
    throw Error(emu::visible(folder + ": is a directory without tensor files, which end in .safetensors, .gguf, .npz or .npy"));
  return checkpoint;
}

/// What glob() found.
class Matches {
 public:
  explicit Matches(const std::string& pattern) : failed_(::glob(pattern.c_str(), 0, nullptr, &found_)) {}
  ~Matches() { ::globfree(&found_); }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;

  std::vector<std::string> names() const {
    if (failed_ != 0) return {};
    return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
  }

 private:
  glob_t found_{};
  int failed_;
};

}  // namespace

Checkpoint index_of(std::string_view text, const std::string& path) {
  const auto fail = [&](const std::string& why) { throw Error(emu::visible(path + ": " + why)); };
  nlohmann::json index;
  try {
    index = emu::parse_json(text);
  } catch (const emu::BadJson& problem) {
    fail(std::string("malformed index: ") + problem.what());
  }
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    fail("malformed index: it has no weight_map from tensors to files");
  Checkpoint checkpoint{.files = {}, .index = path};
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string() || !is_beside(file.get<std::string>()))
      fail("malformed index: tensor '" + tensor + "' is in no file beside the index");
    const std::string in = (fs::path(path).parent_path() / fs::path(file.get<std::string>()).lexically_normal()).string();
    checkpoint.file_of.emplace(tensor, in);
    names.insert(in);
  }
  if (names.empty()) fail("names no tensor");
  checkpoint.files.assign(names.begin(), names.end());
  index.erase("weight_map");
  checkpoint.index_entries = index.dump();
  return checkpoint;
}

std::optional<Checkpoint> checkpoint_of(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return of_folder(path);
  if (fs::exists(path, ignored)) return path.ends_with(index_ending) ? std::optional(read_index(path)) : std::nullopt;
  if (path.find_first_of("*?[") == std::string::npos) return std::nullopt;
  std::vector<std::string> files = Matches(path).names();
  if (files.empty()) throw Error(emu::visible(path + ": no file matches"));
  return Checkpoint{.files = std::move(files)};
}

std::optional<Checkpoint> checkpoint_of(const std::vector<std::string>& inputs) {
  if (inputs.size() == 1) return checkpoint_of(inputs.front());
  for (const std::string& input : inputs)
    if (checkpoint_of(input))
      throw Error(emu::visible(input + ": is a checkpoint, and one of " + std::to_string(inputs.size()) +
                               " inputs; give it alone, or files of one checkpoint"));
  Checkpoint checkpoint{.files = inputs};
  std::ranges::sort(checkpoint.files);
  return checkpoint;
}

}  // namespace ulpscope::tensors
