// SPDX-License-Identifier: Apache-2.0
// Bytes that are read in pieces, so that a file may be larger than the memory, or the addresses, that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ulpscope::tensors {

/// Some of a file's bytes, in memory for as long as a copy of this lives.
struct Piece {
  std::shared_ptr<const void> owner;  ///< keeps the bytes alive
  std::span<const std::byte> bytes;   ///< as many as were asked for
};

/// The bytes of a file, of a part of one, or of memory. Safe to read from several threads at once.
class Bytes {
 public:
  Bytes() = default;
  virtual ~Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  /// How many there are.
  virtual std::uint64_t size() const noexcept = 0;
  /// Bytes [first, first + count). What many ask for in little pieces is kept for a while; a piece of more than largest_piece
  /// is read for the caller alone. @pre they are there @throws ulpscope::Error where they cannot be read
  virtual Piece piece(std::uint64_t first, std::size_t count) const = 0;
  /// To be called after pieces have been read, before they are believed. @throws ulpscope::Error where they cannot be: the file
  /// changed meanwhile
  virtual void check() const {}
};

/// The most that one piece should have.
constexpr std::size_t largest_piece = std::size_t{4} << 20;

/// Bytes that lie in memory; `owner` keeps them alive.
std::shared_ptr<const Bytes> bytes_in_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
/// The same of a text, which they keep.
std::shared_ptr<const Bytes> bytes_in_memory(std::string text);

/// Reads here and there: keeps the piece that it had last.
class Cursor {
 public:
  /// Takes `ahead` bytes at a time, or what is asked for, where that is more.
  explicit Cursor(const Bytes& bytes, std::size_t ahead = std::size_t{1} << 16) : bytes_(bytes), ahead_(ahead) {}

  /// Bytes [first, first + count), in memory until the next call. @pre they are there @throws ulpscope::Error as Bytes::piece()
  std::span<const std::byte> at(std::uint64_t first, std::size_t count) {
    const std::uint64_t within = first - first_, have = piece_.bytes.size();
    if (within > have || count > have - within) {
      take(first, count);
      return piece_.bytes.first(count);
    }
    return piece_.bytes.subspan(static_cast<std::size_t>(within), count);
  }
  /// Copies bytes from `first` on.
  void copy(std::uint64_t first, std::span<std::byte> out);

 private:
  void take(std::uint64_t first, std::size_t count);

  const Bytes& bytes_;
  std::size_t ahead_;
  std::uint64_t first_ = 0;
  Piece piece_;
};

}  // namespace ulpscope::tensors
