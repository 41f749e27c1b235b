// SPDX-License-Identifier: Apache-2.0
// The tables of supported types as loops, and checks of what a call asks for.
#include "gpu/cublas/calls.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using emu::bfloat16, emu::float16, emu::float32, emu::float64, emu::Format;

constexpr std::array compute_types{
    ComputeType{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F, float16, CUDA_R_16F},
    ComputeType{"CUBLAS_COMPUTE_16F_PEDANTIC", CUBLAS_COMPUTE_16F_PEDANTIC, float16, CUDA_R_16F},
    ComputeType{"CUBLAS_COMPUTE_32F", CUBLAS_COMPUTE_32F, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_PEDANTIC", CUBLAS_COMPUTE_32F_PEDANTIC, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_16F", CUBLAS_COMPUTE_32F_FAST_16F, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_16BF", CUBLAS_COMPUTE_32F_FAST_16BF, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_TF32", CUBLAS_COMPUTE_32F_FAST_TF32, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_64F", CUBLAS_COMPUTE_64F, float64, CUDA_R_64F},
    ComputeType{"CUBLAS_COMPUTE_64F_PEDANTIC", CUBLAS_COMPUTE_64F_PEDANTIC, float64, CUDA_R_64F},
};

struct OperandTypes {
  Format operands, d;
};

/// The operands and results of a compute type.
std::vector<OperandTypes> operand_types(const ComputeType& compute) {
  switch (compute.type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return {{float16, float16}};
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return {{float16, float16}, {float16, float32}, {bfloat16, bfloat16}, {bfloat16, float32}, {float32, float32}};
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return {{float64, float64}};
    default: return {{float32, float32}};
  }
}

void add_with_reductions(std::vector<LibraryCall>& calls, LibraryCall call) {
  calls.push_back(call);
  if (call.d.bits() >= call.accumulator.bits()) return;
  call.reduced_precision_reduction = false;
  calls.push_back(call);
}

bool holds(const ConstMatrix& matrix, Format format) {
  return matrix.format == format && matrix.codes.size() == matrix.rows * matrix.columns * bytes_per_code(format);
}

std::string name_of(const LibraryCall& call) { return call.function + " " + call.compute; }

/// cublasLtMatmul(), "To use tensor- or block-scaled FP8 kernels": the dimensions along which memory runs are multiples of 16
/// bytes. "Scaling factors layouts": scales of 128 products want both others to be multiples of four.
void check_alignment(const LibraryCall& call, const Shape& shape) {
  const std::size_t unit = call.a.bits() == 4 ? 32 : 16;
  if (shape.n % unit != 0 || shape.k % unit != 0)
    throw Error(name_of(call) + ": " + (call.a.bits() == 4 ? "fp4" : "fp8") + " operands need n and k that are multiples of " +
                std::to_string(unit) + ", not n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  const ScaleModeFacts of_a = facts_of(call.scale_mode_a);
  if (of_a.products != 0 && !of_a.by_the_engine && shape.m % 4 != 0)
    throw Error(name_of(call) + ": scales of " + std::string(of_a.name) +
                " need an m that is a multiple of 4, not m = " + std::to_string(shape.m));
}

void check_scale(const LibraryCall& call, ScaleMode mode, const ConstMatrix& scales, const ScaleExtent& extent,
                 const char* of) {
  const ScaleModeFacts facts = facts_of(mode);
  if (scales.codes.empty() && mode == ScaleMode::scalar_32f) return;
  if (!is_narrow(call)) throw Error(call.function + ": only narrow operands take scales");
  if (!holds(scales, facts.format) || !(ScaleExtent{scales.rows, scales.columns} == extent))
    throw Error(name_of(call) + ": the scales of " + of + " must be " + std::to_string(extent.rows) + " by " +
                std::to_string(extent.columns) + " numbers of " + emu::format_name(facts.format) + " for " +
                std::string(facts.name));
}

void check_scales(const LibraryCall& call, const LibraryProduct& product, const Shape& shape) {
  check_scale(call, call.scale_mode_a, product.scale_a, scale_extent(call.scale_mode_a, OperandSide::a, shape.m, shape.k), "A");
  check_scale(call, call.scale_mode_b, product.scale_b, scale_extent(call.scale_mode_b, OperandSide::b, shape.n, shape.k), "B");
  if (call.d.bits() <= 8 ? product.amax_d.size() > 1 : product.scale_d || !product.amax_d.empty())
    throw Error(name_of(call) + ": a scale and one greatest magnitude are for fp8 results");
}

}  // namespace

const ComputeType& compute_type(const LibraryCall& call) {
  const auto* const found =
      std::find_if(compute_types.begin(), compute_types.end(), [&](const ComputeType& t) { return call.compute == t.name; });
  if (found == compute_types.end()) throw Error(call.function + " has no compute type " + call.compute);
  return *found;
}

cudaDataType_t data_type(Format format) {
  if (format == float16) return CUDA_R_16F;
  if (format == bfloat16) return CUDA_R_16BF;
  if (format == float32) return CUDA_R_32F;
  if (format == float64) return CUDA_R_64F;
  if (format == emu::float8_e4m3fn) return CUDA_R_8F_E4M3;
  if (format == emu::float8_e5m2) return CUDA_R_8F_E5M2;
  if (format == emu::float4_e2m1fn) return CUDA_R_4F_E2M1;
  throw Error("cuBLAS has no data type for " + emu::format_name(format));
}

bool is_narrow(const LibraryCall& call) noexcept { return call.a.bits() <= 8; }

std::size_t stored_bytes(Format format, std::size_t codes) noexcept {
  return format.bits() == 4 ? (codes + 1) / 2 : codes * bytes_per_code(format);
}

std::vector<LibraryCall> calls_of_both(const char* function, int capability) {
  constexpr int first_with_bfloat16 = 80;
  std::vector<LibraryCall> calls;
  for (const ComputeType& compute : compute_types)
    for (const OperandTypes& types : operand_types(compute))
      if (types.operands != bfloat16 || capability >= first_with_bfloat16)
        add_with_reductions(calls, {function, compute.name, types.operands, types.operands, types.d, compute.accumulator});
  return calls;
}

void check_call(std::span<const LibraryCall> calls, const LibraryCall& call, const Shape& shape) {
  const std::string name = name_of(call);
  if (std::find(calls.begin(), calls.end(), call) == calls.end())
    throw Error(name + ": no such call on this device: " + emu::format_name(call.a) + " times " + emu::format_name(call.b) +
                " to " + emu::format_name(call.d));
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  for (const std::size_t extent : {shape.m, shape.n, shape.k})
    if (extent == 0 || extent > most)
      throw Error(name + ": a dimension of " + std::to_string(extent) + ": it must be 1 to " + std::to_string(most));
  if (is_narrow(call)) check_alignment(call, shape);
}

Shape check_product(std::span<const LibraryCall> calls, const LibraryCall& call, const LibraryProduct& product,
                    std::span<const std::byte> d) {
  const auto& [a, b, c] = product.product;
  const Shape shape{a.rows, b.columns, a.columns};
  check_call(calls, call, shape);
  const bool c_fits = c.codes.empty() || (holds(c, call.c_format()) && c.rows == shape.m && c.columns == shape.n);
  if (!holds(a, call.a) || !holds(b, call.b) || b.rows != a.columns || !c_fits ||
      d.size() != shape.m * shape.n * bytes_per_code(call.d))
    throw Error(name_of(call) + ": operands do not fit the call or each other");
  if (c.codes.empty() && product.beta != 0) throw Error(call.function + ": beta without a matrix C");
  check_scales(call, product, shape);
  return shape;
}

Scalar::Scalar(const ComputeType& compute, double value) {
  const Format format = compute.scale == CUDA_R_16F ? float16 : (compute.scale == CUDA_R_64F ? float64 : float32);
  bits_ = emu::encode(format, value);
}

}  // namespace ulpscope::gpu::cublas
