// SPDX-License-Identifier: Apache-2.0
// Adversarial operands made on the device, and results compared there.
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/test_kernels.hpp"
#include "gpu/element_model.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Code;

constexpr unsigned threads = 128;
dim3 grid_for(std::size_t count) { return dim3(static_cast<unsigned>((count + threads - 1) / threads)); }

__device__ std::size_t number_of_thread() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

__global__ void products(TestShape shape, std::uint64_t seed, std::uint64_t begin, std::size_t count, TestCodes to) {
  const std::size_t i = number_of_thread();
  if (i >= count) return;
  const std::size_t k = i * shape.products, scales = i * shape.blocks();
  Adversary adversary(shape, seed, begin + i);
  adversary.make({to.a + k, to.b + k, to.c + i, to.a_scales + scales, to.b_scales + scales});
}

__global__ void operands(ElementModel model, bool every, std::uint64_t seed, std::uint64_t begin, std::size_t count, Code* a,
                         Code* b, Code* c) {
  const std::size_t i = number_of_thread();
  if (i >= count) return;
  if (every) {
    a[i] = (begin + i) & model.from.code_mask();
    return;
  }
  const TestOperands x = test_operands(model, seed, begin + i);
  a[i] = x.a;
  if (b != nullptr) b[i] = x.b;
  if (c != nullptr) c[i] = x.c;
}

__global__ void compare(ElementModel model, DeviceElements x, unsigned long long* mismatches, std::uint8_t* wrong) {
  const std::size_t i = number_of_thread();
  if (i >= x.count) return;
  const Code wanted = element_result(model, x.a[i], x.b == nullptr ? 0 : x.b[i], x.c == nullptr ? 0 : x.c[i]);
  wrong[i] = wanted != x.d[i] ? 1 : 0;
  if (wanted != x.d[i]) atomicAdd(mismatches, 1ULL);
}

}  // namespace

void make_products(const TestShape& shape, std::uint64_t seed, std::uint64_t begin, std::size_t count, const TestCodes& to) {
  launch("the making of inner products", &products, grid_for(count), dim3(threads), 0, shape, seed, begin, count, to);
}

bool visits_every_operand(const ElementModel& model) { return operands_of(model.kind) == 1 && model.from.bits() <= 32; }

void make_operands(const ElementModel& model, std::uint64_t seed, std::uint64_t begin, std::size_t count, Code* a, Code* b,
                   Code* c) {
  launch("the making of operands", &operands, grid_for(count), dim3(threads), 0, model, visits_every_operand(model), seed,
         begin, count, a, b, c);
}

void compare_elements(const ElementModel& model, const DeviceElements& elements, unsigned long long* mismatches,
                      std::uint8_t* wrong) {
  launch("the comparison with the model", &compare, grid_for(elements.count), dim3(threads), 0, model, elements, mismatches,
         wrong);
}

}  // namespace ulpscope::gpu::cuda
