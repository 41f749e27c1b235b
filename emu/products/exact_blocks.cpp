// SPDX-License-Identifier: Apache-2.0
// Steps that add a few exact products exactly and round once, to nearest even. c is one of the terms, or joins the rounded sum
// by an addition. Where all terms are multiples of one power of two and doubles hold their sums, a chain of doubles is exact;
// elsewhere two chains bound the sum from below and above, and where both are the same that is the sum.
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/exact_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emu/float_environment.hpp"
#include "emu/products/bounds-inl.hpp"
#include "emu/products/fused-inl.hpp"
#include "emu/products/rounding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

constexpr std::size_t block_vectors = is_portable ? 1 : 4;  // side by side, to hide the latency of additions

/// Whether doubles are rounded to nearest while the environment rounds down. If not, sums wait until it does not.
constexpr bool can_round_at_once = ULPSCOPE_X86_BITS == 512;

/// A double rounded to a float, to nearest even. Elsewhere than with AVX-512, where the environment rounds so.
HWY_INLINE void store_nearest(V x, float* to) {
#if ULPSCOPE_X86_BITS == 512
  _mm256_storeu_ps(to, _mm512_cvt_roundpd_ps(x.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  hn::StoreU(exact_floats(D(), x), hn::Rebind<float, D>(), to);
#endif
}

/// A result that the reference gave, of the output at this place of the panel.
using Known = std::pair<std::size_t, float>;

/// What of an engine the steps ask for.
struct ExactKind {
  bool has_c;             ///< among the terms
  bool keeps_minus_zero;  ///< of sums of nothing but -0
  bool half;              ///< results are rounded to float16
  bool flushes;           ///< subnormal c and results, where c joins the rounded sum

  explicit ExactKind(const Engine& engine)
      : has_c(engine.stages[0].addend == Addend::first),
        keeps_minus_zero(engine.stages[0].keeps_minus_zero),
        half(engine.accumulator == float16),
        flushes(engine.subnormal_results_are_zero) {}

  /// Whether sums are rounded to float32, and are results then.
  bool rounds_at_once() const { return can_round_at_once && has_c && !half; }
};

/// The sum from its bounds, equal as numbers. Rounding down, x - x is -0 in both chains, and a sum of nothing but -0 is -0 in
/// the lower one and +0 in the negated one.
HWY_INLINE V decided(const ExactKind& kind, V low, V negated_high) {
  if (kind.keeps_minus_zero) return hn::Neg(negated_high);
  return hn::IfThenZeroElse(hn::Eq(low, hn::Zero(D())), low);
}

/// One step of one row for all columns; the environment rounds down. Sums go to `sums` where they are not rounded at once.
/// Where doubles do not hold a sum the reference gives the result: at once, or to `known`, as that of output `first` + column.
HWY_INLINE void exact_step(const StagesPlan& plan, const ExactKind& kind, const float* a, const float* b,
                           const double* HWY_RESTRICT wide_a, const double* HWY_RESTRICT wide_b, float* c,
                           double* HWY_RESTRICT sums, std::size_t first, std::vector<Known>& known) {
  const hn::Rebind<float, D> df;
  const std::size_t lanes = hn::Lanes(D());
  const bool at_once = kind.rounds_at_once();
  for (std::size_t j = 0; j < panel_columns; j += block_vectors * lanes) {
    V low[block_vectors], negated_high[block_vectors];
    if (kind.has_c) {
      for (std::size_t v = 0; v < block_vectors; ++v) {
        low[v] = hn::PromoteTo(D(), hn::LoadU(df, c + j + v * lanes));
        negated_high[v] = hn::Neg(low[v]);
      }
    } else {  // products of two floats are exact
      for (std::size_t v = 0; v < block_vectors; ++v) {
        low[v] = hn::Mul(set(wide_a[0]), hn::LoadU(D(), wide_b + j + v * lanes));
        negated_high[v] = hn::Neg(low[v]);
      }
    }
    for (std::size_t k = kind.has_c ? 0 : 1; k < plan.products; ++k) {
      const V x = set(wide_a[k]), minus_x = hn::Neg(x);
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V y = hn::LoadU(D(), wide_b + k * panel_columns + j + v * lanes);
        low[v] = fused(D(), x, y, low[v]);
        negated_high[v] = fused(D(), minus_x, y, negated_high[v]);
      }
    }
    // A difference of infinities is NaN, which is not unequal to 0. The bits of several must not be joined: they may be a
    // NaN's.
    const auto unequal = [&](std::size_t v) HWY_ATTR { return hn::Ne(hn::Add(low[v], negated_high[v]), hn::Zero(D())); };
    auto any = unequal(0);
    for (std::size_t v = 1; v < block_vectors; ++v) any = hn::Or(any, unequal(v));
    const bool all_exact = hn::AllFalse(D(), any);
    if (HWY_LIKELY(all_exact)) {
      for (std::size_t v = 0; v < block_vectors; ++v) {
        const V sum = decided(kind, low[v], negated_high[v]);
        if (at_once)
          store_nearest(sum, c + j + v * lanes);
        else
          hn::StoreU(sum, D(), sums + j + v * lanes);
      }
      continue;
    }
    for (std::size_t v = 0; v < block_vectors; ++v) {
      HWY_ALIGN double below[hn::MaxLanes(D())], above[hn::MaxLanes(D())];
      hn::Store(decided(kind, low[v], negated_high[v]), D(), below);
      hn::Store(hn::Neg(negated_high[v]), D(), above);
      const V lower = low[v];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (hn::ExtractLane(lower, lane) == above[lane]) continue;
        const std::size_t column = j + v * lanes + lane;
        const float result = stages_step(plan, a, b + column, nullptr, nullptr, c[column]);
        below[lane] = static_cast<double>(result);
        if (!at_once) known.emplace_back(first + column, result);
      }
      if (at_once)
        store_nearest(hn::Load(D(), below), c + j + v * lanes);
      else
        hn::StoreU(hn::Load(D(), below), D(), sums + j + v * lanes);
    }
  }
}

