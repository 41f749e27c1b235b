// SPDX-License-Identifier: Apache-2.0
// The stand-in's arithmetic, and what it accepts (cuBLAS Library documentation, cublasGemmEx() and cublasLtMatmul()).
#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "tests/gpu/fake_cublas/control.hpp"
#include "tests/gpu/fake_cuda/fake_state.hpp"

namespace fake_cublas {
namespace {

using namespace ulpscope;

emu::Format format_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F: return emu::float32;
    case CUDA_R_64F: return emu::float64;
    case CUDA_R_16F: return emu::float16;
    case CUDA_R_16BF: return emu::bfloat16;
    case CUDA_R_8F_E4M3: return emu::float8_e4m3fn;
    case CUDA_R_8F_E5M2: return emu::float8_e5m2;
  }
  return {};
}

std::size_t width(cudaDataType_t type) { return static_cast<std::size_t>(format_of(type).bits()) / 8; }

double number_at(cudaDataType_t type, const void* codes, std::size_t index) {
  emu::Code code = 0;
  std::memcpy(&code, static_cast<const char*>(codes) + index * width(type), width(type));
  return emu::decode(format_of(type), code);
}

double element(const Matrix& matrix, bool transposed, std::uint64_t row, std::uint64_t column) {
  if (transposed) std::swap(row, column);
  return number_at(matrix.type, matrix.codes, row + column * static_cast<std::uint64_t>(matrix.leading));
}

bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool types_fit(const Gemm& g) {
  const cudaDataType_t a = g.a.type, b = g.b.type, d = g.d.type;
  const auto all = [&](cudaDataType_t type) { return a == type && b == type && d == type; };
  if (g.c.type != d) return false;
  switch (g.compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return g.scale_type == CUDA_R_16F && all(CUDA_R_16F);
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return g.scale_type == CUDA_R_64F && all(CUDA_R_64F);
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: return g.scale_type == CUDA_R_32F && all(CUDA_R_32F);
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC: break;
  }
  if (g.scale_type != CUDA_R_32F) return false;
  if (is_fp8(a) && is_fp8(b))
    return !(a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) && (d == CUDA_R_32F || d == CUDA_R_16F || d == CUDA_R_16BF);
  return all(CUDA_R_32F) || (a == b && (a == CUDA_R_16F || a == CUDA_R_16BF) && (d == a || d == CUDA_R_32F));
}

/// fp8: K along memory in both operands, and everything aligned to 16 bytes.
bool fp8_fits(const Gemm& g) {
  if (!is_fp8(g.a.type)) return true;
  const auto aligned = [](const Matrix& m) {
    return static_cast<std::size_t>(m.leading) * width(m.type) % 16 == 0 && reinterpret_cast<std::uintptr_t>(m.codes) % 16 == 0;
  };
  return g.transpose_a && !g.transpose_b && aligned(g.a) && aligned(g.b) && aligned(g.c) && aligned(g.d);
}

}  // namespace

cublasStatus_t check(const Gemm& g) {
  const auto rows = [](const Matrix& m, bool transposed) { return transposed ? m.columns : m.rows; };
  const auto columns = [](const Matrix& m, bool transposed) { return transposed ? m.rows : m.columns; };
  for (const Matrix* matrix : {&g.a, &g.b, &g.c, &g.d})
    if (matrix->rows == 0 || matrix->columns == 0 || matrix->leading < static_cast<std::int64_t>(matrix->rows))
      return CUBLAS_STATUS_INVALID_VALUE;
  if (columns(g.a, g.transpose_a) != rows(g.b, g.transpose_b) || g.d.rows != rows(g.a, g.transpose_a) ||
      g.d.columns != columns(g.b, g.transpose_b) || g.c.rows != g.d.rows || g.c.columns != g.d.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  return types_fit(g) && fp8_fits(g) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

void run(const Gemm& g, void* d) {
  if (!last().computes) return;
  const fake_cuda::Unlocked unlocked;
  const double alpha = number_at(g.scale_type, g.alpha, 0), beta = number_at(g.scale_type, g.beta, 0);
  const std::uint64_t k = g.transpose_a ? g.a.rows : g.a.columns;
  const std::uint64_t parts = static_cast<std::uint64_t>(g.split_k), each = (k + parts - 1) / parts;
  const emu::Format format = format_of(g.d.type);
  std::vector<emu::Code> codes;
  for (std::uint64_t column = 0; column < g.d.columns; ++column)
    for (std::uint64_t row = 0; row < g.d.rows; ++row) {
      double total = 0;
      for (std::uint64_t begin = 0; begin < k; begin += each) {
        double part = 0;
        for (std::uint64_t p = begin; p < std::min(begin + each, k); ++p)
          part += element(g.a, g.transpose_a, row, p) * element(g.b, g.transpose_b, p, column);
        total += g.reduced ? emu::round_to(format, part).value : part;
      }
      const double addend = beta == 0 ? 0 : beta * element(g.c, false, row, column);
      codes.push_back(emu::encode(format, alpha * g.scale * total + addend));
    }
  for (std::size_t at = 0; at < codes.size(); ++at) {
    const std::size_t place = at % g.d.rows + at / g.d.rows * static_cast<std::size_t>(g.d.leading);
    std::memcpy(static_cast<char*>(d) + place * width(g.d.type), &codes[at], width(g.d.type));
  }
}

}  // namespace fake_cublas
