// SPDX-License-Identifier: Apache-2.0
// The arithmetic intrinsics of float16 and bfloat16. A function that takes several types is told apart by the type:
// `__hadd(__half)`.
#include "gpu/cuda/conversion.cuh"
#include "gpu/cuda/half_intrinsics.cuh"

namespace ulpscope::gpu::cuda {
namespace {

#define ULPSCOPE_HALF_FUNCTION(LEAST, FUNCTION, TYPE, FORMAT, KIND, RELU)                                         \
  struct FUNCTION##_##TYPE {                                                                                      \
    static constexpr const char* spelled = #FUNCTION "(" #TYPE ")";                                               \
    static constexpr int least_architecture = LEAST, lanes = Of##TYPE::lanes;                                     \
    static constexpr ElementModel model = element_model(ElementKind::KIND, emu::FORMAT, emu::FORMAT, {{}, RELU}); \
    template <int count>                                                                                          \
    static __device__ void run(const emu::Code (&a)[count], [[maybe_unused]] const emu::Code (&b)[count],         \
                               [[maybe_unused]] const emu::Code (&c)[count], emu::Code (&d)[count]) {             \
      ULPSCOPE_SINCE_##LEAST(Of##TYPE::codes(FUNCTION ULPSCOPE_OPERANDS_##KIND(Of##TYPE::number), d));            \
    }                                                                                                             \
  };

// Of one type: N is nothing or 2, LEAST the first architecture with instructions for it, RELU the first with fma.relu.
#define ULPSCOPE_HALF_FUNCTIONS(LEAST, RELU, N, TYPE, FORMAT)                                                              \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hadd##N, TYPE, FORMAT, add, false)                                                       \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hsub##N, TYPE, FORMAT, subtract, false)                                                  \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hmul##N, TYPE, FORMAT, multiply, false)                                                  \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hadd##N##_rn, TYPE, FORMAT, add, false)                                                  \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hsub##N##_rn, TYPE, FORMAT, subtract, false)                                             \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hmul##N##_rn, TYPE, FORMAT, multiply, false)                                             \
  ULPSCOPE_HALF_FUNCTION(LEAST, __hfma##N, TYPE, FORMAT, fma, false)                                                       \
  ULPSCOPE_HALF_FUNCTION(RELU, __hfma##N##_relu, TYPE, FORMAT, fma, true)                                                  \
  void add_##TYPE(const Target& target, std::vector<ElementInstruction>& to) {                                             \
    add_elements<__hadd##N##_##TYPE, __hsub##N##_##TYPE, __hmul##N##_##TYPE, __hadd##N##_rn_##TYPE, __hsub##N##_rn_##TYPE, \
                 __hmul##N##_rn_##TYPE, __hfma##N##_##TYPE, __hfma##N##_relu_##TYPE>(target, to);                          \
  }
ULPSCOPE_HALF_FUNCTIONS(75, 80, , __half, float16)
ULPSCOPE_HALF_FUNCTIONS(75, 80, 2, __half2, float16)
ULPSCOPE_HALF_FUNCTIONS(80, 80, , __nv_bfloat16, bfloat16)
ULPSCOPE_HALF_FUNCTIONS(80, 80, 2, __nv_bfloat162, bfloat16)

}  // namespace

void add_half_arithmetic(const Target& target, std::vector<ElementInstruction>& to) {
  add___half(target, to);
  add___half2(target, to);
  add___nv_bfloat16(target, to);
  add___nv_bfloat162(target, to);
}

}  // namespace ulpscope::gpu::cuda
