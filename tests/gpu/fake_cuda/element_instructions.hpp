// SPDX-License-Identifier: Apache-2.0
// Conversions and the arithmetic of halves on the host, in plain double arithmetic: nothing of emu is in it.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fake_cuda {

/// What a cvt instruction makes of its source registers, the uppermost first.
std::uint64_t converted(const char* text, std::initializer_list<std::uint64_t> sources);
/// What cvt.rs makes of `count` floats, the uppermost first.
std::uint64_t converted_randomly(const char* text, const std::uint32_t* sources, int count, std::uint32_t rbits);
/// The constraint of inline assembly is that of a register of so many bytes.
void check_constraint(const char* text, const char* constraint, std::size_t bytes);

template <class To, class From>
void convert(const char* text, const char* to, const char* from, To& result, std::initializer_list<From> sources) {
  check_constraint(text, to, sizeof(To));
  check_constraint(text, from, sizeof(From));
  const From* const at = sources.begin();
  result = static_cast<To>(sources.size() == 2 ? converted(text, {at[0], at[1]}) : converted(text, {at[0]}));
}

template <int count, class To>
void convert_randomly(const char* text, const char* to, To& result, const std::uint32_t (&sources)[count],
                      std::uint32_t rbits) {
  check_constraint(text, to, sizeof(To));
  result = static_cast<To>(converted_randomly(text, sources, count, rbits));
}

struct Binary16 {
  static constexpr const char* type = "f16";
};
struct BFloat16 {
  static constexpr const char* type = "bf16";
};

template <class Type, int count>
struct Halves {
  std::uint16_t bits[count];
};

/// x + y, x - y, x * y or x * y + z, rounded once to nearest.
std::uint16_t half_result(const char* type, char operation, std::uint16_t x, std::uint16_t y, std::uint16_t z);

#define FAKE_CUDA_HALF_FUNCTION(name, suffix, count, operation)                                                   \
  template <class Type>                                                                                           \
  Halves<Type, count> name##suffix(const Halves<Type, count>& x, const Halves<Type, count>& y) {                  \
    Halves<Type, count> result;                                                                                   \
    for (int i = 0; i < count; ++i) result.bits[i] = half_result(Type::type, operation, x.bits[i], y.bits[i], 0); \
    return result;                                                                                                \
  }
#define FAKE_CUDA_HALF_FMA(name, relu, count)                                                                          \
  template <class Type>                                                                                                \
  Halves<Type, count> name(const Halves<Type, count>& x, const Halves<Type, count>& y, const Halves<Type, count>& z) { \
    Halves<Type, count> result;                                                                                        \
    for (int i = 0; i < count; ++i) {                                                                                  \
      result.bits[i] = half_result(Type::type, 'f', x.bits[i], y.bits[i], z.bits[i]);                                  \
      if (relu && result.bits[i] >= 0x8000) result.bits[i] = 0;                                                        \
    }                                                                                                                  \
    return result;                                                                                                     \
  }
#define FAKE_CUDA_HALF_FUNCTIONS(n, count)            \
  FAKE_CUDA_HALF_FUNCTION(__hadd##n, , count, '+')    \
  FAKE_CUDA_HALF_FUNCTION(__hsub##n, , count, '-')    \
  FAKE_CUDA_HALF_FUNCTION(__hmul##n, , count, '*')    \
  FAKE_CUDA_HALF_FUNCTION(__hadd##n, _rn, count, '+') \
  FAKE_CUDA_HALF_FUNCTION(__hsub##n, _rn, count, '-') \
  FAKE_CUDA_HALF_FUNCTION(__hmul##n, _rn, count, '*') \
  FAKE_CUDA_HALF_FMA(__hfma##n, false, count)         \
  FAKE_CUDA_HALF_FMA(__hfma##n##_relu, true, count)
FAKE_CUDA_HALF_FUNCTIONS(, 1)
FAKE_CUDA_HALF_FUNCTIONS(2, 2)
#undef FAKE_CUDA_HALF_FUNCTION
#undef FAKE_CUDA_HALF_FMA
#undef FAKE_CUDA_HALF_FUNCTIONS

}  // namespace fake_cuda
