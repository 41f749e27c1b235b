// SPDX-License-Identifier: Apache-2.0
// How files name and store the codes and scales of a quantized tensor, for those who read them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "studies/census/scaling.hpp"

namespace ulpscope::studies {

/// What is stored of the scale that NVFP4 has for a whole tensor.
enum class TensorScale : std::uint8_t {
  factor,   ///< what values are multiplied by
  divisor,  ///< what they are divided by
  amax,     ///< the greatest magnitude: nvfp4_tensor_scale() of it is the divisor
};

/// The shape of the scale of a whole tensor.
enum class OneScale : std::uint8_t {
  scalar,     ///< []
  vector,     ///< [1]
  as_tensor,  ///< [1, 1] of a matrix
};

/// One way to store a tensor NAME; its scales are factors. A name of it is a stem with an ending.
struct StorageLayout {
  std::string_view name;                                         ///< the word of --layout
  std::string_view reader;                                       ///< who reads it, and where that is defined
  std::string_view formats;                                      ///< what can be stored, in words
  bool (*stores_scaled)(emu::Format format, ScaleRule rule);     ///< whether a pair with scales can be stored
  std::string_view codes, codes_of_4_bits, scale, tensor_scale;  ///< the endings
  std::string_view zero_point = {};                              ///< the ending of the zero points of integers
  TensorScale tensor_scale_is = TensorScale::factor;             ///< of NVFP4's second level
  bool bytes_of_codes = false;                                   ///< codes of 4 bits lie two in an element of U8
  bool bytes_of_scales = false;                                  ///< e8m0 scales are U8
  bool blocks_apart = false;              ///< the last dimension of codes is one of blocks and one of bytes of a block
  bool whole_blocks = false;              ///< rows consist of whole blocks of MX and NVFP4
  bool padded_scales = false;             ///< rows of scales are as many as 128 divides, and blocks of a row as 4
  bool stores_codes_alone = false;        ///< of less than 16 bits without scales
  /// Symmetric integers of 4 bits lie eight in an element of I32, the first in its low bits, each with 8 added; the ending of
  /// what holds their shape. Empty: each is an element.
  std::string_view shape_of_words = {};
  /// Of an entry that says which group of a row each column is in, as of GPTQ with activation ordering: codes with it are not read.
  std::string_view groups_of_columns = {};
  OneScale one_scale = OneScale::scalar;  ///< the shape of the scale of a whole tensor
  bool has_leaves = false;  ///< the stem is `MODULE._LEAF` of a tensor MODULE.LEAF, and else its name; and there is metadata

  /// The stem of a tensor's names. @throws ulpscope::Error where the layout has none for that name
  std::string stem_of(const std::string& tensor) const;
  /// The name of the tensor of a stem; empty where it is none.
  std::string name_of(const std::string& stem) const;

  /// Whether a pair can be stored. Without scales a tensor keeps its name: where readers expect scales, in 16 bits or more.
  bool stores(emu::Format format, ScaleRule rule) const {
    if (rule == ScaleRule::none) return stores_codes_alone || format.bits() >= 16;
    return stores_scaled(format, rule);
  }
};

/// The shape of the scales of so many rows of blocks, with padded_scales: whole tiles of 128 by 4.
inline std::vector<std::uint64_t> padded_grid(std::uint64_t rows, std::uint64_t blocks_of_row) {
  return {(rows + 127) / 128 * 128, (blocks_of_row + 3) / 4 * 4};
}

/// Whether the codes of so many elements end with a byte, as the safetensors library asks for.
constexpr bool fills_bytes(emu::Format format, std::uint64_t count) {
  return format.is_integer() || count * static_cast<std::uint64_t>(format.bits() % 8) % 8 == 0;
}

/// A tensor that was stored, for the metadata of a file.
struct StoredAs {
  std::string name;                  ///< of the tensor
  std::string dtype;                 ///< that it had
  std::vector<std::uint64_t> shape;  ///< that it has
  emu::Format format;                ///< of its codes
  ScaleRule rule = ScaleRule::none;  ///< of its scales
};
/// `__metadata__` of a file of these tensors and of those that were copied: `metadata`, JSON or empty, and what the layout
/// adds.
std::string metadata_of(const StorageLayout& layout, const std::string& metadata, const std::vector<StoredAs>& stored,
                        const std::vector<std::string>& copied);

/// `__metadata__` with the word of the rotation (tensors::parse_hadamard()) of all that has scales and rows that fit, or
/// without one; and that word, empty where there is none.
///@{
std::string with_hadamard(const std::string& metadata, const std::string& word);
std::string hadamard_in(const std::string& metadata);
///@}
/// Codes of more bits are told from values by `__metadata__` alone: models, too, have tensors NAME and NAME.scale.
inline constexpr int most_bits_of_codes = 8;
/// `__metadata__` with the names of a file's codes of more bits under scales, or without any.
std::string with_wide_codes(const std::string& metadata, const std::vector<std::string>& names);
/// These names, in `__metadata__` and in the files of an input. @throws ulpscope::Error naming the input where they are no list
/// of names
///@{
std::set<std::string> wide_codes_in(const std::string& metadata, const std::string& input);
std::set<std::string> wide_codes_of(const std::string& input);
///@}

/// The word that a file of these inputs has, the first that has one; empty where there is none. @throws ulpscope::Error
std::string hadamard_of(const std::vector<std::string>& inputs);

/// All of them, the default first. One that names what has scales of blocks otherwise is there twice.
const std::vector<StorageLayout>& layouts();
/// The first of its name. @throws ulpscope::Error naming the nearest
const StorageLayout& find_layout(std::string_view name);
/// The one of the same name that is for scales of this rule.
const StorageLayout& layout_for(const StorageLayout& layout, ScaleRule rule);
/// What can be stored under its name, in words.
std::string stored_words(const StorageLayout& layout);
/// `ulpscope, compressed-tensors, ...`
std::string layout_words();
/// A row for each: its names, and who reads them.
reports::Table layout_table();

}  // namespace ulpscope::studies
