// SPDX-License-Identifier: Apache-2.0
// One function a type. Blocks are little-endian; `q` are the integers of elements, `d` their scale, `m` what is added.
#include "tensors/gguf_blocks.hpp"

#include <array>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"

namespace ulpscope::tensors {
namespace {

using Bytes = std::span<const std::byte>;
using Values = std::span<float>;

constexpr std::size_t small_block = 32, large_block = 256;

unsigned at(Bytes bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }
int signed_at(Bytes bytes, std::size_t i) { return static_cast<std::int8_t>(at(bytes, i)); }
/// The float16 at a place, which float32 holds.
float half_at(Bytes bytes, std::size_t i) {
  return static_cast<float>(emu::decode(emu::float16, at(bytes, i) | at(bytes, i + 1) << 8));
}
/// Element i of a small block has half a byte: its first 16 elements the lower halves.
unsigned half_byte(Bytes bytes, std::size_t i) { return at(bytes, i % 16) >> (i < 16 ? 0 : 4) & 15; }
/// Bit i of four bytes.
unsigned bit(Bytes bytes, std::size_t i) { return at(bytes, i / 8) >> (i % 8) & 1; }

float times(float d, int q) { return d * static_cast<float>(q); }

void decode_q4_0(Bytes block, Values values) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < small_block; ++i) values[i] = times(d, static_cast<int>(half_byte(block.subspan(2), i)) - 8);
}

void decode_q4_1(Bytes block, Values values) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  for (std::size_t i = 0; i < small_block; ++i) values[i] = times(d, static_cast<int>(half_byte(block.subspan(4), i))) + m;
}

void decode_q5_0(Bytes block, Values values) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < small_block; ++i) {
    const unsigned q = half_byte(block.subspan(6), i) | bit(block.subspan(2), i) << 4;
    values[i] = times(d, static_cast<int>(q) - 16);
  }
}

void decode_q5_1(Bytes block, Values values) {
  const float d = half_at(block, 0), m = half_at(block, 2);
  for (std::size_t i = 0; i < small_block; ++i) {
    const unsigned q = half_byte(block.subspan(8), i) | bit(block.subspan(4), i) << 4;
    values[i] = times(d, static_cast<int>(q)) + m;
  }
}

void decode_q8_0(Bytes block, Values values) {
  const float d = half_at(block, 0);
  for (std::size_t i = 0; i < small_block; ++i) values[i] = times(d, signed_at(block, 2 + i));
}

/// Twice the numbers of e2m1 under half of the scale 2^(e - 127), as ggml has it: no zero has a sign, and e = 255 is no NaN.
void decode_mxfp4(Bytes block, Values values) {
  constexpr std::array twice{0, 1, 2, 3, 4, 6, 8, 12};
  const double scale = emu::power_of_two(static_cast<int>(at(block, 0)) - 128);
  for (std::size_t i = 0; i < small_block; ++i) {
    const unsigned code = half_byte(block.subspan(1), i);
    values[i] = static_cast<float>(scale * (code < 8 ? twice[code] : -twice[code - 8]));
  }
}

