// SPDX-License-Identifier: Apache-2.0
#include "tensors/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"

namespace ulpscope::tensors {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers, and memory is copied from them");

class ByteSource final : public Source {
 public:
  ByteSource(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, const DType& dtype, Layout layout)
      : owner_(std::move(owner)), bytes_(bytes), format_(dtype.format), layout_(layout) {}

  void read(std::uint64_t first, std::span<float> out) const override {
    if (is_native(emu::float32))
      copy(first, std::as_writable_bytes(out));
    else
      fill(first, out);
  }
  void read(std::uint64_t first, std::span<double> out) const override {
    if (is_native(emu::float64))
      copy(first, std::as_writable_bytes(out));
    else
      fill(first, out);
  }
  std::span<const float> floats(std::uint64_t first, std::size_t count) const override {
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(float) == 0;
    if (!is_native(emu::float32) || !aligned) return {};
    return {reinterpret_cast<const float*>(bytes_.data()) + first, count};
  }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = raw(first + i);
  }

 private:
  bool is_native(emu::Format format) const {
    return layout_.kind == Layout::Kind::floating && format_ == format && !layout_.big_endian;
  }
  void copy(std::uint64_t first, std::span<std::byte> out) const {
    if (out.empty()) return;
    std::memcpy(out.data(), bytes_.data() + first * static_cast<std::size_t>(layout_.storage_bits / 8), out.size());
  }

  std::uint64_t raw(std::uint64_t index) const {
    if (layout_.storage_bits < 8) return packed(index);
    const auto size = static_cast<std::size_t>(layout_.storage_bits / 8);
    const std::byte* const at = bytes_.data() + index * size;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < size; ++i)
      word |= std::to_integer<std::uint64_t>(at[layout_.big_endian ? size - 1 - i : i]) << (8 * i);
    return word;
  }
  std::uint64_t packed(std::uint64_t index) const {
    const std::uint64_t bit = index * static_cast<std::uint64_t>(layout_.storage_bits);
    const std::uint64_t byte = bit / 8;
    std::uint64_t two = std::to_integer<std::uint64_t>(bytes_[byte]);
    if (byte + 1 < bytes_.size()) two |= std::to_integer<std::uint64_t>(bytes_[byte + 1]) << 8;
    return two >> (bit % 8) & ((1U << layout_.storage_bits) - 1U);
  }

  double value(std::uint64_t code) const {
    switch (layout_.kind) {
      case Layout::Kind::floating: return emu::decode(*format_, code);
      case Layout::Kind::unsigned_integer: return static_cast<double>(code);
      case Layout::Kind::boolean: return code != 0 ? 1 : 0;
      case Layout::Kind::signed_integer: {
        const int shift = 64 - layout_.storage_bits;
        return static_cast<double>(static_cast<std::int64_t>(code << shift) >> shift);
      }
    }
    return 0;
  }
  template <class Float>
  void fill(std::uint64_t first, std::span<Float> out) const {
    if (layout_.kind == Layout::Kind::floating && !layout_.big_endian) {
      if (layout_.storage_bits == 8) return decode<std::uint8_t>(first, out);
      if (layout_.storage_bits == 16) return decode<std::uint16_t>(first, out);
      if (layout_.storage_bits == 32) return decode<std::uint32_t>(first, out);
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Float>(value(raw(first + i)));
  }

  /// Codes of a word each, which need not be aligned in the file.
  template <class Word, class Float>
  void decode(std::uint64_t first, std::span<Float> out) const {
    std::array<Word, 1024> codes;
    for (std::size_t done = 0; done < out.size(); done += codes.size()) {
      const std::size_t size = std::min(codes.size(), out.size() - done);
      copy(first + done, std::as_writable_bytes(std::span(codes).first(size)));
      emu::decode(*format_, std::span<const Word>(codes).first(size), out.subspan(done, size));
    }
  }

  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::optional<emu::Format> format_;
  Layout layout_;
};

}  // namespace

std::shared_ptr<const Source> make_source(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                                          const DType& dtype, Layout layout) {
  return std::make_shared<ByteSource>(std::move(owner), bytes, dtype, layout);
}

std::optional<std::uint64_t> byte_size(std::uint64_t count, Layout layout) {
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(layout.storage_bits), &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  bool empty = false, overflows = false;
  for (const std::uint64_t extent : shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, extent, &count) || count > std::uint64_t{1} << 62)
      overflows = true;
  }
  if (overflows) return std::nullopt;
  return empty ? 0 : count;
}

}  // namespace ulpscope::tensors
