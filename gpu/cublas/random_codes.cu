// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "gpu/cublas/random_codes.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu::cublas {
namespace {

__global__ void fill(emu::Format format, std::uint64_t seed, std::size_t count, std::byte* codes) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x, bytes = bytes_per_code(format);
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    // The middle of one of 2^32 intervals: neither -1 nor 1, and exact in float64.
    const double x = (static_cast<double>(emu::philox4x32(seed, i).word[0]) + 0.5) * 0x1p-31 - 1;
    const emu::Code code = emu::encode(format, x);
    for (std::size_t b = 0; b < bytes; ++b) codes[i * bytes + b] = static_cast<std::byte>(code >> (8 * b));
  }
}

}  // namespace

void fill_randomly(cuda::Buffer<std::byte>& codes, emu::Format format, std::uint64_t seed) {
  constexpr std::size_t threads = 256, most_blocks = 4096;
  const std::size_t count = codes.size() / bytes_per_code(format);
  const std::size_t blocks = std::min((count + threads - 1) / threads, most_blocks);
  if (blocks > 0)
    cuda::launch("random numbers", fill, dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, format, seed, count,
                 codes.data());
}

}  // namespace ulpscope::gpu::cublas
