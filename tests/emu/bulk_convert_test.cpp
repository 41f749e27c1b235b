// SPDX-License-Identifier: Apache-2.0
// decode and convert of a span give every code the bits that the scalar functions give it, on every SIMD path.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "emu/bulk.hpp"
#include "tests/emu/bulk_inputs.hpp"
#include "tests/emu/bulk_laws.hpp"

using namespace ulpscope;
using laws::How;

namespace {

/// All codes of up to `all_bits` bits, or those around each exponent's landmarks; shuffled, and with bits above the code that
/// are to be ignored.
template <class Word>
std::vector<Word> codes_of(emu::Format format, int all_bits) {
  std::mt19937_64 random(20240311);
  std::vector<Word> out;
  const auto add = [&](emu::Code code) { out.push_back(static_cast<Word>(code | (random() & ~format.code_mask()))); };
  if (format.bits() <= all_bits) {
    for (emu::Code code = 0; code <= format.code_mask(); ++code) add(code);
  } else {
    for (const emu::Code code : laws::magnitudes(format, false, random))
      for (const emu::Code sign : {emu::Code{0}, format.sign_mask()}) add(code | sign);
    for (emu::Code code = format.max_finite_code(); code < format.max_finite_code() + 9; ++code)
      for (const emu::Code sign : {emu::Code{0}, format.sign_mask()}) add((code & format.magnitude_mask()) | sign);
    for (int i = 0; i < 1000; ++i) add(random() & format.code_mask());
    for (int i = 0; i < 1000; ++i) add(format.infinity_code() | (random() & (format.fraction_mask() | format.sign_mask())));
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// From and to every fitting pair of word widths in turn.
void require_converting(emu::Format from, emu::Format to, const How& how, int all_bits, std::size_t k) {
  laws::with_word(from, k, [&]<class From>(From) {
    laws::with_word(to, k / 4 + k, [&]<class To>(To) {
      laws::require_bulk_equals_scalar(to, how, laws::converting<From, To>(from, to, how),
                                       laws::part_of(codes_of<From>(from, all_bits), std::size_t{1} << 16, k));
    });
  });
}

/// `count` random words decoded to where floats stand `offset` behind a vector's place, beside a table of the scalar function.
void require_long_decoding(emu::Format format, std::size_t count, std::size_t offset) {
  std::mt19937 random(20261130);
  std::vector<std::uint8_t> words(count);
  for (std::uint8_t& word : words) word = static_cast<std::uint8_t>(random());
  std::vector<std::uint32_t> wanted(256);
  for (emu::Code code = 0; code < wanted.size(); ++code)
    wanted[code] = std::bit_cast<std::uint32_t>(static_cast<float>(emu::decode(format, code & format.code_mask())));
  constexpr float untouched = 3;
  std::vector<float> memory(count + 2 * offset + 1);
  laws::on_every_path([&](emu::SimdPath path) {
    std::ranges::fill(memory, untouched);
    emu::decode(format, std::span<const std::uint8_t>(words), std::span(memory).subspan(offset, count));
    const bool beside =
        std::ranges::count(std::span(memory).first(offset), untouched) == static_cast<std::ptrdiff_t>(offset) &&
        std::ranges::count(std::span(memory).subspan(offset + count), untouched) == static_cast<std::ptrdiff_t>(offset + 1);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += std::bit_cast<std::uint32_t>(memory[offset + i]) != wanted[words[i]] ? 1 : 0;
    if (!beside || wrong != 0)
      FAIL(emu::format_name(format) << " on " << emu::name_of(path) << ": " << wrong << " of " << count
                                    << " codes wrong, offset " << offset << (beside ? "" : ", and what is beside them"));
  });
  SUCCEED();
}

}  // namespace

TEST_CASE("decode of long spans of 8-bit words is decode of each: in the first cache, beyond it, past all", "[bulk]") {
  for (const emu::Format format : laws::bulk_formats())
    if (format.bits() <= 8 && emu::fits_float(format)) {
      for (const std::size_t count : {1023u, 1024u, 1025u, 1087u, 2000u}) require_long_decoding(format, count, count % 16);
    }
  for (const emu::Format format : {emu::e4m3, emu::float8_e5m2fnuz, emu::e2m1})
    for (const std::size_t count : {(std::size_t{1} << 18) + 13, (std::size_t{1} << 22) + 77})
      require_long_decoding(format, count, 3);
}

TEST_CASE("decode of a span is decode of each code, from every word to float and double", "[bulk]") {
  for (const emu::Format format : laws::bulk_formats())
    for (std::size_t k = 0; k < 4; ++k)
      laws::with_word(format, k, [&]<class Word>(Word) {
        const std::vector<Word> codes = codes_of<Word>(format, 19);
        laws::require_bulk_equals_scalar(format, {}, laws::decoding<Word, double>(format), codes);
        if (emu::fits_float(format)) laws::require_bulk_equals_scalar(format, {}, laws::decoding<Word, float>(format), codes);
      });
}

TEST_CASE("convert of a span is convert of each code, between all pairs of the catalogue", "[bulk]") {
  std::size_t k = 0;
  for (const emu::NamedFormat& from : emu::catalogue)
    for (const emu::NamedFormat& to : emu::catalogue)
      for (const How& how : laws::every_plain_way()) require_converting(from.format, to.format, how, 12, k++);
}

TEST_CASE("convert between all pairs of the catalogue takes every code of 16 bits to the nearest", "[bulk]") {
  std::size_t k = 0;
  for (const emu::NamedFormat& from : emu::catalogue)
    for (const emu::NamedFormat& to : emu::catalogue) require_converting(from.format, to.format, {}, 16, k++);
}

TEST_CASE("convert of a span is convert of each code, in every way", "[bulk]") {
  const std::vector<How> ways = laws::every_way();
  for (const auto& [from, to] :
       {std::pair{emu::fp16, emu::e4m3}, std::pair{emu::bf16, emu::e5m2}, std::pair{emu::e4m3, emu::fp16},
        std::pair{emu::e5m2, emu::float8_e4m3fnuz}, std::pair{emu::fp32, emu::bf16}, std::pair{emu::fp64, emu::fp16},
        std::pair{emu::fp64, emu::fp32}, std::pair{emu::bf16, emu::e8m0}, std::pair{emu::tf32, emu::e2m1},
        std::pair{emu::float8_e5m2fnuz, emu::bf16}})
    for (std::size_t k = 0; k < ways.size(); ++k) require_converting(from, to, ways[k], 12, k);
}

TEST_CASE("convert of a span is convert of each code between custom formats", "[bulk]") {
  const std::vector<emu::Format> formats = laws::bulk_formats();
  const std::vector<How> ways = laws::every_way();
  for (std::size_t k = 0; k < 2000; ++k)
    require_converting(formats[k * 29 % formats.size()], formats[k * 31 / 7 % formats.size()], ways[k * 37 % ways.size()], 8,
                       k);
}
