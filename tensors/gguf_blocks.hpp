// SPDX-License-Identifier: Apache-2.0
// The types of tensors in .gguf files: numbers, and blocks of small integers under scales of their own (ggml, ggml-common.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensors/elements.hpp"

namespace ulpscope::tensors {

/// Values of one block, as ggml's dequantize_row functions (ggml-quants.c) compute them: products of a float16 scale and small
/// integers are exact in float32, and a sum with a minimum is rounded once.
using DecodeBlock = void (*)(std::span<const std::byte> block, std::span<float> values);

/// A type that blocks of a tensor have.
struct GgufType {
  std::uint32_t number;               ///< in the file (enum ggml_type)
  std::string_view name;              ///< `q4_K`, as ggml prints it
  std::size_t elements;               ///< of a block
  std::size_t bytes;                  ///< of a block
  DecodeBlock decode = nullptr;       ///< null: elements are numbers, each a block: `numbers` says which
  std::optional<Layout> layout = {};  ///< how these are stored
};

/// A type that is known, by its number.
const GgufType* gguf_type(std::uint32_t number);
/// The names of all that are known, with spaces between.
std::string gguf_types();

}  // namespace ulpscope::tensors
