// SPDX-License-Identifier: Apache-2.0
// Writes the files, and keeps account of them for the index.
#include "tensors/write_checkpoint.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "emu/error.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"

namespace ulpscope::tensors {
namespace {

std::string work_path(const std::string& folder) { return files::WorkFolder::beside(folder, ".partial"); }
std::string kept_name(std::size_t n) { return std::to_string(n) + ".safetensors"; }

/// Bytes of tensors in a .safetensors file: what follows the length of its header, and the header.
std::uint64_t data_size(const files::OpenFile& file, const std::string& path) {
  std::array<unsigned char, 8> length;
  std::uint64_t header = 0;
  if (files::read_some(file, reinterpret_cast<char*>(length.data()), length.size(), path) == length.size())
    for (std::size_t i = length.size(); i-- > 0;) header = header << 8 | length[i];
  if (file.bytes < length.size() || header == 0 || header > file.bytes - length.size())
    throw Error(path + ": is no file that was written there; remove it");
  return file.bytes - length.size() - header;
}

}  // namespace

NewCheckpoint::NewCheckpoint(const std::string& folder, const std::string& request)
    : path_(folder), made_(folder), folder_(folder), lock_(folder_, files::folder_lock, folder), files_(folder_) {
  std::error_code ignored;
  if (!request.empty()) {
    work_.emplace(work_path(folder), files::WorkFolder::Existing::resume, std::string());
    work_->keep_request(request);
  } else if (std::filesystem::exists(kept_path(folder, 0), ignored)) {
    throw Error(work_path(folder) + ": holds files of a cast that was ended; --resume goes on with it, or remove it");
  }
}

std::string NewCheckpoint::kept_path(const std::string& folder, std::size_t n) {
  return work_path(folder) + "/" + kept_name(n);
}

std::pair<std::uint64_t, bool> NewCheckpoint::keep(const std::string& kept, const std::string& name,
                                                   const std::vector<NamedCodes>& tensors, const Beside& beside) const {
  const files::Folder folder(work_->path());
  if (folder.kind(kept) != files::Kind::none) return {data_size(files::open_file(folder, kept), folder.path_of(kept)), false};
  files::NewFile file(folder, kept);
  const std::uint64_t size =
      put_safetensors({path_ + "/" + name, [&](std::string_view bytes) { file.write(bytes); }}, tensors, beside);
  file.commit();
  return {size, true};
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
  const auto [size, is_new] = keep(kept, name, tensors, beside);
  total_size_ += size;
  files_.add(name).take(files::open_file(files::Folder(work_->path()), kept));
  return is_new;
}

void NewCheckpoint::commit(const std::string& index) {
  if (!index.empty()) {
    const nlohmann::ordered_json text{{"metadata", {{"total_size", total_size_}}}, {"weight_map", file_of_}};
    files_.add(index).write(text.dump(2) + "\n");
  }
  files_.commit();
  made_.keep();
  if (!work_) return;
  std::set<std::string> ours{files::work_request};
  for (std::size_t n = 0; n < added_; ++n) ours.insert(kept_name(n));
  work_->remove([&](const std::string& of) { return ours.contains(of); });
}

}  // namespace ulpscope::tensors
