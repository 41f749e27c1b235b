// SPDX-License-Identifier: Apache-2.0
// One table of words, formats and layouts.
#include "tensors/safetensors_dtypes.hpp"

#include <array>

#include "emu/catalogue.hpp"

namespace ulpscope::tensors {
namespace {

struct IntegerWord {
  std::string_view word, name;
  Layout layout;
};
using Kind = Layout::Kind;
constexpr std::array<IntegerWord, 9> integers{{{"I8", "int8", {Kind::signed_integer, 8, false}},
                                               {"I16", "int16", {Kind::signed_integer, 16, false}},
                                               {"I32", "int32", {Kind::signed_integer, 32, false}},
                                               {"I64", "int64", {Kind::signed_integer, 64, false}},
                                               {"U8", "uint8", {Kind::unsigned_integer, 8, false}},
                                               {"U16", "uint16", {Kind::unsigned_integer, 16, false}},
                                               {"U32", "uint32", {Kind::unsigned_integer, 32, false}},
                                               {"U64", "uint64", {Kind::unsigned_integer, 64, false}},
                                               {"BOOL", "bool", {Kind::boolean, 8, false}}}};

}  // namespace

std::optional<SafetensorsDType> safetensors_dtype(std::string_view word) {
  for (const emu::NamedFormat& named : emu::catalogue)
    if (!named.safetensors.empty() && named.safetensors == word)
      return SafetensorsDType{{std::string(named.name), named.format}, {Kind::floating, named.format.bits(), false}};
  for (const IntegerWord& integer : integers)
    if (integer.word == word) return SafetensorsDType{{std::string(integer.name), {}}, integer.layout};
  return std::nullopt;
}

std::string_view safetensors_word(emu::Format format) {
  for (const emu::NamedFormat& named : emu::catalogue)
    if (named.format == format) return named.safetensors;
  return {};
}

std::string_view safetensors_integer_word(std::string_view name) {
  for (const IntegerWord& integer : integers)
    if (integer.name == name) return integer.word;
  return {};
}

std::string safetensors_words() {
  std::string out;
  for (const emu::NamedFormat& named : emu::catalogue)
    if (!named.safetensors.empty()) out += std::string(named.safetensors) + " ";
  for (const IntegerWord& integer : integers) out += std::string(integer.word) + " ";
  out.pop_back();
  return out;
}

}  // namespace ulpscope::tensors