/// A vector of floats with zeros in the places of subnormal numbers.
template <class DF, class VF>
HWY_INLINE VF without_subnormals(DF df, VF x) {
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(df, 0x1p-126F)), hn::CopySign(hn::Zero(df), x), x);
}

/// Results of the sums of a panel's rows, to which c is added where it was none of the terms. The environment rounds to
/// nearest.
HWY_INLINE void finish(const ExactKind& kind, const double* HWY_RESTRICT sums, std::size_t count, float* HWY_RESTRICT results) {
  const hn::Rebind<float, D> df;
  const Grid halves(float16, false);
  for (std::size_t at = 0; at < count; at += hn::Lanes(D())) {
    V sum = hn::LoadU(D(), sums + at);
    if (kind.half) sum = halves.round(sum, Rounding::nearest_even, true);
    auto c = hn::LoadU(df, results + at);
    store_nearest(sum, results + at);
    if (kind.has_c) continue;
    if (kind.flushes) c = without_subnormals(df, c);
    const auto total = hn::Add(hn::LoadU(df, results + at), c);
    hn::StoreU(kind.flushes ? without_subnormals(df, total) : total, df, results + at);
  }
}

/// Steps that are taken together: those of some 64 products.
struct ExactSteps {
  const StagesPlan& plan;
  const ExactKind kind;
  std::size_t count;
  const float *a, *b;             ///< where panels have them
  const double *wide_a, *wide_b;  ///< the same

  std::size_t row_at(std::size_t step, std::size_t row) const { return (step * panel_rows + row) * plan.products; }
  std::size_t columns_at(std::size_t step) const { return step * plan.products * panel_columns; }
};

