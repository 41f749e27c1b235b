// SPDX-License-Identifier: Apache-2.0
// Walks from each number to both ends of its range.
#include "studies/probe/probe_numbers.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

#include "studies/probe/probe.hpp"
#include "studies/probe/probe_telling.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Engine;

std::string range_words(int least, int greatest) {
  if (least == greatest) return std::to_string(least);
  return filled(greatest == least + 1 ? "{} or {}" : "{} to {}", least, greatest);
}

/// How far something holds, which it does not beyond where it once fails.
int reach(const std::function<bool(int)>& holds) {
  constexpr int most = 256;
  int known = 0, beyond = 1;
  for (; beyond <= most && holds(beyond); beyond *= 2) known = beyond;
  while (beyond - known > 1) {
    const int middle = known + (beyond - known) / 2;
    (holds(middle) ? known : beyond) = middle;
  }
  return known;
}

Engine with_least(Engine engine, int exponent) {
  engine.least_exponent = exponent;
  return engine;
}

}  // namespace

bool ProbeNumbers::fits(const Engine& engine) {
  std::vector<ProbeSubset> all;
  for (std::size_t subset = 0; subset < probe_subsets; ++subset) all.push_back(static_cast<ProbeSubset>(subset));
  return answers_.agrees(engine, all);
}

/// Bits may go with the least exponent as it is, with one that is higher by as many, and with none.
std::optional<Engine> ProbeNumbers::fitting(const ProbeFeature& feature, int bits) {
  const Engine same = feature.with_bits(bits);
  if (fits(same)) return same;
  if (engine_.least_exponent == Engine::no_least_exponent || !feature.with_bits_and_least_exponent) return std::nullopt;
  for (const Engine& other : {feature.with_bits_and_least_exponent(bits), with_least(same, Engine::no_least_exponent)})
    if (fits(other)) return other;
  return std::nullopt;
}

ProbeNumberRange ProbeNumbers::bits_of(const ProbeFeature& feature) {
  const int value = std::stoi(feature.word);
  ProbeNumberRange range{feature.name, value, value, false, engine_, engine_};
  for (; range.least > 0; --range.least) {
    const auto engine = fitting(feature, range.least - 1);
    if (!engine) break;
    range.lowest = *engine;
  }
  // The last one first: where it fits, those between do.
  const auto last = value < most_kept_bits ? fitting(feature, most_kept_bits) : std::nullopt;
  if (last) {
    range.greatest = most_kept_bits;
    range.highest = *last;
  }
  for (; range.greatest < most_kept_bits; ++range.greatest) {
    const auto engine = fitting(feature, range.greatest + 1);
    if (!engine) break;
    range.highest = *engine;
  }
  for (const Engine& end : {range.lowest, range.highest})
    range.other_least_exponent |=
        end.least_exponent != engine_.least_exponent && end.least_exponent != Engine::no_least_exponent;
  return range;
}

ProbeNumberRange ProbeNumbers::least_exponents() {
  const int value = engine_.least_exponent;
  ProbeNumberRange range{"least_exponent", value, value, false, engine_, engine_};
  range.least = value - reach([&](int by) { return fits(with_least(engine_, value - by)); });
  range.greatest = value + reach([&](int by) { return fits(with_least(engine_, value + by)); });
  range.lowest = with_least(engine_, range.least);
  range.highest = with_least(engine_, range.greatest);
  const Engine without = with_least(engine_, Engine::no_least_exponent);
  if (fits(without)) {
    range.other_least_exponent = true;
    range.lowest = without;
  }
  return range;
}

/// For an engine that needs none: the greatest one that no answer refutes. One below all products and all c changes nothing.
ProbeNumberRange ProbeNumbers::greatest_least_exponent() {
  const int end = engine_.accumulator.min_exponent();
  int least = std::min(end - most_kept_bits, answers_.bench().least_product() - 1), beyond = end + most_kept_bits;
  ProbeNumberRange range{"least_exponent", least, beyond, true, engine_, engine_};
  if (!fits(with_least(engine_, least))) {
    range.greatest = least - 1;
    return range;
  }
  if (fits(with_least(engine_, beyond))) least = beyond;
  while (beyond - least > 1) {
    const int middle = least + (beyond - least) / 2;
    (fits(with_least(engine_, middle)) ? least : beyond) = middle;
  }
  range.greatest = least;
  range.highest = with_least(engine_, least);
  return range;
}

