// SPDX-License-Identifier: Apache-2.0
// Which of its instructions an Arm processor has and its kernel lets us use (Linux, Documentation/arm64/elf_hwcaps.rst). The
// numbers are spelled out: headers older than an instruction do not know its name.
#pragma once

#if defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

namespace ulpscope::gpu::detail {

inline bool has_arm_bf16() noexcept { return (getauxval(AT_HWCAP2) >> 14 & 1) != 0; }  // HWCAP2_BF16
/// FEAT_FP16; of vectors, and with it of scalars.
inline bool has_arm_fp16() noexcept { return (getauxval(AT_HWCAP) >> 10 & 1) != 0; }  // HWCAP_ASIMDHP
/// FEAT_FHM: products of float16 into float32.
inline bool has_arm_fhm() noexcept { return (getauxval(AT_HWCAP) >> 23 & 1) != 0; }  // HWCAP_ASIMDFHM
/// FEAT_SME with its products of bfloat16, float16 and float32, which are never apart.
inline bool has_arm_sme() noexcept { return (getauxval(AT_HWCAP2) >> 23 & 1) != 0; }          // HWCAP2_SME
inline bool has_arm_sme_doubles() noexcept { return (getauxval(AT_HWCAP2) >> 25 & 1) != 0; }  // HWCAP2_SME_F64F64
inline bool has_neon() noexcept { return (getauxval(AT_HWCAP) >> 1 & 1) != 0; }               // HWCAP_ASIMD
/// Whether MIDR_EL1 can be read here.
inline bool has_arm_identification() noexcept { return (getauxval(AT_HWCAP) >> 11 & 1) != 0; }  // HWCAP_CPUID

}  // namespace ulpscope::gpu::detail

#endif
