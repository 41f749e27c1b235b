// SPDX-License-Identifier: Apache-2.0
// Deals numbers out to their binades and sums a binade whenever its buffer is full.
#include "studies/census/binade_pass.hpp"

#include <algorithm>
#include <bit>

namespace ulpscope::studies {
namespace {

constexpr std::uint32_t float_infinity = 0x7f800000, no_sign = 0x7fffffff;
constexpr int fraction_bits = Binade::fraction_bits;

std::uint32_t code_of(float x) { return std::bit_cast<std::uint32_t>(x); }

std::uint64_t first_place(std::span<const float> values, std::uint32_t magnitude) {
  const auto at = std::find_if(values.begin(), values.end(), [&](float x) { return (code_of(x) & no_sign) == magnitude; });
  return static_cast<std::uint64_t>(at - values.begin());
}

}  // namespace

BinadeTally::BinadeTally(const BinadeQuestion& question, Binade of_binade) : binade(of_binade) {
  for (const ScaledFormat& format : question.formats) {
    const Treatment treatment = treat(format, question.options, question.input_least, binade);
    wants_reciprocals |= needs_reciprocals(treatment.fate);
    if (treatment.fate != Fate::rounded) continue;
    auto known =
        std::find_if(roundings.begin(), roundings.end(), [&](const Rounding& r) { return r.variant == treatment.variant; });
    if (known == roundings.end()) known = roundings.insert(known, {treatment.variant, {}, {}});
    known->counted.inexact |= !treatment.below || !format.format.has_subnormals();
    known->counted.carried |= treatment.counts_carried();
  }
}

const VariantSums& BinadeTally::of(const Variant& variant) const {
  return std::find_if(roundings.begin(), roundings.end(), [&](const Rounding& r) { return r.variant == variant; })->sums;
}

void BinadeTally::add(std::span<const std::uint32_t> codes, Significands& scratch) {
  while (!codes.empty()) {
    const std::size_t n = std::min(codes.size(), codes_.size() - waiting_);
    std::copy_n(codes.begin(), n, codes_.begin() + static_cast<std::ptrdiff_t>(waiting_));
    waiting_ += n;
    codes = codes.subspan(n);
    if (waiting_ == codes_.size()) finish(scratch);
  }
}

void BinadeTally::finish(Significands& scratch) {
  take_significands(codes_.data(), waiting_, scratch, all);
  waiting_ = 0;
  if (wants_reciprocals) add_reciprocals(scratch, all);
  for (Rounding& rounding : roundings) add_variant(scratch, rounding.variant, rounding.counted, rounding.sums);
}

void BinadeTally::merge(const BinadeTally& other) {
  all.merge(other.all);
  for (std::size_t i = 0; i < roundings.size(); ++i) roundings[i].sums.merge(other.roundings[i].sums);
}

BinadePass::BinadePass(const BinadeQuestion& question)
    : question_(&question), window_(question.formats, question.options, question.input_least), buffers_(ways * binades) {
  for (std::size_t i = 0; i < ways * binades; ++i) next_[i] = buffers_[i].codes.data();
}

void BinadePass::add(std::span<const float> values, std::uint64_t first) {
  constexpr std::size_t size = WindowBlock::size;
  MagnitudeRange range;
  for (std::size_t i = 0; i < values.size(); i += size) {
    const std::span<const float> block = values.subspan(i, std::min(size, values.size() - i));
    const float* const next = i + 2 * size <= values.size() ? block.data() + size : block.data();
    range.include(block.size() == size && window_.enabled() ? add_block(block.first<size>(), next) : add_whole(block));
  }
  place(values, first, range);
}

MagnitudeRange BinadePass::add_block(std::span<const float, WindowBlock::size> block, const float* next) {
  MagnitudeRange range;
  const std::optional<std::span<const float>> outside = window_.add(block, next, range);
  if (!outside) return add_whole(block);
  deal(*outside);
  return range;
}

MagnitudeRange BinadePass::add_whole(std::span<const float> values) {
  const MagnitudeRange range = magnitude_range(values);
  deal(values);
  return range;
}

void BinadePass::place(std::span<const float> values, std::uint64_t first, MagnitudeRange range) {
  if (range.most > largest_.magnitude || (range.most == largest_.magnitude && range.most != 0 && first < largest_.index))
    largest_ = {range.most, first + first_place(values, range.most)};
  if (range.least < float_infinity &&
      (range.least < smallest_.magnitude || (range.least == smallest_.magnitude && first < smallest_.index)))
    smallest_ = {range.least, first + first_place(values, range.least)};
}

void BinadePass::deal(std::span<const float> values) {
  const auto put_at = [&](std::size_t i, std::size_t way) {
    const std::uint32_t code = code_of(values[i]);
    put(code >> fraction_bits, way, code);
  };
  std::size_t i = 0;
  for (; i + ways <= values.size(); i += ways)
    for (std::size_t way = 0; way < ways; ++way) put_at(i + way, way);
  for (; i < values.size(); ++i) put_at(i, 0);
}

inline void BinadePass::put(std::size_t binade, std::size_t way, std::uint32_t code) {
  const std::size_t buffer = ways * binade + way;
  std::uint32_t* const next = next_[buffer];
  *next = code;
  next_[buffer] = next + 1;
  if (reinterpret_cast<std::uintptr_t>(next + 1) % sizeof(Buffer) == 0)
    empty(buffer);  // buffers lie at multiples of their size
}

void BinadePass::empty(std::size_t buffer) {
  const std::span<const std::uint32_t> codes(buffers_[buffer].codes.data(), next_[buffer]);
  next_[buffer] = buffers_[buffer].codes.data();
  if (codes.empty()) return;
  const std::size_t binade = buffer / ways;
  if (binade >= codes_of_exponent) {
    const auto which = static_cast<int>(binade - codes_of_exponent);
    const bool negative = which >= static_cast<int>(subnormal_exponents);
    const int exponent = which % static_cast<int>(subnormal_exponents) + Binade::least_exponent;
    return tally({negative, exponent}).add(codes, scratch_);
  }
  const bool negative = binade >= codes_of_exponent / 2;
  const int field = static_cast<int>(binade % (codes_of_exponent / 2));
  if (field == 0) return empty_subnormal(codes);
  if (field == 255) return empty_special(codes);
  tally({negative, field - 127}).add(codes, scratch_);
}

void BinadePass::empty_special(std::span<const std::uint32_t> codes) {
  for (const std::uint32_t code : codes) ++((code & no_sign) == float_infinity ? infinite_ : nan_);
}

/// Deals subnormal numbers out once more, normalised.
void BinadePass::empty_subnormal(std::span<const std::uint32_t> codes) {
  for (const std::uint32_t code : codes) {
    const std::uint32_t magnitude = code & no_sign;
    if (magnitude == 0) {
      ++zeros_;
      continue;
    }
    const int leading = static_cast<int>(std::bit_width(magnitude)) - 1;
    const std::size_t sign = code != magnitude ? subnormal_exponents : 0;
    put(codes_of_exponent + sign + static_cast<std::size_t>(leading), 0, magnitude << (fraction_bits - leading));
  }
}

BinadeTally& BinadePass::tally(Binade binade) {
  const std::size_t index =
      (binade.negative ? exponents : 0) + static_cast<std::size_t>(binade.exponent - Binade::least_exponent);
  if (!tallies_[index]) tallies_[index] = make_aligned<BinadeTally>(*question_, binade);
  return *tallies_[index];
}

void BinadePass::finish() {
  for (std::size_t i = 0; i < ways * binades; ++i) empty(i);  // subnormal numbers go to the last buffers
  for (const auto& tally : tallies_)
    if (tally) tally->finish(scratch_);
}

void BinadePass::merge(const BinadePass& other) {
  zeros_ += other.zeros_;
  infinite_ += other.infinite_;
  nan_ += other.nan_;
  window_.merge(other.window_);
  other.for_each([&](const BinadeTally& part) { tally(part.binade).merge(part); });
  const Place& large = other.largest_;
  if (large.magnitude > largest_.magnitude || (large.magnitude == largest_.magnitude && large.index < largest_.index))
    largest_ = large;
  const Place& small = other.smallest_;
  if (small.magnitude < smallest_.magnitude || (small.magnitude == smallest_.magnitude && small.index < smallest_.index))
    smallest_ = small;
}

}  // namespace ulpscope::studies
