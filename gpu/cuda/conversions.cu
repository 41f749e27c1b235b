// SPDX-License-Identifier: Apache-2.0
// Conversions between formats of 16 bits and more.
#include "gpu/cuda/conversion.cuh"

namespace ulpscope::gpu::cuda {
namespace {

ULPSCOPE_CVT(75, rn, f16, f32)
ULPSCOPE_CVT(75, rz, f16, f32)
ULPSCOPE_CVT(75, rm, f16, f32)
ULPSCOPE_CVT(75, rp, f16, f32)
ULPSCOPE_CVT(75, exact, f32, f16)
ULPSCOPE_CVT(75, rn, f32, f64)
ULPSCOPE_CVT(75, rz, f32, f64)
ULPSCOPE_CVT(75, rm, f32, f64)
ULPSCOPE_CVT(75, rp, f32, f64)
ULPSCOPE_CVT(75, exact, f64, f32)
ULPSCOPE_CVT(75, rn, f16, f64)
ULPSCOPE_CVT(75, exact, f64, f16)

ULPSCOPE_CVT(80, rn_relu, f16, f32)
ULPSCOPE_CVT(80, rz_relu, f16, f32)
ULPSCOPE_CVT(80, rn_satfinite, f16, f32)
ULPSCOPE_CVT(80, rn, f16x2, f32)
ULPSCOPE_CVT(80, rz, f16x2, f32)
ULPSCOPE_CVT(80, rn_relu, f16x2, f32)
ULPSCOPE_CVT(80, rz_relu, f16x2, f32)
ULPSCOPE_CVT(80, rn_satfinite, f16x2, f32)
ULPSCOPE_CVT(80, rn, bf16, f32)
ULPSCOPE_CVT(80, rz, bf16, f32)
ULPSCOPE_CVT(80, rn_relu, bf16, f32)
ULPSCOPE_CVT(80, rz_relu, bf16, f32)
ULPSCOPE_CVT(80, rn_satfinite, bf16, f32)
ULPSCOPE_CVT(80, rn, bf16x2, f32)
ULPSCOPE_CVT(80, rz, bf16x2, f32)
ULPSCOPE_CVT(80, rn_relu, bf16x2, f32)
ULPSCOPE_CVT(80, rz_relu, bf16x2, f32)
ULPSCOPE_CVT(80, rn_satfinite, bf16x2, f32)
ULPSCOPE_CVT(80, rna, tf32, f32)

ULPSCOPE_CVT(90, rn, tf32, f32)
ULPSCOPE_CVT(90, rz, tf32, f32)
ULPSCOPE_CVT(90, rn_relu, tf32, f32)
ULPSCOPE_CVT(90, rz_relu, tf32, f32)
ULPSCOPE_CVT(100, rn_satfinite, tf32, f32)
ULPSCOPE_CVT(100, rz_satfinite, tf32, f32)
ULPSCOPE_CVT(90, shift, f32, bf16)
ULPSCOPE_CVT(90, exact, f64, bf16)
ULPSCOPE_CVT(90, rn, f16, bf16)
ULPSCOPE_CVT(90, rn, bf16, f16)
ULPSCOPE_CVT(90, rn, bf16, f64)

}  // namespace

void add_conversions(const Target& target, std::vector<ElementInstruction>& to) {
  add_elements<Cvt_rn_f16_f32, Cvt_rz_f16_f32, Cvt_rm_f16_f32, Cvt_rp_f16_f32, Cvt_exact_f32_f16>(target, to);
  add_elements<Cvt_rn_f32_f64, Cvt_rz_f32_f64, Cvt_rm_f32_f64, Cvt_rp_f32_f64, Cvt_exact_f64_f32>(target, to);
  add_elements<Cvt_rn_f16_f64, Cvt_exact_f64_f16>(target, to);
  add_elements<Cvt_rn_relu_f16_f32, Cvt_rz_relu_f16_f32, Cvt_rn_satfinite_f16_f32>(target, to);
  add_elements<Cvt_rn_f16x2_f32, Cvt_rz_f16x2_f32, Cvt_rn_relu_f16x2_f32, Cvt_rz_relu_f16x2_f32, Cvt_rn_satfinite_f16x2_f32>(
      target, to);
  add_elements<Cvt_rn_bf16_f32, Cvt_rz_bf16_f32, Cvt_rn_relu_bf16_f32, Cvt_rz_relu_bf16_f32, Cvt_rn_satfinite_bf16_f32>(target,
                                                                                                                        to);
  add_elements<Cvt_rn_bf16x2_f32, Cvt_rz_bf16x2_f32, Cvt_rn_relu_bf16x2_f32, Cvt_rz_relu_bf16x2_f32,
               Cvt_rn_satfinite_bf16x2_f32>(target, to);
  add_elements<Cvt_rna_tf32_f32, Cvt_rn_tf32_f32, Cvt_rz_tf32_f32, Cvt_rn_relu_tf32_f32, Cvt_rz_relu_tf32_f32,
               Cvt_rn_satfinite_tf32_f32, Cvt_rz_satfinite_tf32_f32>(target, to);
  add_elements<Cvt_shift_f32_bf16, Cvt_exact_f64_bf16, Cvt_rn_f16_bf16, Cvt_rn_bf16_f16, Cvt_rn_bf16_f64>(target, to);
}

}  // namespace ulpscope::gpu::cuda
