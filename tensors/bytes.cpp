// SPDX-License-Identifier: Apache-2.0
// Memory as bytes, and how a cursor takes pieces.
#include "tensors/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ulpscope::tensors {
namespace {

class BytesInMemory final : public Bytes {
 public:
  BytesInMemory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Piece piece(std::uint64_t first, std::size_t count) const override {
    return {owner_, bytes_.subspan(static_cast<std::size_t>(first), count)};
  }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

std::shared_ptr<const Bytes> bytes_in_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  return std::make_shared<BytesInMemory>(bytes, std::move(owner));
}

std::shared_ptr<const Bytes> bytes_in_memory(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return bytes_in_memory(std::as_bytes(std::span(*owner)), owner);
}

void Cursor::take(std::uint64_t first, std::size_t count) {
  const std::uint64_t left = bytes_.size() - first;
  piece_ = {};  // its window may make room for the next
  piece_ = bytes_.piece(first, static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(count, ahead_))));
  first_ = first;
}

void Cursor::copy(std::uint64_t first, std::span<std::byte> out) {
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t size = std::min(out.size() - done, largest_piece);
    std::memcpy(out.data() + done, at(first + done, size).data(), size);
    done += size;
  }
}

}  // namespace ulpscope::tensors
