// SPDX-License-Identifier: Apache-2.0
// Numbers are held by their places in the order of all doubles. How many bits of these are dropped follows from all numbers
// alone: a part of them never needs more than the whole.
#include "studies/census/spread.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t double_sign = std::uint64_t{1} << 63;

/// Greater for greater numbers; -0 is before 0.
std::uint64_t order_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return (bits & double_sign) != 0 ? ~bits : bits | double_sign;
}

double number_of(std::uint64_t order) { return std::bit_cast<double>((order & double_sign) != 0 ? order & ~double_sign : ~order); }

void append_hexadecimal(std::string& text, std::uint64_t number) {
  std::array<char, 16> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr);
}

/// A number, and what stands behind it; NUL: nothing.
struct TakenNumber {
  std::uint64_t number;
  char behind;
};
/// Takes one off the beginning.
std::optional<TakenNumber> take_hexadecimal(std::string_view& text) {
  TakenNumber taken{0, 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), taken.number, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return taken;
  taken.behind = text.front();
  text.remove_prefix(1);
  return taken;
}

}  // namespace

void Spread::add(std::span<const double> sorted) {
  constexpr std::size_t piece = 4 * most_held;
  for (std::size_t first = 0; first < sorted.size(); first += piece) {
    std::vector<Bin> bins;
    for (const double x : sorted.subspan(first, std::min(piece, sorted.size() - first))) {
      const std::uint64_t order = order_of(x);
      if (bins.empty() || bins.back().last != order) bins.push_back({order, 0});
      ++bins.back().count;
    }
    const std::uint64_t least = bins.front().last;
    put(std::move(bins), 0, least);
  }
}

void Spread::add(const Spread& other) { put(other.bins_, other.dropped_, other.first_); }

void Spread::put(std::vector<Bin> bins, int dropped, std::uint64_t first) {
  first_ = std::min(first_, first);
  dropped_ = std::max(dropped_, dropped);
  std::vector<Bin> all;
  all.reserve(bins_.size() + bins.size());
  std::ranges::merge(bins_, bins, std::back_inserter(all), {}, &Bin::last, &Bin::last);
  bins_ = std::move(all);
  reduce();
}

void Spread::reduce() {
  for (bool is_first = true; is_first || bins_.size() > most_held; is_first = false) {
    if (!is_first) ++dropped_;
    std::size_t kept = 0;
    for (const Bin bin : bins_) {
      if (kept != 0 && bins_[kept - 1].last >> dropped_ == bin.last >> dropped_)
        bins_[kept - 1] = {bin.last, bins_[kept - 1].count + bin.count};
      else
        bins_[kept++] = bin;
    }
    bins_.resize(kept);
  }
}

std::uint64_t Spread::count() const noexcept {
  std::uint64_t all = 0;
  for (const Bin& bin : bins_) all += bin.count;
  return all;
}

// `bits dropped, the first, then each last less the one before, and its count where that is not 1`: `0 c000000000000000
// c000000000000000 8000000000000*3` is once 2, three times 3. Empty where there are no numbers.
std::string Spread::text() const {
  std::string text;
  if (bins_.empty()) return text;
  append_hexadecimal(text, static_cast<std::uint64_t>(dropped_));
  text += ' ';
  append_hexadecimal(text, first_);
  std::uint64_t before = 0;
  for (const Bin& bin : bins_) {
    text += ' ';
    append_hexadecimal(text, bin.last - before);
    before = bin.last;
    if (bin.count != 1) append_hexadecimal(text += '*', bin.count);
  }
  return text;
}

std::optional<Spread> Spread::of_text(std::string_view text) {
  Spread spread;
  if (text.empty()) return spread;
  if (text.find('\0') != text.npos) return std::nullopt;
  const auto dropped = take_hexadecimal(text), first = take_hexadecimal(text);
  if (!dropped || !first || dropped->behind != ' ' || first->behind != ' ' || dropped->number > 63) return std::nullopt;
  spread.dropped_ = static_cast<int>(dropped->number);
  spread.first_ = first->number;
  std::uint64_t before = 0, all = 0;
  for (char behind = ' '; behind == ' ';) {
    const auto step = take_hexadecimal(text);
    if (!step || spread.bins_.size() == most_held) return std::nullopt;
    Bin bin{0, 1};
    behind = step->behind;
    if (behind == '*') {
      const auto count = take_hexadecimal(text);
      if (!count || count->number < 2) return std::nullopt;
      bin.count = count->number, behind = count->behind;
    }
    const bool is_too_large =
        __builtin_add_overflow(before, step->number, &bin.last) || __builtin_add_overflow(all, bin.count, &all);
    const bool is_next = spread.bins_.empty() || bin.last >> spread.dropped_ > before >> spread.dropped_;
    if (is_too_large || !is_next || bin.last > order_of(std::numeric_limits<double>::infinity())) return std::nullopt;
    before = bin.last;
    spread.bins_.push_back(bin);
    if (behind != ' ' && behind != 0) return std::nullopt;
  }
  const Bin& least = spread.bins_.front();
  const bool begins = spread.first_ <= least.last && spread.first_ >> spread.dropped_ == least.last >> spread.dropped_ &&
                      spread.first_ >= order_of(-std::numeric_limits<double>::infinity());
  const bool is_one = least.count == 1 && spread.first_ != least.last;
  return begins && !is_one && text.empty() ? std::optional(spread) : std::nullopt;
}

double Spread::quantile(double share) const {
  if (bins_.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::uint64_t all = 0, seen = 0;
  for (const Bin& bin : bins_) all += bin.count;
  const double place = std::max(std::ceil(share * static_cast<double>(all)), 1.0);
  if (share == 0) return number_of(first_);
  for (const Bin& bin : bins_) {
    seen += bin.count;
    if (static_cast<double>(seen) >= place) return number_of(bin.last);
  }
  return number_of(bins_.back().last);
}

}  // namespace ulpscope::studies
