// SPDX-License-Identifier: Apache-2.0
// Decodes packed codes and integers, in either byte order and either order of indices.
#include "tensors/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "emu/visible.hpp"

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
      : stored_(std::move(stored)), format_(stored_.dtype.format), layout_(stored_.layout), positions_(stored_.column_major) {}

  void read(std::uint64_t first, std::span<float> out) const override { read_values(emu::float32, first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { read_values(emu::float64, first, out); }
  FloatPiece floats(std::uint64_t first, std::size_t count) const override {
    if (!is_native(emu::float32) || count == 0) return {};
    const Piece piece = stored_.bytes->piece(stored_.first + first * sizeof(float), count * sizeof(float));
    if (reinterpret_cast<std::uintptr_t>(piece.bytes.data()) % alignof(float) != 0) return {};
    return {piece.owner, {reinterpret_cast<const float*>(piece.bytes.data()), count}};
  }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    Reading from(*this, out.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = checked(from.raw(positions_.of(first + i)), first + i);
    check();
  }
  void check() const override { stored_.bytes->check(); }
  const StoredElements& stored() const noexcept { return stored_; }

 private:
  /// The bytes of elements, while some are read.
  class Reading {
   public:
    /// To read so many elements that follow each other; in Fortran order they lie anywhere.
    Reading(const ByteSource& source, std::size_t count)
        : stored_(source.stored_), layout_(source.layout_), cursor_(source.bytes(), ahead(source.layout_, count)) {}

    /// The bytes of `count` elements from `position` on, of whole bytes each.
    void copy(std::uint64_t position, std::span<std::byte> out) {
      cursor_.copy(stored_.first + position * static_cast<std::uint64_t>(layout_.storage_bits / 8), out);
    }
    /// The element at a position.
    std::uint64_t raw(std::uint64_t position) {
      if (layout_.storage_bits < 8) return packed(position);
      const auto size = static_cast<std::size_t>(layout_.storage_bits / 8);
      const std::span<const std::byte> bytes = cursor_.at(stored_.first + position * size, size);
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < size; ++i)
        word |= std::to_integer<std::uint64_t>(bytes[layout_.big_endian ? size - 1 - i : i]) << (8 * i);
      return word;
    }

   private:
    static std::size_t ahead(Layout layout, std::size_t count) {
      constexpr std::size_t least = std::size_t{1} << 12;
      return std::clamp(count, least, largest_piece / 8) * static_cast<std::size_t>(layout.storage_bits) / 8;
    }
    std::uint64_t packed(std::uint64_t position) {
      const std::uint64_t bit = position * static_cast<std::uint64_t>(layout_.storage_bits), byte = bit / 8;
      const std::span<const std::byte> bytes = cursor_.at(stored_.first + byte, byte + 1 < stored_.size ? 2 : 1);
      std::uint64_t two = std::to_integer<std::uint64_t>(bytes[0]);
      if (bytes.size() > 1) two |= std::to_integer<std::uint64_t>(bytes[1]) << 8;
      return two >> (bit % 8) & ((1U << layout_.storage_bits) - 1U);
    }

    const StoredElements& stored_;
    Layout layout_;
    Cursor cursor_;
  };

  /// Of all elements; in Fortran order, where neighbours lie far from each other, all in one piece.
  const Bytes& bytes() const {
    if (positions_.are_in_order()) return *stored_.bytes;
    std::call_once(held_once_, [&] {
      const Piece all = stored_.bytes->piece(0, static_cast<std::size_t>(stored_.first + stored_.size));
      held_ = bytes_in_memory(all.bytes, all.owner);
    });
    return *held_;
  }

  bool is_native(emu::Format format) const {
    return layout_.kind == Layout::Kind::floating && format_ == format && !layout_.big_endian && positions_.are_in_order();
  }
  template <class Float>
  void read_values(emu::Format native, std::uint64_t first, std::span<Float> out) const {
    emu::stop_if_asked();  // all who walk a tensor come by here, piece by piece
    if (!out.empty()) {
      Reading from(*this, out.size());
      if (is_native(native))
        from.copy(first, std::as_writable_bytes(out));
      else
        fill(from, first, out);
    }
    check();
  }

  /// Codes of elements first, first + 1, ...
  template <class Word>
  void copy_words(Reading& from, std::uint64_t first, std::span<Word> out) const {
    if (positions_.are_in_order()) return from.copy(first, std::as_writable_bytes(out));
    positions_.for_each(first, out.size(), [&](std::size_t i, std::uint64_t position) {
      from.copy(position, std::as_writable_bytes(out.subspan(i, 1)));
    });
  }

  /// A code, if the format has it: one of fewer bits than its storage leaves the others 0.
  std::uint64_t checked(std::uint64_t code, std::uint64_t element) const {
    if (is_narrow_ && code >> format_->bits() != 0)
      throw Error(emu::visible(stored_.label + ": element " + std::to_string(element) + " is 0x" +
                               emu::hex_digits(code, layout_.storage_bits) + ", which is no code of " +
                               emu::format_name(*format_) + ", of " + std::to_string(format_->bits()) +
                               " bits; each code has an element of its own here"));
    return code;
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
  void fill(Reading& from, std::uint64_t first, std::span<Float> out) const {
    if (layout_.kind == Layout::Kind::floating && !layout_.big_endian) {
      if (layout_.storage_bits == 8) return decode<std::uint8_t>(from, first, out);
      if (layout_.storage_bits == 16) return decode<std::uint16_t>(from, first, out);
      if (layout_.storage_bits == 32) return decode<std::uint32_t>(from, first, out);
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<Float>(value(checked(from.raw(positions_.of(first + i)), first + i)));
  }

  /// Codes of a word each, which need not be aligned in the file.
  template <class Word, class Float>
  void decode(Reading& from, std::uint64_t first, std::span<Float> out) const {
    std::array<Word, 1024> codes;
    for (std::size_t done = 0; done < out.size(); done += codes.size()) {
      const std::size_t size = std::min(codes.size(), out.size() - done);
      copy_words(from, first + done, std::span(codes).first(size));
      if (is_narrow_)
        for (std::size_t i = 0; i < size; ++i) checked(codes[i], first + done + i);
      emu::decode(*format_, std::span<const Word>(codes).first(size), out.subspan(done, size));
    }
  }

  StoredElements stored_;
  std::optional<emu::Format> format_;
  Layout layout_;
  bool is_narrow_ = format_ && !stored_.label.empty() && format_->bits() < layout_.storage_bits;
  Positions positions_;
  mutable std::once_flag held_once_;
  mutable std::shared_ptr<const Bytes> held_;
};

class OpaqueSource final : public Source {
 public:
  OpaqueSource(StoredElements stored, std::string why) : stored_(std::move(stored)), why_(std::move(why)) {}

  void read(std::uint64_t, std::span<float>) const override { throw Error(why_); }
  void read(std::uint64_t, std::span<double>) const override { throw Error(why_); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override {
    if (out.empty()) return;
    Cursor from(*stored_.bytes);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::to_integer<emu::Code>(from.at(stored_.first + first + i, 1).front());
    check();
  }
  void check() const override {
    if (stored_.bytes) stored_.bytes->check();
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

Tensor over_integers(std::string label, std::vector<std::uint64_t> shape, std::string dtype,
                     std::span<const std::int64_t> values, std::shared_ptr<const void> owner) {
  const auto bytes = bytes_in_memory(std::as_bytes(values), std::move(owner));
  const Layout layout{Layout::Kind::signed_integer, 64, false};
  StoredElements elements{.bytes = bytes, .size = bytes->size(), .dtype = {"int64", {}}, .layout = layout};
  return {std::move(label), {}, {std::move(dtype), {}}, std::move(shape), make_source(std::move(elements))};
}

std::string why_no_codes(int storage_bits, emu::Format format) {
  const int bits = format.bits();
  if ((bits + 7) / 8 * 8 <= storage_bits && (bits > storage_bits / 2 || storage_bits == 8)) return {};
  return "holds " + std::to_string(storage_bits) + " bits an element, " + emu::format_name(format) + " has " +
         std::to_string(bits);
}

Tensor as_codes(Tensor tensor, emu::Format format) {
  if (tensor.dtype.format == format) return tensor;
  const auto refuse = [&](const std::string& why) { return Error(tensor.label + ": dtype " + tensor.dtype.name + " " + why); };
  if (tensor.dtype.format) throw refuse("already says what it holds; leave --dtype out");
  const auto* const source = dynamic_cast<const ByteSource*>(tensor.source.get());
  if (source == nullptr || source->stored().layout.kind != Layout::Kind::unsigned_integer)
    throw refuse("holds no codes of " + emu::format_name(format) + "; leave --dtype out");
  StoredElements elements = source->stored();
  if (const std::string why = why_no_codes(elements.layout.storage_bits, format); !why.empty()) throw refuse(why);
  elements.dtype = tensor.dtype = {emu::format_name(format), format};
  elements.layout.kind = Layout::Kind::floating;
  elements.label = tensor.label;
  tensor.source = make_source(std::move(elements));
  tensor.opaque.reset();
  return tensor;
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
