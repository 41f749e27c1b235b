// SPDX-License-Identifier: Apache-2.0
// The stand-in's arithmetic, and what it accepts (cuBLAS Library documentation, cublasGemmEx() and cublasLtMatmul()).
#include <algorithm>
#include <cmath>
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
    case CUDA_R_4F_E2M1: return emu::float4_e2m1fn;
  }
  return {};
}

std::size_t width(cudaDataType_t type) { return static_cast<std::size_t>(format_of(type).bits()) / 8; }

double number_at(cudaDataType_t type, const void* codes, std::size_t index) {
  emu::Code code = 0;
  if (type == CUDA_R_4F_E2M1) {
    code = static_cast<const unsigned char*>(codes)[index / 2];
    return emu::decode(emu::float4_e2m1fn, index % 2 == 0 ? code & 0xf : code >> 4);
  }
  std::memcpy(&code, static_cast<const char*>(codes) + index * width(type), width(type));
  return emu::decode(format_of(type), code);
}

double element(const Matrix& matrix, bool transposed, std::uint64_t row, std::uint64_t column) {
  if (transposed) std::swap(row, column);
  return number_at(matrix.type, matrix.codes, row + column * static_cast<std::uint64_t>(matrix.leading));
}

bool is_wide(cudaDataType_t type) { return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF; }
bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool types_fit(const Gemm& g) {
  const cudaDataType_t a = g.a.type, b = g.b.type, d = g.d.type;
  const auto all = [&](cudaDataType_t type) { return a == type && b == type && d == type; };
  if (g.c.type != d && !(is_fp8(d) && (g.c.type == CUDA_R_16F || g.c.type == CUDA_R_16BF))) return false;
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
  if (is_fp8(a) && is_fp8(b)) {
    const bool e5m2_result = d == CUDA_R_8F_E5M2 && g.c.type != d && (a == CUDA_R_8F_E5M2 || b == CUDA_R_8F_E5M2);
    const bool e4m3_result = d == CUDA_R_8F_E4M3 && g.c.type != d;
    return !(a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) && (is_wide(d) || e4m3_result || e5m2_result);
  }
  if (a == CUDA_R_4F_E2M1 || b == CUDA_R_4F_E2M1) return a == b && is_wide(d);
  return all(CUDA_R_32F) || (a == b && (a == CUDA_R_16F || a == CUDA_R_16BF) && (d == a || d == CUDA_R_32F));
}

/// fp8 and fp4: K along memory in both operands, and everything aligned to 16 bytes.
bool narrow_fits(const Gemm& g) {
  if (!is_fp8(g.a.type) && g.a.type != CUDA_R_4F_E2M1) return true;
  const auto aligned = [](const Matrix& m) {
    const std::size_t bits = static_cast<std::size_t>(format_of(m.type).bits());
    return static_cast<std::size_t>(m.leading) * bits % 128 == 0 && reinterpret_cast<std::uintptr_t>(m.codes) % 16 == 0;
  };
  return g.transpose_a && !g.transpose_b && aligned(g.a) && aligned(g.b) && aligned(g.c) && aligned(g.d);
}

/// The numbers of an operand, each times its scale, line by line: rows of op(A), columns of op(B).
std::vector<double> scaled(const Matrix& matrix, bool k_along_memory, const Scales& scales) {
  const std::uint64_t k = k_along_memory ? matrix.rows : matrix.columns, lines = k_along_memory ? matrix.columns : matrix.rows;
  std::vector<double> numbers;
  for (std::uint64_t line = 0; line < lines; ++line)
    for (std::uint64_t p = 0; p < k; ++p)
      numbers.push_back(element(matrix, !k_along_memory, p, line) * scale_at(scales, lines, k, line, p));
  return numbers;
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
  return types_fit(g) && narrow_fits(g) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

void run(const Gemm& g, void* d) {
  if (!last().computes) return;
  const fake_cuda::Unlocked unlocked;
  const double alpha = number_at(g.scale_type, g.alpha, 0), beta = number_at(g.scale_type, g.beta, 0);
  const std::uint64_t k = g.transpose_a ? g.a.rows : g.a.columns;
  const std::uint64_t parts = static_cast<std::uint64_t>(g.split_k), each = (k + parts - 1) / parts;
  const emu::Format format = format_of(g.d.type);
  emu::RoundingOptions options;
  if (is_fp8(g.d.type)) options.policy = emu::Policy::saturating;  // as cvt.rn.satfinite, the only conversion to fp8 (PTX ISA)
  const double d_scale = g.d_scale == nullptr ? 1 : static_cast<double>(*g.d_scale);
  double amax = 0;
  const std::vector<double> a = scaled(g.a, g.transpose_a, g.a_scales), b = scaled(g.b, !g.transpose_b, g.b_scales);
  std::vector<emu::Code> codes;
  for (std::uint64_t column = 0; column < g.d.columns; ++column)
    for (std::uint64_t row = 0; row < g.d.rows; ++row) {
      double total = 0;
      for (std::uint64_t begin = 0; begin < k; begin += each) {
        double part = 0;
        for (std::uint64_t p = begin; p < std::min(begin + each, k); ++p) part += a[row * k + p] * b[column * k + p];
        total += g.reduced ? emu::round_to(format, part).value : part;
      }
      const double before = alpha * total + (beta == 0 ? 0 : beta * element(g.c, false, row, column));
      amax = std::max(amax, std::abs(before));
      codes.push_back(emu::encode(format, d_scale * before, options));
    }
  if (g.amax != nullptr) *g.amax = static_cast<float>(amax);
  const std::size_t rows = std::max<std::size_t>(g.d.rows, 1);
  for (std::size_t at = 0; at < codes.size(); ++at) {
    const std::size_t place = at % rows + at / rows * static_cast<std::size_t>(g.d.leading);
    std::memcpy(static_cast<char*>(d) + place * width(g.d.type), &codes[at], width(g.d.type));
  }
}

}  // namespace fake_cublas
