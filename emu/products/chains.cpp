// SPDX-License-Identifier: Apache-2.0
// Engines that only ever round to nearest even in float32 or float16, by the processor's own float arithmetic: pairs, and what
// x86 units make of chains. Flushing is the processor's too, which judges as they do (tiny after rounding).
#include "emu/products/stages.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/chains.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <array>

#include "emu/bulk/vectors-inl.hpp"
#include "emu/float_environment.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

// Fused multiply-add and flushing are asked of the processor.
#if ULPSCOPE_X86_BITS != 0

/// Vectors of neighbouring outputs taken at once, to hide the latency of additions.
constexpr std::size_t side_by_side = 4;
struct Sums {
  VF of[side_by_side];
};

HWY_INLINE Sums zeros() {
  Sums sums;
  for (VF& v : sums.of) v = hn::Zero(DF());
  return sums;
}

struct Single {
  HWY_INLINE static VF rounded(VF x) { return x; }
};
/// Of products that are exact in float32, and of sums.
struct Half {
  HWY_INLINE static VF rounded(VF x) { return from_halves(halves<to_nearest_even>(x)); }
};

template <class Accumulator>
HWY_INLINE Sums add(const Sums& x, const Sums& y) {
  Sums sums;
  for (std::size_t v = 0; v < side_by_side; ++v) sums.of[v] = Accumulator::rounded(hn::Add(x.of[v], y.of[v]));
  return sums;
}

template <class Accumulator>
class Step {
 public:
  Step(const StagesPlan& plan, const float* a, const float* b) : plan_(plan), a_(a), b_(b) {}

  HWY_INLINE Sums run(const Sums& c) const {
    const Engine& engine = plan_.engine;
    Sums terms[most_sums];
    std::size_t count = products(engine.stages[0], c, terms);
    for (int i = 1; i < engine.stage_count; ++i) count = sums(engine.stages[static_cast<std::size_t>(i)], c, count, terms);
    return terms[0];
  }

 private:
  HWY_INLINE Sums product(std::size_t k) const {
    Sums product;
    for (std::size_t v = 0; v < side_by_side; ++v)
      product.of[v] = Accumulator::rounded(hn::Mul(hn::Set(DF(), a_[k]), column(k, v)));
    return product;
  }
  HWY_INLINE Sums fused(std::size_t k, const Sums& sum) const {
    Sums fused;
    for (std::size_t v = 0; v < side_by_side; ++v) fused.of[v] = hn::MulAdd(hn::Set(DF(), a_[k]), column(k, v), sum.of[v]);
    return fused;
  }
  HWY_INLINE VF column(std::size_t k, std::size_t v) const {
    return hn::LoadU(DF(), b_ + k * panel_columns + v * hn::Lanes(DF()));
  }

  /// The first stage, whose terms are products.
  HWY_INLINE std::size_t products(const Stage& stage, const Sums& c, Sums* out) const {
    const std::size_t each = stage.terms == Stage::all ? plan_.products : static_cast<std::size_t>(stage.terms);
    const std::size_t number = plan_.products / each, run = stage.run > 0 ? static_cast<std::size_t>(stage.run) : each;
    for (std::size_t s = 0; s < number; ++s) {
      const auto k_of = [&](std::size_t m) {
        const std::size_t at = stage.descending ? each - 1 - m : m;
        return (at / run * number + s) * run + at % run;
      };
      const bool first = stage.addend == Addend::first && stage.summing == Summing::sequential;
      if (stage.summing == Summing::pairwise) {
        out[s] = pairwise(k_of, 0, each);
      } else {
        std::size_t m = first || stage.starts_at_zero ? 0 : 1;
        Sums total = first ? c : (m == 0 ? zeros() : product(k_of(0)));
        for (; m < each; ++m) total = fused(k_of(m), total);
        out[s] = total;
      }
      if (stage.addend != Addend::none && !first) out[s] = add<Accumulator>(c, out[s]);
    }
    return number;
  }

  template <class Index>
  Sums pairwise(const Index& k_of, std::size_t begin, std::size_t end) const {
    switch (end - begin) {
      case 1: return halved<1>(k_of, begin);
      case 2: return halved<2>(k_of, begin);
      case 3: return halved<3>(k_of, begin);
      case 4: return halved<4>(k_of, begin);
      case 5: return halved<5>(k_of, begin);
      case 6: return halved<6>(k_of, begin);
      case 7: return halved<7>(k_of, begin);
      case 8: return halved<8>(k_of, begin);
      default: break;
    }
    const std::size_t middle = end - (end - begin) / 2;
    const Sums left = pairwise(k_of, begin, middle);
    return add<Accumulator>(left, pairwise(k_of, middle, end));
  }
  /// The same of a few products, which the compiler writes out.
  template <std::size_t count, class Index>
  HWY_INLINE Sums halved(const Index& k_of, std::size_t begin) const {
    if constexpr (count == 1) {
      return product(k_of(begin));
    } else {
      constexpr std::size_t rest = count / 2, first = count - rest;
      const Sums left = halved<first>(k_of, begin);
      return add<Accumulator>(left, halved<rest>(k_of, begin + first));
    }
  }

  /// A later stage of one sequential sum, in place.
  HWY_INLINE static std::size_t sums(const Stage& stage, const Sums& c, std::size_t count, Sums* terms) {
    const bool first = stage.addend == Addend::first;
    std::size_t m = first || stage.starts_at_zero ? 0 : 1;
    Sums total = first ? c : (m == 0 ? zeros() : terms[stage.descending ? count - 1 : 0]);
    for (; m < count; ++m) total = add<Accumulator>(total, terms[stage.descending ? count - 1 - m : m]);
    terms[0] = stage.addend == Addend::last ? add<Accumulator>(total, c) : total;
    return 1;
  }

  const StagesPlan& plan_;
  const float *a_, *b_;
};

template <class Accumulator>
void run_as(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  const bool results = plan.engine.subnormal_results_are_zero, c_too = plan.engine.subnormal_addend_is_zero;
  const FloatEnvironment environment(Direction::nearest, !results ? FloatEnvironment::subnormals
                                                         : c_too  ? FloatEnvironment::flush
                                                                  : FloatEnvironment::flush_results);
  const std::size_t lanes = hn::Lanes(DF());
  for (std::size_t s = 0; s < steps; ++s)
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j < b.columns; j += side_by_side * lanes) {
        const Step<Accumulator> step(plan, a.values.data() + (s * panel_rows + i) * plan.products,
                                     b.values.data() + s * plan.products * panel_columns + j);
        float* const at = accumulators + i * panel_columns + j;
        Sums c;
        for (std::size_t v = 0; v < side_by_side; ++v) {
          const VF from = hn::LoadU(DF(), at + v * lanes);
          c.of[v] = plan.engine.input_zeros_are_positive ? hn::Add(from, hn::Zero(DF())) : from;
        }
        const Sums result = step.run(c);
        for (std::size_t v = 0; v < side_by_side; ++v) hn::StoreU(result.of[v], DF(), at + v * lanes);
      }
}

void run(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  plan.engine.accumulator == float16 ? run_as<Half>(plan, a, b, steps, accumulators)
                                     : run_as<Single>(plan, a, b, steps, accumulators);
}

#else

void run(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  stages_steps(plan, a, b, steps, accumulators);
}

#endif

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(run);

void chains_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators) {
  HWY_DYNAMIC_DISPATCH(run)(plan, a, b, steps, accumulators);
}

}  // namespace ulpscope::emu::detail
#endif
