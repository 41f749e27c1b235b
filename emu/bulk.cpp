// SPDX-License-Identifier: Apache-2.0
#include "emu/bulk.hpp"

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

namespace ulpscope::emu {
namespace {

/// The random word of element i, zero where the rounding needs none.
std::uint32_t random_word(const RoundingOptions& options, RandomBits random, std::size_t i) {
  return options.rounding == Rounding::stochastic ? rounding_bits(random.seed, random.first + i) : 0;
}

}  // namespace

template <class Float, class Word>
void encode(Format format, std::span<const Float> values, std::span<Word> codes, const RoundingOptions& options,
            RandomBits random) {
  for (std::size_t i = 0; i < values.size(); ++i)
    codes[i] = static_cast<Word>(encode(format, values[i], options, random_word(options, random, i)));
}

template <class Float>
void round_to(Format format, std::span<const Float> values, std::span<Float> rounded, const RoundingOptions& options,
              RandomBits random) {
  for (std::size_t i = 0; i < values.size(); ++i)
    rounded[i] = static_cast<Float>(round_to(format, values[i], options, random_word(options, random, i)).value);
}

template <class Word, class Float>
void decode(Format format, std::span<const Word> codes, std::span<Float> values) {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = static_cast<Float>(decode(format, Code{codes[i]}));
}

template <class FromWord, class ToWord>
void convert(Format from, std::span<const FromWord> codes, Format to, std::span<ToWord> out, const RoundingOptions& options,
             RandomBits random) {
  for (std::size_t i = 0; i < codes.size(); ++i)
    out[i] = static_cast<ToWord>(convert(from, Code{codes[i]} & from.code_mask(), to, options, random_word(options, random, i)).code);
}

#define ULPSCOPE_INSTANTIATE_CONVERT(From, To) \
  template void convert(Format, std::span<const From>, Format, std::span<To>, const RoundingOptions&, RandomBits);
#define ULPSCOPE_INSTANTIATE(Word)                                                                             \
  template void encode(Format, std::span<const float>, std::span<Word>, const RoundingOptions&, RandomBits);   \
  template void encode(Format, std::span<const double>, std::span<Word>, const RoundingOptions&, RandomBits);  \
  template void decode(Format, std::span<const Word>, std::span<float>);                                       \
  template void decode(Format, std::span<const Word>, std::span<double>);                                      \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint8_t)                                                             \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint16_t)                                                            \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint32_t)                                                            \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint64_t)
ULPSCOPE_INSTANTIATE(std::uint8_t)
ULPSCOPE_INSTANTIATE(std::uint16_t)
ULPSCOPE_INSTANTIATE(std::uint32_t)
ULPSCOPE_INSTANTIATE(std::uint64_t)
template void round_to(Format, std::span<const float>, std::span<float>, const RoundingOptions&, RandomBits);
template void round_to(Format, std::span<const double>, std::span<double>, const RoundingOptions&, RandomBits);

}  // namespace ulpscope::emu
