// SPDX-License-Identifier: Apache-2.0
// The check that an engine agrees with the oracle of a mode, which finds broken engines too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "emu/engine_step.hpp"
#include "emu/names.hpp"
#include "tests/emu/engine_inputs.hpp"
#include "tests/emu/engine_oracle_table.hpp"

namespace ulpscope::test {

using FormatPair = std::pair<emu::Format, emu::Format>;

/// Those of a mode; where it takes any, a selection of all widths and kinds.
inline std::vector<FormatPair> format_pairs(const emu::EngineMode& mode) {
  if (mode.inputs.empty()) {
    return {{emu::float32, emu::float32},      {emu::float16, emu::float16}, {emu::bfloat16, emu::bfloat16},
            {emu::float64, emu::float64},      {emu::e4m3, emu::e5m2},       {emu::e2m1, emu::e3m2},
            {emu::float8_e5m2fnuz, emu::tf32}, {emu::float16, emu::float64}, {emu::float8_e3m4, emu::float16}};
  }
  std::vector<FormatPair> pairs;
  for (const emu::Format a : mode.inputs) {
    for (const emu::Format b : mode.inputs) {
      if (mode.mixed || a == b) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

/// The oracle has the NaN of GPUs alone. Those of processors, which may pass payloads on, are compared as NaNs only.
inline bool same(const emu::EngineMode& mode, emu::Code x, emu::Code y) {
  const emu::Format f = mode.model.accumulator;
  return x == y || (mode.model.nan_code != f.nan_code() && f.is_nan(x) && f.is_nan(y));
}

inline emu::Code emulated(const emu::EngineMode& mode, const emu::Engine& engine, const Operands& x) {
  const emu::BlockScales scales{.format = mode.scale_format, .a = x.a_scales, .b = x.b_scales};
  return emu::inner_product(engine, x.a_format, x.a, x.b_format, x.b, x.c, scales);
}

inline emu::Code expected(const emu::EngineMode& mode, const EngineOracle& oracle, const Operands& x) {
  return oracle({.a_format = laws::oracle_format(x.a_format),
                 .b_format = laws::oracle_format(x.b_format),
                 .a = x.a,
                 .b = x.b,
                 .c = x.c,
                 .scale_format = laws::oracle_format(mode.scale_format),
                 .a_scales = x.a_scales,
                 .b_scales = x.b_scales});
}

inline void write(std::ostream& out, const char* name, emu::Format f, const std::vector<emu::Code>& codes) {
  if (codes.empty()) return;
  out << "\n  " << name << " (" << emu::format_name(f) << "):";
  for (const emu::Code code : codes) out << " 0x" << code;
}

/// The first of `count` inner products on which they differ, in full. No value: they agree on all.
inline std::optional<std::string> first_mismatch(const emu::EngineMode& mode, const emu::Engine& engine, FormatPair formats,
                                                 int count, std::uint64_t seed) {
  const auto oracle = oracle_of(mode, formats.first);
  if (!oracle) return "there is no oracle";
  EngineInputs inputs(mode, formats.first, formats.second, seed);
  for (int i = 0; i < count; ++i) {
    const Operands x = inputs.next();
    const emu::Code got = emulated(mode, engine, x), wanted = expected(mode, *oracle, x);
    if (same(mode, got, wanted)) continue;
    std::ostringstream out;
    out << std::hex << mode.engine << ' ' << mode.instruction << ", inner product " << std::dec << i << std::hex;
    write(out, "a", x.a_format, x.a);
    write(out, "b", x.b_format, x.b);
    write(out, "scales of a", mode.scale_format, x.a_scales);
    write(out, "scales of b", mode.scale_format, x.b_scales);
    out << "\n  c 0x" << x.c << ", emulated 0x" << got << ", oracle 0x" << wanted;
    return out.str();
  }
  return std::nullopt;
}

}  // namespace ulpscope::test
