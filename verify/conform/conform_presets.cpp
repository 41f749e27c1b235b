// SPDX-License-Identifier: Apache-2.0
// The table of converters, their rules and sources.
#include "verify/conform/conform_presets.hpp"

#include <algorithm>
#include <array>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::verify {
namespace {

using enum emu::Policy;
using emu::Policy;
using emu::Rounding;

constexpr emu::RoundingOptions nearest(Policy policy) { return {.rounding = Rounding::nearest_even, .policy = policy}; }

/// Every bit of a NaN is prescribed: the code without its sign, and the sign.
constexpr Rules bits(Policy policy, emu::Code nan, Sign sign, Sign overflow_sign) {
  return {.options = nearest(policy),
          .nan_check = NanCheck::code,
          .nan_code = nan,
          .nan_sign = sign,
          .overflow_nan_sign = overflow_sign};
}
constexpr Rules bits(Policy policy, emu::Code nan, Sign sign) { return bits(policy, nan, sign, sign); }

/// Any NaN will do.
constexpr Rules any_nan(Policy policy, InfinityRule of_infinity = InfinityRule::by_policy) {
  return {.options = nearest(policy), .infinity = of_infinity};
}

/// The first NaN whose leading fraction bit is set (IEEE 754-2019, 6.2.1).
constexpr emu::Code quiet(emu::Format format) { return format.infinity_code() | emu::Code{1} << (format.fraction_bits - 1); }
constexpr emu::Code canonical(emu::Format format) { return format.nan_code(); }

/// Scales: |x| rounded up, or zero and what is negative as the library has it.
constexpr Rules scale(Rounding rounding, Policy policy, NegativeRule negative, ZeroRule zero) {
  return {.options = {.rounding = rounding, .policy = policy}, .nan_check = NanCheck::code, .negative = negative, .zero = zero};
}

constexpr std::string_view cuda_header = "CUDA 13 cuda_fp8.h, __nv_cvt_float_to_fp8",
                           cuda_scale_header = "CUDA 13 cuda_fp8.h, __nv_cvt_float_to_e8m0 with cudaRoundPosInf",
                           cuda_small_header = "CUDA 13 cuda_fp6.h and cuda_fp4.h: NaN inputs result in positive MAXNORM",
                           cuda_half_header = "CUDA 13 cuda_fp16.h __float2half_rn, cuda_bf16.h __float2bfloat16_rn",
                           ml_dtypes_source = "ml_dtypes 0.6.0, numpy astype from float32",
                           onnx_source = "ONNX operator Cast, opset 24 and 25, table of float 8 conversions",
                           onnx_19_source = "ONNX operator Cast, opset 19 to 23, table of float 8 conversions",
                           pytorch_source = "PyTorch 2.15.0, torch/headeronly/util/Float8_*.h, fp8*_from_fp32_value",
                           pytorch_old_source = "PyTorch 2.7.0, c10/util/Float8_*.h, fp8*_from_fp32_value";

constexpr auto positive = Sign::positive, of_input = Sign::of_input, opposite = Sign::opposite;

constexpr std::array table{
    // cvt.rn.satfinite; a NaN loses its sign.
    Preset{"cuda", emu::float8_e4m3fn, bits(saturating, canonical(emu::float8_e4m3fn), positive), cuda_header},
    Preset{"cuda", emu::float8_e5m2, bits(saturating, canonical(emu::float8_e5m2), positive), cuda_header},
    Preset{"cuda", emu::float8_e8m0fnu, scale(Rounding::upward, saturating, NegativeRule::magnitude, ZeroRule::is_least),
           cuda_scale_header},
    Preset{"cuda", emu::float6_e3m2fn, bits(saturating, emu::float6_e3m2fn.max_finite_code(), positive), cuda_small_header},
    Preset{"cuda", emu::float6_e2m3fn, bits(saturating, emu::float6_e2m3fn.max_finite_code(), positive), cuda_small_header},
    Preset{"cuda", emu::float4_e2m1fn, bits(saturating, emu::float4_e2m1fn.max_finite_code(), positive), cuda_small_header},
    Preset{"cuda", emu::float16, bits(nonsaturating, canonical(emu::float16), positive), cuda_half_header},
    Preset{"cuda", emu::bfloat16, bits(nonsaturating, canonical(emu::bfloat16), positive), cuda_half_header},
    // __NV_NOSAT: an overflow keeps its sign in the NaN that it becomes, a NaN does not.
    Preset{"cuda_nosat", emu::float8_e4m3fn, bits(nonsaturating, canonical(emu::float8_e4m3fn), positive, of_input),
           cuda_header},
    Preset{"cuda_nosat", emu::float8_e5m2, bits(nonsaturating, canonical(emu::float8_e5m2), positive), cuda_header},
    Preset{"cuda_nosat", emu::float8_e8m0fnu,
           scale(Rounding::upward, nonsaturating, NegativeRule::magnitude, ZeroRule::is_least), cuda_scale_header},

    // saturate=1 and 0. NaN bits are not prescribed.
    Preset{"onnx", emu::float8_e4m3fn, any_nan(saturating), onnx_source},
    Preset{"onnx", emu::float8_e4m3fnuz, any_nan(saturating), onnx_source},
    Preset{"onnx", emu::float8_e5m2, any_nan(saturating), onnx_source},
    Preset{"onnx", emu::float8_e5m2fnuz, any_nan(saturating), onnx_source},
    Preset{"onnx_19", emu::float8_e4m3fn, any_nan(saturating), onnx_19_source},
    Preset{"onnx_19", emu::float8_e4m3fnuz, any_nan(saturating, InfinityRule::is_nan), onnx_19_source},
    Preset{"onnx_19", emu::float8_e5m2, any_nan(saturating), onnx_19_source},
    Preset{"onnx_19", emu::float8_e5m2fnuz, any_nan(saturating, InfinityRule::is_nan), onnx_19_source},
    Preset{"onnx_nosat", emu::float8_e4m3fn, any_nan(nonsaturating), onnx_source},
    Preset{"onnx_nosat", emu::float8_e4m3fnuz, any_nan(nonsaturating), onnx_source},
    Preset{"onnx_nosat", emu::float8_e5m2, any_nan(nonsaturating), onnx_source},
    Preset{"onnx_nosat", emu::float8_e5m2fnuz, any_nan(nonsaturating), onnx_source},

    // Formats without NaN make of it a zero of the opposite sign.
    Preset{"ml_dtypes", emu::bfloat16, bits(nonsaturating, quiet(emu::bfloat16), of_input), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e5m2, bits(nonsaturating, quiet(emu::float8_e5m2), of_input), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e4m3, bits(nonsaturating, quiet(emu::float8_e4m3), of_input), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e3m4, bits(nonsaturating, quiet(emu::float8_e3m4), of_input), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e4m3fn, bits(nonsaturating, canonical(emu::float8_e4m3fn), of_input), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e4m3fnuz, bits(nonsaturating, canonical(emu::float8_e4m3fnuz), positive), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e5m2fnuz, bits(nonsaturating, canonical(emu::float8_e5m2fnuz), positive), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float8_e4m3b11fnuz, bits(nonsaturating, canonical(emu::float8_e4m3b11fnuz), positive),
           ml_dtypes_source},
    Preset{"ml_dtypes", emu::float6_e3m2fn, bits(nonsaturating, 0, opposite), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float6_e2m3fn, bits(nonsaturating, 0, opposite), ml_dtypes_source},
    Preset{"ml_dtypes", emu::float4_e2m1fn, bits(nonsaturating, 0, opposite), ml_dtypes_source},

    // Eager .to(torch.float8_*) on the CPU.
    Preset{"pytorch", emu::float8_e4m3fn, bits(saturating, canonical(emu::float8_e4m3fn), of_input), pytorch_source},
    Preset{"pytorch", emu::float8_e5m2, bits(nonsaturating, canonical(emu::float8_e5m2), of_input), pytorch_source},
    Preset{"pytorch", emu::float8_e4m3fnuz, bits(nonsaturating, canonical(emu::float8_e4m3fnuz), positive), pytorch_source},
    Preset{"pytorch", emu::float8_e5m2fnuz, bits(nonsaturating, canonical(emu::float8_e5m2fnuz), positive), pytorch_source},
    Preset{"pytorch_2_7", emu::float8_e4m3fn, bits(nonsaturating, canonical(emu::float8_e4m3fn), of_input), pytorch_old_source},
    Preset{"pytorch_2_7", emu::float8_e5m2, bits(nonsaturating, canonical(emu::float8_e5m2), of_input), pytorch_old_source},
    Preset{"pytorch_2_7", emu::float8_e4m3fnuz, bits(nonsaturating, canonical(emu::float8_e4m3fnuz), positive),
           pytorch_old_source},
    Preset{"pytorch_2_7", emu::float8_e5m2fnuz, bits(nonsaturating, canonical(emu::float8_e5m2fnuz), positive),
           pytorch_old_source},
};

std::string normalised(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == '.') c = '_';
  }
  return word;
}

}  // namespace

std::span<const Preset> presets() noexcept { return table; }

std::vector<std::string> preset_names() {
  std::vector<std::string> out;
  for (const Preset& preset : table)
    if (out.empty() || out.back() != preset.name) out.emplace_back(preset.name);
  return out;
}

const Preset& find_preset(const std::string& name, emu::Format to) {
  std::string formats, names;
  for (const Preset& preset : table) {
    if (preset.name != normalised(name)) continue;
    if (preset.to == to) return preset;
    formats += (formats.empty() ? "" : ", ") + emu::format_name(preset.to);
  }
  if (!formats.empty())
    throw Error("--preset " + name + ": nothing is known of its " + emu::format_name(to) + "; it has " + formats);
  for (const std::string& known : preset_names()) names += (names.empty() ? "" : ", ") + known;
  throw Error("unknown preset '" + name + "'; there are " + names);
}

}  // namespace ulpscope::verify
