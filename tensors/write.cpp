// SPDX-License-Identifier: Apache-2.0
#include "tensors/write.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "emu/error.hpp"
#include "tensors/elements.hpp"
#include "tensors/safetensors_dtypes.hpp"

namespace ulpscope::tensors {
namespace {

/// A file that takes its name only when commit() says so. Until then it has none, so that nothing is left of it however the
/// program ends; file systems without nameless files get a temporary name instead.
class NewFile {
 public:
  explicit NewFile(const std::string& path) : path_(path), temporary_(path + ".tmp." + std::to_string(::getpid())) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    nameless_ = descriptor >= 0;
    if (!nameless_) descriptor = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    file_ = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
    if (file_ == nullptr) fail();
  }
  ~NewFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    if (!nameless_) std::remove(temporary_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* bytes, std::size_t size) {
    if (std::fwrite(bytes, 1, size, file_) != size) fail();
  }
  void write(const std::string& bytes) { write(bytes.data(), bytes.size()); }
  void commit() {
    if (std::fflush(file_) != 0) fail();
    const std::string self = "/proc/self/fd/" + std::to_string(::fileno(file_));
    if (nameless_ && ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int reason = errno;
      std::remove(temporary_.c_str());
      errno = reason;
      fail();
    }
    std::fclose(std::exchange(file_, nullptr));
  }

 private:
  [[noreturn]] void fail() const { throw Error(path_ + ": cannot be written: " + std::strerror(errno)); }

  std::string path_, temporary_;
  bool nameless_ = false;
  std::FILE* file_ = nullptr;
};

constexpr std::size_t piece = 1 << 16;  // elements; a multiple of 8, so that packed pieces end on a byte

template <class T, class Sink>
void produce(std::uint64_t count, const Producer<T>& values, Sink sink) {
  std::vector<T> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(piece, count)));
  for (std::uint64_t first = 0; first < count; first += piece) {
    const auto part = std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - first)));
    values(first, part);
    sink(std::span<const T>(part));
  }
}

std::uint64_t count_of(const std::string& path, const std::vector<std::uint64_t>& shape) {
  const auto count = element_count(shape);
  if (!count) throw Error(path + ": the extents of the shape overflow when multiplied");
  return *count;
}

/// numpy.lib.format, version 1.0: the header ends on a multiple of 64 bytes.
std::string npy_header(const std::string& descr, const std::vector<std::uint64_t>& shape) {
  std::string tuple;
  for (const std::uint64_t extent : shape) tuple += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) tuple.resize(tuple.size() - 2);
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + tuple + "), }";
  constexpr std::size_t prefix = 10, alignment = 64;
  const std::size_t padded = (prefix + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.resize(padded - prefix - 1, ' ');
  text += '\n';
  std::string out = "\x93NUMPY";
  out += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

void append_bytes(std::string& out, emu::Code code, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(code >> (8 * i) & 0xff);
}

/// Codes as they lie in a file: whole bytes, or packed from the low bits up.
std::string stored(std::span<const emu::Code> codes, int storage_bits) {
  std::string out;
  if (storage_bits % 8 == 0) {
    static_assert(std::endian::native == std::endian::little);
    const auto size = static_cast<std::size_t>(storage_bits / 8);
    out.resize(codes.size() * size);
    for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&out[i * size], &codes[i], size);
    return out;
  }
  std::uint64_t pending = 0;
  int held = 0;
  for (const emu::Code code : codes) {
    pending |= code << held;
    for (held += storage_bits; held >= 8; held -= 8, pending >>= 8) out += static_cast<char>(pending & 0xff);
  }
  if (held > 0) out += static_cast<char>(pending & 0xff);
  return out;
}

template <class Float>
void write_values(const char* descr, const std::string& path, const std::vector<std::uint64_t>& shape,
                  const Producer<Float>& values) {
  NewFile file(path);
  file.write(npy_header(descr, shape));
  produce<Float>(count_of(path, shape), values,
                 [&](std::span<const Float> part) { file.write(part.data(), part.size_bytes()); });
  file.commit();
}

}  // namespace

void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<float>& values) {
  write_values("<f4", path, shape, values);
}
void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Producer<double>& values) {
  write_values("<f8", path, shape, values);
}

void write_npy_codes(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                     const Producer<emu::Code>& codes) {
  int bytes = 1;
  while (8 * bytes < format.bits()) bytes *= 2;
  NewFile file(path);
  file.write(npy_header((bytes == 1 ? "|u" : "<u") + std::to_string(bytes), shape));
  produce<emu::Code>(count_of(path, shape), codes,
                     [&](std::span<const emu::Code> part) { file.write(stored(part, 8 * bytes)); });
  file.commit();
}

void write_safetensors(const std::string& path, const std::vector<NamedCodes>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const NamedCodes& tensor : tensors) {
    const std::string_view word = safetensors_word(tensor.format);
    if (word.empty()) throw Error(path + ": safetensors has no dtype for that format; known are " + safetensors_words());
    const auto size = byte_size(count_of(path, tensor.shape), {Layout::Kind::floating, tensor.format.bits(), false});
    if (!size) throw Error(path + ": the extents of the shape overflow when multiplied");
    header[tensor.name] = {{"dtype", word}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + *size}}};
    offset += *size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string prefix;
  append_bytes(prefix, text.size(), 8);

  NewFile file(path);
  file.write(prefix + text);
  for (const NamedCodes& tensor : tensors)
    produce<emu::Code>(count_of(path, tensor.shape), tensor.codes,
                       [&](std::span<const emu::Code> part) { file.write(stored(part, tensor.format.bits())); });
  file.commit();
}

}  // namespace ulpscope::tensors
