// SPDX-License-Identifier: Apache-2.0
// The dtype words of safetensors headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensors/elements.hpp"

namespace ulpscope::tensors {

struct SafetensorsDType {
  DType dtype;
  Layout layout;
};

/// Nothing for an unknown word.
std::optional<SafetensorsDType> safetensors_dtype(std::string_view word);
/// The word for a format; empty where safetensors has none.
std::string_view safetensors_word(emu::Format format);
/// Every known word, separated by spaces.
std::string safetensors_words();

}  // namespace ulpscope::tensors
