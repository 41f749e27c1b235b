// SPDX-License-Identifier: Apache-2.0
// Conversions from and to e2m1, e2m3, e3m2 and ue8m0.
#include "gpu/cuda/conversion.cuh"

namespace ulpscope::gpu::cuda {
namespace {

#define ULPSCOPE_NARROW_CVT(MODIFIERS, D, A) ULPSCOPE_CVT_WHERE(target_has_narrow_cvt, 100, MODIFIERS, D, A)

ULPSCOPE_NARROW_CVT(rn_satfinite, e2m1x2, f32)
ULPSCOPE_NARROW_CVT(rn_satfinite_relu, e2m1x2, f32)
ULPSCOPE_NARROW_CVT(rn_satfinite, e2m3x2, f32)
ULPSCOPE_NARROW_CVT(rn_satfinite_relu, e2m3x2, f32)
ULPSCOPE_NARROW_CVT(rn_satfinite, e3m2x2, f32)
ULPSCOPE_NARROW_CVT(rn_satfinite_relu, e3m2x2, f32)
ULPSCOPE_NARROW_CVT(rn, f16x2, e2m1x2)
ULPSCOPE_NARROW_CVT(rn_relu, f16x2, e2m1x2)
ULPSCOPE_NARROW_CVT(rn, f16x2, e2m3x2)
ULPSCOPE_NARROW_CVT(rn_relu, f16x2, e2m3x2)
ULPSCOPE_NARROW_CVT(rn, f16x2, e3m2x2)
ULPSCOPE_NARROW_CVT(rn_relu, f16x2, e3m2x2)

ULPSCOPE_NARROW_CVT(rz, ue8m0x2, f32)
ULPSCOPE_NARROW_CVT(rp, ue8m0x2, f32)
ULPSCOPE_NARROW_CVT(rz_satfinite, ue8m0x2, f32)
ULPSCOPE_NARROW_CVT(rp_satfinite, ue8m0x2, f32)
ULPSCOPE_NARROW_CVT(rz, ue8m0x2, bf16x2)
ULPSCOPE_NARROW_CVT(rp, ue8m0x2, bf16x2)
ULPSCOPE_NARROW_CVT(rz_satfinite, ue8m0x2, bf16x2)
ULPSCOPE_NARROW_CVT(rp_satfinite, ue8m0x2, bf16x2)
ULPSCOPE_NARROW_CVT(rn, bf16x2, ue8m0x2)

}  // namespace

void add_narrow_conversions(const Target& target, std::vector<ElementInstruction>& to) {
  if (!target.has_narrow_cvt()) return;
  add_elements<Cvt_rn_satfinite_e2m1x2_f32, Cvt_rn_satfinite_relu_e2m1x2_f32, Cvt_rn_satfinite_e2m3x2_f32,
               Cvt_rn_satfinite_relu_e2m3x2_f32, Cvt_rn_satfinite_e3m2x2_f32, Cvt_rn_satfinite_relu_e3m2x2_f32>(target, to);
  add_elements<Cvt_rn_f16x2_e2m1x2, Cvt_rn_relu_f16x2_e2m1x2, Cvt_rn_f16x2_e2m3x2, Cvt_rn_relu_f16x2_e2m3x2,
               Cvt_rn_f16x2_e3m2x2, Cvt_rn_relu_f16x2_e3m2x2>(target, to);
  add_elements<Cvt_rz_ue8m0x2_f32, Cvt_rp_ue8m0x2_f32, Cvt_rz_satfinite_ue8m0x2_f32, Cvt_rp_satfinite_ue8m0x2_f32>(target, to);
  add_elements<Cvt_rz_ue8m0x2_bf16x2, Cvt_rp_ue8m0x2_bf16x2, Cvt_rz_satfinite_ue8m0x2_bf16x2, Cvt_rp_satfinite_ue8m0x2_bf16x2,
               Cvt_rn_bf16x2_ue8m0x2>(target, to);
}

}  // namespace ulpscope::gpu::cuda
