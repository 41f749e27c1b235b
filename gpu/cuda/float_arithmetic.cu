// SPDX-License-Identifier: Apache-2.0
// The intrinsics of float and double with a rounding in their name (CUDA Math API, "Single Precision Intrinsics", "Double
// Precision Intrinsics"). They are never contracted.
#include "gpu/cuda/conversion.cuh"

namespace ulpscope::gpu::cuda {
namespace {

struct OfFloat {
  static constexpr emu::Format format = emu::float32;
  static __device__ float number(const emu::Code* code) { return __uint_as_float(static_cast<unsigned>(*code)); }
  static __device__ emu::Code code(float x) { return __float_as_uint(x); }
};
struct OfDouble {
  static constexpr emu::Format format = emu::float64;
  static __device__ double number(const emu::Code* code) { return __longlong_as_double(static_cast<long long>(*code)); }
  static __device__ emu::Code code(double x) { return static_cast<emu::Code>(__double_as_longlong(x)); }
};

#define ULPSCOPE_FLOAT_FUNCTION(FUNCTION, OF, KIND, ROUNDING)                                              \
  struct Of##FUNCTION {                                                                                    \
    static constexpr const char* spelled = #FUNCTION;                                                      \
    static constexpr int least_architecture = 75, lanes = 1;                                               \
    static constexpr ElementModel model =                                                                  \
        element_model(ElementKind::KIND, OF::format, OF::format, {{.rounding = emu::Rounding::ROUNDING}}); \
    template <int count>                                                                                   \
    static __device__ void run(const emu::Code (&a)[count], [[maybe_unused]] const emu::Code (&b)[count],  \
                               [[maybe_unused]] const emu::Code (&c)[count], emu::Code (&d)[count]) {      \
      d[0] = OF::code(FUNCTION ULPSCOPE_OPERANDS_##KIND(OF::number));                                      \
    }                                                                                                      \
  };

#define ULPSCOPE_FLOAT_FUNCTIONS(SUFFIX, ROUNDING)                                                        \
  ULPSCOPE_FLOAT_FUNCTION(__fadd_##SUFFIX, OfFloat, add, ROUNDING)                                        \
  ULPSCOPE_FLOAT_FUNCTION(__fsub_##SUFFIX, OfFloat, subtract, ROUNDING)                                   \
  ULPSCOPE_FLOAT_FUNCTION(__fmul_##SUFFIX, OfFloat, multiply, ROUNDING)                                   \
  ULPSCOPE_FLOAT_FUNCTION(__fmaf_##SUFFIX, OfFloat, fma, ROUNDING)                                        \
  ULPSCOPE_FLOAT_FUNCTION(__dadd_##SUFFIX, OfDouble, add, ROUNDING)                                       \
  ULPSCOPE_FLOAT_FUNCTION(__dsub_##SUFFIX, OfDouble, subtract, ROUNDING)                                  \
  ULPSCOPE_FLOAT_FUNCTION(__dmul_##SUFFIX, OfDouble, multiply, ROUNDING)                                  \
  ULPSCOPE_FLOAT_FUNCTION(__fma_##SUFFIX, OfDouble, fma, ROUNDING)                                        \
  void add_##SUFFIX(const Target& target, std::vector<ElementInstruction>& to) {                          \
    add_elements<Of__fadd_##SUFFIX, Of__fsub_##SUFFIX, Of__fmul_##SUFFIX, Of__fmaf_##SUFFIX>(target, to); \
    add_elements<Of__dadd_##SUFFIX, Of__dsub_##SUFFIX, Of__dmul_##SUFFIX, Of__fma_##SUFFIX>(target, to);  \
  }
ULPSCOPE_FLOAT_FUNCTIONS(rn, nearest_even)
ULPSCOPE_FLOAT_FUNCTIONS(rz, toward_zero)
ULPSCOPE_FLOAT_FUNCTIONS(ru, upward)
ULPSCOPE_FLOAT_FUNCTIONS(rd, downward)

}  // namespace

void add_float_arithmetic(const Target& target, std::vector<ElementInstruction>& to) {
  add_rn(target, to);
  add_rz(target, to);
  add_ru(target, to);
  add_rd(target, to);
}

}  // namespace ulpscope::gpu::cuda
