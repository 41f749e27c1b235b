// SPDX-License-Identifier: Apache-2.0
// Copies with whole vectors, with stores that pass the caches by, and by memcpy: the fastest is the limit.
#include "bench/copy.hpp"

#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/copy.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ulpscope::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Every vector that is read takes part in one that is written.
template <int read, int written, bool streaming>
HWY_ATTR void copy_loop(const std::uint8_t* in, std::uint8_t* out, std::size_t elements) {
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < elements; i += lanes) {
    const std::uint8_t* from = in + i * read;
    std::uint8_t* to = out + i * written;
    for (std::size_t j = 0; j < written; ++j) {
      const std::size_t first = j * read / written, last = (j + 1) * read / written;
      auto v = hn::Load(d, from + first * lanes);
      for (std::size_t k = first + 1; k < last; ++k) v = hn::Xor(v, hn::Load(d, from + k * lanes));
      if constexpr (streaming) {
        hn::Stream(v, d, to + j * lanes);
      } else {
        hn::Store(v, d, to + j * lanes);
      }
    }
  }
  if constexpr (streaming) hwy::FlushStream();
}

template <std::size_t index>
bool copy_if(Traffic traffic, bool streaming, const std::uint8_t* in, std::uint8_t* out, std::size_t elements) {
  constexpr Traffic here = traffics[index];
  if (traffic.read != here.read || traffic.written != here.written) return false;
  streaming ? copy_loop<here.read, here.written, true>(in, out, elements)
            : copy_loop<here.read, here.written, false>(in, out, elements);
  return true;
}

void copy_vectors(Traffic traffic, bool streaming, const std::uint8_t* in, std::uint8_t* out, std::size_t elements) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>((copy_if<I>(traffic, streaming, in, out, elements) || ...));
  }(std::make_index_sequence<traffics.size()>{});
}

void compute_in_registers(std::size_t instructions, std::uint32_t& result) {
  const hn::ScalableTag<std::uint32_t> d;
  constexpr std::size_t chains = 8;  // as many as any processor begins at once
  const auto a = hn::Set(d, result | 1), b = hn::Set(d, result | 2);
  hn::Vec<decltype(d)> v[chains];
  for (std::size_t k = 0; k < chains; ++k) v[k] = hn::Add(a, hn::Set(d, static_cast<std::uint32_t>(k)));
  for (std::size_t i = 0; i < instructions; i += 2 * chains) {
    for (auto& chain : v) chain = hn::Add(chain, a);
    for (auto& chain : v) chain = hn::Xor(chain, b);
  }
  auto sum = hn::Zero(d);
  for (const auto& chain : v) sum = hn::Add(sum, chain);
  result = hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace ulpscope::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::bench {

HWY_EXPORT(copy_vectors);
HWY_EXPORT(compute_in_registers);

void copy(Copy kind, Traffic traffic, const std::byte* in, std::byte* out, std::size_t elements) {
  if (kind == Copy::library) {
    std::memcpy(out, in, elements * static_cast<std::size_t>(traffic.read));
  } else {
    HWY_DYNAMIC_DISPATCH(copy_vectors)
    (traffic, kind == Copy::streaming, reinterpret_cast<const std::uint8_t*>(in), reinterpret_cast<std::uint8_t*>(out),
     elements);
  }
}

std::uint32_t compute(std::size_t instructions) {
  std::uint32_t result = 0;
  HWY_DYNAMIC_DISPATCH(compute_in_registers)(instructions, result);
  return result;
}

}  // namespace ulpscope::bench
#endif
