// SPDX-License-Identifier: Apache-2.0
// Writes the files, and keeps account of them for the index.
#include "tensors/write_checkpoint.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"

namespace ulpscope::tensors {
namespace {

std::string kept_name(std::size_t n) { return std::to_string(n) + ".safetensors"; }
std::string digest_name(const std::string& kept) { return kept + ".sha256"; }
/// As sha256sum reads it.
std::string digest_line(const std::string& hex, const std::string& kept) { return hex + "  " + kept + "\n"; }

/// Bytes of tensors in a .safetensors file that was written here: what follows the length of its header, and the header.
std::uint64_t data_size(const files::OpenFile& file, const std::string& path) {
  std::array<unsigned char, 8> length{};
  std::uint64_t header = 0;
  files::read_at(file, 0, reinterpret_cast<char*>(length.data()), length.size(), path);
  for (std::size_t i = length.size(); i-- > 0;) header = header << 8 | length[i];
  return file.bytes - length.size() - header;
}

}  // namespace

NewCheckpoint::NewCheckpoint(const std::string& folder, ResumedWork work)
    : path_(folder),
      digest_(std::move(work.digest)),
      made_(folder),
      folder_(folder),
      lock_(folder_, files::folder_lock, folder),
      files_(folder_) {
  std::error_code ignored;
  if (!work.request.empty()) {
    work_.emplace(work_path(folder), files::WorkFolder::Existing::resume, std::string());
    work_->keep_request(work.request);
  } else if (std::filesystem::exists(std::filesystem::path(work_path(folder)) / kept_name(0), ignored)) {
    throw Error(work_path(folder) + ": holds files of a cast that was ended; --resume goes on with it, or remove it");
  }
}

std::string NewCheckpoint::work_path(const std::string& folder) { return files::WorkFolder::beside(folder, ".partial"); }

std::uint64_t NewCheckpoint::keep(const files::Folder& folder, const std::string& kept, const std::string& name,
                                  const std::vector<NamedCodes>& tensors, const Beside& beside) const {
  const Digest digest = digest_();
  files::NewFile file(folder, kept);
  const auto write = [&](std::string_view bytes) {
    digest.add(bytes);
    file.write(bytes);
  };
  const std::uint64_t size = put_safetensors({path_ + "/" + name, write}, tensors, beside);
  file.commit();
  files::NewFile line(folder, digest_name(kept));
  line.write(digest_line(digest.hex(), kept));
  line.commit();
  return size;
}

std::optional<files::OpenFile> NewCheckpoint::find(const files::Folder& folder, const std::string& kept) const {
  const std::string beside = digest_name(kept);
  if (folder.kind(kept) == files::Kind::none || folder.kind(beside) == files::Kind::none) return std::nullopt;
  files::OpenFile file = files::open_file(folder, kept);
  files::check_is_own(file, folder.path_of(kept));  // it becomes the output
  const Digest digest = digest_();
  std::string bytes(std::size_t{1} << 20, '\0');
  for (std::uint64_t first = 0;;) {
    const std::size_t got = files::read_at(file, first, bytes.data(), bytes.size(), folder.path_of(kept));
    if (got == 0) break;
    digest.add(std::string_view(bytes).substr(0, got));
    first += got;
  }
  const std::string line = digest_line(digest.hex(), kept);
  const files::OpenFile said = files::open_file(folder, beside);
  if (said.bytes != line.size() || files::read_whole(said, folder.path_of(beside)) != line) return std::nullopt;
  return file;
}

bool NewCheckpoint::add(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside) {
  for (const NamedCodes& entry : tensors) file_of_[entry.name] = name;
  for (const Tensor& tensor : beside.copied) file_of_[tensor.name] = name;
  if (!work_) {
    files::NewFile& file = files_.add(name);
    total_size_ += put_safetensors({path_ + "/" + name, [&](std::string_view bytes) { file.write(bytes); }}, tensors, beside);
    return true;
  }
  const std::string kept = kept_name(added_++);
  const files::Folder folder(work_->path());
  std::optional<files::OpenFile> file = find(folder, kept);
  const bool is_new = !file;
  if (file) {
    total_size_ += data_size(*file, folder.path_of(kept));
  } else {
    total_size_ += keep(folder, kept, name, tensors, beside);
    file = files::open_file(folder, kept);
  }
  files_.add(name).take(std::move(*file));
  return is_new;
}

void NewCheckpoint::commit(const std::string& index, const std::string& entries) {
  if (!index.empty()) {
    nlohmann::json text = entries.empty() ? nlohmann::json::object() : emu::parse_json(entries);
    nlohmann::json& metadata = text["metadata"];
    if (!metadata.is_object()) metadata = nlohmann::json::object();
    metadata["total_size"] = total_size_;
    text["weight_map"] = file_of_;
    files_.add(index).write(text.dump(2) + "\n");
  }
  files_.commit();
  made_.keep();
  if (work_) {
    std::set<std::string> ours{files::work_request};
    for (std::size_t n = 0; n < added_; ++n) ours.merge(std::set{kept_name(n), digest_name(kept_name(n))});
    work_->remove([&](const std::string& of) { return ours.contains(of); });
  }
  lock_.release();
}

}  // namespace ulpscope::tensors
