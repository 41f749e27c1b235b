// SPDX-License-Identifier: Apache-2.0
// The dtype words of safetensors headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensors/elements.hpp"

namespace ulpscope::tensors {

/// The key of a header that holds the user's own strings.
constexpr const char* safetensors_metadata = "__metadata__";

/// A dtype word of a safetensors header.
struct SafetensorsDType {
  DType dtype;    ///< what its elements are
  Layout layout;  ///< how they are stored
};

/// Nothing for an unknown word.
std::optional<SafetensorsDType> safetensors_dtype(std::string_view word);
/// The word for a format; empty where safetensors has none.
std::string_view safetensors_word(emu::Format format);
/// The word for an integer type by its name (`int64`); empty where safetensors has none.
std::string_view safetensors_integer_word(std::string_view name);
/// Every known word, separated by spaces.
std::string safetensors_words();

}  // namespace ulpscope::tensors