/// Rows [first, end) by bounds. `sums` has panel_columns for each row.
void bounded_rows(const ExactSteps& steps, std::size_t first, std::size_t end, double* sums, float* accumulators) {
  const ExactKind& kind = steps.kind;
  std::vector<Known> known;
  for (std::size_t s = 0; s < steps.count; ++s) {
    {
      const FloatEnvironment down(Direction::down);
      for (std::size_t i = first; i < end; ++i)
        exact_step(steps.plan, kind, steps.a + steps.row_at(s, i), steps.b + steps.columns_at(s),
                   steps.wide_a + steps.row_at(s, i), steps.wide_b + steps.columns_at(s), accumulators + i * panel_columns,
                   sums + (i - first) * panel_columns, i * panel_columns, known);
    }
    if (kind.rounds_at_once()) continue;
    finish(kind, sums, (end - first) * panel_columns, accumulators + first * panel_columns);
    for (const auto& [at, result] : known) accumulators[at] = result;
    known.clear();
  }
}

/// A double rounded to float16, which it stays a double of.
HWY_INLINE V nearest_half(V x, [[maybe_unused]] const Grid& halves) {
#if ULPSCOPE_X86_BITS == 512
  // To a float that is odd where bits were cut off, and then as Half in fused.cpp does.
  const __mmask8 inexact = _mm512_test_epi64_mask(_mm512_castpd_si512(x.raw), _mm512_set1_epi64(0x1fffffff));
  const __m256i cut = _mm256_castps_si256(_mm512_cvt_roundpd_ps(x.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
  const __m256 odd = _mm256_castsi256_ps(_mm256_mask_or_epi32(cut, inexact, cut, _mm256_set1_epi32(1)));
  return V{_mm512_cvtps_pd(_mm256_cvtph_ps(_mm256_cvtps_ph(odd, _MM_FROUND_TO_NEAREST_INT)))};
#elif ULPSCOPE_X86_BITS == 256
  // The same: what is cut off carries into the bit above where it is not 0.
  const __m256i cut = _mm256_set1_epi64x(0x1fffffff), word = _mm256_castpd_si256(x.raw);
  const __m256i sticky = _mm256_add_epi64(_mm256_and_si256(word, cut), cut);
  const __m256i odd = _mm256_andnot_si256(cut, _mm256_or_si256(word, sticky));
  const __m128 single = _mm256_cvtpd_ps(_mm256_castsi256_pd(odd));
  return V{_mm256_cvtps_pd(_mm_cvtph_ps(_mm_cvtps_ph(single, _MM_FROUND_TO_NEAREST_INT)))};
#else
  return halves.round(x, Rounding::nearest_even, true);
#endif
}

/// The same of a number that does not overflow: it is rounded as 1.5 * 2^52 of its spacings are added. The environment rounds
/// to nearest.
HWY_INLINE V nearest_half_in_range(V x) {
  const VL exponent = hn::And(bits(x), hn::Set(DL(), std::uint64_t{0x7ff} << 52));
  const V binade = hn::Max(doubles(exponent), set(power_of_two(float16.min_exponent())));
  const V many = doubles(hn::Add(bits(binade), hn::Set(DL(), (std::uint64_t{52 - 10} << 52) + (std::uint64_t{1} << 51))));
  return hn::Or(hn::Sub(hn::Add(x, many), many), hn::And(x, set(-0.0)));
}

constexpr std::size_t rows_together = 4;

/// What sums are rounded to after each step.
enum class Rounded : std::uint8_t { to_float, to_half, to_half_in_range };

/// `rows` rows whose sums doubles hold, for all columns. The environment rounds to nearest.
template <std::size_t products, std::size_t rows, Rounded rounded>
void exact_rows(const ExactSteps& steps, std::size_t first, float* accumulators) {
  constexpr std::size_t vectors = ULPSCOPE_X86_BITS == 512 ? 4 : 2;
  const hn::Rebind<float, D> df;
  const ExactKind& kind = steps.kind;
  const std::size_t lanes = hn::Lanes(D()), count = products > 0 ? products : steps.plan.products;
  const Grid halves(float16, false);
  const V zero = hn::Zero(D());
  for (std::size_t j = 0; j < panel_columns; j += vectors * lanes) {
    const auto at = [&](std::size_t r, std::size_t v) { return accumulators + (first + r) * panel_columns + j + v * lanes; };
    V sum[rows][vectors];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v) {
        sum[r][v] = hn::PromoteTo(D(), hn::LoadU(df, at(r, v)));
        if (!kind.keeps_minus_zero) sum[r][v] = hn::Add(sum[r][v], zero);
      }
    for (std::size_t s = 0; s < steps.count; ++s) {
      const double *const x = steps.wide_a + steps.row_at(s, first), *const y = steps.wide_b + steps.columns_at(s) + j;
      for (std::size_t k = 0; k < count; ++k)
        for (std::size_t v = 0; v < vectors; ++v) {
          const V of_b = hn::LoadU(D(), y + k * panel_columns + v * lanes);
          for (std::size_t r = 0; r < rows; ++r) sum[r][v] = fused(D(), set(x[r * count + k]), of_b, sum[r][v]);
        }
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t v = 0; v < vectors; ++v)
          if constexpr (rounded == Rounded::to_float)
            sum[r][v] = hn::PromoteTo(D(), exact_floats(D(), sum[r][v]));
          else if constexpr (rounded == Rounded::to_half_in_range)
            sum[r][v] = nearest_half_in_range(sum[r][v]);
          else
            sum[r][v] = nearest_half(sum[r][v], halves);
    }
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(exact_floats(D(), sum[r][v]), df, at(r, v));
  }
}

