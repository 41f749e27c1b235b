// SPDX-License-Identifier: Apache-2.0
// The processor's own matrix and dot-product units. Which there are is decided at run time; on other processors than those of
// x86-64 and 64-bit Arm there are none. Intel 64 and IA-32 Architectures Software Developer's Manual ("SDM"), volumes 1 and 2;
// Arm Architecture Reference Manual for A-profile (DDI 0487).
#pragma once

#include <memory>
#include <vector>

#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// The units that this processor has and its kernel lets us use:
///   cpu:amx_bf16      TDPBF16PS, K = 32
///   cpu:avx512_bf16   VDPBF16PS, K = 2
///   cpu:avx512_fp16   VFMADD231PH, K = 1
///   cpu:avx512f       VFMADD231PS and VFMADD231PD, K = 1
///   cpu:arm_bf16      BFDOT, K = 2; BFMMLA, K = 4; BFMLALB and BFMLALT, K = 1
///   cpu:arm_fp16      FMLA (8H), FMLAL and FMLAL2, K = 1
///   cpu:arm_sme       BFMOPA and FMOPA of halves, K = 2; FMOPA of singles and doubles, K = 1
///   cpu:neon          FMLA (4S and 2D), K = 1
/// The fused multiply-adds run with the default MXCSR, all of Arm with an FPCR of 0: to nearest, subnormals kept, FPCR.EBF
/// clear. All units may be called from any thread.
///
/// TDPBF16PS also has tiles of fewer columns: cpu:amx_bf16 takes an operation whose `products` is any even number up to 32.
/// That is not the same as zeros for the rest: a zero product that joins a chain turns its -0 into +0.
std::vector<std::unique_ptr<Unit>> cpu_units();

namespace detail {

/// Each null where the processor, the kernel or the compiler does not offer it.
std::unique_ptr<Unit> amx_bf16_unit();
std::unique_ptr<Unit> avx512_bf16_unit();
std::unique_ptr<Unit> avx512_fp16_unit();
std::unique_ptr<Unit> avx512f_unit();
std::unique_ptr<Unit> arm_bf16_unit();
std::unique_ptr<Unit> arm_fp16_unit();
std::unique_ptr<Unit> arm_sme_unit();
std::unique_ptr<Unit> neon_unit();

}  // namespace detail
}  // namespace ulpscope::gpu
