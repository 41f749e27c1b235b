// SPDX-License-Identifier: Apache-2.0
// Instructions of a made-up device, each with one known fault.
#include "emu/engine_step.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/element_model.hpp"
#include "tests/gpu/cuda_made_up_instructions.hpp"

namespace ulpscope::testing {
namespace {

using emu::Code;

constexpr std::size_t products = 8, scale_products = 4;

std::string name_of(Fault fault) { return "mma.fault" + std::to_string(static_cast<int>(fault)); }

__global__ void inner_products(emu::Engine engine, gpu::cuda::DeviceInnerProducts x) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= x.count) return;
  x.d[i] = emu::inner_product(engine, emu::bfloat16, {x.a + i * x.products, x.products}, emu::bfloat16,
                              {x.b + i * x.products, x.products}, x.c[i]);
}

__global__ void scaled_inner_products(emu::Engine engine, bool first_scale, gpu::cuda::DeviceInnerProducts x) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= x.count) return;
  const Code of_a[] = {x.a_scales[2 * i], x.a_scales[2 * i + (first_scale ? 0 : 1)]};
  x.d[i] = emu::inner_product(engine, emu::bfloat16, {x.a + i * x.products, x.products}, emu::bfloat16,
                              {x.b + i * x.products, x.products}, x.c[i],
                              {emu::float8_e8m0fnu, of_a, {x.b_scales + i * x.scales_each, x.scales_each}});
}

template <Fault fault>
void run_scaled_products(const gpu::cuda::DeviceInnerProducts& x) {
  gpu::cuda::launch("a made-up instruction", &scaled_inner_products, dim3(static_cast<unsigned>((x.count + 31) / 32)), dim3(32),
                    0, made_up_scaled_engine(fault), fault == Fault::first_scale, x);
}

template <Fault fault>
void run_products(const gpu::cuda::DeviceInnerProducts& x) {
  gpu::cuda::launch("a made-up instruction", &inner_products, dim3(static_cast<unsigned>((x.count + 31) / 32)), dim3(32), 0,
                    made_up_engine(fault), x);
}

__global__ void elements(gpu::ElementModel model, Fault fault, gpu::cuda::DeviceElements x) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= x.count) return;
  const Code a = x.a[i], b = x.b == nullptr ? 0 : x.b[i], c = x.c == nullptr ? 0 : x.c[i];
  x.d[i] = gpu::element_result(model, a, b, c) ^ (fault == Fault::one_operand && a == wrong_operand ? 1u : 0u);
}

template <gpu::ElementKind kind, Fault fault>
void run_elements(const gpu::cuda::DeviceElements& x) {
  gpu::ElementModel model = made_up_element_operation(kind, fault).model;
  if (fault == Fault::nearest) model.options.rounding = emu::Rounding::nearest_away;
  gpu::cuda::launch("a made-up element operation", &elements, dim3(static_cast<unsigned>((x.count + 31) / 32)), dim3(32), 0,
                    model, fault, x);
}

template <Fault fault>
gpu::cuda::Instruction instruction() {
  return {made_up_operation(fault), &run_products<fault>, nullptr};
}
template <Fault fault>
gpu::cuda::Instruction scaled_instruction() {
  return {made_up_scaled_operation(fault), &run_scaled_products<fault>, nullptr};
}
template <gpu::ElementKind kind, Fault fault>
gpu::cuda::ElementInstruction element_instruction() {
  return {made_up_element_operation(kind, fault), &run_elements<kind, fault>};
}

}  // namespace

emu::Engine made_up_engine(Fault fault) {
  emu::Engine engine = emu::block_fma(products, fault == Fault::one_bit_less ? 23 : 24);
  engine.least_exponent = fault == Fault::no_least_exponent ? emu::Engine::no_least_exponent : -132;
  if (fault == Fault::nearest) engine.stages[0].rounding = emu::Rounding::nearest_even;
  return engine;
}

gpu::Operation made_up_operation(Fault fault) {
  return {
      .instruction = name_of(fault), .a = emu::bfloat16, .b = emu::bfloat16, .accumulator = emu::float32, .products = products};
}

emu::Engine made_up_scaled_engine(Fault fault) {
  emu::Engine engine = made_up_engine(fault);
  engine.scales = emu::EngineScales::products;
  engine.scale_products = static_cast<int>(scale_products);
  return engine;
}

gpu::Operation made_up_scaled_operation(Fault fault) {
  gpu::Operation operation = made_up_operation(fault);
  operation.instruction += ".scaled";
  operation.scales = emu::EngineScales::products;
  operation.scale_products = scale_products;
  return operation;
}

gpu::ElementOperation made_up_element_operation(gpu::ElementKind kind, Fault fault) {
  const bool conversion = kind == gpu::ElementKind::convert;
  return {"element" + std::to_string(static_cast<int>(kind)) + name_of(fault),
          {.kind = kind, .from = emu::float16, .to = conversion ? emu::e4m3 : emu::float16}};
}

}  // namespace ulpscope::testing

namespace ulpscope::gpu::cuda {

using testing::Fault;

std::vector<Instruction> instructions(int) {
  return {testing::instruction<Fault::none>(),        testing::instruction<Fault::one_bit_less>(),
          testing::instruction<Fault::nearest>(),     testing::instruction<Fault::no_least_exponent>(),
          testing::scaled_instruction<Fault::none>(), testing::scaled_instruction<Fault::first_scale>()};
}

std::vector<ElementInstruction> element_instructions(int) {
  using testing::element_instruction;
  return {
      element_instruction<ElementKind::convert, Fault::none>(), element_instruction<ElementKind::convert, Fault::one_operand>(),
      element_instruction<ElementKind::add, Fault::none>(),     element_instruction<ElementKind::add, Fault::nearest>(),
      element_instruction<ElementKind::fma, Fault::none>(),     element_instruction<ElementKind::fma, Fault::nearest>()};
}

}  // namespace ulpscope::gpu::cuda
