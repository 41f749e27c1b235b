// SPDX-License-Identifier: Apache-2.0
// Keeps sums, products and what stands in another order; all else is read when it is asked for.
#include "verify/expressions/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/error.hpp"
#include "emu/tasks.hpp"
#include "verify/double_double.hpp"
#include "verify/expressions/overflows.hpp"
#include "verify/expressions/reader.hpp"

namespace ulpscope::verify {
namespace {

constexpr double least = std::numeric_limits<double>::denorm_min(), infinity = std::numeric_limits<double>::infinity();

/// Drops what may overflow where nothing does, and then radii that are all zero.
void simplify(Kept& kept) {
  const auto zero = [](double x) { return x == 0; };
  if (!std::all_of(kept.overflow.begin(), kept.overflow.end(), [](Overflow x) { return x == Overflow::none; })) return;
  kept.overflow = {};
  if (std::all_of(kept.radius.begin(), kept.radius.end(), zero) && std::all_of(kept.error.begin(), kept.error.end(), zero))
    kept.radius = {}, kept.error = {};
}

/// Terms of a sum: the sum itself in two doubles, and what bounds its errors.
struct Terms {
  double high = 0, low = 0, plain = 0;
  double size = 0, radius = 0, error = 0;
  SignedTerms terms = {};
  std::uint64_t count = 0;
  Kinds kinds = {};
  bool is_exact = true;       ///< no addition to `high` was rounded
  bool is_doubtful = false;   ///< some term is infinite or NaN, and need not be
  bool is_open_zero = false;  ///< some term is a zero of either sign

  void add(const Approximate& x) {
    const DoubleDouble sum = exact_add(high, x.value);
    high = sum.high, low += sum.low;
    is_exact = is_exact && sum.low == 0;
    plain += x.value;
    radius += x.radius, error += x.error;
    if (std::isfinite(x.value)) size += std::fabs(x.value);
    terms.add(x.value);
    if (!is_plain(x)) add_kinds(x);
    ++count;
  }
  void add_kinds(const Approximate& x) {
    kinds = sum_of(kinds, kinds_of(x));
    is_doubtful = is_doubtful || is_doubted(x);
    is_open_zero = is_open_zero || includes(x.overflow, Overflow::other_zero);
  }
  /// With the errors of a kernel that adds them in its arithmetic.
  Approximate total(const KernelArithmetic& a) const {
    if (!std::isfinite(plain)) {
      const Overflow partial = overflow_of_sum(plain, {terms.positive + error, terms.negative + error}, 1, largest(a.format));
      return not_finite(plain, {kinds.special | partial, kinds.finite}, is_doubtful, radius);
    }
    const Overflow of_terms = kinds.special | where(is_open_zero && size == 0, Overflow::other_zero);
    const double value = high + low, n = static_cast<double>(count);
    // The low parts are added with an error of n 2^-53 of their sizes, each 2^-53 of a partial sum.
    const double own = is_exact ? 0 : std::fabs(exact_add(high, low).low) + n * n * 0x1p-105 * size;
    const double largest_sum = size + error + radius;
    // Each addition may flush a result that is subnormal.
    const double flushed = largest_sum == 0 ? 0 : n * underflow(a.format);
    const double added = count > 1 ? sum_relative(a, count) * largest_sum + flushed : 0;
    // Errors may all be of one sign.
    const Overflow of_sum = overflow_of_sum(value, size + 2 * (error + radius), 1 + 0x1p-10, largest(a.format));
    return settled(a, {value, radius + own, error + added, of_terms | of_sum});
  }
};

Approximate mean_of(const Node& node, const Terms& terms) {
  const KernelArithmetic& a = node.arithmetic;
  const Approximate sum = terms.total(a);
  const auto n = static_cast<double>(node.along);
  if (!std::isfinite(sum.value)) return sum;
  const double value = sum.value / n, inherited = sum.error / n;
  const bool is_zero = sum.value == 0 && sum.error == 0;
  // A division, or a product with 1 / n: two roundings.
  const double own =
      is_zero ? 0 : std::max(function_relative(a), 2 * unit(a.format)) * (std::fabs(value) + inherited) + underflow(a.format);
  return settled(a,
                 {value, sum.radius / n + std::fabs(value) * 0x1p-52 + (is_zero ? 0 : least), inherited + own, sum.overflow});
}

/// The greatest of all, `sign` being 1, or the least, of -1: of negated numbers the greatest, negated. It lies between the
/// greatest of the lower ends of all balls and that of the upper ones, so that a ball that reaches neither adds nothing.
struct Extreme {
  /// Ends of balls, rounded outward; `widest` bounds what they are off by.
  struct Ends {
    double lower = -infinity, upper = -infinity, widest = 0;

