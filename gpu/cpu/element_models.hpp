// SPDX-License-Identifier: Apache-2.0
// What emu claims that the processor's conversions and arithmetic compute, instruction by instruction: facts of the manuals,
// the same on every machine, whatever its own processor offers. Intel 64 and IA-32 Architectures Software Developer's Manual
// ("SDM"), volumes 1 and 2; Arm Architecture Reference Manual for A-profile (DDI 0487).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/elementwise.hpp"

namespace ulpscope::gpu {

/// An instruction, or one of its roundings.
struct CpuElementModel {
  ElementOperation operation;  ///< its name with the rounding, `ADDPS RC=down`, and its model
  std::string mnemonic;        ///< its name without, `ADDPS`
  unsigned rounding = 0;       ///< the two bits of the control word that it runs under
};

/// Those of a device, in the order in which they are listed; none where the id is not one of these:
///   cpu:f16c          VCVTPS2PH with its four roundings, VCVTPH2PS
///   cpu:avx512_bf16   VCVTNEPS2BF16
///   cpu:avx512_fp16   VADDPH, VSUBPH, VMULPH, VFMADD231PH, VCVTPS2PHX, VCVTPD2PH; VCVTPH2PSX, VCVTPH2PD
///   cpu:avx512f       VADDPS, VSUBPS, VMULPS, VFMADD231PS and the same of PD, VCVTPD2PS; VCVTPS2PD
///   cpu:sse2          ADDPS, SUBPS, MULPS and the same of PD, CVTPD2PS; CVTPS2PD
///   cpu:arm_bf16      BFCVTN
///   cpu:arm_fp16      FADD, FSUB, FMUL, FMLA of 8H
///   cpu:neon          the same of 4S and 2D; FCVTN to 4H and 2S, FCVT from double to half, FCVTXN; FCVTL to 4S and 2D, FCVT
///                     from half to double
/// What rounds by MXCSR or FPCR is there once for each of their roundings, `VADDPS RC=zero`, `FADD 4S RMode=RZ` (SDM volume 1,
/// 10.2.3 and table 4-8; DDI 0487, FPCR).
std::vector<CpuElementModel> cpu_element_models(std::string_view device);

}  // namespace ulpscope::gpu