/// What is known of the sums of some rows.
struct SumBounds {
  bool are_doubles;  ///< all terms, and so c after every step, are multiples of a unit, and so few of them that doubles hold
                     ///< sums
  double greatest;   ///< of magnitudes, roundings apart
};

/// Less than 2^52 units whatever the signs of products, which leaves c's roundings twice that. c is never rounded to a zero of
/// either sign where that sign counts. What joins the rounded sum is no term.
SumBounds bounds_of_sums(const ExactSteps& steps, const Bounds& of_b, std::size_t first, std::size_t rows,
                         const float* accumulators) {
  const std::size_t products = steps.plan.products;
  const Bounds of_a = bounds_of(steps.a + steps.row_at(0, first), steps.count, rows * products, panel_rows * products);
  const Bounds of_c =
      bounds_of(accumulators + first * panel_columns, steps.kind.has_c ? rows : 0, panel_columns, panel_columns);
  const double of_product = of_a.unit * of_b.unit, unit = of_product < of_c.unit ? of_product : of_c.unit;
  const double greatest = of_c.greatest + static_cast<double>(steps.count * products) * of_a.greatest * of_b.greatest;
  const double least_unit = power_of_two(steps.plan.engine.accumulator.min_spacing_exponent());
  const bool has_signs = !steps.kind.has_c || steps.kind.keeps_minus_zero || unit >= least_unit;
  return {greatest < unit * power_of_two(52) && has_signs, greatest};
}

/// The sums of one step of `rows` rows that doubles hold, without c. The environment rounds to nearest.
template <std::size_t products, std::size_t rows>
void sums_without_c(const ExactSteps& steps, std::size_t step, std::size_t first, double* sums) {
  constexpr std::size_t vectors = ULPSCOPE_X86_BITS == 512 ? 4 : 2;
  const std::size_t lanes = hn::Lanes(D()), count = products > 0 ? products : steps.plan.products;
  const double *const x = steps.wide_a + steps.row_at(step, first), *const y = steps.wide_b + steps.columns_at(step);
  for (std::size_t j = 0; j < panel_columns; j += vectors * lanes) {
    V sum[rows][vectors];
    for (std::size_t v = 0; v < vectors; ++v)
      for (std::size_t r = 0; r < rows; ++r) sum[r][v] = hn::Mul(set(x[r * count]), hn::LoadU(D(), y + j + v * lanes));
    for (std::size_t k = 1; k < count; ++k)
      for (std::size_t v = 0; v < vectors; ++v) {
        const V of_b = hn::LoadU(D(), y + k * panel_columns + j + v * lanes);
        for (std::size_t r = 0; r < rows; ++r) sum[r][v] = fused(D(), set(x[r * count + k]), of_b, sum[r][v]);
      }
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v) {
        const V without_sign = steps.kind.keeps_minus_zero ? sum[r][v] : hn::Add(sum[r][v], hn::Zero(D()));
        hn::StoreU(without_sign, D(), sums + r * panel_columns + j + v * lanes);
      }
  }
}

