// SPDX-License-Identifier: Apache-2.0
// The .npz reader: each member of the archive is an .npy.
#include <zip.h>

#include <algorithm>
#include <utility>

#include "emu/error.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;

std::string message_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

Archive open_archive(const FileBytes& file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(file.bytes.data(), file.bytes.size(), 0, &error);
  if (source == nullptr) throw Error(file.name + ": " + message_of(error));
  zip_t* const archive = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (archive == nullptr) {
    zip_source_free(source);
    throw Error(file.name + ": is not a readable .npz (zip) file: " + message_of(error));
  }
  zip_error_fini(&error);
  return Archive(archive);
}

/// The whole member, never more than it really holds: memory grows with what has been read, not with what a header says.
std::shared_ptr<std::vector<std::byte>> inflate(const std::string& name, zip_t* archive, zip_uint64_t index) {
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) throw Error(name + ": " + zip_strerror(archive));
  auto bytes = std::make_shared<std::vector<std::byte>>();
  constexpr std::size_t step = 1 << 16;
  for (;;) {
    const std::size_t before = bytes->size();
    bytes->resize(before + std::max(step, before / 2));
    const zip_int64_t got = zip_fread(member.get(), bytes->data() + before, bytes->size() - before);
    if (got < 0) throw Error(name + ": damaged member: " + zip_file_strerror(member.get()));
    bytes->resize(before + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
  }
}

Tensor read_member(const FileBytes& file, std::optional<emu::Format> dtype) {
  try {
    return read_npy(file, dtype);
  } catch (const UnknownDType& error) {
    return error.tensor();
  }
}

}  // namespace

std::vector<Tensor> read_npz(const FileBytes& file, std::optional<emu::Format> dtype) {
  const Archive archive = open_archive(file);
  std::vector<Tensor> tensors;
  const zip_int64_t members = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < members; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const raw_name = zip_get_name(archive.get(), index, 0);
    std::string name = raw_name == nullptr ? "" : raw_name;
    if (!name.ends_with(".npy")) throw Error(file.name + ": member '" + name + "' is not a .npy file");
    name.resize(name.size() - 4);
    if (std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; }))
      throw Error(file.name + ": two members are named '" + name + "'");
    const auto bytes = inflate(file.name + ":" + name, archive.get(), index);
    Tensor tensor = read_member({file.name + ":" + name, *bytes, bytes}, dtype);
    tensor.name = name;
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) throw Error(file.name + ": holds no arrays");
  return tensors;
}

}  // namespace ulpscope::tensors
