// SPDX-License-Identifier: Apache-2.0
// Plans to and from TOML.
#include "studies/cast/plan.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "emu/error.hpp"
#include "requests/parts.hpp"
#include "requests/toml.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/quantization/quantized.hpp"
#include "tensors/hadamard.hpp"

namespace ulpscope::studies {
namespace {

constexpr const char* rules_key = "tensors";

/// Rules with wildcards, each of which is asked of every name: more than anybody writes. `choose` writes none.
constexpr std::size_t most_patterns = 1000;

/// Bytes of a plan: `choose` writes some 200 for each tensor, of which the largest checkpoints have 10^5.
constexpr std::size_t most_plan = std::size_t{1} << 26;

/// `q_proj,k_proj` as its parts.
std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == between)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void check_fused(const std::string& word) {
  const std::vector<std::string> parts = split(word, ',');
  bool right = parts.size() > 1;
  for (const std::string& part : parts) right = right && !part.empty() && part.find('.') == std::string::npos;
  if (!right) throw Error("--fused '" + word + "': give parts of names with commas between them, as q_proj,k_proj,v_proj");
}

/// What a pattern without wildcards matches; nothing where it has some.
std::optional<std::string> literal_of(const std::string& pattern) {
  std::string literal;
  bool quoted = false;  // by the backslash before it
  for (const char c : pattern) {
    if (!quoted && (c == '*' || c == '?' || c == '[')) return std::nullopt;
    quoted = !quoted && c == '\\';
    if (!quoted) literal += c;
  }
  return quoted ? std::nullopt : std::optional(std::move(literal));
}

CastPlan plan_of(const requests::TomlValue& file, const std::string& name) {
  CastPlan plan;
  requests::Fields fields = requests::fields_of(plan);
  requests::set_from(fields, file, {rules_key});
  const requests::TomlValue* const rules = file.table().find(rules_key);
  if (rules == nullptr || (rules->is_list() && rules->list().empty()))
    throw Error(name + ": has no table [[" + std::string(rules_key) + "]]: nothing is to be cast");
  if (!rules->is_list()) throw Error(rules->place() + ": " + rules_key + ": give tables, [[" + rules_key + "]]");
  std::map<std::string, std::string> places;  // of tables, by what they match
  std::size_t patterns = 0;
  for (const requests::TomlValue& table : rules->list()) {
    if (!table.is_table()) throw Error(table.place() + ": " + rules_key + ": give tables, [[" + rules_key + "]]");
    PlanRule& rule = plan.rules.emplace_back();
    requests::Fields of_rule = requests::fields_of(rule);
    requests::set_from(of_rule, table, {});
    if (rule.copies() && rule.scale != PlanRule{}.scale)
      throw Error(table.place() + ": a tensor that stays as it is has no scale");
    if (!literal_of(rule.match) && ++patterns > most_patterns)
      throw Error(table.place() + ": a plan has at most " + std::to_string(most_patterns) +
                  " rules with wildcards (* ? [); name tensors as they are in the others");
    const auto [first, is_new] = places.try_emplace(rule.match, table.place());
    if (!is_new)
      throw Error(table.place() + ": match = '" + rule.match + "' has a table already, " + first->second +
                  ", which decides; remove one");
  }
  return plan;
}

}  // namespace

void PlanRule::describe(requests::Fields& fields) {
  fields.add("match", match, "pattern of tensor names (POSIX.1, fnmatch())").needed();
  fields.add("to", to, "the format, symmetric integers intN, or copy: as it is").needed().checked([](const std::string& word) {
    if (word != copy) requests::parse_format_or_integer(word);
  });
  fields.add("scale", scale, "the rule of the scales, as census has them").checked([](const std::string& word) {
    parse_scaling(word);
  });
  fields.add("reason", reason, "why, for people");
}

bool PlanRule::matches(const std::string& name) const { return ::fnmatch(match.c_str(), name.c_str(), 0) == 0; }

emu::Format PlanRule::format() const { return requests::parse_format_or_integer(to); }

