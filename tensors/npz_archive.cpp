// SPDX-License-Identifier: Apache-2.0
// libzip reads the archive by a source of our own: a mapping of the whole file would take as many addresses as it has bytes.
#include "tensors/npz_archive.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/error.hpp"

namespace ulpscope::tensors {
namespace {

std::string message_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// Why libzip does not open an archive of these bytes: what is wrong with them, where its own words do not say it.
std::string why_not_opened(const Bytes& bytes, zip_error_t& error) {
  constexpr std::size_t signature_bytes = 2;
  switch (zip_error_code_zip(&error)) {
#ifdef ZIP_ER_TRUNCATED_ZIP  // libzip from 1.11 on
    case ZIP_ER_TRUNCATED_ZIP:
#endif
    case ZIP_ER_NOZIP: {  // it looks for the directory at the end
      const Piece start = bytes.piece(0, static_cast<std::size_t>(std::min<std::uint64_t>(signature_bytes, bytes.size())));
      if (std::string_view(reinterpret_cast<const char*>(start.bytes.data()), start.bytes.size()) != "PK")
        return "is no .npz (zip) file: it does not begin as one";
      return "is a damaged .npz (zip) file: it is cut off, has bytes of others before or behind it, or its directory is wrong";
    }
    case ZIP_ER_NOENT:  // of the field of 64-bit sizes
      return "is a damaged .npz (zip) file: sizes of 64 bits, which it announces, are missing";
    case ZIP_ER_INCONS: return "is a damaged .npz (zip) file: it contradicts itself";
    default: return std::string("is not a readable .npz (zip) file: ") + zip_error_strerror(&error);
  }
}

/// What libzip asks for the bytes of the archive.
struct ArchiveReader {
  std::shared_ptr<const Bytes> bytes;
  std::uint64_t at = 0;
  zip_error_t error{};
};

zip_int64_t read_archive(ArchiveReader& reader, void* data, zip_uint64_t wanted) {
  const std::uint64_t size = std::min<std::uint64_t>({wanted, reader.bytes->size() - reader.at, largest_piece});
  try {
    if (size != 0)
      std::memcpy(data, reader.bytes->piece(reader.at, static_cast<std::size_t>(size)).bytes.data(),
                  static_cast<std::size_t>(size));
  } catch (const std::exception&) {  // no exception leaves: libzip is C, and who asked it calls check()
    zip_error_set(&reader.error, ZIP_ER_READ, 0);
    return -1;
  }
  reader.at += size;
  return static_cast<zip_int64_t>(size);
}

zip_int64_t seek_archive(ArchiveReader& reader, void* data, zip_uint64_t length) {
  const zip_int64_t to = zip_source_seek_compute_offset(reader.at, reader.bytes->size(), data, length, &reader.error);
  if (to < 0) return -1;
  reader.at = static_cast<std::uint64_t>(to);
  return 0;
}

zip_int64_t archive_stat(const ArchiveReader& reader, void* data) {
  auto* const out = static_cast<zip_stat_t*>(data);
  zip_stat_init(out);
  out->size = reader.bytes->size();
  out->valid |= ZIP_STAT_SIZE;
  return sizeof *out;
}

zip_int64_t answer_zip(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto* const reader = static_cast<ArchiveReader*>(state);
  switch (command) {
    case ZIP_SOURCE_OPEN: reader->at = 0; return 0;
    case ZIP_SOURCE_READ: return read_archive(*reader, data, length);
    case ZIP_SOURCE_CLOSE: return 0;
    case ZIP_SOURCE_STAT: return archive_stat(*reader, data);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&reader->error, data, length);
    case ZIP_SOURCE_FREE: return 0;  // it is the archive's
    case ZIP_SOURCE_SEEK: return seek_archive(*reader, data, length);
    case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(reader->at);
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                            ZIP_SOURCE_SUPPORTS, -1);
    default: zip_error_set(&reader->error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

}  // namespace

NpzArchive::NpzArchive(FileBytes bytes) : file_(std::move(bytes)) {
  zip_error_t error;
  zip_error_init(&error);
  const auto reader = std::make_shared<ArchiveReader>(ArchiveReader{file_.bytes});
  zip_source_t* const source = zip_source_function_create(answer_zip, reader.get(), &error);
  if (source == nullptr) throw Error(file_.name + ": " + message_of(error));
  reader_ = reader;
  zip_ = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (zip_ == nullptr) {
    zip_source_free(source);
    const std::string why = why_not_opened(*file_.bytes, error);
    zip_error_fini(&error);
    throw Error(file_.name + ": " + why);
  }
  zip_error_fini(&error);
}

NpzArchive::~NpzArchive() { zip_discard(zip_); }

NpzStream::NpzStream(const NpzArchive& archive, std::uint64_t index, std::string name)
    : name_(std::move(name)), member_(zip_fopen_index(archive.zip(), index, 0)) {
  if (member_ == nullptr) throw Error(name_ + ": " + zip_strerror(archive.zip()));
}

NpzStream::~NpzStream() { zip_fclose(member_); }

std::size_t NpzStream::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, std::size_t{1} << 20);
    const zip_int64_t got = zip_fread(member_, out.data() + done, wanted);
    if (got < 0) throw Error(name_ + ": damaged member: " + zip_file_strerror(member_));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::uint64_t NpzStream::skip(std::uint64_t count) {
  std::vector<std::byte> scratch(static_cast<std::size_t>(std::min<std::uint64_t>(count, std::uint64_t{1} << 18)));
  std::uint64_t done = 0;
  while (done < count) {
    const std::size_t got =
        read(std::span(scratch).first(static_cast<std::size_t>(std::min<std::uint64_t>(count - done, scratch.size()))));
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace ulpscope::tensors
