// SPDX-License-Identifier: Apache-2.0
// Mutants that need nothing but the correct output.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "verify/audit/mutant_makers.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

/// What numbers are drawn for: streams that share nothing.
enum Stream : std::uint64_t { of_nan = 1, of_infinity, of_rows, of_tiles, of_elements, of_noise };

double rounded(emu::Format format, double x, const emu::RoundingOptions& options = {}) {
  return emu::round_to(format, x, options).value;
}

double largest(emu::Format format) { return emu::decode(format, format.max_finite_code()); }

template <class Change>
std::vector<double> each(const CorrectOutput& source, Change change) {
  std::vector<double> d = source.correct;
  std::transform(d.begin(), d.end(), d.begin(), change);
  return d;
}

/// The correct output with one element replaced.
std::vector<double> with_one(const CorrectOutput& source, std::uint64_t index, double value) {
  std::vector<double> d = source.correct;
  d[static_cast<std::size_t>(index)] = value;
  return d;
}

}  // namespace

std::uint64_t drawn(const CorrectOutput& source, std::uint64_t drawn_for, std::uint64_t index, std::uint64_t count) {
  const emu::PhiloxBlock block = emu::philox4x32(source.seed, index, drawn_for);
  return (std::uint64_t{block.word[1]} << 32 | block.word[0]) % count;
}

double codes_away(emu::Format format, double x, std::int64_t steps) {
  if (!std::isfinite(x)) return x;
  const auto most = static_cast<std::int64_t>(format.max_finite_code());
  const auto magnitude = static_cast<std::int64_t>(emu::encode(format, std::fabs(x)));
  const std::int64_t place =
      std::clamp((std::signbit(x) ? -magnitude : magnitude) + steps, format.is_signed() ? -most : 0, most);
  const double value = emu::decode(format, static_cast<emu::Code>(place < 0 ? -place : place));
  return place < 0 ? -value : value;
}

MutantOutput zeros(const CorrectOutput& source, double) { return std::vector<double>(source.correct.size(), 0.0); }

MutantOutput constant_mean(const CorrectOutput& source, double) {
  double sum = 0, count = 0;
  for (const double x : source.correct)
    if (std::isfinite(x)) sum += x, ++count;
  if (count == 0) return std::nullopt;
  return std::vector<double>(source.correct.size(), rounded(source.out, sum / count));
}

MutantOutput nan_element(const CorrectOutput& source, double) {
  if (!source.out.has_nan()) return std::nullopt;
  return with_one(source, drawn(source, of_nan, 0, source.correct.size()), not_a_number);
}

MutantOutput nan_everywhere(const CorrectOutput& source, double) {
  if (!source.out.has_nan()) return std::nullopt;
  return std::vector<double>(source.correct.size(), not_a_number);
}

MutantOutput infinite_element(const CorrectOutput& source, double) {
  if (!source.out.has_infinity()) return std::nullopt;
  return with_one(source, drawn(source, of_infinity, 0, source.correct.size()), infinity);
}

MutantOutput rows_swapped(const CorrectOutput& source, double) {
  const std::size_t m = source.rows, n = source.columns;
  if (m < 2) return std::nullopt;
  std::vector<double> d = source.correct;
  const auto row = static_cast<std::ptrdiff_t>(drawn(source, of_rows, 0, m - 1) * n), size = static_cast<std::ptrdiff_t>(n);
  std::swap_ranges(d.begin() + row, d.begin() + row + size, d.begin() + row + size);
  return d;
}

MutantOutput tile_transposed(const CorrectOutput& source, double) {
  constexpr std::size_t widest = 16;  // an mma.sync fragment has 16 rows
  const std::size_t m = source.rows, n = source.columns, tile = std::min({widest, m, n});
  if (tile < 2) return std::nullopt;
  const std::size_t top = drawn(source, of_tiles, 0, m / tile) * tile, left = drawn(source, of_tiles, 1, n / tile) * tile;
  std::vector<double> d = source.correct;
  for (std::size_t i = 0; i < tile; ++i)
    for (std::size_t j = 0; j < i; ++j) std::swap(d[(top + i) * n + left + j], d[(top + j) * n + left + i]);
  return d;
}

MutantOutput scale_off(const CorrectOutput& source, double percent) {
  const double factor = 1 + percent / 100;
  return each(source, [&](double x) { return rounded(source.out, x * factor); });
}

MutantOutput element_off(const CorrectOutput& source, double ulps) {
  const emu::Format out = source.out;
  if (ulps > static_cast<double>(out.max_finite_code())) return std::nullopt;
  std::vector<std::size_t> finite;
  for (std::size_t i = 0; i < source.correct.size(); ++i)
    if (std::isfinite(source.correct[i])) finite.push_back(i);
  if (finite.empty()) return std::nullopt;
  const std::size_t index = finite[static_cast<std::size_t>(drawn(source, of_elements, 0, finite.size()))];
  const double x = source.correct[index];
  const auto away = static_cast<std::int64_t>(std::signbit(x) ? -ulps : ulps);
  const double farther = codes_away(out, x, away);  // the largest number is the farthest
  return with_one(source, index, farther == x ? codes_away(out, x, -away) : farther);
}

MutantOutput noise(const CorrectOutput& source, double ulps) {
  const auto most = static_cast<std::int64_t>(ulps);
  std::vector<double> d = source.correct;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto steps = static_cast<std::int64_t>(drawn(source, of_noise, i, static_cast<std::uint64_t>(2 * most + 1))) - most;
    d[i] = codes_away(source.out, d[i], steps);
  }
  return d;
}

MutantOutput overflow_saturated(const CorrectOutput& source, double) {
  const emu::Format out = source.out;
  const auto overflowed = [&](double x, double exact) {
    return std::isinf(x) || (std::isnan(x) && !out.has_infinity() && !std::isnan(exact));
  };
  std::vector<double> d = source.correct;
  bool any = false;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (!overflowed(d[i], source.reference[i])) continue;
    d[i] = std::copysign(largest(out), std::isnan(d[i]) ? 1.0 : d[i]);
    any = true;
  }
  return any ? MutantOutput(d) : std::nullopt;
}

MutantOutput saturation_missing(const CorrectOutput& source, double) {
  const emu::Format out = source.out;
  const double most = largest(out);
  if (!out.has_nan() ||
      std::none_of(source.correct.begin(), source.correct.end(), [&](double x) { return std::fabs(x) == most; }))
    return std::nullopt;
  return each(source, [&](double x) {
    if (std::fabs(x) != most) return x;
    return out.has_infinity() ? std::copysign(infinity, x) : not_a_number;
  });
}

MutantOutput subnormal_outputs_flushed(const CorrectOutput& source, double) {
  return each(source, [&](double x) { return rounded(source.out, x, {.flush_subnormals = true}); });
}

}  // namespace ulpscope::verify
