// SPDX-License-Identifier: Apache-2.0
// The .npz reader: each member of the archive is an .npy, whose header is read when it is opened and whose data when they are.
#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/npy.hpp"
#include "tensors/readers.hpp"

namespace ulpscope::tensors {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

std::string message_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

std::unique_ptr<zip_t, Discard> open_archive(const FileBytes& file) {
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
  return std::unique_ptr<zip_t, Discard>(archive);
}

/// The archive, for all its members. libzip takes one thread at a time.
struct Archive {
  explicit Archive(FileBytes bytes) : file(std::move(bytes)), zip(open_archive(file)) {}

  FileBytes file;
  std::unique_ptr<zip_t, Discard> zip;
  std::mutex mutex;
};

/// A member as a stream.
class Stream {
 public:
  Stream(zip_t* archive, zip_uint64_t index, std::string name)
      : name_(std::move(name)), member_(zip_fopen_index(archive, index, 0)) {
    if (!member_) throw Error(name_ + ": " + zip_strerror(archive));
  }

  /// As much as there is, at most all of `out`.
  std::size_t read(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const std::size_t wanted = std::min(out.size() - done, std::size_t{1} << 20);
      const zip_int64_t got = zip_fread(member_.get(), out.data() + done, wanted);
      if (got < 0) throw Error(name_ + ": damaged member: " + zip_file_strerror(member_.get()));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  std::string name_;
  std::unique_ptr<zip_file_t, Discard> member_;
};

/// Data that are inflated when the first of them is read: exactly what the header promises.
class InflatedSource final : public Source {
 public:
  InflatedSource(std::shared_ptr<Archive> archive, zip_uint64_t index, std::string name, NpyHeader header)
      : archive_(std::move(archive)), index_(index), name_(std::move(name)), header_(std::move(header)), memory_(name_) {}

  std::span<const float> floats(std::uint64_t first, std::size_t count) const override { return data().floats(first, count); }
  void read(std::uint64_t first, std::span<float> out) const override { data().read(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { data().read(first, out); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override { data().read_codes(first, out); }
  void check() const override {
    if (archive_->file.check) archive_->file.check();
  }

 private:
  const Source& data() const {
    std::call_once(once_, [&] { source_ = inflated(); });
    return *source_;
  }
  std::shared_ptr<const Source> inflated() const {
    const std::scoped_lock lock(archive_->mutex);
    const auto size = static_cast<std::size_t>(header_.data_bytes);
    memory_.grow(size);
    const std::shared_ptr<std::byte[]> bytes(new std::byte[size]);  // untouched: the system gives pages as they are filled
    const std::span<std::byte> data(bytes.get(), size);
    Stream stream(archive_->zip.get(), index_, name_);
    std::vector<std::byte> header(header_.bytes);
    std::byte beyond;
    // The read beyond the end is also that with which libzip compares the checksum.
    if (stream.read(header) != header.size() || stream.read(data) != size || stream.read({&beyond, 1}) != 0)
      throw Error(name_ + ": damaged member: its data are not as long as the archive says");
    check();
    StoredElements elements = npy_elements(header_);
    elements.owner = bytes;
    elements.bytes = data;
    return make_source(std::move(elements));
  }

  std::shared_ptr<Archive> archive_;
  zip_uint64_t index_;
  std::string name_;
  NpyHeader header_;
  mutable HeldMemory memory_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Source> source_;
};

/// Bytes of a member when it is inflated. @throws ulpscope::Error where its compressed bytes cannot hold so many
std::uint64_t size_of(zip_t* archive, zip_uint64_t index, const std::string& name) {
  constexpr std::uint64_t most_of_deflate = 1032;  // zlib, "Maximum Expansion Factor": 258 bytes of two bits
  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
    throw Error(name + ": the archive does not say how it is stored");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    throw Error(name + ": is compressed by method " + std::to_string(stat.comp_method) + "; members are stored or deflated");
  const std::uint64_t most = stat.comp_method == ZIP_CM_STORE ? 1 : most_of_deflate;
  if (stat.size / most > stat.comp_size)
    throw Error(name + ": " + std::to_string(stat.comp_size) + " bytes in the archive cannot hold the " +
                std::to_string(stat.size) + " that it promises");
  return stat.size;
}

/// The header of a member, and no more of it.
NpyHeader header_of(zip_t* archive, zip_uint64_t index, const std::string& name, std::optional<emu::Format> dtype) {
  Stream stream(archive, index, name);
  std::vector<std::byte> start(npy_start_bytes);
  start.resize(stream.read(start));
  const std::size_t size = npy_header_bytes(name, start), have = start.size();
  if (size > have) {
    start.resize(size);
    start.resize(have + stream.read(std::span(start).subspan(have)));
  }
  return parse_npy_header(name, start, dtype);
}

Tensor member_of(const std::shared_ptr<Archive>& archive, zip_uint64_t index, const std::string& name,
                 std::optional<emu::Format> dtype) {
  const std::string label = archive->file.name + ":" + name;
  try {
    const std::uint64_t size = size_of(archive->zip.get(), index, label);
    NpyHeader header = header_of(archive->zip.get(), index, label, dtype);
    check_npy_size(label, header, size - std::min<std::uint64_t>(size, header.bytes));
    Tensor tensor{label, name, header.dtype, header.shape, nullptr};
    tensor.source = std::make_shared<InflatedSource>(archive, index, label, std::move(header));
    return tensor;
  } catch (const UnknownDType& error) {
    Tensor tensor = error.tensor();
    tensor.name = name;
    return tensor;
  }
}

/// The names of all members, without `.npy`.
std::vector<std::string> names_of(const Archive& archive) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  const zip_int64_t members = zip_get_num_entries(archive.zip.get(), 0);
  names.reserve(static_cast<std::size_t>(members));
  for (zip_int64_t i = 0; i < members; ++i) {
    const char* const raw = zip_get_name(archive.zip.get(), static_cast<zip_uint64_t>(i), 0);
    std::string name = raw == nullptr ? "" : raw;
    if (!name.ends_with(".npy")) throw Error(archive.file.name + ": member '" + name + "' is not a .npy file");
    name.resize(name.size() - 4);
    names.push_back(std::move(name));
    if (!seen.insert(names.back()).second) throw Error(archive.file.name + ": two members are named '" + names.back() + "'");
  }
  if (names.empty()) throw Error(archive.file.name + ": holds no arrays");
  return names;
}

}  // namespace

std::vector<std::size_t> choose_all(const std::vector<std::string>& names) {
  std::vector<std::size_t> all(names.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<Tensor> read_npz(const FileBytes& file, std::optional<emu::Format> dtype, const Choose& choose) {
  const auto archive = std::make_shared<Archive>(file);
  const std::vector<std::string> names = names_of(*archive);
  std::vector<Tensor> tensors;
  for (const std::size_t i : choose(names)) tensors.push_back(member_of(archive, i, names[i], dtype));
  return tensors;
}

}  // namespace ulpscope::tensors