    void add(double value, double reach) {
      const double outward = reach > 0 ? reach + (std::fabs(value) + reach) * 0x1p-51 : 0;
      lower = std::max(lower, value - outward), upper = std::max(upper, value + outward);
      widest = std::max(widest, reach);
    }
    double distance_from(double value) const { return std::max(upper - value, value - lower); }
  };

  double sign, value;  ///< the greatest of sign * x
  double error = 0;    ///< the largest of all
  Ends exact = {}, computed = {};
  Overflow overflow = Overflow::downward, any_overflow = Overflow::none;  ///< of sign * the greatest; of any x
  bool is_doubtful = false;                                               ///< some x is infinite or NaN, and need not be
  bool is_undefined = false, is_infinite = false;                         ///< sign * some x is NaN, or infinity, for certain
  bool plus = false, minus = false;                                       ///< some x is +0; -0

  explicit Extreme(double which) : sign(which), value(-infinity) {}
  void add(const Approximate& x) {
    const double here = sign * x.value;
    if (std::isnan(here) || here > value) value = std::isnan(value) ? value : here;
    if (here == 0) add_zero(x);
    const Overflow special = signed_as(x.overflow);
    if (!std::isfinite(here)) add_special(here, is_doubted(x) || includes(special, Overflow::downward));
    exact.add(here, x.radius);
    if (includes(special, Overflow::downward)) {  // a kernel's may be -infinity, which leaves the others
      const double lower = computed.lower;
      computed.add(here, x.radius + x.error);
      computed.lower = lower, error = infinity;
    } else {
      computed.add(here, x.radius + x.error);
      error = std::max(error, x.error);
    }
    overflow = overflow_of_maximum(overflow, signed_as(infinities_of(x))), any_overflow = any_overflow | x.overflow;
  }
  void add_special(double here, bool doubted) {
    is_doubtful = is_doubtful || doubted;
    is_undefined = is_undefined || (!doubted && std::isnan(here)), is_infinite = is_infinite || (!doubted && here == infinity);
  }
  void add_zero(const Approximate& x) {
    const bool either = includes(x.overflow, Overflow::other_zero);
    plus = plus || either || !std::signbit(x.value), minus = minus || either || std::signbit(x.value);
  }
  Overflow signed_as(Overflow x) const { return sign > 0 ? x : opposite_of(x); }
  Approximate total(const KernelArithmetic& a) const {
    if (is_undefined) return {.value = std::numeric_limits<double>::quiet_NaN()};
    if (is_doubtful && !is_infinite) return unknown({.value = sign * value, .radius = exact.widest});
    if (is_doubtful) return {.value = sign * infinity, .overflow = Overflow::undefined};
    const double radius = std::min(exact.widest, exact.distance_from(value));
    const double off = std::isfinite(value) ? std::min(error, computed.distance_from(value) + radius) : 0;
    const Overflow other_zero = where(value == 0 && plus && minus, Overflow::other_zero);
    const Overflow special = any_overflow == Overflow::none ? any_overflow : signed_as(overflow);
    return settled(a, {sign * value, radius, off, special | other_zero});
  }
};

bool is_extreme(Op op) { return op == Op::greatest || op == Op::least; }

}  // namespace

Evaluation::Evaluation(Formula formula, std::vector<Values> inputs, int threads) : formula_(std::move(formula)) {
  kept_.resize(formula_.nodes.size());
  decide_what_is_kept();
  for (std::size_t i = 0; i < formula_.nodes.size(); ++i) {
    const Node& node = formula_.nodes[i];
    if (node.op == Op::input) {
      auto kept = std::make_shared<Kept>();
      kept->numbers = std::move(inputs[node.index].elements);
      kept_[i] = std::move(kept);
    } else if (wanted_[i]) {
      keep(i, threads);
    }
  }
}

void Evaluation::decide_what_is_kept() {
  wanted_.assign(formula_.nodes.size(), false);
  for (std::size_t i = 0; i < formula_.nodes.size(); ++i) {
    const Node& node = formula_.nodes[i];
    if (node.op == Op::number) continue;
    wanted_[i] = wanted_[i] || !node.is_pointwise();
    const bool reads_in_order =
        node.is_pointwise() || node.op == Op::sum || node.op == Op::mean || is_extreme(node.op) || node.op == Op::running;
    for (const std::size_t operand : node.operands)
      if (!reads_in_order || (node.is_pointwise() && formula_.nodes[operand].shape != node.shape)) wanted_[operand] = true;
  }
}

void Evaluation::keep(std::size_t node, int threads) {
  auto out = std::make_shared<Kept>();
  switch (formula_.nodes[node].op) {
    case Op::sum:
    case Op::mean:
    case Op::greatest:
    case Op::least: keep_reduction(node, *out, threads); break;
    case Op::running: formula_.nodes[node].order ? keep_scan(node, *out, threads) : keep_running(node, *out, threads); break;
    case Op::contract: keep_contraction(node, *out, threads); break;
    case Op::position:
    case Op::gather:
    case Op::view:
    case Op::join:
    case Op::reshape: keep_rearranged(node, *out, threads); break;
    default: keep_pointwise(node, *out, threads);
  }
  simplify(*out);
  kept_[node] = std::move(out);
}

void Evaluation::keep_pointwise(std::size_t node, Kept& out, int threads) const {
  const std::uint64_t count = element_count(formula_.nodes[node].shape);
  constexpr std::uint64_t portion = 64 * Lanes::size;
  out.make(count);
  emu::for_each_task(static_cast<std::size_t>((count + portion - 1) / portion), threads, [&](std::size_t task) {
    Reader reader(*this, node);
    const std::uint64_t end = std::min(count, (task + 1) * portion);
    for (std::uint64_t at = task * portion; at < end; at += Lanes::size) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(Lanes::size, end - at));
      const Lanes& lanes = reader.read(at, some);
      for (std::size_t i = 0; i < some; ++i) out.put(at + i, lanes.at(i));
    }
  });
}

