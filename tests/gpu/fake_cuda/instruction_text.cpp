// SPDX-License-Identifier: Apache-2.0
// Takes the text of a PTX instruction apart.
#include "tests/gpu/fake_cuda/instruction_text.hpp"

#include <boost/regex.hpp>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "emu/catalogue.hpp"

namespace fake_cuda {
namespace {

using ulpscope::emu::Format;
namespace emu = ulpscope::emu;

[[noreturn]] void fail(const std::string& why) { throw std::logic_error(why); }

Format format_of(const std::string& type) {
  static const std::map<std::string, Format> formats{
      {"f16", emu::float16},        {"bf16", emu::bfloat16},        {"tf32", emu::tf32},
      {"f32", emu::float32},        {"f64", emu::float64},          {"e4m3", emu::float8_e4m3fn},
      {"e5m2", emu::float8_e5m2},   {"e3m2", emu::float6_e3m2fn},   {"e2m3", emu::float6_e2m3fn},
      {"e2m1", emu::float4_e2m1fn}, {"ue8m0", emu::float8_e8m0fnu}, {"ue4m3", emu::float8_e4m3fn}};
  const auto found = formats.find(type);
  if (found == formats.end()) fail("no type ." + type);
  return found->second;
}

/// Words that come before the types, taken out: `.kind::` and what belongs to block scales.
void take_kind(std::vector<std::string>& words, Meaning& meaning) {
  bool block_scale = false;
  std::erase_if(words, [&](const std::string& word) {
    if (word.starts_with("kind::")) return meaning.kind = word.substr(6), true;
    if (word.starts_with("scale_vec::")) return meaning.scale_vec = word[11] - '0', true;
    if (word == "block_scale") return block_scale = true;
    return false;
  });
  if (block_scale != (meaning.scale_vec != 0)) fail("block_scale and scale_vec go together here");
}

/// PTX ISA 9.0, mma: the shapes and types of a kind; block scaling's table of kinds, types of scales and scale_vec.
void check_kind(const Meaning& meaning, const std::vector<std::string>& types) {
  const bool all_e2m1 = types[1] == "e2m1" && types[2] == "e2m1", is_f32 = types[0] == "f32";
  const std::string scales = meaning.scale_vec == 0 ? "" : std::to_string(meaning.scale_vec) + "X " + types.back();
  const auto is = [&](const char* kind, int k, bool types_fit) {
    return meaning.kind == kind && meaning.m == 16 && meaning.n == 8 && meaning.k == k && types_fit;
  };
  const bool fits = is("f8f6f4", 32, scales.empty() && (is_f32 || types[0] == "f16")) ||
                    is("mxf8f6f4", 32, scales == "1X ue8m0" && is_f32) ||
                    is("mxf4", 64, scales == "2X ue8m0" && is_f32 && all_e2m1) ||
                    is("mxf4nvf4", 64, (scales == "2X ue8m0" || scales == "4X ue4m3") && is_f32 && all_e2m1);
  if (!fits) fail("no such kind of mma: " + meaning.kind + " " + scales);
}

}  // namespace

int Meaning::operand_bits() const { return kind.empty() ? bits_of(a) : (kind.starts_with("mxf4") ? 4 : 8); }

Meaning read(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, '.');) words.push_back(word);
  const auto starts = [&](const char* with) { return text.rfind(with, 0) == 0; };
  Meaning meaning;
  take_kind(words, meaning);
  std::size_t i = 0;
  static const boost::regex shape("m([0-9]{1,6})n([0-9]{1,6})k([0-9]{1,6})");
  boost::smatch numbers;
  while (i < words.size() && !boost::regex_match(words[i], numbers, shape)) ++i;
  if (i < words.size()) meaning.m = std::stoi(numbers[1]), meaning.n = std::stoi(numbers[2]), meaning.k = std::stoi(numbers[3]);
  std::vector<std::string> types;
  for (++i; i < words.size(); ++i)
    if (words[i] != "row" && words[i] != "col") types.push_back(words[i]);
  const std::size_t of_mma = meaning.scale_vec == 0 ? 4 : 5;
  const bool in_order = starts("mma.sync.aligned.m") ? text.find(".row.col.") != std::string::npos && types.size() == of_mma
                        : starts("wgmma.mma_async.sync.aligned.m64n8k")
                            ? types.size() == 3
                            : starts("wmma.mma.sync.aligned.row.col.m") && (types.size() == 2 || types.size() == 4);
  if (!in_order) fail("no such instruction: " + text);
  if (types.size() == 2) types = {types[0], "f16", "f16", types[1]};  // wmma of f16: the types of D and C
  if (types.size() >= 4 && types[0] != types[3]) fail("C and D differ: " + text);
  if (!meaning.kind.empty()) check_kind(meaning, types);
  meaning.d = format_of(types[0]);
  meaning.a = format_of(types[1]);
  meaning.b = format_of(types[2]);
  if (meaning.kind.empty() && (meaning.a.bits() < 8 || meaning.b.bits() < 8)) fail("types that need a kind: " + text);
  if (meaning.scale_vec != 0) meaning.scale_type = format_of(types[4]);
  if (starts("wgmma")) meaning.threads = 128;
  return meaning;
}

int bits_of(Format format) { return format == emu::tf32 ? 32 : format.bits(); }

std::uint64_t element(Format format, int bits, const void* words, int i) {
  const int first = i * bits;
  std::uint64_t place = 0;
  std::memcpy(&place, static_cast<const char*>(words) + first / 8, static_cast<std::size_t>((bits + 7) / 8));
  place >>= first % 8;
  if (bits == 4) return place & 0xf;
  // tf32 is the upper part of its register; a code of 4 bits in 8 is in the middle, one of 6 at the bottom.
  const int below = format == emu::tf32 ? 13 : (bits == 8 && format.bits() == 4 ? 2 : 0);
  const std::uint64_t code = place >> below;
  if (code > format.code_mask() || (bits == 8 && code << below != place)) fail("padding of an operand that is not 0");
  return code;
}

void set_element(Format format, void* words, int i, std::uint64_t code) {
  const auto bytes = static_cast<std::size_t>(bits_of(format) / 8);
  std::memcpy(static_cast<char*>(words) + static_cast<std::size_t>(i) * bytes, &code, bytes);
}

}  // namespace fake_cuda
