// SPDX-License-Identifier: Apache-2.0
// Scaling modes of the stand-in: cuBLAS Library 13.0, "Narrow Precision Data Types Usage".
#include <array>
#include <cstring>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "tests/gpu/fake_cublas/control.hpp"
#include "tests/gpu/fake_cuda/control.hpp"

namespace fake_cublas {
namespace {

bool is_one_of(std::int32_t mode, std::initializer_list<std::int32_t> modes) {
  for (const std::int32_t each : modes)
    if (mode == each) return true;
  return false;
}

bool of_128(std::int32_t mode) {
  return is_one_of(mode, {CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F});
}

/// "Scaling Mode Support Overview".
bool device_has(std::int32_t mode) {
  const int capability = fake_cuda::machine().capability;
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F) return capability >= 89;
  if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F || of_128(mode)) return capability == 90;
  return capability >= 100;
}

bool go_together(std::int32_t a, std::int32_t b) {
  if (of_128(a) && of_128(b)) return a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F || a != b;
  return a == b;
}

/// Where the "Offset -> Indices" of the documentation lead to an outer and an inner index.
std::size_t offset_in_tile(std::uint64_t outer, std::uint64_t inner) {
  static const auto offsets = [] {
    std::array<std::array<std::size_t, 4>, 128> table{};
    for (std::size_t offset = 0; offset < 512; ++offset) table[offset % 16 / 4 * 32 + offset / 16][offset % 4] = offset;
    return table;
  }();
  return offsets[outer][inner];
}

}  // namespace

cublasStatus_t check_scales(const Gemm& g) {
  const auto fp8 = [](cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; };
  const bool fp4 = g.a.type == CUDA_R_4F_E2M1, narrow = fp4 || fp8(g.a.type);
  const std::int32_t a = g.a_scales.mode, b = g.b_scales.mode;
  const bool asked = a != 0 || b != 0 || g.a_scales.values != nullptr || g.b_scales.values != nullptr;
  if ((asked && !narrow) || ((g.d_scale != nullptr || g.amax != nullptr) && !fp8(g.d.type))) return CUBLAS_STATUS_INVALID_VALUE;
  if (!narrow) return CUBLAS_STATUS_SUCCESS;
  for (const Scales& scales : {g.a_scales, g.b_scales})
    if (reinterpret_cast<std::uintptr_t>(scales.values) % 16 != 0 || (scales.mode != 0 && scales.values == nullptr))
      return CUBLAS_STATUS_INVALID_VALUE;
  const bool of_fp4 = a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  if (!device_has(a) || !device_has(b) || !go_together(a, b) || of_fp4 != fp4) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (fp8(g.d.type) && a != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (of_128(a) && (g.d.rows % 4 != 0 || g.d.columns % 4 != 0)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

double scale_at(const Scales& scales, std::uint64_t lines, std::uint64_t k, std::uint64_t line, std::uint64_t p) {
  const auto number = [&](std::uint64_t i) { return static_cast<double>(static_cast<const float*>(scales.values)[i]); };
  const auto tiled = [&](std::uint64_t each) {
    const std::uint64_t inner_dim = (k + 4 * each - 1) / (4 * each) * 4, inner = p / each;
    // "(sf_inner + sf_outer * sf_inner_dim) * 128", sf_outer counting tiles.
    const std::uint64_t begin = (inner / 4 * 4 + line / 128 * inner_dim) * 128;
    return static_cast<const unsigned char*>(scales.values)[begin + offset_in_tile(line % 128, inner % 4)];
  };
  if (scales.values == nullptr) return 1;
  switch (scales.mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3: return ulpscope::emu::decode(ulpscope::emu::e4m3, tiled(16) & 0x7f);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: return ulpscope::emu::decode(ulpscope::emu::e8m0, tiled(32));
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F: return number(line);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F: return number(lines * (p / 128) + line);
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F: {
      const std::uint64_t blocks = (k + 127) / 128, stride = blocks + (4 - blocks % 4) % 4;
      return number(line / 128 * stride + p / 128);
    }
    default: return number(0);
  }
}

}  // namespace fake_cublas