void Evaluation::keep_reduction(std::size_t node, Kept& out, int threads) const {
  const Node& n = formula_.nodes[node];
  const std::size_t operand = n.operands.front();
  out.make(n.before * n.behind);
  const auto total = [&](const Terms& terms, const Extreme& extreme) {
    if (is_extreme(n.op)) return extreme.total(n.arithmetic);
    return n.op == Op::mean ? mean_of(n, terms) : terms.total(n.arithmetic);
  };
  const double sign = n.op == Op::least ? -1 : 1;
  const auto take = [&](Terms& terms, Extreme& extreme, const Approximate& x) {
    is_extreme(n.op) ? extreme.add(x) : terms.add(x);
  };
  const std::uint64_t portions = (n.behind + Lanes::size - 1) / Lanes::size;
  emu::for_each_task(static_cast<std::size_t>(n.before * portions), threads, [&](std::size_t task) {
    Reader reader(*this, operand);
    const std::uint64_t before = task / portions, begin = task % portions * Lanes::size;
    const auto width = static_cast<std::size_t>(std::min<std::uint64_t>(Lanes::size, n.behind - begin));
    std::vector<Terms> terms(width);
    std::vector<Extreme> extremes(width, Extreme(sign));
    // Elements that are summed lie next to each other, or in lanes of their own.
    const std::uint64_t at_once = n.behind == 1 ? Lanes::size : 1;
    for (std::uint64_t k = 0; k < n.along; k += at_once) {
      const auto some = static_cast<std::size_t>(std::min(at_once, n.along - k)) * width;
      const Lanes& lanes = reader.read((before * n.along + k) * n.behind + begin, some);
      for (std::size_t i = 0; i < some; ++i) take(terms[i % width], extremes[i % width], lanes.at(i));
    }
    for (std::size_t i = 0; i < width; ++i) out.put(before * n.behind + begin + i, total(terms[i], extremes[i]));
  });
}

