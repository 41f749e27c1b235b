// SPDX-License-Identifier: Apache-2.0
// Writes and parses the words of element models.
#include "gpu/element_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "emu/names.hpp"

namespace ulpscope::gpu {
namespace {

constexpr std::array kinds{"convert", "add", "subtract", "multiply", "fma", "convert_randomly"};
/// In the order of NanResult.
constexpr std::array nan_results{std::string_view("nan=canonical:"), std::string_view("nan=operand:"),
                                 std::string_view("nan=signaling_operand:"), std::string_view("nan=second_operand:")};
constexpr std::string_view random_bits = "random=";

/// A word that stands for one part of a model being other than usual.
struct Flag {
  std::string_view word;
  bool (*holds)(const ElementModel& model);
  void (*set)(ElementModel& model);
};
constexpr std::array flags{
    Flag{"saturating", [](const ElementModel& m) { return m.options.policy == emu::Policy::saturating; },
         [](ElementModel& m) { m.options.policy = emu::Policy::saturating; }},
    Flag{"before_rounding", [](const ElementModel& m) { return m.options.tininess == emu::Tininess::before_rounding; },
         [](ElementModel& m) { m.options.tininess = emu::Tininess::before_rounding; }},
    Flag{"flush_subnormals", [](const ElementModel& m) { return m.options.flush_subnormals; },
         [](ElementModel& m) { m.options.flush_subnormals = true; }},
    Flag{"subnormals_are_zero", [](const ElementModel& m) { return m.options.subnormals_are_zero; },
         [](ElementModel& m) { m.options.subnormals_are_zero = true; }},
    Flag{"nans_are_cut", [](const ElementModel& m) { return m.nans_are_cut; }, [](ElementModel& m) { m.nans_are_cut = true; }},
    Flag{"ignores_sign", [](const ElementModel& m) { return m.ignores_sign; }, [](ElementModel& m) { m.ignores_sign = true; }},
    Flag{"relu", [](const ElementModel& m) { return m.relu; }, [](ElementModel& m) { m.relu = true; }},
};

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> parts;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    parts.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return parts;
}

bool parse_nan(std::string_view word, ElementModel& model) {
  const auto prefix =
      std::find_if(nan_results.begin(), nan_results.end(), [&](std::string_view words) { return word.starts_with(words); });
  if (prefix == nan_results.end()) return false;
  model.nan_result = static_cast<emu::NanResult>(prefix - nan_results.begin());
  const char* const end = word.data() + word.size();
  const auto [last, error] = std::from_chars(word.data() + prefix->size(), end, model.nan_code, 16);
  return error == std::errc() && last == end && model.nan_code <= model.to.code_mask();
}

std::string random_words(const RandomBits& random) {
  std::string words(random_bits);
  for (int i = 0; i < random.ranges; ++i)
    words += (i > 0 ? "," : "") + std::to_string(random.range[i].first) + ":" + std::to_string(random.range[i].last);
  return words;
}

/// What random_words() writes, and nothing else is checked to be that by the caller.
bool parse_random(std::string_view word, ElementModel& model) {
  word.remove_prefix(random_bits.size());
  RandomBits& random = model.random;
  const char *next = word.data(), *const end = word.data() + word.size();
  for (random.ranges = 0; random.ranges < 2 && next < end; ++random.ranges) {
    BitRange& range = random.range[random.ranges];
    for (int* const bit : {&range.first, &range.last}) {
      const auto [last, error] = std::from_chars(next, end, *bit);
      if (error != std::errc() || *bit < 0 || *bit > 31) return false;
      next = last + (last == end ? 0 : 1);
    }
  }
  model.options.random_bits = random.count();
  return random_words(random).substr(random_bits.size()) == word;
}

/// Whether emu computes it for any operands: arithmetic needs signs and zeros, surviving NaNs a payload to survive in.
bool is_computable(const ElementModel& model) {
  const bool random = model.kind == ElementKind::convert_randomly, arithmetic = numbers_of(model.kind) > 1;
  const auto is_number = [](emu::Format f) { return f.is_signed() && f.has_zero(); };
  const auto has_payloads = [](emu::Format f) { return f.specials == emu::Specials::ieee && f.fraction_bits > 0; };
  const bool enough = !random || (model.random.count() > 0 && model.random.count() <= 32);
  if ((model.options.rounding == emu::Rounding::stochastic) != random || !enough) return false;
  if (random && (model.from.bits() != 32 || model.options.flush_subnormals)) return false;
  if ((model.nans_are_cut || model.ignores_sign) && arithmetic) return false;
  if ((model.nan_result != emu::NanResult::canonical || model.nans_are_cut) &&
      !(has_payloads(model.from) && has_payloads(model.to)))
    return false;
  return !arithmetic || (is_number(model.from) && is_number(model.to));
}

}  // namespace

std::string model_words(const ElementModel& model) {
  std::string words = kinds[static_cast<std::size_t>(model.kind)];
  words += ' ' + emu::format_name(model.from) + ' ' + emu::format_name(model.to) + ' ';
  words += emu::name_of(model.options.rounding);
  for (const Flag& flag : flags)
    if (flag.holds(model)) words += ' ' + std::string(flag.word);
  if (model.kind == ElementKind::convert_randomly) words += ' ' + random_words(model.random);
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), model.nan_code, 16).ptr;
  words += ' ';
  words += nan_results[static_cast<std::size_t>(model.nan_result)];
  return words.append(digits.data(), end);
}

std::optional<ElementModel> parse_model(std::string_view words) {
  const std::vector<std::string_view> parts = split(words);
  if (parts.size() < 5) return std::nullopt;
  const auto kind = std::find(kinds.begin(), kinds.end(), parts[0]);
  const auto from = emu::parse_format(parts[1]), to = emu::parse_format(parts[2]);
  const auto rounding = emu::parse_rounding(parts[3]);
  if (kind == kinds.end() || !from || !to || !rounding) return std::nullopt;
  ElementModel model{.kind = static_cast<ElementKind>(kind - kinds.begin()), .from = *from, .to = *to};
  model.options.rounding = *rounding;
  for (const Flag& flag : flags)
    if (std::find(parts.begin() + 4, parts.end() - 1, flag.word) != parts.end() - 1) flag.set(model);
  const auto random = std::find_if(parts.begin() + 4, parts.end(), [](auto part) { return part.starts_with(random_bits); });
  if (random != parts.end() && !parse_random(*random, model)) return std::nullopt;
  if (!parse_nan(parts.back(), model) || !is_computable(model) || model_words(model) != words) return std::nullopt;
  return model;
}

}  // namespace ulpscope::gpu