void ProbeNumbers::find() {
  ranges_.clear();
  for (const ProbeFeature& feature : features_of(engine_)) {
    if (feature.is_number) ranges_.push_back(bits_of(feature));
    if (feature.name != "least_exponent") continue;
    ranges_.push_back(feature.word == "none" ? greatest_least_exponent() : least_exponents());
  }
}

/// The engine with the next number that gives all answers, for one that does not.
bool ProbeNumbers::replace(const std::string& feature) {
  const ProbeNumberRange range = *range_of(feature);
  if (feature == "least_exponent") {
    if (engine_.least_exponent == Engine::no_least_exponent) return false;
    for (int exponent = range.least; exponent <= range.greatest; ++exponent) {
      const Engine other = with_least(engine_, exponent);
      if (!fits(other)) continue;
      engine_ = other;
      return true;
    }
    return false;
  }
  for (const ProbeFeature& number : features_of(engine_)) {
    if (number.name != feature) continue;
    for (int bits = range.least; bits <= range.greatest; ++bits) {
      const auto other = fitting(number, bits);
      if (!other) continue;
      engine_ = *other;
      return true;
    }
  }
  return false;
}

bool ProbeNumbers::settle() {
  std::vector<std::pair<Engine, Engine>> settled;
  find();
  for (std::size_t i = 0; i < 2 * ranges_.size();) {
    const ProbeNumberRange& range = ranges_[i / 2];
    const std::pair pair(engine_, i % 2 == 0 ? range.lowest : range.highest);
    ++i;
    if (pair.first == pair.second || std::find(settled.begin(), settled.end(), pair) != settled.end()) continue;
    settled.push_back(pair);
    const auto probes = telling_cases(answers_.bench(), layout_, pair.first, pair.second);
    if (probes.empty()) continue;
    bool right = true;
    for (const ProbeCase& probe : probes)
      right &= answers_.bench().same(answers_.add(ProbeSubset::any, probe).answer, answers_.bench().emulated(engine_, probe));
    if (!right && !replace(range.feature)) return false;
    find();
    i = 0;
  }
  return true;
}

const ProbeNumberRange* ProbeNumbers::range_of(const std::string& feature) const {
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const auto& r) { return r.feature == feature; });
  return range == ranges_.end() ? nullptr : &*range;
}

std::optional<std::string> ProbeNumbers::words(const ProbeFeature& feature) const {
  const ProbeNumberRange* const range = range_of(feature.name);
  if (range == nullptr) return std::nullopt;
  const auto [name, least, greatest, other, lowest, highest] = *range;
  if (feature.is_number) {
    if (least == 0 && greatest == most_kept_bits) return not_observable;
    if (greatest == most_kept_bits && least < most_kept_bits) return filled("at least {}", least);
    return least == 0 && greatest > 1 ? filled("at most {}", greatest) : range_words(least, greatest);
  }
  if (other) {
    if (greatest >= engine_.accumulator.min_exponent() + most_kept_bits) return not_observable;
    return greatest < least ? "none" : filled("at most {}", greatest);
  }
  const auto tied = std::find_if(ranges_.begin(), ranges_.end(), [](const ProbeNumberRange& r) {
    return r.other_least_exponent && r.feature != "least_exponent";
  });
  if (tied == ranges_.end()) return range_words(least, greatest);
  if (least != greatest)
    return range_words(std::min(least, tied->lowest.least_exponent), std::max(greatest, tied->highest.least_exponent));
  const int shift = tied->lowest.least_exponent - tied->least;
  return filled(shift < 0 ? "{} - {}" : "{} + {}", tied->feature, std::abs(shift));
}

std::vector<Engine> ProbeNumbers::ends() const {
  std::vector<Engine> ends;
  for (const ProbeNumberRange& range : ranges_) {
    if (range.feature == "least_exponent") continue;
    for (const Engine& end : {range.lowest, range.highest})
      if (end != engine_) ends.push_back(end);
  }
  return ends;
}

}  // namespace ulpscope::studies
