// SPDX-License-Identifier: Apache-2.0
// Maps regular files only, and remembers size and times to notice changes.
#include "tensors/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "emu/error.hpp"
#include "files/own_files.hpp"
#include "tensors/guarded_pages.hpp"
#include "tensors/piece_cache.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t window_bytes = window_step + largest_piece;
constexpr std::uint64_t most_mapped = std::uint64_t{1} << 30;
constexpr std::uint64_t page_bytes = std::uint64_t{1} << 16;  // or less, on any machine

/// Closed at the end of its scope: a mapping does without.
class Descriptor {
 public:
  /// Without O_NONBLOCK a pipe would wait for someone to write to it.
  explicit Descriptor(const std::string& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const noexcept { return value_; }

 private:
  int value_;
};

/// A part of a file in memory.
class Mapping {
 public:
  /// @pre `start` and `size` are of a mapping, which is this one's from now on
  Mapping(void* start, std::size_t size, std::shared_ptr<std::atomic<bool>> lost)
      : start_(start), size_(size), guarded_(std::in_place, bytes(), std::move(lost)) {}
  ~Mapping() {
    guarded_.reset();
    ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(start_), size_}; }

 private:
  void* start_;
  std::size_t size_;
  std::optional<GuardedPages> guarded_;
};

/// Why a file of this kind cannot be mapped, or nothing.
const char* why_not(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "is a directory, not a tensor file";
  if (S_ISFIFO(mode)) return "is a pipe; write it to a file first";
  if (S_ISSOCK(mode)) return "is a socket; write it to a file first";
  return "is a device, not a regular file; write it to one first";
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }
bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// As many windows as there are threads, at least, and no more than a quarter of the addresses that this process may have.
std::uint64_t most_kept() {
  static const std::uint64_t most = [] {
    std::uint64_t bytes = std::max(most_mapped, window_bytes * std::thread::hardware_concurrency());
    rlimit addresses{};
    if (::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
      bytes = std::min<std::uint64_t>(bytes, addresses.rlim_cur / 4);
    return bytes;
  }();
  return most;
}

/// The windows of all files.
PieceCache& windows() {
  static auto* const cache = new PieceCache(most_kept);  // never ends: files that others hold may end later
  return *cache;
}

/// Maps; where there are no addresses left, once more without the windows that nobody reads.
void* mapped(std::size_t size, int file, std::uint64_t first) {
  const auto map = [&] { return ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(first)); };
  void* start = map();
  if (start != MAP_FAILED || errno != ENOMEM) return start;
  windows().clear();
  start = map();
  if (start == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  return start;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path), lost_(std::make_shared<std::atomic<bool>>(false)) {
  const auto fail = [&](const std::string& why) { throw Error(path + ": " + why); };
  if (const auto own = files::own_file(path)) {
    own_ = bytes_in_memory(std::as_bytes(std::span(*own)), nullptr);
    return;
  }
  // A socket cannot be opened, and opening a device may have effects.
  if (::stat(path.c_str(), &opened_) == 0 && why_not(opened_.st_mode) != nullptr) fail(why_not(opened_.st_mode));
  const Descriptor file(path);
  if (file.value() < 0 || ::fstat(file.value(), &opened_) != 0) fail(std::strerror(errno));
  if (why_not(opened_.st_mode) != nullptr) fail(why_not(opened_.st_mode));
  if (opened_.st_size == 0) fail("is empty");
  std::error_code ignored;
  place_ = std::filesystem::absolute(path, ignored);
  if (place_.empty()) place_ = path;
}

MappedFile::~MappedFile() { windows().forget(this); }

std::uint64_t MappedFile::size() const noexcept { return own_ ? own_->size() : static_cast<std::uint64_t>(opened_.st_size); }

Piece MappedFile::window(std::uint64_t first, std::size_t count) const {
  const Descriptor file(place_);
  struct stat now {};
  if (file.value() < 0 || ::fstat(file.value(), &now) != 0)
    throw Error(path_ + ": cannot be read any more: " + std::strerror(errno));
  if (!same_file(now, opened_)) throw Error(path_ + ": became another file while it was read");
  check();
  void* const start = mapped(count, file.value(), first);
  if (start == MAP_FAILED) throw Error(path_ + ": " + std::strerror(errno));
  ::madvise(start, count, MADV_SEQUENTIAL);
  const auto mapping = std::make_shared<const Mapping>(start, count, lost_);
  return {mapping, mapping->bytes()};
}

Piece MappedFile::piece(std::uint64_t first, std::size_t count) const {
  if (own_) return own_->piece(first, count);
  if (count == 0) return {};
  const std::uint64_t index = first / window_step, begin = index * window_step, within = first - begin;
  if (count > window_bytes - within) {
    const std::uint64_t page = first / page_bytes * page_bytes;
    const Piece all = window(page, static_cast<std::size_t>(first - page) + count);
    return {all.owner, all.bytes.last(count)};
  }
  std::optional<Piece> all = windows().find(this, index);
  if (!all) {
    all = window(begin, static_cast<std::size_t>(std::min(window_bytes, size() - begin)));
    windows().keep(this, index, *all);
  }
  return {std::move(all->owner), all->bytes.subspan(static_cast<std::size_t>(within), count)};
}

void MappedFile::check() const {
  if (own_) return;
  struct stat now {};
  // A file that took the name of the mapped one says nothing of it.
  const bool known = ::stat(place_.c_str(), &now) == 0 && same_file(now, opened_);
  if (known && now.st_size < opened_.st_size) throw Error(path_ + ": became shorter while it was read");
  if (known && !same_time(now.st_mtim, opened_.st_mtim)) throw Error(path_ + ": was written to while it was read");
  if (lost_->load()) throw Error(path_ + ": a part of it cannot be read: it became shorter meanwhile, or its disk fails");
}

}  // namespace ulpscope::tensors