void decode_q2_k(Bytes block, Values values) {
  const Bytes scales = block.first(16), quarters = block.subspan(16, 64);
  const float d = half_at(block, 80), least = half_at(block, 82);
  for (std::size_t i = 0; i < large_block; ++i) {
    const unsigned both = at(scales, i / 16), q = at(quarters, i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
    values[i] = times(d, static_cast<int>(both & 15)) * static_cast<float>(q) - times(least, static_cast<int>(both >> 4));
  }
}

/// Sixteen scales of six bits: their lower four in eight bytes, their upper two in four more.
int q3_k_scale(Bytes scales, std::size_t i) {
  const unsigned low = at(scales, i % 8) >> (i < 8 ? 0 : 4) & 15, high = at(scales, 8 + i % 4) >> (2 * (i / 4)) & 3;
  return static_cast<int>(low | high << 4) - 32;
}

void decode_q3_k(Bytes block, Values values) {
  const Bytes mask = block.first(32), quarters = block.subspan(32, 64), scales = block.subspan(96, 12);
  const float d = half_at(block, 108);
  for (std::size_t i = 0; i < large_block; ++i) {
    const unsigned low = at(quarters, i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
    const bool is_high = (at(mask, i % 32) >> (i / 32) & 1) != 0;
    values[i] = times(d, q3_k_scale(scales, i / 16)) * static_cast<float>(static_cast<int>(low) - (is_high ? 0 : 4));
  }
}

/// Eight scales and eight minima of six bits in twelve bytes.
struct SixBits {
  int scale, least;
};
SixBits six_bits(Bytes packed, std::size_t i) {
  const unsigned d = at(packed, i % 4), m = at(packed, 4 + i % 4), both = at(packed, 8 + i % 4);
  if (i < 4) return {static_cast<int>(d & 63), static_cast<int>(m & 63)};
  return {static_cast<int>((both & 15) | (d >> 2 & 48)), static_cast<int>((both >> 4) | (m >> 2 & 48))};
}

/// q4_K, and q5_K, whose fifth bits lie before the others.
void decode_large(Bytes block, Values values, bool has_fifth) {
  const float d = half_at(block, 0), least = half_at(block, 2);
  const Bytes packed = block.subspan(4, 12), fifth = block.subspan(16, 32), halves = block.subspan(has_fifth ? 48 : 16);
  for (std::size_t i = 0; i < large_block; ++i) {
    const std::size_t part = i / 32;
    const SixBits of = six_bits(packed, part);
    unsigned q = at(halves, part / 2 * 32 + i % 32) >> (part % 2 * 4) & 15;
    if (has_fifth) q |= (at(fifth, i % 32) >> part & 1) << 4;
    values[i] = times(d, of.scale) * static_cast<float>(q) - times(least, of.least);
  }
}

void decode_q4_k(Bytes block, Values values) { decode_large(block, values, false); }
void decode_q5_k(Bytes block, Values values) { decode_large(block, values, true); }

void decode_q6_k(Bytes block, Values values) {
  const Bytes low = block.first(128), high = block.subspan(128, 64), scales = block.subspan(192, 16);
  const float d = half_at(block, 208);
  for (std::size_t i = 0; i < large_block; ++i) {
    const std::size_t half = i / 128, in_half = i % 128;
    const unsigned four = at(low, half * 64 + in_half % 64) >> (in_half / 64 * 4) & 15;
    const unsigned two = at(high, half * 32 + in_half % 32) >> (2 * (in_half / 32)) & 3;
    values[i] = times(d, signed_at(scales, i / 16)) * static_cast<float>(static_cast<int>(four | two << 4) - 32);
  }
}

constexpr Layout floats(int bits) { return {Layout::Kind::floating, bits, false}; }
constexpr Layout integers(int bits) { return {Layout::Kind::signed_integer, bits, false}; }

constexpr std::array types{
    GgufType{0, "float32", 1, 4, nullptr, floats(32)},    GgufType{1, "float16", 1, 2, nullptr, floats(16)},
    GgufType{2, "q4_0", small_block, 18, decode_q4_0},    GgufType{3, "q4_1", small_block, 20, decode_q4_1},
    GgufType{6, "q5_0", small_block, 22, decode_q5_0},    GgufType{7, "q5_1", small_block, 24, decode_q5_1},
    GgufType{8, "q8_0", small_block, 34, decode_q8_0},    GgufType{10, "q2_K", large_block, 84, decode_q2_k},
    GgufType{11, "q3_K", large_block, 110, decode_q3_k},  GgufType{12, "q4_K", large_block, 144, decode_q4_k},
    GgufType{13, "q5_K", large_block, 176, decode_q5_k},  GgufType{14, "q6_K", large_block, 210, decode_q6_k},
    GgufType{24, "int8", 1, 1, nullptr, integers(8)},     GgufType{25, "int16", 1, 2, nullptr, integers(16)},
    GgufType{26, "int32", 1, 4, nullptr, integers(32)},   GgufType{27, "int64", 1, 8, nullptr, integers(64)},
    GgufType{28, "float64", 1, 8, nullptr, floats(64)},   GgufType{30, "bfloat16", 1, 2, nullptr, floats(16)},
    GgufType{39, "mxfp4", small_block, 17, decode_mxfp4},
};

}  // namespace

const GgufType* gguf_type(std::uint32_t number) {
  for (const GgufType& type : types)
    if (type.number == number) return &type;
  return nullptr;
}

std::string gguf_types() {
  std::string names;
  for (const GgufType& type : types) names += std::string(names.empty() ? "" : " ") + std::string(type.name);
  return names;
}

}  // namespace ulpscope::tensors
