// SPDX-License-Identifier: Apache-2.0
// The named formats: one line each, with what other libraries call them. A name is the C++ identifier, the command-line
// word and the CSV cell. Sources: the ml_dtypes README, PyTorch's dtypes, the safetensors format description, the CUDA 13
// math API headers, the Interim Report of IEEE working group P3109, 4.0, and gfloat 0.5, which lists these of its formats.
#pragma once

#include <array>
#include <string_view>

#include "emu/format.hpp"

namespace ulpscope::emu {

inline constexpr Format float64{11, 52, 1023, Specials::ieee};  ///< IEEE 754 binary64
inline constexpr Format float32{8, 23, 127, Specials::ieee};    ///< IEEE 754 binary32
inline constexpr Format tf32{8, 10, 127, Specials::ieee};       ///< 19-bit codes; in memory the top 19 bits of a float32
inline constexpr Format float16{5, 10, 15, Specials::ieee};     ///< IEEE 754 binary16
inline constexpr Format bfloat16{8, 7, 127, Specials::ieee};    ///< the upper half of a float32
inline constexpr Format float8_e5m2{5, 2, 15, Specials::ieee};  ///< OCP OFP8 E5M2: with infinities
inline constexpr Format float8_e4m3fn{4, 3, 7, Specials::fn};   ///< OCP OFP8 E4M3: no infinity, one NaN a sign, up to 448
inline constexpr Format float8_e4m3{4, 3, 7, Specials::ieee};   ///< E4M3 as IEEE 754 would have it: with infinities, up to 240
inline constexpr Format float8_e3m4{3, 4, 3, Specials::ieee};   ///< E3M4 as IEEE 754 would have it
inline constexpr Format float8_e4m3fnuz{4, 3, 8, Specials::fnuz};   ///< one zero, one NaN in place of -0, no infinity; of CDNA3
inline constexpr Format float8_e5m2fnuz{5, 2, 16, Specials::fnuz};  ///< one zero, one NaN in place of -0, no infinity; of CDNA3
inline constexpr Format float8_e4m3b11fnuz{4, 3, 11,
                                           Specials::fnuz};  ///< one zero, one NaN in place of -0, no infinity; bias 11
/// Scales of OCP MX: powers of two without sign, zero or infinity.
inline constexpr Format float8_e8m0fnu{8, 0, 127, Specials::fnu};
inline constexpr Format float6_e3m2fn{3, 2, 3, Specials::finite};  ///< OCP MX E3M2: every code is finite
inline constexpr Format float6_e2m3fn{2, 3, 1, Specials::finite};  ///< OCP MX E2M3: every code is finite
inline constexpr Format float4_e2m1fn{2, 1, 1, Specials::finite};  ///< OCP MX E2M1: every code is finite

/// IEEE P3109: binaryKpP of K bits and precision P, signed or unsigned, extended by infinities or finite. One zero, one NaN.
///@{
inline constexpr Format binary8p1se{7, 0, 64, Specials::se};
inline constexpr Format binary8p1ue{8, 0, 128, Specials::ue};
inline constexpr Format binary8p3se{5, 2, 16, Specials::se};
inline constexpr Format binary8p3ue{6, 2, 32, Specials::ue};
inline constexpr Format binary8p3uf{6, 2, 32, Specials::uf};
inline constexpr Format binary8p4se{4, 3, 8, Specials::se};
inline constexpr Format binary8p4ue{5, 3, 16, Specials::ue};
inline constexpr Format binary8p4uf{5, 3, 16, Specials::uf};
inline constexpr Format binary8p7sf{1, 6, 1, Specials::fnuz};
inline constexpr Format binary8p8uf{1, 7, 1, Specials::uf};
///@}

/// The short names, as C++ identifiers.
///@{
inline constexpr Format fp64 = float64;
inline constexpr Format fp32 = float32;
inline constexpr Format fp16 = float16;
inline constexpr Format bf16 = bfloat16;
inline constexpr Format e5m2 = float8_e5m2;
inline constexpr Format e4m3 = float8_e4m3fn;
inline constexpr Format e8m0 = float8_e8m0fnu;
inline constexpr Format e3m2 = float6_e3m2fn;
inline constexpr Format e2m3 = float6_e2m3fn;
inline constexpr Format e2m1 = float4_e2m1fn;
///@}

/// Symmetric integers of so many bits, 3 to 25: from -(2^(bits-1) - 1) to 2^(bits-1) - 1, for quantizers; no format of the
/// catalogue. Codes are sign and magnitude here, as those of all formats; twos_complement() gives what files hold.
constexpr Format integer(int bits) noexcept { return {1, bits - 2, 3 - bits, Specials::finite}; }

/// A format and its names elsewhere.
struct NamedFormat {
  std::string_view name;         ///< canonical, as the command line and CSV spell it
  Format format;                 ///< the format itself
  std::string_view aliases;      ///< separated by spaces
  std::string_view numpy;        ///< dtype of numpy or ml_dtypes; empty where there is none, as in the next three
  std::string_view torch;        ///< PyTorch dtype
  std::string_view safetensors;  ///< dtype word of a safetensors header
  std::string_view cuda;         ///< C++ type of the CUDA math headers
  std::string_view hardware;     ///< what computes with it
};

/// Every named format, the widest first.
inline constexpr std::array catalogue{
    NamedFormat{"float64", float64, "fp64 binary64 double", "float64", "torch.float64", "F64", "double", "CPU, GPU, DMMA"},
    NamedFormat{"float32", float32, "fp32 binary32 single", "float32", "torch.float32", "F32", "float", "CPU, GPU"},
    NamedFormat{"tf32", tf32, "tensorfloat32", "", "", "", "nv_precision::tf32", "tensor cores sm_80 and later"},
    NamedFormat{"float16", float16, "fp16 half binary16", "float16", "torch.float16", "F16", "__half",
                "tensor cores sm_70 and later, F16C, AVX512-FP16"},
    NamedFormat{"bfloat16", bfloat16, "bf16", "ml_dtypes.bfloat16", "torch.bfloat16", "BF16", "__nv_bfloat16",
                "tensor cores sm_80 and later, AVX512-BF16, AMX-BF16"},
    NamedFormat{"float8_e5m2", float8_e5m2, "e5m2", "ml_dtypes.float8_e5m2", "torch.float8_e5m2", "F8_E5M2", "__nv_fp8_e5m2",
                "tensor cores sm_89 and later"},
    NamedFormat{"float8_e4m3fn", float8_e4m3fn, "e4m3 e4m3fn", "ml_dtypes.float8_e4m3fn", "torch.float8_e4m3fn", "F8_E4M3",
                "__nv_fp8_e4m3", "tensor cores sm_89 and later"},
    NamedFormat{"float8_e4m3", float8_e4m3, "e4m3ieee", "ml_dtypes.float8_e4m3", "", "", "", ""},
    NamedFormat{"float8_e3m4", float8_e3m4, "e3m4", "ml_dtypes.float8_e3m4", "", "", "", ""},
    NamedFormat{"float8_e4m3fnuz", float8_e4m3fnuz, "binary8p4sf p3109_k8p4sf", "ml_dtypes.float8_e4m3fnuz",
                "torch.float8_e4m3fnuz", "F8_E4M3FNUZ", "", "CDNA3"},
    NamedFormat{"float8_e5m2fnuz", float8_e5m2fnuz, "binary8p3sf p3109_k8p3sf", "ml_dtypes.float8_e5m2fnuz",
                "torch.float8_e5m2fnuz", "F8_E5M2FNUZ", "", "CDNA3"},
    NamedFormat{"float8_e4m3b11fnuz", float8_e4m3b11fnuz, "", "ml_dtypes.float8_e4m3b11fnuz", "", "", "", ""},
    NamedFormat{"float8_e8m0fnu", float8_e8m0fnu, "e8m0 ue8m0", "ml_dtypes.float8_e8m0fnu", "torch.float8_e8m0fnu", "F8_E8M0",
                "__nv_fp8_e8m0", "block scales, sm_100 and later"},
    NamedFormat{"binary8p1se", binary8p1se, "p3109_k8p1se", "", "", "", "", ""},
    NamedFormat{"binary8p1ue", binary8p1ue, "p3109_k8p1ue", "", "", "", "", ""},
    NamedFormat{"binary8p3se", binary8p3se, "p3109_k8p3se", "", "", "", "", ""},
    NamedFormat{"binary8p3ue", binary8p3ue, "p3109_k8p3ue", "", "", "", "", ""},
    NamedFormat{"binary8p3uf", binary8p3uf, "p3109_k8p3uf", "", "", "", "", ""},
    NamedFormat{"binary8p4se", binary8p4se, "p3109_k8p4se", "", "", "", "", ""},
    NamedFormat{"binary8p4ue", binary8p4ue, "p3109_k8p4ue", "", "", "", "", ""},
    NamedFormat{"binary8p4uf", binary8p4uf, "p3109_k8p4uf", "", "", "", "", ""},
    NamedFormat{"binary8p7sf", binary8p7sf, "p3109_k8p7sf", "", "", "", "", ""},
    NamedFormat{"binary8p8uf", binary8p8uf, "p3109_k8p8uf", "", "", "", "", ""},
    NamedFormat{"float6_e3m2fn", float6_e3m2fn, "e3m2", "ml_dtypes.float6_e3m2fn", "", "F6_E3M2", "__nv_fp6_e3m2",
                "tensor cores sm_100 and later"},
    NamedFormat{"float6_e2m3fn", float6_e2m3fn, "e2m3", "ml_dtypes.float6_e2m3fn", "", "F6_E2M3", "__nv_fp6_e2m3",
                "tensor cores sm_100 and later"},
    NamedFormat{"float4_e2m1fn", float4_e2m1fn, "e2m1", "ml_dtypes.float4_e2m1fn", "torch.float4_e2m1fn_x2", "F4",
                "__nv_fp4_e2m1", "tensor cores sm_100 and later"},
};

}  // namespace ulpscope::emu
