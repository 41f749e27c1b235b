// SPDX-License-Identifier: Apache-2.0
// The rules that are tried for wrong elements of an attention, in words.
#include "verify/operations/attention_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "emu/names.hpp"
#include "verify/diagnosis.hpp"

namespace ulpscope::verify {
namespace {

std::string words_of_roundings(const AttentionRules& undeclared, const AttentionRules& declared) {
  std::string what, options;
  const auto add = [&](const char* name, const std::optional<emu::Format>& format, const std::optional<emu::Format>& is) {
    if (!format || format == is) return;
    what += fmt::format("{}{} rounded to {}", what.empty() ? "" : " and ", name, emu::format_name(*format));
    options += fmt::format("{}--{} {}", options.empty() ? "" : " ", name, emu::format_name(*format));
  };
  add("scores", undeclared.scores, declared.scores);
  add("probabilities", undeclared.probabilities, declared.probabilities);
  return what + ": " + options + " if the kernel rounds them";
}

}  // namespace

std::vector<AttentionHint> undeclared_roundings(const AttentionRows& rows) {
  const Attention& op = rows.operation();
  std::vector<emu::Format> formats;
  for (const std::optional<emu::Format> format : {op.q.format, std::optional(op.last.out)})
    if (format && format->bits() == 16 && format->precision() < op.arithmetic.format.precision() &&
        std::find(formats.begin(), formats.end(), *format) == formats.end())
      formats.push_back(*format);
  const AttentionRules declared = rows.declared();
  std::vector<AttentionHint> out;
  const auto add = [&](std::optional<emu::Format> scores, std::optional<emu::Format> probabilities) {
    AttentionRules rules = declared;
    rules.scores = scores, rules.probabilities = probabilities;
    out.push_back({rules, words_of_roundings(rules, declared)});
  };
  for (const emu::Format format : formats) {
    if (!op.probabilities) add(op.scores, format);
    if (!op.scores) add(format, op.probabilities);
    if (!op.scores && !op.probabilities) add(format, format);
  }
  return out;
}

std::vector<AttentionHint> broken_rules(const AttentionRows& rows) {
  const Attention& op = rows.operation();
  const AttentionRules declared = rows.declared();
  std::vector<AttentionHint> out;
  const auto add = [&](bool applies, std::string words, const std::function<void(AttentionRules&)>& change) {
    if (!applies) return;
    AttentionRules rules = declared;
    change(rules);
    out.push_back({rules, std::move(words)});
  };
  const bool has_diagonal = op.causal != Causal::none || op.window.left || op.window.right;
  add(op.softcap.has_value(), "without the softcap", [](AttentionRules& r) { r.softcap.reset(); });
  add(op.softcap && op.mask, "where the mask is added before scores are capped",
      [](AttentionRules& r) { r.caps_masked = true; });
  add(op.sinks.has_value(), "without the sinks", [](AttentionRules& r) { r.sinks = false; });
  add(op.descales.q.has_value(), "without --q-descale", [](AttentionRules& r) { r.descales_q = false; });
  add(op.descales.k.has_value(), "without --k-descale", [](AttentionRules& r) { r.descales_k = false; });
  add(op.descales.v.has_value(), "without --v-descale", [](AttentionRules& r) { r.descales_v = false; });
  add(op.descales.q && op.descales.k, "without --q-descale and --k-descale",
      [](AttentionRules& r) { r.descales_q = r.descales_k = false; });
  add(has_diagonal, "where each query sees one key further to the right", [](AttentionRules& r) { r.sight.shift = 1; });
  add(has_diagonal, "where each query sees one key further to the left", [](AttentionRules& r) { r.sight.shift = -1; });
  add(op.window.left.has_value(), "with a window of one key more on the left",
      [](AttentionRules& r) { ++*r.sight.window.left; });
  add(op.window.left.value_or(0) > 0, "with a window of one key less on the left",
      [](AttentionRules& r) { --*r.sight.window.left; });
  add(op.window.left || op.window.right, "without the window", [](AttentionRules& r) { r.sight.window = {}; });
  add(op.causal == Causal::top_left, "with --causal bottom_right",
      [](AttentionRules& r) { r.sight.causal = Causal::bottom_right; });
  add(op.causal == Causal::bottom_right, "with --causal top_left",
      [](AttentionRules& r) { r.sight.causal = Causal::top_left; });
  add(op.causal != Causal::none, "without --causal", [](AttentionRules& r) { r.sight.causal = Causal::none; });
  add(op.mask.has_value(), "without the mask", [](AttentionRules& r) { r.masks = false; });
  add(op.sequences.any(), "without the last key of each sequence", [](AttentionRules& r) { r.keys_left_out = 1; });
  return out;
}

std::string hint_of_hidden_rows(const AttentionRows& rows, std::uint64_t width, std::span<const std::uint64_t> indices,
                                std::span<const double> outputs) {
  std::size_t nan = 0, zero = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!std::isnan(outputs[i]) && outputs[i] != 0) continue;
    if (!rows.scores(indices[i] / width, rows.declared()).may_hide_all()) continue;
    (outputs[i] == 0 ? zero : nan) += 1;
  }
  return right_if(std::max(nan, zero), indices.size(), nan < zero ? "with --fully-masked zero" : "with --fully-masked nan");
}

}  // namespace ulpscope::verify