void CastPlan::describe(requests::Fields& fields) {
  fields.add("layout", layout, "how codes and scales are named in .safetensors files: " + layout_words()).shown();
  fields
      .add("fused", fused,
           "parts of names, as q_proj,k_proj,v_proj: tensors whose names differ in these alone share the scale that they have "
           "for "
           "the whole tensor")
      .as_value("PART,PART...")
      .as_repeated();
  requests::describe_hadamard(fields, hadamard);
}

void CastPlan::check() const {
  find_layout(layout);
  for (const std::string& set : fused) check_fused(set);
  if (!hadamard.empty()) tensors::parse_hadamard(hadamard);
  for (const PlanRule& rule : rules) {
    if (rule.copies()) continue;
    check_format(rule.scaling(), rule.format());
    check_storable(rule.scaling());
  }
}

FusedSets::FusedSets(const std::vector<std::string>& fused) : entries_(fused) {
  for (std::size_t entry = 0; entry < fused.size(); ++entry) {
    std::size_t place = 0;
    for (std::string& part : split(fused[entry], ',')) parts_.try_emplace(std::move(part), entry, place++);
  }
}

template <class Shown>
std::string FusedSets::with_entry(const std::string& name, Shown shown) const {
  if (parts_.empty()) return {};
  std::vector<std::string> parts = split(name, '.');
  auto first = parts_.end();
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto found = parts_.find(parts[i]);
    if (found != parts_.end() && (first == parts_.end() || found->second < first->second)) first = found, at = i;
  }
  if (first == parts_.end()) return {};
  parts[at] = shown(first->second.first);
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) joined += (i == 0 ? "" : ".") + parts[i];
  return joined;
}

std::string FusedSets::key_of(const std::string& name) const {
  return with_entry(name, [](std::size_t entry) { return "," + std::to_string(entry); });
}

std::string FusedSets::words_of(const std::string& name) const {
  return with_entry(name, [this](std::size_t entry) { return entries_[entry]; });
}

RuleIndex::RuleIndex(const CastPlan& plan) : plan_(plan) {
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    if (const std::optional<std::string> literal = literal_of(plan.rules[i].match))
      literal_.try_emplace(*literal, i);
    else
      patterns_.push_back(i);
  }
}

const PlanRule* RuleIndex::rule_for(const std::string& name) const {
  const auto literal = literal_.find(name);
  std::size_t first = literal == literal_.end() ? plan_.rules.size() : literal->second;
  for (const std::size_t i : patterns_) {
    if (i >= first) break;
    if (plan_.rules[i].matches(name)) first = i;
  }
  return first == plan_.rules.size() || plan_.rules[first].copies() ? nullptr : &plan_.rules[first];
}

const PlanRule* RuleIndex::idle(const std::vector<std::string>& names, Rules rules) const {
  const std::set<std::string> known(names.begin(), names.end());
  for (const PlanRule& rule : plan_.rules) {
    if (rules == Rules::rounding && rule.copies()) continue;
    const std::optional<std::string> literal = literal_of(rule.match);
    const bool is_used = literal ? known.contains(*literal)
                                 : std::ranges::any_of(names, [&](const std::string& name) { return rule.matches(name); });
    if (!is_used) return &rule;
  }
  return nullptr;
}

CastPlan read_plan(const std::string& path) { return plan_of(requests::read_toml(path, most_plan), path); }
CastPlan parse_plan(std::string_view text, const std::string& name) { return plan_of(requests::parse_toml(text, name), name); }

std::string plan_text(const CastPlan& plan) {
  CastPlan shown = plan, standard;
  std::string text = requests::to_toml(requests::fields_of(shown), requests::fields_of(standard));
  for (PlanRule& rule : shown.rules) {
    PlanRule usual{.match = rule.match + "*"};  // another one: a name is always said, be it empty
    text += std::string(text.empty() ? "" : "\n") + "[[" + rules_key + "]]\n" +
            requests::to_toml(requests::fields_of(rule), requests::fields_of(usual));
  }
  return text;
}

std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace ulpscope::studies