void Evaluation::keep_running(std::size_t node, Kept& out, int threads) const {
  const Node& n = formula_.nodes[node];
  out.make(element_count(n.shape));
  emu::for_each_task(static_cast<std::size_t>(n.before), threads, [&](std::size_t before) {
    Reader reader(*this, n.operands.front());
    std::vector<Terms> terms(static_cast<std::size_t>(n.behind));
    const std::uint64_t begin = before * n.along * n.behind, count = n.along * n.behind;
    for (std::uint64_t done = 0; done < count; done += Lanes::size) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(Lanes::size, count - done));
      const Lanes& lanes = reader.read(begin + done, some);
      for (std::size_t i = 0; i < some; ++i) {
        Terms& sum = terms[static_cast<std::size_t>((done + i) % n.behind)];
        sum.add(lanes.at(i));
        out.put(begin + done + i, sum.total(n.arithmetic));
      }
    }
  });
}

namespace {

/// The place in its operand of element `index` of a view.
std::uint64_t viewed(const Node& node, std::uint64_t index) {
  std::int64_t place = node.view.offset;
  for (std::size_t i = node.shape.size(); i-- > 0;) {
    place += static_cast<std::int64_t>(index % node.shape[i]) * node.view.strides[i];
    index /= node.shape[i];
  }
  return static_cast<std::uint64_t>(place);
}

}  // namespace

void Evaluation::keep_rearranged(std::size_t node, Kept& out, int) const {
  const Node& n = formula_.nodes[node];
  const std::uint64_t count = element_count(n.shape);
  if (n.op == Op::position) {
    for (std::uint64_t i = 0; i < count; ++i) out.value.push_back(static_cast<double>(i));
    return;
  }
  out.make(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [operand, place] = source_of(node, i);
    const Approximate x =
        is_kept(operand) ? kept_[operand]->at(place) : approximate_number(formula_.nodes[operand]);  // a number has one element
    out.put(i, may_pick_another(n, i) ? unknown(x) : x);
  }
}

bool Evaluation::may_pick_another(const Node& gather, std::uint64_t index) const {
  if (gather.op != Op::gather) return false;
  const Approximate at = kept_[gather.operands[1]]->at(index_of(gather, index));
  return at.error > 0 || at.overflow != Overflow::none;
}

std::uint64_t Evaluation::index_of(const Node& gather, std::uint64_t index) const {
  const bool one_each = gather.shape == formula_.nodes[gather.operands[1]].shape;
  return one_each ? index : index / gather.behind % gather.picked;
}

Evaluation::Source Evaluation::source_of(std::size_t node, std::uint64_t index) const {
  const Node& n = formula_.nodes[node];
  switch (n.op) {
    case Op::view: return {n.operands[0], viewed(n, index)};
    case Op::join: {
      std::uint64_t behind = 1;
      for (std::size_t i = n.index + 1; i < n.shape.size(); ++i) behind *= n.shape[i];
      const std::uint64_t before = index / behind / n.shape[n.index], rest = index % behind;
      std::uint64_t along = index / behind % n.shape[n.index];
      for (const std::size_t operand : n.operands) {
        const std::uint64_t extent = formula_.nodes[operand].shape[n.index];
        if (along < extent) return {operand, (before * extent + along) * behind + rest};
        along -= extent;
      }
      return {};
    }
    case Op::gather: {
      const std::uint64_t before = index / n.behind / n.picked, rest = index % n.behind, which = index_of(n, index);
      const double at = kept_[n.operands[1]]->at(which).value;
      if (!(at >= 0 && at < static_cast<double>(n.along)) || at != std::floor(at))
        throw Error(
            fmt::format("formula: gather takes elements 0 to {}; element {} of the indices is {}", n.along - 1, which, at));
      return {n.operands[0], (before * n.along + static_cast<std::uint64_t>(at)) * n.behind + rest};
    }
    default: return {n.operands[0], index};
  }
}

void Evaluation::for_each(std::uint64_t first, std::size_t count, const Act& act) const {
  Reader reader(*this, formula_.nodes.size() - 1);
  for (std::size_t done = 0; done < count;) {
    emu::stop_if_asked();
    const std::size_t some = std::min(count - done, Lanes::size);
    act(reader.read(first + done, some), done, some);
    done += some;
  }
}

void Evaluation::values(std::uint64_t first, std::span<Approximate> elements) const {
  for_each(first, elements.size(), [&](const Lanes& lanes, std::size_t done, std::size_t some) {
    for (std::size_t i = 0; i < some; ++i) elements[done + i] = lanes.at(i);
  });
}

}  // namespace ulpscope::verify
