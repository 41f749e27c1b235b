// SPDX-License-Identifier: Apache-2.0
// Decodes packed codes and integers, in either byte order and either order of indices.
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
#include "emu/error.hpp"
#include "emu/stop.hpp"

namespace ulpscope::tensors {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers, and memory is copied from them");

/// Where elements lie that are asked for in row-major order.
class Positions {
 public:
  /// `column_major`: see StoredElements.
  explicit Positions(const std::vector<std::uint64_t>& column_major) : extents_(column_major) {
    std::uint64_t step = 1;
    for (const std::uint64_t extent : extents_) steps_.push_back(std::exchange(step, step * extent));
  }

  bool are_in_order() const noexcept { return extents_.empty(); }
  std::uint64_t of(std::uint64_t index) const noexcept {
    if (are_in_order()) return index;
    std::uint64_t position = 0;
    for (std::size_t axis = extents_.size(); axis-- > 0; index /= extents_[axis])
      position += index % extents_[axis] * steps_[axis];
    return position;
  }
  /// Calls visit(i, position of element first + i) for i < count.
  template <class Visit>
  void for_each(std::uint64_t first, std::size_t count, Visit visit) const {
    for (std::size_t i = 0; i < count;) {
      const std::uint64_t row = extents_.back(), left = row - (first + i) % row;
      const std::size_t end = i + static_cast<std::size_t>(std::min<std::uint64_t>(left, count - i));
      for (std::uint64_t position = of(first + i); i < end; ++i, position += steps_.back()) visit(i, position);
    }
  }

 private:
  std::vector<std::uint64_t> extents_, steps_;
};

class ByteSource final : public Source {
 public:
  explicit ByteSource(StoredElements stored)
      : stored_(std::move(stored)),
        bytes_(stored_.bytes),
        format_(stored_.dtype.format),
        layout_(stored_.layout),
        positions_(stored_.column_major) {}

  void read(std::uint64_t first, std::span<float> out) const override { read_values(emu::float32, first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { read_values(emu::float64, first, out); }
  std::span<const float> floats(std::uint64_t first, std::size_t count) const override {
    const bool aligned = reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(float) == 0;
    if (!is_native(emu::float32) || !aligned) return {};
    return {reinterpret_cast<const float*>(bytes_.data()) + first, count};
  }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = raw(positions_.of(first + i));
    check();
  }
  void check() const override {
    if (stored_.check) stored_.check();
  }

 private:
  bool is_native(emu::Format format) const {
    return layout_.kind == Layout::Kind::floating && format_ == format && !layout_.big_endian && positions_.are_in_order();
  }
  template <class Float>
  void read_values(emu::Format native, std::uint64_t first, std::span<Float> out) const {
    emu::stop_if_asked();  // all who walk a tensor come by here, piece by piece
    if (is_native(native))
      copy(first, std::as_writable_bytes(out));
    else
      fill(first, out);
    check();
  }
  void copy(std::uint64_t first, std::span<std::byte> out) const {
    if (out.empty()) return;
    std::memcpy(out.data(), bytes_.data() + first * static_cast<std::size_t>(layout_.storage_bits / 8), out.size());
  }

  /// Codes of elements first, first + 1, ...
  template <class Word>
  void copy_words(std::uint64_t first, std::span<Word> out) const {
    if (positions_.are_in_order()) return copy(first, std::as_writable_bytes(out));
    positions_.for_each(first, out.size(), [&](std::size_t i, std::uint64_t position) {
      std::memcpy(&out[i], bytes_.data() + position * sizeof(Word), sizeof(Word));
    });
  }

  /// The element at a position in memory.
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
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Float>(value(raw(positions_.of(first + i))));
  }

  /// Codes of a word each, which need not be aligned in the file.
  template <class Word, class Float>
  void decode(std::uint64_t first, std::span<Float> out) const {
    std::array<Word, 1024> codes;
    for (std::size_t done = 0; done < out.size(); done += codes.size()) {
      const std::size_t size = std::min(codes.size(), out.size() - done);
      copy_words(first + done, std::span(codes).first(size));
      emu::decode(*format_, std::span<const Word>(codes).first(size), out.subspan(done, size));
    }
  }

  StoredElements stored_;
  std::span<const std::byte> bytes_;
  std::optional<emu::Format> format_;
  Layout layout_;
  Positions positions_;
};

class OpaqueSource final : public Source {
 public:
  OpaqueSource(StoredElements stored, std::string why) : stored_(std::move(stored)), why_(std::move(why)) {}

  void read(std::uint64_t, std::span<float>) const override { throw Error(why_); }
  void read(std::uint64_t, std::span<double>) const override { throw Error(why_); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    const auto bytes = stored_.bytes.subspan(static_cast<std::size_t>(first), out.size());
    std::transform(bytes.begin(), bytes.end(), out.begin(), [](std::byte b) { return std::to_integer<emu::Code>(b); });
    check();
  }
  void check() const override {
    if (stored_.check) stored_.check();
  }

 private:
  StoredElements stored_;
  std::string why_;
};

}  // namespace

std::shared_ptr<const Source> make_source(StoredElements elements) { return std::make_shared<ByteSource>(std::move(elements)); }

std::shared_ptr<const Source> make_opaque_source(StoredElements elements, std::string why) {
  return std::make_shared<OpaqueSource>(std::move(elements), std::move(why));
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
