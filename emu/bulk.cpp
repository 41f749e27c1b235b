// SPDX-License-Identifier: Apache-2.0
// Cuts spans into blocks and sends each through the kernel that format and options ask for.
#include "emu/bulk.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <optional>
#include <type_traits>

#include "emu/bulk/kernels.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/float_environment.hpp"
#include "emu/philox.hpp"

namespace ulpscope::emu {
namespace {

using detail::BulkPlan;
using detail::Loop;

/// What passes through buffers does so in blocks that stay in the nearest cache.
constexpr std::size_t block_size = 1024;
template <class T>
using Block = std::array<T, block_size>;

/// Where the nearer caches end, and from where on results would only push other data out of the last one. Bytes, both rough.
constexpr std::size_t far_bytes = std::size_t{1} << 20, streaming_bytes = std::size_t{1} << 24;

template <class In, class Out>
detail::Traffic traffic(std::span<const In> in, std::span<Out> out) {
  const bool in_place = static_cast<const void*>(in.data()) == static_cast<void*>(out.data());
  if (out.size_bytes() >= streaming_bytes && !in_place) return detail::Traffic::streaming;
  return in.size_bytes() + out.size_bytes() >= far_bytes ? detail::Traffic::far : detail::Traffic::near;
}

/// The random word of element i, zero where the rounding needs none.
std::uint32_t word_of(const RoundingOptions& options, RandomBits random, std::size_t i) {
  return options.rounding == Rounding::stochastic ? rounding_bits(random.seed, random.first + i) : 0;
}

/// fill_random() in pieces that end where the low word of the blocks' counter does.
void fill_random(RandomBits random, std::span<std::uint32_t> out) {
  constexpr std::uint64_t piece = elements_a_block << 32;
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t first = random.first + done;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece - first % piece, out.size() - done));
    detail::fill_random(random.seed, first, out.data() + done, size);
    done += size;
  }
}

/// Calls step(first, size) for every block.
template <class Step>
void for_each_block(std::size_t size, Step step) {
  for (std::size_t i = 0; i < size; i += block_size) step(i, std::min(block_size, size - i));
}

/// Whether the largest float stands for every number beyond it. In a format that ends in float's last binade and has no
/// infinity it may round to the largest number, and 2^128 to NaN.
bool largest_float_is_as_any_beyond(Format format, const RoundingOptions& options) {
  constexpr double largest = std::numeric_limits<float>::max(), beyond = std::numeric_limits<double>::max();
  return encode(format, largest, options) == encode(format, beyond, options) &&
         encode(format, -largest, options) == encode(format, -beyond, options);
}

/// Whether the processor's own conversion of doubles to floats is the one asked for, NaNs apart.
bool is_processors_narrowing(Format format, const RoundingOptions& options) {
  const bool has_direction = options.rounding == Rounding::nearest_even || options.rounding == Rounding::toward_zero ||
                             options.rounding == Rounding::upward || options.rounding == Rounding::downward;
  return format == float32 && has_direction && options.policy == Policy::nonsaturating && !options.flush_subnormals &&
         !options.subnormals_are_zero;
}

/// The plan for inputs of this type, if the vector kernels serve.
template <class Float>
std::optional<BulkPlan> plan_for(Format format, RoundingOptions options, bool values) {
  if constexpr (std::is_same_v<Float, double>) {
    if (is_processors_narrowing(format, options)) {
      std::optional<BulkPlan> plan = detail::plan_rounding(format, options, values);
      plan->direction = detail::direction_of(options.rounding);
      return plan;
    }
    // Through floats rounded to odd, which leave too few bits for the odds of stochastic rounding.
    constexpr int spare = 2;
    if (options.rounding == Rounding::stochastic || format.fraction_bits + spare > detail::Interchange<float>::fraction_bits ||
        !fits_float(format))
      return std::nullopt;
    if (!largest_float_is_as_any_beyond(format, options)) return std::nullopt;
    options.subnormals_are_zero = false;  // those of double, which narrow_to_odd() takes care of
  }
  return detail::plan_rounding(format, options, values);
}

