// SPDX-License-Identifier: Apache-2.0
// Random codes drawn on the device: element i depends on seed, operand and i alone.
#include <algorithm>

#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "gpu/cublas/random_codes.hpp"
#include "gpu/matrix.hpp"
#include "gpu/normal_like.hpp"

namespace ulpscope::gpu::cublas {
namespace {

__device__ void store(emu::Format format, std::byte* codes, std::size_t i, emu::Code code) {
  const std::size_t bytes = bytes_per_code(format);
  for (std::size_t b = 0; b < bytes; ++b) codes[i * bytes + b] = static_cast<std::byte>(code >> (8 * b));
}

/// The middle of one of 2^32 intervals: neither -1 nor 1, and exact in float64.
__device__ emu::Code uniform(emu::Format format, std::uint32_t word) {
  return emu::encode(format, (static_cast<double>(word) + 0.5) * 0x1p-31 - 1);
}

__global__ void fill(emu::Format format, std::uint64_t seed, std::size_t count, std::byte* codes) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    const emu::PhiloxBlock random = emu::philox4x32(seed, i);
    const emu::Code code = uniform(format, random.word[0]);
    store(format, codes, i, format.bits() == 4 ? code | uniform(format, random.word[1]) << 4 : code);
  }
}

__global__ void draw(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::size_t count, std::byte* codes) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
    store(format, codes, i, emu::encode(format, normal_like(seed, operand, i)));
}

constexpr unsigned threads_of_block = 256;

/// Blocks whose threads go through `count` codes.
dim3 blocks_for(std::size_t count) {
  constexpr std::size_t most_blocks = 4096;
  return dim3(static_cast<unsigned>(std::min((count + threads_of_block - 1) / threads_of_block, most_blocks)));
}

}  // namespace

void fill_randomly(cuda::Buffer<std::byte>& codes, emu::Format format, std::uint64_t seed) {
  const std::size_t count = codes.size() / bytes_per_code(format);
  if (count == 0) return;
  cuda::launch("random numbers", fill, blocks_for(count), dim3(threads_of_block), 0, format, seed, count, codes.data());
}

void draw_normal_on(int ordinal, emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) {
  const std::size_t count = codes.size() / bytes_per_code(format);
  if (count == 0) return;
  const cuda::OnDevice device(ordinal);
  cuda::Buffer<std::byte> drawn(codes.size());
  cuda::launch("normal numbers", draw, blocks_for(count), dim3(threads_of_block), 0, format, seed, operand, count,
               drawn.data());
  cuda::finish("normal numbers");
  drawn.copy_to(codes);
}

}  // namespace ulpscope::gpu::cublas
