// SPDX-License-Identifier: Apache-2.0
// Chains of fused multiply-adds over blocks of outputs that stay in registers: in float64 and float32 by the processor's own
// instruction, in float16 by a float32 rounded to odd, and in float64 rounded down for bounds of an exact sum, or with all that
// its roundings take.
#include "emu/products/fused.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/fused.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "emu/bulk/vectors-inl.hpp"
#include "emu/float_environment.hpp"
#include "emu/products/fused-inl.hpp"
#include "emu/products/odd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// What a chain holds of one vector of outputs, and how a product joins it.
template <class T>
struct Nearest {
  using Element = T;
  using D = VectorTag<T>;
  static constexpr std::size_t arrays = 1;
  HWY_INLINE static void join(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D>* sum) { sum[0] = fused(D(), x, y, sum[0]); }
};

/// Under rounding down: the negated upper bound is rounded down as well, which rounds the bound up.
struct Bracket {
  using Element = double;
  using D = VectorTag<double>;
  static constexpr std::size_t arrays = 2;
  HWY_INLINE static void join(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D>* sum) {
    sum[0] = fused(D(), x, y, sum[0]);
    if constexpr (is_portable)
      sum[1] = fused(D(), hn::Neg(x), y, sum[1]);
    else
      sum[1] = hn::NegMulAdd(x, y, sum[1]);
  }
};

/// Errors of products are doubles, unless they underflow, and so are those of additions to a sum that is greater than what
/// joins it (T. J. Dekker, Numerische Mathematik 18 (1971), 224): sums begin with more than all products come to.
struct Compensated {
  using Element = double;
  using D = VectorTag<double>;
  static constexpr std::size_t arrays = 2;
  HWY_INLINE static void join(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D>* sum) {
    const hn::Vec<D> product = hn::Mul(x, y), before = sum[0], after = hn::Add(before, product);
    const hn::Vec<D> of_product = product_error(x, y, product), of_sum = hn::Sub(product, hn::Sub(after, before));
    sum[0] = after;
    sum[1] = hn::Add(sum[1], hn::Add(of_product, of_sum));
  }

 private:
  HWY_INLINE static hn::Vec<D> product_error(hn::Vec<D> x, hn::Vec<D> y, hn::Vec<D> product) {
    if constexpr (is_portable)
      return fused(D(), x, y, hn::Neg(product));
    else
      return hn::MulSub(x, y, product);
  }
};

#if ULPSCOPE_X86_BITS != 0
/// Sums are numbers of float16 in float32. The exact sum s of a product and a float16 is rounded to odd in float32, then by the
/// processor to float16. The second rounding gives what one rounding of s would: float32 has 13 fraction bits more than float16
/// and its least spacing is 2^125 times finer, so every float16 and every midpoint between two of them is a float32 with an
/// even last bit. What is rounded to odd is none of these unless s itself is (Boldo and Melquiond, IEEE Trans. Comput. 57
/// (2008), 462), and it lies on the side of each on which s lies. Overflow is one such midpoint, 65520.
struct Half {
  using Element = float;
  using D = DF;
  static constexpr std::size_t arrays = 1;
  HWY_INLINE static void join(VF x, VF y, VF* sum) { sum[0] = from_halves(halves<to_nearest_even>(to_odd(x, y, sum[0]))); }

 private:
#if ULPSCOPE_X86_BITS == 512
  HWY_INLINE static VF to_odd(VF x, VF y, VF sum) {
    constexpr int exceptions = _MM_FROUND_NO_EXC;
    return odd_one(_mm512_fmadd_round_ps(x.raw, y.raw, sum.raw, _MM_FROUND_TO_POS_INF | exceptions),
                   _mm512_fmadd_round_ps(x.raw, y.raw, sum.raw, _MM_FROUND_TO_NEG_INF | exceptions));
  }
#else
  /// The environment rounds up.
  HWY_INLINE static VF to_odd(VF x, VF y, VF sum) {
    return odd_one_of_negated(_mm256_fmadd_ps(x.raw, y.raw, sum.raw), _mm256_fnmsub_ps(x.raw, y.raw, sum.raw));
  }
#endif
};
#endif