/// Rounds a span by kernel(floats, out, loop), doubles through floats, with random words where they are needed.
template <class Float, class Out, class Kernel>
void in_blocks(std::span<const Float> in, std::span<Out> out, Format format, const RoundingOptions& options, RandomBits random,
               Kernel kernel) {
  Block<float> floats;
  Block<std::uint32_t> words;
  for_each_block(in.size(), [&](std::size_t first, std::size_t size) {
    Loop loop{.size = size};
    if (options.rounding == Rounding::stochastic) {
      fill_random({random.seed, random.first + first}, std::span(words).first(size));
      loop.random = words.data();
    }
    if constexpr (std::is_same_v<Float, double>) {
      if (is_processors_narrowing(format, options)) {
        detail::make_floats(in.data() + first, floats.data(), size);
      } else {
        detail::narrow_to_odd(in.data() + first, floats.data(), size, options.subnormals_are_zero);
      }
      kernel(floats.data(), out.data() + first, loop);
    } else {
      kernel(in.data() + first, out.data() + first, loop);
    }
  });
}

/// Stochastic rounding of doubles, by kernel(floats, first, options, random) where a block of them are floats, by
/// one(x, i) where not.
template <class Kernel, class One>
void stochastic_of_doubles(std::span<const double> in, RoundingOptions options, RandomBits random, Kernel kernel, One one) {
  options.subnormals_are_zero = false;  // those of double, which are no floats
  Block<float> floats;
  for_each_block(in.size(), [&](std::size_t first, std::size_t size) {
    const detail::FloatEnvironment environment(detail::Direction::nearest);
    if (detail::make_floats(in.data() + first, floats.data(), size))
      kernel(std::span<float>(floats).first(size), first, options, RandomBits{random.seed, random.first + first});
    else
      for (std::size_t i = first; i < first + size; ++i) one(in[i], i);
  });
}

}  // namespace

template <class Float, class Word>
void encode(Format format, std::span<const Float> values, std::span<Word> codes, const RoundingOptions& options,
            RandomBits random) {
  assert(values.size() == codes.size() && format.bits() <= std::numeric_limits<Word>::digits);
  const auto plan = plan_for<Float>(format, options, false);
  const detail::FloatEnvironment environment(plan ? plan->direction : detail::Direction::nearest);
  const auto one = [&](Float x, std::size_t i) {
    codes[i] = static_cast<Word>(encode(format, x, options, word_of(options, random, i)));
  };
  if constexpr (std::is_same_v<Float, double>) {
    if (options.rounding == Rounding::stochastic && fits_float(format))
      return stochastic_of_doubles(
          values, options, random,
          [&](std::span<float> in, std::size_t first, const RoundingOptions& own, RandomBits words) {
            encode(format, std::span<const float>(in), codes.subspan(first, in.size()), own, words);
          },
          one);
  }
  if (!plan) {
    for (std::size_t i = 0; i < values.size(); ++i) one(values[i], i);
    return;
  }
  if constexpr (sizeof(Word) == sizeof(std::uint64_t)) {
    Block<std::uint32_t> narrow;
    in_blocks(values, codes, format, options, random, [&](const float* in, Word* out, const Loop& loop) {
      detail::encode_floats(*plan, in, narrow.data(), loop);
      std::copy_n(narrow.data(), loop.size, out);
    });
  } else if (std::is_same_v<Float, double> || options.rounding == Rounding::stochastic) {
    in_blocks(values, codes, format, options, random,
              [&](const float* in, Word* out, const Loop& loop) { detail::encode_floats(*plan, in, out, loop); });
  } else if constexpr (std::is_same_v<Float, float>) {
    detail::encode_floats(*plan, values.data(), codes.data(), {values.size(), traffic(values, codes)});
  }
}

template <class Float>
void round_to(Format format, std::span<const Float> values, std::span<Float> rounded, const RoundingOptions& options,
              RandomBits random) {
  assert(values.size() == rounded.size() && (std::is_same_v<Float, double> || fits_float(format)));
  const auto plan = fits_float(format) ? plan_for<Float>(format, options, true) : std::nullopt;
  const detail::FloatEnvironment environment(plan ? plan->direction : detail::Direction::nearest);
  const auto one = [&](Float x, std::size_t i) {
    rounded[i] = static_cast<Float>(round_to(format, x, options, word_of(options, random, i)).value);
  };
  if constexpr (std::is_same_v<Float, double>) {
    if (options.rounding == Rounding::stochastic && fits_float(format))
      return stochastic_of_doubles(
          values, options, random,
          [&](std::span<float> in, std::size_t first, const RoundingOptions& own, RandomBits words) {
            round_to(format, std::span<const float>(in), in, own, words);
            std::copy_n(in.data(), in.size(), rounded.data() + first);
          },
          one);
  }
  if (!plan) {
    for (std::size_t i = 0; i < values.size(); ++i) one(values[i], i);
    return;
  }
  if constexpr (std::is_same_v<Float, double>) {
    in_blocks(values, rounded, format, options, random, [&](float* in, double* out, const Loop& loop) {
      detail::round_floats(*plan, in, in, loop);
      std::copy_n(in, loop.size, out);
    });
  } else if (options.rounding == Rounding::stochastic) {
    in_blocks(values, rounded, format, options, random,
              [&](const float* in, float* out, const Loop& loop) { detail::round_floats(*plan, in, out, loop); });
  } else {
    detail::round_floats(*plan, values.data(), rounded.data(), {values.size(), traffic(values, rounded)});
  }
}