/// Rows whose sums doubles hold, which c joins when they are rounded.
template <std::size_t products>
void held_sums(const ExactSteps& steps, std::size_t first, std::size_t count, double* sums, float* accumulators) {
  for (std::size_t s = 0; s < steps.count; ++s) {
    if (count == rows_together)
      sums_without_c<products, rows_together>(steps, s, first, sums);
    else
      for (std::size_t r = 0; r < count; ++r) sums_without_c<products, 1>(steps, s, first + r, sums + r * panel_columns);
    finish(steps.kind, sums, count * panel_columns, accumulators + first * panel_columns);
  }
}

template <std::size_t products, Rounded rounded>
void held_rows(const ExactSteps& steps, std::size_t first, std::size_t count, float* accumulators) {
  if (count == rows_together) return exact_rows<products, rows_together, rounded>(steps, first, accumulators);
  for (std::size_t r = 0; r < count; ++r) exact_rows<products, 1, rounded>(steps, first + r, accumulators);
}

template <std::size_t products>
void run_steps(const ExactSteps& steps, const Bounds& of_b, std::size_t rows, double* sums, float* accumulators) {
  // Each of at most 64 roundings to nearest adds less than a 2048th of what it rounds.
  constexpr double in_range = 0x1p15;
  for (std::size_t i = 0; i < rows; i += rows_together) {
    const std::size_t count = std::min(rows_together, rows - i);
    const SumBounds bounds = bounds_of_sums(steps, of_b, i, count, accumulators);
    if (!bounds.are_doubles)
      bounded_rows(steps, i, i + count, sums, accumulators);
    else if (!steps.kind.has_c)
      held_sums<products>(steps, i, count, sums, accumulators);
    else if (!steps.kind.half)
      held_rows<products, Rounded::to_float>(steps, i, count, accumulators);
    else if (bounds.greatest < in_range)
      held_rows<products, Rounded::to_half_in_range>(steps, i, count, accumulators);
    else
      held_rows<products, Rounded::to_half>(steps, i, count, accumulators);
  }
}

void run_exact(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  constexpr std::size_t most = 64;  // products
  const FloatEnvironment nearest(Direction::nearest);
  const std::size_t together = std::max<std::size_t>(most / plan.products, 1);
  Lines<double> sums, wide_b, wide_a;
  sums.resize(panel_rows * panel_columns);
  wide_b.resize(together * plan.products * panel_columns);
  wide_a.resize(together * plan.products * panel_rows);
  for (std::size_t s = 0; s < steps; s += together) {
    const std::size_t count = std::min(together, steps - s), products = count * plan.products;
    const float* const columns = b.values.data() + s * plan.products * panel_columns;
    const float* const rows = a.values.data() + s * plan.products * panel_rows;
    std::copy_n(columns, products * panel_columns, wide_b.data());
    for (std::size_t x = 0; x < count; ++x)
      std::copy_n(rows + x * plan.products * panel_rows, plan.products * a.rows,
                  wide_a.data() + x * plan.products * panel_rows);
    const ExactSteps these{plan, ExactKind(plan.engine), count, rows, columns, wide_a.data(), wide_b.data()};
    const Bounds of_b = bounds_of(columns, products, panel_columns, panel_columns);
    switch (plan.products) {
      case 2: run_steps<2>(these, of_b, a.rows, sums.data(), accumulators); break;
      case 4: run_steps<4>(these, of_b, a.rows, sums.data(), accumulators); break;
      case 8: run_steps<8>(these, of_b, a.rows, sums.data(), accumulators); break;
      default: run_steps<0>(these, of_b, a.rows, sums.data(), accumulators);
    }
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_exact);

void exact_block_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps,
                       float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_exact)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
