// SPDX-License-Identifier: Apache-2.0
// The engines that have a name: what real matrix units compute, as far as it is known and with the evidence for it, and
// reference orders of summation. docs/engines.md has them as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/engine.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// Why an engine is believed to be right.
enum class Evidence : std::uint8_t {
  definition,  ///< the engine is what it says; no hardware is claimed
  recordings,  ///< results recorded from the hardware are reproduced to the bit
  live,        ///< tests compare with the processor they run on, where it has the unit
  published,   ///< models by others; not checked here against the hardware
  emulator,    ///< as `live`, but the tests have run on an emulator of that processor only
  device,      ///< `ulpscope devices check` has compared it with the hardware, bit by bit
};
/// `definition`, `recordings` and so on, as in tables.
std::string_view name_of(Evidence evidence) noexcept;
/// Whether it models hardware that it has not been compared with.
constexpr bool lacks_hardware(Evidence evidence) noexcept {
  return evidence == Evidence::published || evidence == Evidence::emulator;
}

/// How many inner products were recorded of each GPU, input format and accumulator; their values are near N(0,1).
inline constexpr std::size_t recorded_inner_products = 1500;
/// How many adversarial inner products of each instruction were compared on a GPU where the evidence is `device`.
inline constexpr std::uint64_t inner_products_on_devices = 100'000'000;

/// One way of an engine to multiply: operands of one of the formats, an accumulator, and what is computed.
struct EngineMode {
  std::string_view engine;               ///< the word of the command line
  std::span<const Format> inputs;        ///< operand formats
  bool mixed;                            ///< whether A and B may differ
  Engine model;                          ///< what it computes
  std::string_view instruction;          ///< of the hardware; empty where there is none
  Evidence evidence;                     ///< why the model is believed
  std::string_view source;               ///< GPUs recorded, or publication
  Format scale_format = float8_e8m0fnu;  ///< where the engine takes scales
};

/// All modes, those of an engine together.
std::span<const EngineMode> engine_modes();
/// A unit that has no model, as nothing is published that would say its bits.
struct UnknownEngine {
  std::string_view engine;       ///< its name, as it would be that of an engine
  std::string_view operands;     ///< formats of the operands, with bars between them
  std::string_view accumulator;  ///< format of c and of the result
  std::string_view instruction;  ///< of the hardware, or what a programmer calls
  std::string_view source;       ///< what is known, and from where
};
/// The units that users ask for and that have no model. find_engine() says so of them.
std::span<const UnknownEngine> unknown_engines();
/// That of a name; null if there is none.
const UnknownEngine* find_unknown(std::string_view name) noexcept;

/// Whether it is known which NaN an engine gives. No publication says it of AMD's matrix cores, so NVIDIA's NaN stands for
/// theirs.
bool knows_nan_code(std::string_view engine) noexcept;
/// The names, each once, in the order of the modes.
std::vector<std::string> engine_names();

/// What is asked of an engine. `scales`: what the engine itself is to make of block scales.
struct EngineRequest {
  Format a, b;                               ///< formats of the operands
  Format accumulator = float32;              ///< what it sums in
  EngineScales scales = EngineScales::none;  ///< which block scales it is to apply
  Format scale_format = float8_e8m0fnu;      ///< where there are scales
};

/// The mode of a named engine for these formats.
/// @throws Error naming the closest engines, or the formats that the engine has.
const EngineMode& find_engine(std::string_view name, const EngineRequest& request);

/// The greatest `lscale` of an engine that scales products down: what UInt(FPMR.LSCALE) can be into float32, and
/// UInt(FPMR.LSCALE<3:0>) into float16 (Arm DDI 0487, FPMR and the instructions); nothing where an engine does not.
std::optional<int> greatest_lscale(const EngineMode& mode) noexcept;

/// The evidence for an engine in words: that of its mode, but where steps are shorter than those that were compared.
Evidence evidence_of(const EngineMode& mode, std::string_view words) noexcept;

/// Whether the engine is a tensor core's, of which some instructions take fewer products: mma.sync.m16n8k8 of float16 on sm_90
/// is `sm_90:n=8`.
bool has_shorter_steps(const Engine& engine) noexcept;

/// The name in words for parse_engine(): `arm_fp8` of `arm_fp8:lscale=4`; of `block:...` `block`.
std::string_view engine_name(std::string_view words) noexcept;

/// An engine from words: the name of one; `arm_fp8:lscale=4`, whose products are multiplied by 2^-4 (of all names that begin
/// with `arm_fp8`, from 0 to greatest_lscale()); `sm_90:n=8`, whose steps take 8 products (of all that has_shorter_steps()
/// holds for, 1 to what the engine has; of fp8 by two sums a multiple of 4); or `block:n=16,f=25,out=rz` with the keys
///   n      products of a step
///   f      fraction bits of the alignment; `exact` for no cut at all
///   out    rounding of the result: rz, rn, or any other rounding mode
///   bits   fraction bits of the result, if fewer than the accumulator has
///   least  least exponent of the alignment
///   cut    rz or rm: what the alignment does to the bits beyond
/// @throws Error in one line.
Engine parse_engine(std::string_view words, const EngineRequest& request);

/// The same as words, where `block:` can say it.
std::optional<std::string> block_words(const Engine& engine);

}  // namespace ulpscope::emu
