// SPDX-License-Identifier: Apache-2.0
// Conversions from and to e4m3 and e5m2.
#include "gpu/cuda/conversion.cuh"

namespace ulpscope::gpu::cuda {
namespace {

ULPSCOPE_CVT(89, rn_satfinite, e4m3x2, f32)
ULPSCOPE_CVT(89, rn_satfinite_relu, e4m3x2, f32)
ULPSCOPE_CVT(89, rn_satfinite, e5m2x2, f32)
ULPSCOPE_CVT(89, rn_satfinite_relu, e5m2x2, f32)
ULPSCOPE_CVT(89, rn_satfinite, e4m3x2, f16x2)
ULPSCOPE_CVT(89, rn_satfinite_relu, e4m3x2, f16x2)
ULPSCOPE_CVT(89, rn_satfinite, e5m2x2, f16x2)
ULPSCOPE_CVT(89, rn_satfinite_relu, e5m2x2, f16x2)
ULPSCOPE_CVT(89, rn, f16x2, e4m3x2)
ULPSCOPE_CVT(89, rn_relu, f16x2, e4m3x2)
ULPSCOPE_CVT(89, rn, f16x2, e5m2x2)
ULPSCOPE_CVT(89, rn_relu, f16x2, e5m2x2)

}  // namespace

void add_float8_conversions(const Target& target, std::vector<ElementInstruction>& to) {
  add_elements<Cvt_rn_satfinite_e4m3x2_f32, Cvt_rn_satfinite_relu_e4m3x2_f32, Cvt_rn_satfinite_e5m2x2_f32,
               Cvt_rn_satfinite_relu_e5m2x2_f32>(target, to);
  add_elements<Cvt_rn_satfinite_e4m3x2_f16x2, Cvt_rn_satfinite_relu_e4m3x2_f16x2, Cvt_rn_satfinite_e5m2x2_f16x2,
               Cvt_rn_satfinite_relu_e5m2x2_f16x2>(target, to);
  add_elements<Cvt_rn_f16x2_e4m3x2, Cvt_rn_relu_f16x2_e4m3x2, Cvt_rn_f16x2_e5m2x2, Cvt_rn_relu_f16x2_e5m2x2>(target, to);
}

}  // namespace ulpscope::gpu::cuda
