// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of the stand-in itself.
#include "gpu/cuda/dynamic_shared.hpp"
#include "gpu/cuda/runtime.hpp"
#include "tests/gpu/fake_cuda/fake_cuda_test.hpp"

namespace ulpscope::testing {
namespace {

using gpu::cuda::dynamic_shared;

__global__ void reverse_each_block(const int* in, int* out) {
  __shared__ int tile[96];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void reverse_without_barrier(const int* in, int* out) {
  __shared__ int tile[96];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void half_reach_a_barrier() {
  if (threadIdx.x < blockDim.x / 2) __syncthreads();
}

__global__ void write_beyond(char* at, int index) { at[index] = 1; }

__global__ void sum_warps(const int* in, int* sums, unsigned* ballots) {
  int* const kept = dynamic_shared<int>();
  int sum = in[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
  kept[threadIdx.x] = sum;
  const unsigned odd = __ballot_sync(0xffffffff, in[threadIdx.x] & 1);
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = kept[threadIdx.x + 31];
    ballots[threadIdx.x / 32] = odd;
  }
  atomicAdd(&sums[2], __shfl_sync(0xffffffff, in[threadIdx.x], 3) == in[threadIdx.x / 32 * 32 + 3] ? 1 : 0);
}

std::vector<int> run(void (*kernel)(const int*, int*), const std::vector<int>& in) {
  gpu::cuda::Buffer<int> device_in{std::span<const int>(in)}, device_out(in.size());
  gpu::cuda::launch("a test kernel", kernel, dim3(static_cast<unsigned>(in.size() / 96)), dim3(96), 0, device_in.data(),
                    device_out.data());
  std::vector<int> out(in.size());
  device_out.copy_to(out);
  return out;
}

}  // namespace

std::vector<int> reversed(const std::vector<int>& in) { return run(&reverse_each_block, in); }
std::vector<int> reversed_without_barrier(const std::vector<int>& in) { return run(&reverse_without_barrier, in); }

void reach_half_a_barrier() {
  gpu::cuda::launch("half a barrier", &half_reach_a_barrier, dim3(2), dim3(64), 0);
  gpu::cuda::finish("half a barrier");
}

void write_at(int index) {
  gpu::cuda::Buffer<char> buffer(5);
  gpu::cuda::launch("a write", &write_beyond, dim3(1), dim3(1), 0, buffer.data(), index);
  gpu::cuda::finish("a write");
}

WarpSums warp_sums(const std::vector<int>& in) {
  gpu::cuda::Buffer<int> device_in{std::span<const int>(in)}, sums(3);
  gpu::cuda::Buffer<unsigned> ballots(2);
  sums.clear();
  gpu::cuda::launch("sums of warps", &sum_warps, dim3(1), dim3(64), 64 * sizeof(int), device_in.data(), sums.data(),
                    ballots.data());
  WarpSums result;
  sums.copy_to(result.sums);
  ballots.copy_to(result.ballots);
  return result;
}

}  // namespace ulpscope::testing
