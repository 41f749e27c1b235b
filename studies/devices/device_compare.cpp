// SPDX-License-Identifier: Apache-2.0
// Compares codes, and spells the first mismatches out.
#include "studies/devices/device_compare.hpp"

#include <array>
#include <charconv>
#include <string>

#include "emu/decode.hpp"
#include "emu/engine_step.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/element_model.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

/// `3c00 (1)`: as many digits as the format has, and the shortest decimal that reads back.
std::string code_words(Format format, Code code) {
  std::array<char, 32> text{};
  const auto hex = std::to_chars(text.data(), text.data() + text.size(), code, 16).ptr;
  std::string words(text.data(), hex);
  const auto digits = static_cast<std::size_t>((format.bits() + 3) / 4);
  if (words.size() < digits) words.insert(0, digits - words.size(), '0');
  if (format.is_nan(code)) return words + " (nan)";
  const auto decimal = std::to_chars(text.data(), text.data() + text.size(), emu::decode(format, code)).ptr;
  return words + " (" + std::string(text.data(), decimal) + ")";
}

std::string codes_words(const char* name, Format format, std::span<const Code> codes) {
  std::string words;
  for (const Code code : codes) words += (words.empty() ? "" : " ") + code_words(format, code);
  return codes.empty() ? "" : std::string("; ") + name + " " + words;
}

/// Counts one result; whether its operands are to be spelled out.
bool count(DeviceRow& row, Format format, Code expected, Code given) {
  ++row.tests;
  if (expected == given) return false;
  ++row.mismatches;
  ++row.examined;
  if (format.is_nan(expected) && format.is_nan(given)) ++row.nan_codes;
  if (format.is_zero(expected) && format.is_zero(given)) ++row.zero_signs;
  return row.first.size() < DeviceRow::most_spelled_out;
}

std::string results_words(Format format, Code expected, Code given) {
  return "expected " + code_words(format, expected) + ", got " + code_words(format, given);
}

}  // namespace

gpu::InnerProducts part_of(const gpu::Operation& operation, const gpu::InnerProducts& problem, const Portion& portion) {
  const std::size_t k = problem.products, blocks = gpu::TestShape(operation, k).blocks();
  const auto part = [&](std::span<const Code> codes, std::size_t each) {
    return codes.empty() ? codes : codes.subspan(portion.begin * each, portion.count * each);
  };
  return {k,
          part(problem.a, k),
          part(problem.b, k),
          part(problem.c, 1),
          part(problem.a_scales, blocks),
          part(problem.b_scales, blocks)};
}

gpu::ElementOperands part_of(const gpu::ElementOperands& operands, const Portion& portion) {
  const auto part = [&](std::span<const Code> codes) {
    return codes.empty() ? codes : codes.subspan(portion.begin, portion.count);
  };
  return {part(operands.a), part(operands.b), part(operands.c)};
}

void compare(DeviceRow& row, const gpu::Operation& o, const emu::Engine& engine, const gpu::InnerProducts& problem,
             std::span<const Code> d, std::uint64_t first) {
  for (std::size_t i = 0; i < d.size(); ++i) {
    const gpu::InnerProducts one = part_of(o, problem, {i, 1});
    const emu::BlockScales scales{o.scale_format, one.a_scales, one.b_scales};
    const Code expected = emu::inner_product(engine, o.a, one.a, o.b, one.b, one.c[0], scales);
    if (!count(row, o.accumulator, expected, d[i])) continue;
    row.first.push_back({first + i, results_words(o.accumulator, expected, d[i]) + codes_words("c", o.accumulator, one.c) +
                                        codes_words("a", o.a, one.a) + codes_words("b", o.b, one.b) +
                                        codes_words("scales of a", o.scale_format, one.a_scales) +
                                        codes_words("scales of b", o.scale_format, one.b_scales)});
  }
}

void compare(DeviceRow& row, const gpu::ElementOperation& operation, const gpu::ElementOperands& operands,
             std::span<const Code> d, std::uint64_t first) {
  const gpu::ElementModel& model = operation.model;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const gpu::ElementOperands one = part_of(operands, {i, 1});
    const Code expected = gpu::element_result(model, one.a[0], one.b.empty() ? 0 : one.b[0], one.c.empty() ? 0 : one.c[0]);
    if (!count(row, model.to, expected, d[i])) continue;
    row.first.push_back({first + i, results_words(model.to, expected, d[i]) + codes_words("a", model.from, one.a) +
                                        codes_words("b", model.from, one.b) + codes_words("c", model.to, one.c)});
  }
}

}  // namespace ulpscope::studies
