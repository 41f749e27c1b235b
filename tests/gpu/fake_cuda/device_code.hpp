// SPDX-License-Identifier: Apache-2.0
// What device code finds in the CUDA language, as plain C++: qualifiers, vector types, indices, barriers, warp functions,
// atomics. The threads of a block are fibers of one host thread and blocks run one after another (CUDA C++ Programming Guide,
// "C++ Language Extensions").
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define FAKE_CUDA_VECTORS(name, T)                                                   \
  struct alignas(2 * sizeof(T)) name##2 { T x, y; };                                 \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; }; \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                         \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
FAKE_CUDA_VECTORS(char, signed char)
FAKE_CUDA_VECTORS(uchar, unsigned char)
FAKE_CUDA_VECTORS(short, short)
FAKE_CUDA_VECTORS(ushort, unsigned short)
FAKE_CUDA_VECTORS(int, int)
FAKE_CUDA_VECTORS(uint, unsigned)
FAKE_CUDA_VECTORS(longlong, long long)
FAKE_CUDA_VECTORS(ulonglong, unsigned long long)
FAKE_CUDA_VECTORS(float, float)
FAKE_CUDA_VECTORS(double, double)
#undef FAKE_CUDA_VECTORS

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace fake_cuda {

using Compute = void (*)(void* const* deposits, unsigned count, void* context);
/// A meeting of those of `size` neighbouring threads (the block, a warp, a warpgroup) that `mask` names, all of them where it
/// is 0: each gives the address of what it deposits, the last to come runs `compute` over all, in the order of threads; then
/// all go on. The caller is one of them. Where some never come, the launch fails.
void meet(unsigned size, unsigned mask, void* mine, Compute compute, void* context);

unsigned thread_number();
inline unsigned lane() { return thread_number() % 32; }
unsigned threads_of_block();

/// All threads of a group of `size` neighbouring ones deposit `mine`; compute(std::span<T* const>) works on all of them, once.
template <class T, class F>
void exchange(unsigned size, T& mine, F compute, unsigned mask = 0) {
  const Compute call = [](void* const* deposits, unsigned count, void* context) {
    T* all[1024];
    for (unsigned i = 0; i < count; ++i) all[i] = static_cast<T*>(deposits[i]);
    (*static_cast<F*>(context))(std::span<T* const>(all, count));
  };
  meet(size, mask, &mine, call, &compute);
}

/// Dynamic shared memory of the block: filled with NaNs before each.
void* dynamic_shared();

template <class T>
struct Lane {
  unsigned lane, source;
  T value, result;
};
/// Each lane of `mask` gets the value of lane `source`; its own where that one does not take part.
template <class T>
T shuffled(unsigned mask, T value, unsigned source) {
  static_assert(std::is_trivially_copyable_v<T>);
  Lane<T> mine{lane(), source, value, value};
  exchange(
      32, mine,
      [](std::span<Lane<T>* const> all) {
        for (Lane<T>* to : all)
          for (const Lane<T>* from : all)
            if (from->lane == to->source) to->result = from->value;
      },
      mask);
  return mine.result;
}

}  // namespace fake_cuda

inline void __syncthreads() { fake_cuda::meet(fake_cuda::threads_of_block(), 0, nullptr, nullptr, nullptr); }
inline void __syncwarp(unsigned mask = 0xffffffff) { fake_cuda::meet(32, mask, nullptr, nullptr, nullptr); }
inline void __threadfence() {}
inline void __threadfence_block() {}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned lane = fake_cuda::lane(), first = lane / static_cast<unsigned>(width) * static_cast<unsigned>(width);
  return fake_cuda::shuffled(mask, value, first + static_cast<unsigned>(source) % static_cast<unsigned>(width));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
  const unsigned lane = fake_cuda::lane(), source = lane ^ static_cast<unsigned>(with), group = static_cast<unsigned>(width);
  return fake_cuda::shuffled(mask, value, source / group <= lane / group ? source : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = fake_cuda::lane(), group = static_cast<unsigned>(width);
  return fake_cuda::shuffled(mask, value, lane % group + distance < group ? lane + distance : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = fake_cuda::lane(), group = static_cast<unsigned>(width);
  return fake_cuda::shuffled(mask, value, lane % group >= distance ? lane - distance : lane);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  struct Vote {
    unsigned lane, predicate, all;
  } mine{fake_cuda::lane(), predicate != 0 ? 1u : 0u, 0};
  fake_cuda::exchange(
      32, mine,
      [](std::span<Vote* const> votes) {
        unsigned all = 0;
        for (const Vote* vote : votes) all |= vote->predicate << vote->lane;
        for (Vote* vote : votes) vote->all = all;
      },
      mask);
  return mine.all;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0 ? 1 : 0) == 0 ? 1 : 0; }
inline unsigned __activemask() { return 1u << fake_cuda::lane(); }

inline int __syncthreads_count(int predicate) {
  struct Vote {
    int predicate, sum;
  } mine{predicate != 0 ? 1 : 0, 0};
  fake_cuda::exchange(fake_cuda::threads_of_block(), mine, [](std::span<Vote* const> votes) {
    int sum = 0;
    for (const Vote* vote : votes) sum += vote->predicate;
    for (Vote* vote : votes) vote->sum = sum;
  });
  return mine.sum;
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0 ? 1 : 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0 ? 1 : 0) == 0 ? 1 : 0; }

namespace fake_cuda {
template <class T, class F>
T atomically(T* at, F change) {
  const T before = *at;
  *at = change(before);
  return before;
}
}  // namespace fake_cuda

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return static_cast<T>(old + x); });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return x < old ? x : old; });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return x > old ? x : old; });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return old | x; });
}
template <class T>
T atomicAnd(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return old & x; });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T) { return x; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> x) {
  return fake_cuda::atomically(at, [&](T old) { return old == expected ? x : old; });
}
