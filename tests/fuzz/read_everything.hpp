// SPDX-License-Identifier: Apache-2.0
// Gives bytes to a reader and, if it accepts them, reads the first and last elements of every tensor as value and code.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emu/error.hpp"
#include "tensors/readers.hpp"

inline void touch(const ulpscope::tensors::Tensor& tensor) {
  const std::uint64_t count = tensor.opaque ? tensor.opaque->bytes.value_or(0) : tensor.count();
  std::array<double, 16> values;
  std::array<float, 16> floats;
  std::array<ulpscope::emu::Code, 16> codes;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(values.size(), count));
  for (const std::uint64_t first : {std::uint64_t{0}, count - size}) {
    tensor.source->read_codes(first, std::span(codes).first(size));
    if (tensor.opaque) continue;
    tensor.source->read(first, std::span(values).first(size));
    if (tensor.dtype.fits_float()) tensor.source->read(first, std::span(floats).first(size));
  }
}

inline void touch(const std::vector<ulpscope::tensors::Tensor>& tensors) {
  for (const auto& tensor : tensors) touch(tensor);
}

template <class Read>
void read_everything(const std::uint8_t* data, std::size_t size, Read read) {
  // A copy of exactly this size, so that a sanitizer sees a read beyond the file.
  const auto owner = std::make_shared<std::vector<std::byte>>(size);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, owner->begin());
  try {
    touch(read(ulpscope::tensors::FileBytes{"input", ulpscope::tensors::bytes_in_memory(*owner, owner)}));
  } catch (const ulpscope::Error&) {
  }
}

/// Tensors, after the metadata of the same header.
inline std::vector<ulpscope::tensors::Tensor> read_safetensors_whole(const ulpscope::tensors::FileBytes& file) {
  static_cast<void>(ulpscope::tensors::read_safetensors_metadata(file));
  return ulpscope::tensors::read_safetensors(file);
}
