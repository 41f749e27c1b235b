// SPDX-License-Identifier: Apache-2.0
// Streams that are kept where they are, each going on from there: a stream cannot go back.
#include "tensors/npz_member.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/piece_cache.hpp"

namespace ulpscope::tensors {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
constexpr std::size_t most_streams = 4;  // of a member; each has some 100 KiB

std::uint64_t most_blocks() { return std::min(std::uint64_t{1} << 29, memory_limit() / 2); }

/// The blocks of all members.
PieceCache& blocks() {
  static auto* const cache = new PieceCache(most_blocks);  // never ends: tensors that others hold may end later
  return *cache;
}

/// Memory that is counted.
struct NpzBlock {
  NpzBlock(const std::string& name, std::size_t size) : memory(name) {
    memory.grow(size);
    bytes.reset(new std::byte[size]);  // not cleared: it is filled next
  }
  HeldMemory memory;
  std::unique_ptr<std::byte[]> bytes;
};

/// Such memory; where there is none left, in place of what is kept of others. @throws ulpscope::Error
std::shared_ptr<NpzBlock> room_for(const std::string& name, std::size_t size) {
  try {
    return std::make_shared<NpzBlock>(name, size);
  } catch (const Error&) {
    blocks().clear();
    return std::make_shared<NpzBlock>(name, size);
  }
}

class Inflated final : public Bytes {
 public:
  Inflated(std::shared_ptr<const NpzArchive> archive, NpzPlace place)
      : archive_(std::move(archive)), place_(std::move(place)) {}
  ~Inflated() override {
    blocks().forget(this);
    const std::scoped_lock lock(archive_->mutex());
    runs_.clear();
  }

  std::uint64_t size() const noexcept override { return place_.size; }
  Piece piece(std::uint64_t first, std::size_t count) const override {
    if (count == 0) return {};
    const std::uint64_t index = first / block_bytes;
    if ((first + count - 1) / block_bytes != index) return joined(first, count);
    const Piece all = block(index);
    return {all.owner, all.bytes.subspan(static_cast<std::size_t>(first % block_bytes), count)};
  }
  void check() const override { archive_->file().bytes->check(); }

 private:
  /// A stream, and which block comes next.
  struct Run {
    std::unique_ptr<NpzStream> stream;
    std::uint64_t next = 0;
  };

  std::size_t size_of(std::uint64_t index) const {
    return static_cast<std::size_t>(std::min(block_bytes, place_.size - index * block_bytes));
  }

  /// Of more blocks than one.
  Piece joined(std::uint64_t first, std::size_t count) const {
    const auto all = room_for(place_.name, count);
    for (std::size_t done = 0; done < count;) {
      const std::uint64_t at = first + done;
      const Piece part = block(at / block_bytes);
      const auto within = static_cast<std::size_t>(at % block_bytes);
      const std::size_t size = std::min(count - done, part.bytes.size() - within);
      std::memcpy(all->bytes.get() + done, part.bytes.data() + within, size);
      done += size;
    }
    return {all, {all->bytes.get(), count}};
  }

  Piece block(std::uint64_t index) const {
    if (checked_.load())
      if (auto kept = blocks().find(this, index)) return *std::move(kept);
    const std::scoped_lock lock(archive_->mutex());
    try {
      if (!checked_.load()) check_all();
      if (auto kept = blocks().find(this, index)) return *std::move(kept);
      return made(index);
    } catch (const Error&) {
      check();  // the better reason
      throw;
    }
  }
  Piece made(std::uint64_t index) const {
    Run run = run_to(index);
    Piece piece = next_block(run);
    runs_.push_front(std::move(run));
    if (runs_.size() > most_streams) runs_.pop_back();
    return piece;
  }

  /// Inflates all of it once.
  void check_all() const {
    Run run = from_start();
    for (std::uint64_t index = 0; index * block_bytes < place_.size; ++index) {
      emu::stop_if_asked();
      static_cast<void>(next_block(run));
    }
    std::byte beyond{};
    if (run.stream->read({&beyond, 1}) != 0) damaged();
    check();
    checked_.store(true);
  }
  Run from_start() const {
    Run run{std::make_unique<NpzStream>(*archive_, place_.index, place_.name), 0};
    if (run.stream->skip(place_.begin) != place_.begin) damaged();
    return run;
  }
  /// A stream that has come to a block: the nearest before it, and else a new one.
  Run run_to(std::uint64_t index) const {
    auto nearest = runs_.end();
    for (auto at = runs_.begin(); at != runs_.end(); ++at)
      if (at->next <= index && (nearest == runs_.end() || at->next > nearest->next)) nearest = at;
    Run run;
    if (nearest == runs_.end()) {
      run = from_start();
    } else {
      run = std::move(*nearest);
      runs_.erase(nearest);
    }
    for (; run.next < index; ++run.next) {
      emu::stop_if_asked();
      if (run.stream->skip(block_bytes) != block_bytes) damaged();
    }
    return run;
  }
  Piece next_block(Run& run) const {
    const std::size_t size = size_of(run.next);
    const auto made = room_for(place_.name, size);
    const std::span<std::byte> bytes(made->bytes.get(), size);
    if (run.stream->read(bytes) != size) damaged();
    const Piece piece{made, bytes};
    blocks().keep(this, run.next++, piece);
    return piece;
  }
  [[noreturn]] void damaged() const {
    throw Error(place_.name + ": damaged member: its data are not as long as the archive says");
  }

  std::shared_ptr<const NpzArchive> archive_;
  NpzPlace place_;
  mutable std::atomic<bool> checked_ = false;
  mutable std::list<Run> runs_;  // the one that was used last comes first
};

}  // namespace

std::shared_ptr<const Bytes> inflated(std::shared_ptr<const NpzArchive> archive, NpzPlace place) {
  return std::make_shared<Inflated>(std::move(archive), std::move(place));
}

}  // namespace ulpscope::tensors
