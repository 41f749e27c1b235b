// SPDX-License-Identifier: Apache-2.0
// Codes as they lie in memory: right-aligned in unsigned integers of 1, 2, 4 or 8 bytes, the least that hold the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "emu/format.hpp"

namespace ulpscope::verify {

/// Bytes of one word that holds a code of `format`.
constexpr std::size_t word_bytes(emu::Format format) noexcept {
  return format.bits() <= 8 ? 1 : format.bits() <= 16 ? 2 : format.bits() <= 32 ? 4 : 8;
}

/// An array of codes of one format.
class Words {
 public:
  /// One vector for each width of a word.
  using Array = std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>,
                             std::vector<std::uint64_t>>;

  /// `size` codes of 0.
  Words(emu::Format format, std::size_t size) : array_(made(word_bytes(format), size)) {}

  /// How many codes there are.
  std::size_t size() const {
    return std::visit([](const auto& words) { return words.size(); }, array_);
  }
  /// Makes it hold `size` codes; new codes are 0.
  void resize(std::size_t size) {
    std::visit([size](auto& words) { words.resize(size); }, array_);
  }
  /// Code number i.
  emu::Code code(std::size_t i) const {
    return std::visit([i](const auto& words) { return emu::Code{words[i]}; }, array_);
  }
  /// Bits of `code` beyond the word are dropped.
  void set(std::size_t i, emu::Code code) {
    std::visit([=](auto& words) { words[i] = static_cast<std::remove_reference_t<decltype(words[i])>>(code); }, array_);
  }
  /// As they lie in memory, little-endian.
  std::span<const std::byte> bytes() const {
    return std::visit([](const auto& words) { return std::as_bytes(std::span(words)); }, array_);
  }
  std::span<std::byte> bytes() {
    return std::visit([](auto& words) { return std::as_writable_bytes(std::span(words)); }, array_);
  }
  /// The vector.
  const Array& array() const { return array_; }
  /// Calls f with the vector of the type that it is.
  template <class F>
  decltype(auto) visit(F&& f) {
    return std::visit(f, array_);
  }
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(f, array_);
  }

 private:
  static Array made(std::size_t bytes, std::size_t size) {
    switch (bytes) {
      case 1: return std::vector<std::uint8_t>(size);
      case 2: return std::vector<std::uint16_t>(size);
      case 4: return std::vector<std::uint32_t>(size);
      default: return std::vector<std::uint64_t>(size);
    }
  }
  Array array_;
};

}  // namespace ulpscope::verify
