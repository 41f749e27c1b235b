// SPDX-License-Identifier: Apache-2.0
// Engines by words: names, the formats asked for, and custom descriptions.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::emu {
namespace {

bool takes(const EngineMode& mode, Format format) {
  return mode.inputs.empty() || std::find(mode.inputs.begin(), mode.inputs.end(), format) != mode.inputs.end();
}

bool fits(const EngineMode& mode, const EngineRequest& request) {
  return takes(mode, request.a) && takes(mode, request.b) && (mode.mixed || request.a == request.b) &&
         mode.model.accumulator == request.accumulator && mode.model.scales == request.scales &&
         (request.scales == EngineScales::none || mode.scale_format == request.scale_format);
}

std::string words_of(const EngineMode& mode) {
  std::string words;
  if (mode.inputs.empty()) words = "any format";
  for (const Format format : mode.inputs) words += (words.empty() ? "" : "|") + format_name(format);
  return words + " into " + format_name(mode.model.accumulator);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

constexpr std::string_view block_prefix = "block:";
constexpr int most_products = 4096, most_fraction_bits = 60;

/// The integer that `word` is, between the bounds.
int integer(std::string_view key, std::string_view word, int least, int most, std::string_view engine = "block") {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < least || value > most)
    throw Error("engine " + std::string(engine) + ": " + std::string(key) + "=" + std::string(word) +
                ": give an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// The rounding that `word` is, if `possible`.
Rounding rounding(std::string_view key, std::string_view word, std::span<const Rounding> possible) {
  const auto is_possible = [&](std::optional<Rounding> rounding) {
    return rounding && std::find(possible.begin(), possible.end(), *rounding) != possible.end();
  };
  if (is_possible(parse_rounding(word))) return *parse_rounding(word);
  std::vector<std::string> words = rounding_words();
  std::erase_if(words, [&](const std::string& other) { return !is_possible(parse_rounding(other)); });
  throw Error("engine block: " + std::string(key) + "=" + std::string(word) + ": give one of " + joined(words));
}

/// What an exact sum has not: it is rounded to all bits of the accumulator.
constexpr std::array<std::string_view, 3> keys_of_cut_sums{"bits", "least", "cut"};

constexpr std::array cuts{Rounding::toward_zero, Rounding::downward};
constexpr std::array roundings{Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
                               Rounding::upward,       Rounding::downward,     Rounding::to_odd};

void set(Engine& engine, std::string_view key, std::string_view word) {
  Stage& stage = engine.stages[0];
  if (key == "n") {
    engine.products = stage.terms = integer(key, word, 1, most_products);
  } else if (key == "f" && word == "exact") {
    stage.summing = Summing::exact;
    stage.fraction_bits = 0;
  } else if (key == "f") {
    stage.fraction_bits = integer(key, word, 0, most_fraction_bits);
  } else if (key == "out") {
    stage.rounding = rounding(key, word, roundings);
  } else if (key == "bits") {
    engine.result_fraction_bits = integer(key, word, 1, engine.accumulator.fraction_bits);
  } else if (key == "least") {
    engine.least_exponent = integer(key, word, -4096, 4096);
  } else if (key == "cut") {
    stage.cut = rounding(key, word, cuts) == Rounding::downward ? Cut::downward : Cut::toward_zero;
  } else {
    throw Error("engine block: unknown key '" + std::string(key) +
                "'; it has n, f, out, bits, least, cut, as in block:n=16,f=25,out=rz");
  }
}

Engine parse_block(std::string_view words, Format accumulator) {
  Engine engine = block_fma(0, -1, accumulator);
  std::vector<std::string_view> seen;
  while (!words.empty()) {
    const std::string_view pair = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos)
      throw Error("engine block: '" + std::string(pair) + "' is not key=value, as in block:n=16,f=25,out=rz");
    const std::string_view key = seen.emplace_back(pair.substr(0, equals));
    if (std::find(seen.begin(), seen.end() - 1, key) != seen.end() - 1)
      throw Error("engine block: " + std::string(key) + " is given twice");
    set(engine, key, pair.substr(equals + 1));
  }
  const Stage& stage = engine.stages[0];
  if (engine.products == 0 || (stage.fraction_bits < 0 && stage.summing == Summing::aligned))
    throw Error("engine block: n and f must be given, as in block:n=16,f=25,out=rz");
  for (const std::string_view key : seen)
    if (stage.summing == Summing::exact &&
        std::find(keys_of_cut_sums.begin(), keys_of_cut_sums.end(), key) != keys_of_cut_sums.end())
      throw Error("engine block: " + std::string(key) +
                  " is of sums that are cut; f=exact cuts none, and rounds to the accumulator's format: leave " +
                  std::string(key) + " away, or give f as a number");
  return engine;
}

/// What `word`, key=value, sets a named engine to.
struct NamedKey {
  std::string_view key, example;
};

/// The value behind `key=`; throws where something else stands there.
std::string_view value_of(std::string_view name, const NamedKey& known, std::string_view word) {
  if (!word.starts_with(known.key) || word.substr(known.key.size(), 1) != "=")
    throw Error("engine " + std::string(name) + ": '" + std::string(word) + "' is not " + std::string(known.key) +
                "=N, as in " + std::string(known.example));
  return word.substr(known.key.size() + 1);
}

/// A named engine, perhaps with an lscale or fewer products a step.
Engine parse_named(std::string_view words, const EngineRequest& request) {
  const std::string_view name = engine_name(words);
  const EngineMode& mode = find_engine(name, request);
  Engine engine = mode.model;
  if (name.size() == words.size()) return engine;
  const std::string_view word = words.substr(name.size() + 1);
  if (const auto greatest = greatest_lscale(mode)) {
    constexpr NamedKey lscale{"lscale", "arm_fp8:lscale=4"};
    engine.product_exponent = -integer(lscale.key, value_of(name, lscale, word), 0, *greatest, name);
    return engine;
  }
  if (!has_shorter_steps(engine))
    throw Error("engine " + std::string(name) + ": takes no '" + std::string(word) +
                "'; arm_fp8 takes lscale, and tensor cores n");
  constexpr NamedKey n{"n", "sm_90:n=8"};
  const int products = integer(n.key, value_of(name, n, word), 1, engine.products, name);
  const int unit = engine.products / engine.stages[0].terms * std::max(engine.stages[0].run, 1);
  if (products % unit != 0)
    throw Error("engine " + std::string(name) + ": n=" + std::to_string(products) + ": give a multiple of " +
                std::to_string(unit));
  engine.stages[0].terms = products * engine.stages[0].terms / engine.products;
  engine.products = products;
  return engine;
}

}  // namespace

std::string_view name_of(Evidence evidence) noexcept {
  switch (evidence) {
    case Evidence::definition: return "definition";
    case Evidence::recordings: return "recordings";
    case Evidence::live: return "live";
    case Evidence::emulator: return "emulator";
    case Evidence::device: return "device";
    case Evidence::published: break;
  }
  return "published";
}

bool knows_nan_code(std::string_view engine) noexcept { return !engine.starts_with("cdna"); }

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const EngineMode& mode : engine_modes())
    if (names.empty() || names.back() != mode.engine) names.emplace_back(mode.engine);
  return names;
}

