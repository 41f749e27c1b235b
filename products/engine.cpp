// SPDX-License-Identifier: Apache-2.0
// Finds the mode for formats and scales; scales that no mode takes become software's.
#include "products/engine.hpp"

#include <algorithm>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"

namespace ulpscope::products {
namespace {

using Scales = std::optional<MatmulScales>;

bool takes(const emu::EngineMode& mode, emu::Format a, emu::Format b) {
  const auto takes_one = [&](emu::Format format) {
    return mode.inputs.empty() || std::find(mode.inputs.begin(), mode.inputs.end(), format) != mode.inputs.end();
  };
  return takes_one(a) && takes_one(b) && (mode.mixed || a == b);
}

/// The mode that emu::parse_engine would take, if there is one.
const emu::EngineMode* find_mode(std::string_view word, const emu::EngineRequest& request) {
  const std::string_view name = emu::engine_name(word);
  for (const emu::EngineMode& mode : emu::engine_modes())
    if (mode.engine == name && takes(mode, request.a, request.b) && mode.model.accumulator == request.accumulator &&
        mode.model.scales == request.scales &&
        (request.scales == emu::EngineScales::none || mode.scale_format == request.scale_format))
      return &mode;
  return nullptr;
}

/// Whether the scales are those of an instruction: one for each line and `products` products.
bool fits(const Scales& scales, emu::Format format, std::size_t products, std::size_t k) {
  if (!scales) return true;
  const bool each_line = scales->line_block == 1;
  return scales->format == format && each_line && scales->for_k == (k + products - 1) / products &&
         (scales->k_block == products || scales->for_k == 1);
}

const emu::EngineMode* scaling_mode(const std::string& word, emu::EngineRequest request, const Scales& a, const Scales& b,
                                    std::size_t k) {
  request.scale_format = a ? a->format : b->format;
  for (const auto scales : {emu::EngineScales::group_sums, emu::EngineScales::products}) {
    request.scales = scales;
    const emu::EngineMode* const mode = find_mode(word, request);
    if (mode == nullptr) continue;
    const auto products = static_cast<std::size_t>(mode->model.scale_products);
    if (fits(a, mode->scale_format, products, k) && fits(b, mode->scale_format, products, k)) return mode;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(ScaledBy scaled_by) noexcept {
  switch (scaled_by) {
    case ScaledBy::none: return "none";
    case ScaledBy::engine: return "engine";
    case ScaledBy::software: break;
  }
  return "software";
}

emu::Format default_accumulator(const std::string& word, emu::Format a, emu::Format b) {
  if (a == emu::float64 || b == emu::float64) return emu::float64;
  if (find_mode(word, {a, b, emu::float32}) != nullptr) return emu::float32;
  for (const emu::EngineMode& mode : emu::engine_modes())
    if (mode.engine == emu::engine_name(word) && mode.model.scales == emu::EngineScales::none && takes(mode, a, b))
      return mode.model.accumulator;
  return emu::float32;
}

ChosenEngine choose_engine(const std::string& word, const emu::EngineRequest& request, std::size_t k, const Scales& scale_a,
                           const Scales& scale_b) {
  if (emu::is_split(word))
    throw Error("engine " + word +
                ": is no engine but a split product, which matmul, verify matmul, explain matmul and accumulation take");
  ChosenEngine chosen;
  chosen.word = word;
  chosen.exact = word == "exact";
  const bool scaled = scale_a || scale_b;
  const bool plain = emu::engine_name(word) == word;
  const emu::EngineMode* const scaling = scaled && plain ? scaling_mode(word, request, scale_a, scale_b, k) : nullptr;
  chosen.scaled_by = !scaled ? ScaledBy::none : scaling != nullptr ? ScaledBy::engine : ScaledBy::software;
  chosen.model = scaling != nullptr ? scaling->model : emu::parse_engine(word, request);
  const emu::EngineMode* const mode = scaling != nullptr ? scaling : find_mode(word, request);
  if (mode == nullptr) return chosen;  // one of the user's own
  chosen.evidence = emu::evidence_of(*mode, word);
  chosen.instruction = mode->instruction;
  chosen.source = mode->source;
  return chosen;
}

ChosenEngine choose_split(const std::string& word, const emu::EngineRequest& request) {
  ChosenEngine chosen;
  chosen.word = word;
  chosen.split = emu::parse_split(word);
  chosen.evidence = emu::Evidence::published;
  for (const emu::SplitEntry& entry : emu::split_entries())
    if (emu::engine_name(entry.words) == emu::engine_name(word)) chosen.source = entry.source;
  if (chosen.split->scheme != emu::SplitScheme::parts) {
    if (request.accumulator != emu::float32 && request.accumulator != emu::float64)
      throw Error(word + ": sums in float64; --acc says whether C is float32 or float64");
    return chosen;
  }
  chosen.model = chosen.split->model;
  if (!emu::fits_float(request.a) || !emu::fits_float(request.b) || request.accumulator != emu::float32)
    throw Error(word + ": multiplies operands that float32 holds, and sums in float32; ozaki1 and ozaki2 take float64");
  return chosen;
}

ChosenEngine engine_of(const MatmulDevice& device, bool scaled) {
  const gpu::Operation& o = device.operation;
  ChosenEngine chosen;
  chosen.word = device.word;
  chosen.instruction = o.instruction;
  chosen.scaled_by = scaled ? ScaledBy::software : ScaledBy::none;
  chosen.device = std::make_shared<const MatmulDevice>(device);
  if (!o.engine.empty()) {
    chosen.model = emu::parse_engine(o.engine, {o.a, o.b, o.accumulator});
  } else {
    chosen.model.products = static_cast<int>(o.products);
    chosen.model.accumulator = o.accumulator;
  }
  return chosen;
}

}  // namespace ulpscope::products