/// Sums of `rows` rows and `vectors` vectors of columns.
template <class Chain, std::size_t rows, std::size_t vectors>
HWY_INLINE void block(const typename Chain::Element* HWY_RESTRICT a, const typename Chain::Element* HWY_RESTRICT b,
                      std::size_t depth, typename Chain::Element* const* HWY_RESTRICT sums, std::size_t at) {
  const typename Chain::D d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<typename Chain::D> sum[rows][vectors][Chain::arrays];
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v)
      for (std::size_t s = 0; s < Chain::arrays; ++s) sum[r][v][s] = hn::LoadU(d, sums[s] + at + r * panel_columns + v * lanes);
  for (std::size_t k = 0; k < depth; ++k) {
    hn::Vec<typename Chain::D> y[vectors];
    for (std::size_t v = 0; v < vectors; ++v) y[v] = hn::LoadU(d, b + k * panel_columns + v * lanes);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto x = hn::Set(d, a[k * panel_rows + r]);
      for (std::size_t v = 0; v < vectors; ++v) Chain::join(x, y[v], sum[r][v]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < vectors; ++v)
      for (std::size_t s = 0; s < Chain::arrays; ++s) hn::StoreU(sum[r][v][s], d, sums[s] + at + r * panel_columns + v * lanes);
}

/// As many sums as registers hold beside the operands: 16 of 32, 8 of 16.
constexpr std::size_t rows_at_once = (HWY_TARGET == HWY_AVX2 || is_portable) ? 4 : 8;
constexpr std::size_t vectors_at_once = is_portable ? 1 : 2;

template <class Chain>
void run_panels(const FusedPanels<typename Chain::Element>& panels, typename Chain::Element* const* sums) {
  constexpr std::size_t together = std::max<std::size_t>(rows_at_once / Chain::arrays, 1);
  constexpr std::size_t stretch = 1024 / sizeof(typename Chain::Element) / 2;  // of a panel of B: 64 KiB
  const std::size_t width = vectors_at_once * hn::Lanes(typename Chain::D());
  for (std::size_t k = 0; k < panels.depth; k += stretch) {
    const std::size_t depth = std::min(stretch, panels.depth - k);
    const auto *const a = panels.a + k * panel_rows, *const b = panels.b + k * panel_columns;
    std::size_t i = 0;
    for (; i + together <= panels.rows; i += together)
      for (std::size_t j = 0; j < panels.columns; j += width)
        block<Chain, together, vectors_at_once>(a + i, b + j, depth, sums, i * panel_columns + j);
    for (; i < panels.rows; ++i)
      for (std::size_t j = 0; j < panels.columns; j += width)
        block<Chain, 1, vectors_at_once>(a + i, b + j, depth, sums, i * panel_columns + j);
  }
}

void run_doubles(const FusedPanels<double>& panels, double* sums) {
  const FloatEnvironment environment(Direction::nearest);
  run_panels<Nearest<double>>(panels, &sums);
}

void run_brackets(const FusedPanels<double>& panels, double* low, double* negated_high) {
  const FloatEnvironment environment(Direction::down);
  double* const sums[] = {low, negated_high};
  run_panels<Bracket>(panels, sums);
}

void run_compensated(const FusedPanels<double>& panels, double* of_sums, double* rest) {
  const FloatEnvironment environment(Direction::nearest);
  double* const sums[] = {of_sums, rest};
  run_panels<Compensated>(panels, sums);
}

void run_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const FusedPanels<float> panels{a.values.data(), b.values.data(), a.rows, steps, b.columns};
  if (plan.engine.accumulator == float32) {
    const FloatEnvironment environment(Direction::nearest);
    return run_panels<Nearest<float>>(panels, &accumulators);
  }
#if ULPSCOPE_X86_BITS != 0
  const FloatEnvironment environment(Direction::up);
  run_panels<Half>(panels, &accumulators);
#else
  stages_steps(plan, a, b, steps, accumulators);
#endif
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run_doubles);
HWY_EXPORT(run_brackets);
HWY_EXPORT(run_compensated);
HWY_EXPORT(run_steps);

void fused_doubles(const FusedPanels<double>& panels, double* sums) { HWY_DYNAMIC_DISPATCH(run_doubles)(panels, sums); }

void bracketed_doubles(const FusedPanels<double>& panels, double* low, double* negated_high) {
  HWY_DYNAMIC_DISPATCH(run_brackets)(panels, low, negated_high);
}

void compensated_doubles(const FusedPanels<double>& panels, double* sums, double* rest) {
  HWY_DYNAMIC_DISPATCH(run_compensated)(panels, sums, rest);
}

void fused_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run_steps)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
