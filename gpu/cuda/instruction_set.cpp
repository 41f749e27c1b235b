// SPDX-License-Identifier: Apache-2.0
// Which instructions were compiled for the architecture that the device has.
#include "gpu/cuda/instruction_set.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>

#include "emu/engines.hpp"
#include "gpu/architecture.hpp"

namespace ulpscope::gpu::cuda {
namespace {

struct Compiled {
  int architecture = 0;
  bool specific = false, family = false, real = false, portable = false;

  bool runs_on(int capability) const noexcept {
    if (specific) return capability == architecture;
    const bool later = capability >= architecture, same_major = capability / 10 == architecture / 10;
    return ((real || family) && later && same_major) || (portable && !family && later);
  }
};

std::optional<Compiled> compiled(std::string_view words) {
  Compiled code;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), code.architecture);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view rest = words.substr(static_cast<std::size_t>(end - words.data()));
  code.specific = rest.starts_with('a');
  code.family = rest.starts_with('f');
  code.real = !rest.ends_with("-virtual");
  code.portable = !rest.ends_with("-real");
  return code;
}

}  // namespace

std::optional<Target> target_for(int capability, std::string_view architectures) {
  std::optional<Target> best;
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find(','), architectures.size());
    const std::optional<Compiled> code = compiled(architectures.substr(0, end));
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
    if (!code || !code->runs_on(capability)) continue;
    // Which of sm_120 and sm_120f the driver takes is not documented; the one with more instructions, it is supposed.
    const auto rank = [](const auto& x) { return std::tuple(x.architecture, x.specific, x.family); };
    if (!best || rank(*code) > rank(*best))
      best =
          Target{capability, code->architecture, code->specific, code->family, engine_of("sm_" + std::to_string(capability))};
  }
  return best;
}

std::optional<Target> target_for(int capability) { return target_for(capability, ULPSCOPE_CUDA_ARCHITECTURES); }

std::string engine_of_steps(const std::string& engine, const Operation& operation, std::size_t step) {
  const auto multiplies = [&](const emu::EngineMode& mode) {
    return mode.engine == engine && mode.model.accumulator == operation.accumulator && mode.model.scales == operation.scales &&
           std::find(mode.inputs.begin(), mode.inputs.end(), operation.a) != mode.inputs.end();
  };
  const auto modes = emu::engine_modes();
  const auto mode = std::find_if(modes.begin(), modes.end(), multiplies);
  if (mode == modes.end()) return engine;
  const bool shorter = emu::has_shorter_steps(mode->model) && static_cast<std::size_t>(mode->model.products) > step;
  return shorter ? engine + ":n=" + std::to_string(step) : engine;
}

std::vector<Instruction> instructions(int capability) {
  std::vector<Instruction> all;
  const std::optional<Target> target = target_for(capability);
  if (!target) return all;
  for (const auto add : {add_float16_mma, add_wide_mma, add_float8_mma, add_narrow_mma, add_scaled_mma, add_wgmma, add_tcgen05,
                         add_scaled_tcgen05, add_wmma})
    add(*target, all);
  return all;
}

std::vector<ElementInstruction> element_instructions(int capability) {
  std::vector<ElementInstruction> all;
  const std::optional<Target> target = target_for(capability);
  if (!target) return all;
  for (const auto add : {add_conversions, add_float8_conversions, add_narrow_conversions, add_random_conversions,
                         add_half_arithmetic, add_float_arithmetic})
    add(*target, all);
  return all;
}

}  // namespace ulpscope::gpu::cuda