template <class Word, class Float>
void decode(Format format, std::span<const Word> codes, std::span<Float> values) {
  assert(codes.size() == values.size() && (std::is_same_v<Float, double> || fits_float(format)));
  const auto plan = sizeof(Word) > sizeof(std::uint32_t) ? std::nullopt : detail::plan_decoding(format, false);
  const detail::FloatEnvironment environment(detail::Direction::nearest);
  if (!plan) {
    for (std::size_t i = 0; i < codes.size(); ++i) values[i] = static_cast<Float>(decode(format, Code{codes[i]}));
    return;
  }
  if constexpr (sizeof(Word) <= sizeof(std::uint32_t)) {
    if constexpr (std::is_same_v<Float, float>) {
      detail::decode_to_floats(*plan, codes.data(), values.data(), {codes.size(), traffic(codes, values)});
    } else {
      Block<float> floats;
      for_each_block(codes.size(), [&](std::size_t first, std::size_t size) {
        detail::decode_to_floats(*plan, codes.data() + first, floats.data(), {size});
        std::copy_n(floats.data(), size, values.data() + first);
      });
    }
  }
}

template <class FromWord, class ToWord>
void convert(Format from, std::span<const FromWord> codes, Format to, std::span<ToWord> out, const RoundingOptions& options,
             RandomBits random) {
  assert(codes.size() == out.size() && to.bits() <= std::numeric_limits<ToWord>::digits);
  const auto decoding = detail::plan_decoding(from, options.subnormals_are_zero);
  const detail::FloatEnvironment environment(detail::Direction::nearest);
  if (sizeof(FromWord) > sizeof(std::uint32_t) || !decoding) {
    for (std::size_t i = 0; i < codes.size(); ++i)
      out[i] =
          static_cast<ToWord>(convert(from, Code{codes[i]} & from.code_mask(), to, options, word_of(options, random, i)).code);
    return;
  }
  if constexpr (sizeof(FromWord) <= sizeof(std::uint32_t)) {
    RoundingOptions rounding = options;
    rounding.subnormals_are_zero = false;  // those of `from`, which are zero after decoding
    Block<float> floats;
    for_each_block(codes.size(), [&](std::size_t first, std::size_t size) {
      detail::decode_to_floats(*decoding, codes.data() + first, floats.data(), {size});
      encode(to, std::span<const float>(floats).first(size), out.subspan(first, size), rounding,
             {random.seed, random.first + first});
    });
  }
}

#define ULPSCOPE_INSTANTIATE_CONVERT(From, To) \
  template void convert(Format, std::span<const From>, Format, std::span<To>, const RoundingOptions&, RandomBits);
#define ULPSCOPE_INSTANTIATE(Word)                                                                            \
  template void encode(Format, std::span<const float>, std::span<Word>, const RoundingOptions&, RandomBits);  \
  template void encode(Format, std::span<const double>, std::span<Word>, const RoundingOptions&, RandomBits); \
  template void decode(Format, std::span<const Word>, std::span<float>);                                      \
  template void decode(Format, std::span<const Word>, std::span<double>);                                     \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint8_t)                                                            \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint16_t)                                                           \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint32_t)                                                           \
  ULPSCOPE_INSTANTIATE_CONVERT(Word, std::uint64_t)
ULPSCOPE_INSTANTIATE(std::uint8_t)
ULPSCOPE_INSTANTIATE(std::uint16_t)
ULPSCOPE_INSTANTIATE(std::uint32_t)
ULPSCOPE_INSTANTIATE(std::uint64_t)
template void round_to(Format, std::span<const float>, std::span<float>, const RoundingOptions&, RandomBits);
template void round_to(Format, std::span<const double>, std::span<double>, const RoundingOptions&, RandomBits);

}  // namespace ulpscope::emu
