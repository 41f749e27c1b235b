// SPDX-License-Identifier: Apache-2.0
// Draws terms by their distance from the greatest.
#include "studies/probe/probe_cases.hpp"

#include <algorithm>
#include <cmath>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

namespace ulpscope::studies {

using emu::Code;
using emu::Format;

namespace {

bool is_wide(Format accumulator) { return accumulator.exponent_bits > 5; }

}  // namespace

/// A plain case leaves the terms below its top room that ends above the least normal number; half precision has no such room.
ProbeCases::Exponents ProbeCases::top_of(ProbeRange range) {
  const Format accumulator = bench_.operation().accumulator;
  const int least = accumulator.min_exponent(), greatest = accumulator.max_exponent();
  switch (range) {
    case ProbeRange::tiny:
      if (floor_ && below(2) == 0) return {*floor_ - most_kept_bits, *floor_ + 4};
      return {least - accumulator.fraction_bits - 8, least + (is_wide(accumulator) ? 24 : 4)};
    case ProbeRange::huge: return {greatest - 2, greatest + 1};
    default: {
      const Exponents usual = is_wide(accumulator) ? Exponents{least + 110, greatest - 12} : Exponents{least + 4, greatest - 2};
      return {std::clamp(least_plain(), usual.least, usual.greatest), usual.greatest};
    }
  }
}

/// Of any term of a plain case.
int ProbeCases::least_plain() const {
  const Format accumulator = bench_.operation().accumulator;
  const int usual = accumulator.min_exponent() + (is_wide(accumulator) ? 28 : 0);
  return floor_ ? std::max(usual, *floor_) : usual;
}

std::uint32_t ProbeCases::below(std::uint32_t bound) {
  const std::uint64_t word = emu::philox4x32(seed_, count_++).word[0];
  return static_cast<std::uint32_t>(word * bound >> 32);
}

int ProbeCases::distance() {
  const std::uint32_t kind = below(20);
  if (kind < 6) return 0;
  if (kind < 13 && !distances_.empty()) {
    const int known = distances_[below(static_cast<std::uint32_t>(distances_.size()))];
    return known + between(-2, 3);
  }
  return kind < 16 ? between(0, 8) : between(0, bench_.operation().accumulator.fraction_bits + 12);
}

Code ProbeCases::fraction(Format format) {
  const Code mask = format.fraction_mask();
  switch (below(8)) {
    case 0:
    case 1: {
      const Code high = below(1U << 31), low = below(1U << 31);
      return (high << 31 ^ low) & mask;
    }
    case 2: return mask;
    case 3: return 1;
    default: return 0;
  }
}

Code ProbeCases::any_code(Format format) {
  const Code high = below(1U << 31), low = below(1U << 31), middle = below(1U << 31);
  return (high << 33 ^ low ^ middle << 20) & format.code_mask();
}

Code ProbeCases::number(Format format, int exponent) {
  const bool negative = below(2) == 0;
  return number_code(format, exponent, fraction(format), negative);
}

void ProbeCases::put(ProbeCase& probe, std::size_t k, int exponent, bool subnormals) {
  const Format a = bench_.operation().a, b = bench_.operation().b;
  const int least_a = subnormals ? a.min_spacing_exponent() : a.min_exponent();
  const int least_b = subnormals ? b.min_spacing_exponent() : b.min_exponent();
  const int wanted = std::clamp(exponent, least_a + least_b, bench_.greatest_product());
  const int of_a = between(std::max(least_a, wanted - b.max_exponent()), std::min(a.max_exponent(), wanted - least_b));
  probe.a[k] = number(a, of_a);
  probe.b[k] = number(b, wanted - of_a);
}

int ProbeCases::scale(ProbeCase& probe, ProbeScales scales) {
  if (!bench_.scaled() || scales == ProbeScales::ones) return 0;
  const Format format = bench_.operation().scale_format;
  const bool wide = format.exponent_bits > 5 && below(4) == 0;
  const int shift = wide ? between(-30, 30) : 0;
  const auto some = [&] {
    const int exponent = std::clamp(shift + between(-4, 4), format.min_exponent(), format.max_exponent());
    return number_code(format, exponent, fraction(format), false);
  };
  for (std::size_t i = 0; i < probe.a_scales.size(); ++i) {
    probe.a_scales[i] = i > 0 && scales == ProbeScales::same ? probe.a_scales[0] : some();
    probe.b_scales[i] = i > 0 && scales == ProbeScales::same ? probe.b_scales[0] : some();
  }
  const double product = emu::decode(format, probe.a_scales[0]) * emu::decode(format, probe.b_scales[0]);
  return std::ilogb(product);
}

void ProbeCases::choose_addend(ProbeCase& probe, std::span<const std::size_t> places, int top, int greatest, ProbeRange range) {
  const Format format = bench_.operation().accumulator;
  const bool negative = below(2) == 0;
  int exponent = top;
  switch (below(8)) {
    case 0:
    case 1: return;
    case 2: exponent = top - distance(); break;
    case 3: {  // it cancels a product
      const std::size_t k = places[below(static_cast<std::uint32_t>(places.size()))];
      const double product = emu::decode(bench_.operation().a, probe.a[k]) * emu::decode(bench_.operation().b, probe.b[k]);
      const Code code = emu::encode(format, -product);
      if (!format.is_nan(code) && !format.is_infinite(code)) probe.c = code;
      return;
    }
    case 4: exponent = top + between(0, 3); break;
    default: exponent = top + distance(); break;
  }
  const int least_c = range == ProbeRange::tiny ? format.min_spacing_exponent() : least_plain();
  exponent = std::clamp(exponent, least_c, range == ProbeRange::huge ? format.max_exponent() : greatest);
  probe.c = number_code(format, exponent, fraction(format), negative);
}

ProbeCase ProbeCases::at(std::span<const std::size_t> places, ProbeRange range, ProbeScales scales) {
  ProbeCase probe = bench_.blank();
  const gpu::Operation& operation = bench_.operation();
  if (range == ProbeRange::any) {
    for (const std::size_t k : places) {
      probe.a[k] = any_code(operation.a);
      probe.b[k] = any_code(operation.b);
    }
    const int exponent = between(operation.accumulator.min_exponent() - 4, operation.accumulator.max_exponent() + 1);
    if (below(3) != 0) probe.c = number(operation.accumulator, exponent);
    scale(probe, scales);
    return probe;
  }
  const int shift = scale(probe, scales);
  const auto [least, greatest] = top_of(range);
  const int lowest =
      std::max(range == ProbeRange::tiny ? operation.a.min_spacing_exponent() + operation.b.min_spacing_exponent()
                                         : bench_.least_product(),
               least - shift);
  const int top = between(std::min(lowest, bench_.greatest_product()), std::min(bench_.greatest_product(), greatest - shift));
  const int levels[] = {0, distance(), distance(), distance()};
  const std::uint32_t used = 1 + below(4);
  const bool jitter = below(2) == 0;
  for (const std::size_t k : places) {
    const int level = levels[below(used)];
    const int exponent = top - level - (jitter ? between(0, 2) : 0);
    if (range == ProbeRange::tiny)
      put(probe, k, exponent, below(2) == 0);
    else
      put(probe, k, std::max(exponent, least_plain() - shift), false);
  }
  if (places.size() > 1 && below(2) == 0) {  // two products that cancel, the greatest ones
    const std::size_t first = below(static_cast<std::uint32_t>(places.size()));
    const std::size_t second = (first + 1 + below(static_cast<std::uint32_t>(places.size()) - 1)) % places.size();
    put(probe, places[first], top, false);
    probe.a[places[second]] = probe.a[places[first]] ^ operation.a.sign_mask();
    probe.b[places[second]] = probe.b[places[first]];
  }
  if (!places.empty()) choose_addend(probe, places, top + shift, greatest, range);
  return probe;
}

ProbeCase ProbeCases::among(std::size_t within, ProbeRange range, ProbeScales scales) {
  const std::size_t most = std::min(within, bench_.products());
  std::size_t count = most;
  if (below(4) != 0) count = std::min<std::size_t>(most, 1 + below(6));
  std::vector<std::size_t> places;
  if (count == most) {
    for (std::size_t k = 0; k < most; ++k) places.push_back(k);
  } else {
    while (places.size() < count) {
      const std::size_t k = below(static_cast<std::uint32_t>(most));
      if (std::find(places.begin(), places.end(), k) == places.end()) places.push_back(k);
    }
  }
  return at(places, range, scales);
}

}  // namespace ulpscope::studies
