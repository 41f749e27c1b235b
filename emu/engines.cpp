// SPDX-License-Identifier: Apache-2.0
// The list of all named engines, and how their modes are found.
#include "emu/engines.hpp"

#include <algorithm>
#include <array>

#include "emu/catalogue.hpp"

namespace ulpscope::emu {
namespace {

constexpr std::array half{float16};
constexpr std::array brain{bfloat16};
constexpr std::array halves{float16, bfloat16};
constexpr std::array tensor_float{tf32};
constexpr std::array singles{float32};
constexpr std::array doubles{float64};
constexpr std::array bytes{float8_e4m3fn, float8_e5m2};
constexpr std::array narrow{float8_e4m3fn, float8_e5m2, float6_e3m2fn, float6_e2m3fn, float4_e2m1fn};
constexpr std::array nibbles{float4_e2m1fn};
constexpr std::array bytes_fnuz{float8_e4m3fnuz, float8_e5m2fnuz};
constexpr std::span<const Format> any{};

constexpr Rounding rz = Rounding::toward_zero, rne = Rounding::nearest_even;

// The least exponents that Khattak and Mikaitis found, for float32 and for float16 results.
struct Least {
  int for_float32, for_float16;
};
constexpr Least volta{Engine::no_least_exponent, -19}, ampere{-132, -20}, hopper{-133, -21};

constexpr Engine tensor_core(int products, int fraction_bits, Format accumulator, Least least) {
  const bool narrow_result = accumulator == float16;
  Engine engine = block_fma(products, fraction_bits, accumulator, narrow_result ? rne : rz);
  engine.least_exponent = narrow_result ? least.for_float16 : least.for_float32;
  return engine;
}

/// fp8 with 13 fraction bits in the alignment and in a float32 result.
constexpr Engine short_accumulator(int products, Format accumulator, Least least) {
  Engine engine = tensor_core(products, 13, accumulator, least);
  if (accumulator == float32) engine.result_fraction_bits = 13;
  return engine;
}

/// The fp8 mma.sync of sm_90 and sm_100: two float16 steps of 16 products, k mod 4 in {0, 1} and then in {2, 3}, the second
/// with the result of the first for its addend; then c, by an IEEE addition. ptxas makes F2FP.F16.E4M3.UNPACK_B, HMMA.16816 and
/// FADD or HADD2 of it.
constexpr Engine two_half_steps(Format accumulator) {
  Engine engine = tensor_core(32, 25, accumulator, hopper);
  engine.operands_become_float16 = true;
  Stage& halves_of_k = engine.stages[0];
  halves_of_k.terms = 16;
  halves_of_k.run = 2;
  halves_of_k.addend = Addend::none;
  halves_of_k.carried = true;
  engine.stages[1].summing = Summing::sequential;
  engine.stages[1].addend = Addend::last;
  engine.stages[1].starts_at_zero = false;
  engine.stage_count = 2;
  return engine;
}

/// Scales of 32 products whose exponents join those of the products.
constexpr Engine with_product_scales(Engine engine) {
  engine.scales = EngineScales::products;
  engine.scale_products = 32;
  return engine;
}

/// mxf4 and nvf4: four groups of 16 products, summed exactly and scaled; then one step of the group sums and c.
constexpr Engine group_scaled(int scale_products) {
  Engine engine = block_fma(64, 35);
  engine.least_exponent = hopper.for_float32;
  engine.stages[1] = engine.stages[0];
  engine.stages[1].terms = Stage::all;
  engine.stages[0] = {};
  engine.stages[0].summing = Summing::exact;
  engine.stages[0].terms = 16;
  engine.stages[0].rounded = false;
  engine.stage_count = 2;
  engine.scales = EngineScales::group_sums;
  engine.scale_products = scale_products;
  return engine;
}

/// c and exact products, summed exactly and rounded once.
constexpr Engine exact_block(int products, Format accumulator = float32) {
  Engine engine = block_fma(products, 0, accumulator, rne);
  engine.stages[0].summing = Summing::exact;
  return engine;
}
constexpr Engine exact_sum(Format accumulator) {
  Engine engine = exact_block(Stage::all, accumulator);
  engine.stages[0].keeps_minus_zero = true;
  return engine;
}

/// Products rounded and summed in pairs; then c.
constexpr Engine pairwise(int products, Format accumulator = float32) {
  Engine engine = fma_chain(accumulator);
  engine.products = products;
  engine.stages[0].summing = Summing::pairwise;
  engine.stages[0].terms = products;
  return engine;
}

constexpr Engine flushing(Engine engine) {
  engine.subnormal_inputs_are_zero = engine.subnormal_addend_is_zero = engine.subnormal_results_are_zero = true;
  return engine;
}
constexpr Engine without_input_signs(Engine engine) {
  engine.input_zeros_are_positive = true;
  return engine;
}

/// Every NaN is the quiet one without payload, which is positive on Arm (DDI 0487, FPDefaultNaN).
constexpr Engine with_default_nan(Engine engine) {
  const Format format = engine.accumulator;
  engine.nan_code = format.infinity_code() | format.infinity_code() >> 1;
  return engine;
}
/// The same, negative: the real indefinite of x86 (Intel SDM volume 1, 4.8.3.7).
constexpr Engine with_indefinite_nan(Engine engine) {
  engine = with_default_nan(engine);
  engine.nan_code |= engine.accumulator.sign_mask();
  return engine;
}
/// NaNs as on x86: those of operands survive, new ones are the real indefinite.
constexpr Engine with_x86_nans(Engine engine) {
  engine = with_indefinite_nan(engine);
  engine.nan_result = NanResult::operand;
  return engine;
}
/// NaNs as in float64 on NVIDIA's GPUs.
constexpr Engine with_double_nans(Engine engine) {
  engine = with_indefinite_nan(engine);
  engine.nan_result = NanResult::second_operand;
  return engine;
}
/// NaNs as on Arm: those of operands survive, signaling ones first; new ones are the default one.
constexpr Engine with_arm_nans(Engine engine) {
  engine = with_default_nan(engine);
  engine.nan_result = NanResult::signaling_operand;
  return engine;
}

/// Products aligned among themselves; their sum and c aligned once more, floored, and rounded.
constexpr Engine late_addend(int products) {
  Engine engine = block_fma(products, 24, float32, rne);
  Stage& sum = engine.stages[0];
  sum.addend = Addend::none;
  sum.rounded = false;
  Stage& join = engine.stages[1];
  join.terms = Stage::all;
  join.addend = Addend::first;
  join.fraction_bits = 31;
  join.addend_fraction_bits = 24;
  join.cut = Cut::downward;
  join.keeps_minus_zero = true;
  engine.stage_count = 2;
  engine.least_exponent = float32.min_exponent();
  engine.products_overflow = true;
  return engine;
}

/// The same with even and odd products summed apart, joined at 24 bits; a c that is far below the sum is left out.
constexpr Engine late_addend_even_odd() {
  Engine engine = late_addend(16);
  engine.stages[2] = engine.stages[1];
  engine.stages[2].addend_window = 25;
  engine.stages[0].terms = 8;
  engine.stages[0].run = 1;
  engine.stages[1] = {};
  engine.stages[1].fraction_bits = 24;
  engine.stages[1].cut = Cut::downward;
  engine.stages[1].rounded = false;
  engine.stage_count = 3;
  return engine;
}

/// Sums of a stage joined in turn, the last one first, and then c.
constexpr Engine joined_by_additions(Engine engine) {
  Stage& join = engine.stages[static_cast<std::size_t>(engine.stage_count)];
  join.summing = Summing::sequential;
  join.addend = Addend::last;
  join.descending = true;
  join.starts_at_zero = false;
  ++engine.stage_count;
  return engine;
}

/// TDPBF16PS: chains of fma over even and over odd k, both from +0; their sum; that and c. The odd sum comes first because the
/// NaN that joins last survives: c, then that of the even sum.
constexpr Engine even_odd_chains() {
  Engine engine = with_x86_nans(flushing(fma_chain()));
  engine.products = 32;
  engine.stages[0].terms = 16;
  engine.stages[0].run = 1;
  engine.stages[0].addend = Addend::none;
  return joined_by_additions(engine);
}
/// TDPFP16PS: the same, but operands become float32 numbers first, of which none is subnormal.
constexpr Engine even_odd_chains_of_halves() {
  Engine engine = even_odd_chains();
  engine.subnormal_inputs_are_zero = false;
  return engine;
}

/// TMMULTF32PS: a chain of fma from +0; that and c. Results are flushed, operands and c are not.
constexpr Engine chain_then_addend() {
  Engine engine = with_x86_nans(fma_chain());
  engine.products = engine.stages[0].terms = 16;
  engine.stages[0].addend = Addend::last;
  engine.subnormal_results_are_zero = true;
  return engine;
}

/// Products summed exactly and rounded to nearest even; then c, by an IEEE addition.
constexpr Engine exact_then_addend(int products) {
  Engine engine = exact_block(products);
  engine.stages[0].addend = Addend::none;
  engine = joined_by_additions(engine);
  engine.stages[1].descending = false;
  return engine;
}

/// TDPBF8PS and its relatives: all products of a tile at once; every NaN is the real indefinite.
constexpr Engine exact_tile_rows() {
  Engine engine = with_indefinite_nan(exact_then_addend(64));
  engine.subnormal_addend_is_zero = engine.subnormal_results_are_zero = true;
  return engine;
}

/// FPDot and FPAdd (DDI 0487): BFDOT, BFMMLA and BFMOPA with FPCR.EBF = 1. Every NaN is the default one.
constexpr Engine fused_pairs() {
  Engine engine = with_default_nan(exact_then_addend(2));
  engine.stages[0].keeps_minus_zero = true;
  return engine;
}

/// Arm's multiplications of fp8 (DDI 0487, A1.5.5): products and c, rounded once. Every NaN is the default one.
constexpr Engine fused_bytes(int products, Format accumulator) {
  Engine engine = with_default_nan(exact_block(products, accumulator));
  engine.stages[0].keeps_minus_zero = true;
  return engine;
}

/// VDPBF16PS: the odd product, then the even one.
constexpr Engine odd_then_even() {
  Engine engine = with_x86_nans(flushing(fma_chain()));
  engine.products = 2;
  engine.stages[0].terms = 2;
  engine.stages[0].descending = true;
  return engine;
}

/// BFDOT and BFMMLA with FPCR.EBF = 0 (DDI 0487, BFDotAdd): two products, their sum, and that and c, rounded to odd and flushed
/// every time. Every NaN is the default one.
constexpr Engine odd_pairs() {
  Engine engine = with_default_nan(flushing(pairwise(2)));
  engine.stages[0].rounding = Rounding::to_odd;
  return engine;
}

constexpr std::string_view mma_sim = "arXiv 2511.10909v2";
constexpr std::string_view arm_manual = "Arm DDI 0487", arm_and_qemu = "Arm DDI 0487, qemu 7.2";
constexpr std::string_view intel_extensions = "Intel ISE 319433", intel_emulation = "Intel ISE 319433, Bochs";
constexpr std::string_view mi100 = "arXiv 2511.10909v2, MATLAB-tensor-core MI100";

// Ordered by engine; the first mode that fits is the one.
constexpr std::array modes{
    EngineMode{"sm_70", half, false, tensor_core(4, 23, float32, volta), "mma.sync.m8n8k4", Evidence::recordings, "V100"},
    EngineMode{"sm_70", half, false, tensor_core(4, 23, float16, volta), "mma.sync.m8n8k4", Evidence::recordings, "V100"},

    EngineMode{"sm_75", half, false, tensor_core(8, 24, float32, ampere), "mma.sync.m16n8k8", Evidence::published, mma_sim},
    EngineMode{"sm_75", half, false, tensor_core(8, 24, float16, ampere), "mma.sync.m16n8k8", Evidence::published, mma_sim},

    EngineMode{"sm_80", halves, false, tensor_core(8, 24, float32, ampere), "mma.sync.m16n8k16", Evidence::recordings, "A100"},
    EngineMode{"sm_80", half, false, tensor_core(8, 24, float16, ampere), "mma.sync.m16n8k16", Evidence::recordings, "A100"},
    EngineMode{"sm_80", tensor_float, false, tensor_core(4, 24, float32, ampere), "mma.sync.m16n8k8", Evidence::recordings,
               "A100"},
    EngineMode{"sm_80", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::published, mma_sim},

    EngineMode{"sm_86", halves, false, tensor_core(8, 24, float32, ampere), "mma.sync.m16n8k16", Evidence::recordings, "A2"},
    EngineMode{"sm_86", half, false, tensor_core(8, 24, float16, ampere), "mma.sync.m16n8k16", Evidence::recordings, "A2"},
    EngineMode{"sm_86", tensor_float, false, tensor_core(4, 24, float32, ampere), "mma.sync.m16n8k8", Evidence::recordings,
               "A2"},
    EngineMode{"sm_86", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::published, mma_sim},

    EngineMode{"sm_89", halves, false, tensor_core(8, 24, float32, ampere), "mma.sync.m16n8k16", Evidence::recordings,
               "Ada L40S"},
    EngineMode{"sm_89", half, false, tensor_core(8, 24, float16, ampere), "mma.sync.m16n8k16", Evidence::recordings,
               "Ada L40S"},
    EngineMode{"sm_89", tensor_float, false, tensor_core(4, 24, float32, ampere), "mma.sync.m16n8k8", Evidence::recordings,
               "Ada L40S"},
    EngineMode{"sm_89", bytes, true, short_accumulator(16, float32, ampere), "mma.sync.m16n8k32", Evidence::recordings,
               "Ada L40S"},
    EngineMode{"sm_89", bytes, true, short_accumulator(16, float16, ampere), "mma.sync.m16n8k32", Evidence::recordings, "Ada"},
    EngineMode{"sm_89", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::published, mma_sim},

    EngineMode{"sm_90", halves, false, tensor_core(16, 25, float32, hopper), "wgmma", Evidence::device, "H200"},
    EngineMode{"sm_90", half, false, tensor_core(16, 25, float16, hopper), "wgmma", Evidence::device, "H200"},
    EngineMode{"sm_90", tensor_float, false, tensor_core(8, 25, float32, hopper), "wgmma", Evidence::device, "H200"},
    EngineMode{"sm_90", bytes, true, short_accumulator(32, float32, hopper), "wgmma", Evidence::device, "H200"},
    EngineMode{"sm_90", bytes, true, short_accumulator(32, float16, hopper), "wgmma", Evidence::device, "H200"},
    EngineMode{"sm_90", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::device, "H200"},
    EngineMode{"sm_90/mma", bytes, true, two_half_steps(float16), "mma.sync.m16n8k32", Evidence::device, "H200"},
    EngineMode{"sm_90/mma", bytes, true, two_half_steps(float32), "mma.sync.m16n8k32", Evidence::device, "H200"},

    EngineMode{"sm_100", halves, false, tensor_core(16, 25, float32, hopper), "tcgen05.mma", Evidence::recordings, "B200"},
    EngineMode{"sm_100", half, false, tensor_core(16, 25, float16, hopper), "tcgen05.mma", Evidence::recordings, "B200"},
    EngineMode{"sm_100", tensor_float, false, tensor_core(8, 25, float32, hopper), "tcgen05.mma", Evidence::recordings, "B200"},
    EngineMode{"sm_100", narrow, true, tensor_core(32, 25, float32, hopper), "tcgen05.mma", Evidence::published, mma_sim},
    EngineMode{"sm_100", narrow, true, tensor_core(32, 25, float16, hopper), "tcgen05.mma", Evidence::published, mma_sim},
    EngineMode{"sm_100", nibbles, false, group_scaled(32), "tcgen05.mma mxf4", Evidence::published, mma_sim},
    EngineMode{"sm_100", nibbles, false, group_scaled(16), "tcgen05.mma mxf4nvf4", Evidence::published, mma_sim, float8_e4m3fn},
    EngineMode{"sm_100", narrow, true, with_product_scales(tensor_core(32, 25, float32, hopper)), "tcgen05.mma mxf8f6f4",
               Evidence::published, mma_sim},
    EngineMode{"sm_100", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::published, mma_sim},
    EngineMode{"sm_100/mma", bytes, true, two_half_steps(float32), "mma.sync.m16n8k32", Evidence::recordings, "B200"},
    EngineMode{"sm_100/mma", bytes, true, two_half_steps(float16), "mma.sync.m16n8k32", Evidence::recordings, "B200"},

    EngineMode{"sm_120", halves, false, tensor_core(16, 25, float32, hopper), "mma.sync.m16n8k16", Evidence::published,
               mma_sim},
    EngineMode{"sm_120", half, false, tensor_core(16, 25, float16, hopper), "mma.sync.m16n8k16", Evidence::published, mma_sim},
    EngineMode{"sm_120", tensor_float, false, tensor_core(8, 25, float32, hopper), "mma.sync.m16n8k8", Evidence::published,
               mma_sim},
    EngineMode{"sm_120", narrow, true, tensor_core(32, 25, float32, hopper), "mma.sync.m16n8k32", Evidence::published, mma_sim},
    EngineMode{"sm_120", narrow, true, tensor_core(32, 25, float16, hopper), "mma.sync.m16n8k32", Evidence::published, mma_sim},
    EngineMode{"sm_120", nibbles, false, group_scaled(32), "mma.sync.m16n8k64 mxf4", Evidence::published, mma_sim},
    EngineMode{"sm_120", nibbles, false, group_scaled(16), "mma.sync.m16n8k64 mxf4nvf4", Evidence::published, mma_sim,
               float8_e4m3fn},
    EngineMode{"sm_120", narrow, true, with_product_scales(tensor_core(32, 25, float32, hopper)), "mma.sync.m16n8k32 mxf8f6f4",
               Evidence::published, mma_sim},
    EngineMode{"sm_120", doubles, false, with_double_nans(fma_chain(float64)), "mma.sync.m8n8k4", Evidence::published, mma_sim},

    EngineMode{"cdna1", half, false, exact_block(4), "v_mfma_f32_f16", Evidence::published, mi100},
    EngineMode{"cdna1", brain, false, exact_block(2), "v_mfma_f32_bf16", Evidence::published, mi100},

    EngineMode{"cdna2", halves, false, without_input_signs(flushing(pairwise(4))), "v_mfma_f32_f16, v_mfma_f32_bf16_1k",
               Evidence::published, mma_sim},
    EngineMode{"cdna2", doubles, false, fma_chain(float64), "v_mfma_f64_f64", Evidence::published, mma_sim},
    EngineMode{"cdna2/bf16", brain, false, without_input_signs(flushing(pairwise(2))), "v_mfma_f32_bf16", Evidence::published,
               mma_sim},

    EngineMode{"cdna3", halves, false, late_addend(8), "v_mfma_f32_f16, v_mfma_f32_bf16", Evidence::published, mma_sim},
    EngineMode{"cdna3", tensor_float, false, late_addend(4), "v_mfma_f32_xf32", Evidence::published, mma_sim},
    EngineMode{"cdna3", bytes_fnuz, true, late_addend_even_odd(), "v_mfma_f32_fp8_fp8", Evidence::published, mma_sim},
    EngineMode{"cdna3", doubles, false, fma_chain(float64), "v_mfma_f64_f64", Evidence::published, mma_sim},

    EngineMode{"amx_bf16", brain, false, even_odd_chains(), "TDPBF16PS", Evidence::live, "Intel SDM"},
    EngineMode{"amx_fp16", half, false, even_odd_chains_of_halves(), "TDPFP16PS", Evidence::published, intel_extensions},
    EngineMode{"amx_tf32", tensor_float, false, chain_then_addend(), "TMMULTF32PS", Evidence::published, intel_extensions},
    EngineMode{"amx_fp8", bytes, true, exact_tile_rows(), "TDPBF8PS, TDPBHF8PS, TDPHBF8PS, TDPHF8PS", Evidence::published,
               intel_emulation},
    EngineMode{"avx512_bf16", brain, false, odd_then_even(), "VDPBF16PS", Evidence::live, "Intel SDM"},

    EngineMode{"x86_fma", half, false, with_x86_nans(fma_chain(float16)), "VFMADD231PH", Evidence::live, "Intel SDM"},
    EngineMode{"x86_fma", singles, false, with_x86_nans(fma_chain(float32)), "VFMADD231PS", Evidence::live, "Intel SDM"},
    EngineMode{"x86_fma", doubles, false, with_x86_nans(fma_chain(float64)), "VFMADD231PD", Evidence::live, "Intel SDM"},

    EngineMode{"arm_bf16", brain, false, odd_pairs(), "BFDOT, BFMMLA", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_ebf16", brain, false, fused_pairs(), "BFDOT, BFMMLA, BFMOPA", Evidence::published, arm_manual},
    // The same as fused_pairs(): products of two halves are float32 numbers.
    EngineMode{"arm_fmopa", half, false, with_default_nan(pairwise(2)), "FMOPA, FDOT", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fmopa", singles, false, with_default_nan(fma_chain(float32)), "FMOPA", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fmopa", doubles, false, with_default_nan(fma_chain(float64)), "FMOPA", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fp8", bytes, true, fused_bytes(4, float32), "FDOT, FMOPA", Evidence::published, arm_manual},
    EngineMode{"arm_fp8", bytes, true, fused_bytes(2, float16), "FDOT, FMOPA", Evidence::published, arm_manual},
    EngineMode{"arm_fp8/fmlal", bytes, true, with_default_nan(fma_chain(float32)), "FMLALL", Evidence::published, arm_manual},
    EngineMode{"arm_fp8/fmlal", bytes, true, with_default_nan(fma_chain(float16)), "FMLAL", Evidence::published, arm_manual},
    EngineMode{"arm_fp8/fmmla", bytes, true, fused_bytes(8, float32), "FMMLA", Evidence::published, arm_manual},
    EngineMode{"arm_fp8/fmmla", bytes, true, fused_bytes(4, float16), "FMMLA", Evidence::published, arm_manual},

    // Two fused pairs, their sum, and that and c; FPCR.DN = 1. The same as pairwise sums of four where products are floats.
    EngineMode{"arm_fmmla", half, false, with_default_nan(pairwise(4)), "FMMLA", Evidence::published, arm_manual},
    EngineMode{"arm_fmmla", singles, false, with_default_nan(pairwise(2)), "FMMLA", Evidence::published, arm_manual},
    EngineMode{"arm_fmmla", doubles, false, with_default_nan(pairwise(2, float64)), "FMMLA", Evidence::published, arm_manual},

    EngineMode{"arm_fma", half, false, with_arm_nans(fma_chain(float16)), "FMLA", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fma", half, false, with_arm_nans(fma_chain(float32)), "FMLAL, FMLAL2", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fma", brain, false, with_arm_nans(fma_chain(float32)), "BFMLALB, BFMLALT", Evidence::emulator,
               arm_and_qemu},
    EngineMode{"arm_fma", singles, false, with_arm_nans(fma_chain(float32)), "FMLA", Evidence::emulator, arm_and_qemu},
    EngineMode{"arm_fma", doubles, false, with_arm_nans(fma_chain(float64)), "FMLA", Evidence::emulator, arm_and_qemu},

    EngineMode{"fma", any, true, fma_chain(float32), "", Evidence::definition, "IEEE 754-2019, 5.4.1"},
    EngineMode{"fma", any, true, fma_chain(float16), "", Evidence::definition, "IEEE 754-2019, 5.4.1"},
    EngineMode{"fma", any, true, fma_chain(float64), "", Evidence::definition, "IEEE 754-2019, 5.4.1"},
    EngineMode{"pairwise", any, true, pairwise(Stage::all, float32), "", Evidence::definition,
               "doi 10.1137/1.9780898718027, 4.1"},
    EngineMode{"pairwise", any, true, pairwise(Stage::all, float16), "", Evidence::definition,
               "doi 10.1137/1.9780898718027, 4.1"},
    EngineMode{"pairwise", any, true, pairwise(Stage::all, float64), "", Evidence::definition,
               "doi 10.1137/1.9780898718027, 4.1"},
    EngineMode{"fp16_chain", any, true, fma_chain(float16), "", Evidence::definition, "IEEE 754-2019, 5.4.1"},
    EngineMode{"exact", any, true, exact_sum(float32), "", Evidence::definition, "IEEE 754-2019, 4.3"},
    EngineMode{"exact", any, true, exact_sum(float16), "", Evidence::definition, "IEEE 754-2019, 4.3"},
    EngineMode{"exact", any, true, exact_sum(float64), "", Evidence::definition, "IEEE 754-2019, 4.3"},
};

// Formats and sizes are documented, how sums are cut and rounded is not.
constexpr std::array unknown{
    UnknownEngine{"cdna4", "float16|bfloat16|float8_e4m3fn|float8_e5m2|float6_e3m2fn|float6_e2m3fn|float4_e2m1fn", "float32",
                  "v_mfma_f32, v_mfma_scale_f32_f8f6f4", "AMD CDNA4 ISA: OCP scales of 32; nothing of cuts and roundings"},
    UnknownEngine{"rdna3", "float16|bfloat16", "float32", "v_wmma_f32_16x16x16",
                  "AMD RDNA3 ISA: 16 products; nothing of cuts and roundings"},
    UnknownEngine{"rdna4", "float16|bfloat16|float8_e4m3fn|float8_e5m2", "float32", "v_wmma_f32_16x16x16",
                  "AMD RDNA4 ISA: 16 products; nothing of cuts and roundings"},
    UnknownEngine{"arm_f16mm", "float16", "float16", "FMMLA",
                  "Arm FEAT_F16MM: float16 results; nothing found of the roundings in between"},
    UnknownEngine{"tpu", "bfloat16", "float32", "MXU",
                  "doi 10.1145/3360307: exact products, float32 sums; nothing of their order"},
    UnknownEngine{"apple_gpu", "float16|bfloat16|float32", "float32", "simdgroup_multiply_accumulate",
                  "Metal Shading Language: tiles of 8; nothing of cuts and roundings"},
};

}  // namespace

std::span<const EngineMode> engine_modes() { return modes; }

std::span<const UnknownEngine> unknown_engines() { return unknown; }

const UnknownEngine* find_unknown(std::string_view name) noexcept {
  const auto* const found = std::find_if(unknown.begin(), unknown.end(), [&](const auto& unit) { return unit.engine == name; });
  return found == unknown.end() ? nullptr : &*found;
}

}  // namespace ulpscope::emu