const EngineMode& find_engine(std::string_view name, const EngineRequest& request) {
  std::string possible;
  for (const EngineMode& mode : engine_modes()) {
    if (mode.engine != name) continue;
    if (fits(mode, request)) return mode;
    possible += (possible.empty() ? "" : "; ") + words_of(mode);
  }
  if (find_unknown(name) != nullptr)
    throw Error("engine " + std::string(name) +
                ": nothing is published that says its bits; 'ulpscope probe --device D' asks the " +
                "unit where there is one, and block:n=..,f=..,out=.. takes the answer");
  if (possible.empty()) {
    throw Error("unknown engine '" + std::string(name) + "'; nearest: " + joined(closest_engines(name)));
  }
  throw Error("engine " + std::string(name) + " does not multiply " + format_name(request.a) + " by " + format_name(request.b) +
              " into " + format_name(request.accumulator) + "; it has " + possible);
}

std::optional<int> greatest_lscale(const EngineMode& mode) noexcept {
  constexpr int bits = 7, bits_into_float16 = 4;
  if (!mode.engine.starts_with("arm_fp8")) return std::nullopt;
  return (1 << (mode.model.accumulator == float16 ? bits_into_float16 : bits)) - 1;
}

Evidence evidence_of(const EngineMode& mode, std::string_view words) noexcept {
  constexpr std::string_view n = ":n=";
  const std::size_t at = words.find(n);
  if (at == std::string_view::npos || words.starts_with(block_prefix)) return mode.evidence;
  // Of each format the instruction with half the products was compared where the whole was.
  const std::string_view count = words.substr(at + n.size());
  const bool compared = mode.evidence == Evidence::device && mode.model.accumulator != float64 &&
                        (mode.model.stage_count == 2 || mode.inputs.front().bits() > 8) &&
                        (count == std::to_string(mode.model.products / 2) || count == std::to_string(mode.model.products));
  return compared ? mode.evidence : Evidence::published;
}

bool has_shorter_steps(const Engine& engine) noexcept {
  const Stage& stage = engine.stages[0];
  const bool one = engine.stage_count == 1 && stage.terms == engine.products && engine.products > 1;
  const bool two = engine.stage_count == 2 && stage.carried && 2 * stage.terms == engine.products;
  return stage.summing == Summing::aligned && (one || two) && engine.scales == EngineScales::none;
}

std::string_view engine_name(std::string_view words) noexcept { return words.substr(0, words.find(':')); }

Engine parse_engine(std::string_view words, const EngineRequest& request) {
  if (!words.starts_with(block_prefix)) return parse_named(words, request);
  if (request.scales != EngineScales::none) throw Error("engine block: takes no block scales of its own");
  return parse_block(words.substr(block_prefix.size()), request.accumulator);
}

std::optional<std::string> block_words(const Engine& engine) {
  const Stage& stage = engine.stages[0];
  const bool exact = stage.summing == Summing::exact;
  std::string words = std::string(block_prefix) + "n=" + std::to_string(engine.products) +
                      ",f=" + (exact ? "exact" : std::to_string(stage.fraction_bits)) +
                      ",out=" + std::string(name_of(stage.rounding));
  if (!exact && engine.result_fraction_bits >= 0) words += ",bits=" + std::to_string(engine.result_fraction_bits);
  if (!exact && engine.least_exponent != Engine::no_least_exponent) words += ",least=" + std::to_string(engine.least_exponent);
  if (!exact && stage.cut == Cut::downward) words += ",cut=" + std::string(name_of(Rounding::downward));
  const bool can_say = engine.products > 0 && stage.fraction_bits >= 0 &&
                       parse_block(words.substr(block_prefix.size()), engine.accumulator) == engine;
  return can_say ? std::optional(words) : std::nullopt;
}

}  // namespace ulpscope::emu
