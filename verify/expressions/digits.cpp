// SPDX-License-Identifier: Apache-2.0
// One element of a formula in 200 digits: everything that it is made of, each element once.
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/scan.hpp"

namespace ulpscope::verify {

class Digits {
 public:
  explicit Digits(const Evaluation& evaluation) : evaluation_(evaluation) {}

  /// Element `index` of a node, in row-major order.
  const Real& of(std::size_t node, std::uint64_t index) {
    const auto key = std::pair(node, index);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    Real value = computed(evaluation_.formula_.nodes[node], node, index);
    return known_.emplace(key, std::move(value)).first->second;
  }

 private:
  Real computed(const Node& n, std::size_t node, std::uint64_t index) {
    switch (n.op) {
      case Op::input: return Real(evaluation_.kept_[node]->at(index).value);
      case Op::number: return n.decimal == "inf" || n.decimal == "nan" ? Real(approximate_number(n).value) : Real(n.decimal);
      case Op::position: return Real(static_cast<double>(index));
      case Op::sum:
      case Op::mean:
      case Op::greatest:
      case Op::least: return reduction(n, index);
      case Op::running: return n.order ? scanned(n, node, index) : running(n, index);
      case Op::contract: return contraction(n, index);
      case Op::gather:
      case Op::view:
      case Op::join:
      case Op::reshape: {
        const auto source = evaluation_.source_of(node, index);
        return of(source.operand, source.place);
      }
      default: return pointwise(n, index);
    }
  }

  /// The element of an operand that is broadcast to the shape of the node.
  const Real& operand(const Node& n, std::size_t which, std::uint64_t index) {
    const std::size_t node = n.operands[which];
    const Extents& own = evaluation_.formula_.nodes[node].shape;
    std::uint64_t place = 0, step = 1;
    for (std::size_t i = 0; i < n.shape.size(); ++i) {
      const std::uint64_t extent = n.shape[n.shape.size() - 1 - i], at = index % extent;
      index /= extent;
      if (i >= own.size()) continue;
      const std::uint64_t own_extent = own[own.size() - 1 - i];
      if (own_extent != 1) place += at * step;
      step *= own_extent;
    }
    return of(node, place);
  }

  Real pointwise(const Node& n, std::uint64_t index) {
    Real x = operand(n, 0, index);
    switch (n.op) {
      case Op::add: return x + operand(n, 1, index);
      case Op::subtract: return x - operand(n, 1, index);
      case Op::multiply: return x * operand(n, 1, index);
      case Op::divide: return x / operand(n, 1, index);
      case Op::negate: return -x;
      case Op::absolute: return abs(x);
      case Op::sign: return isnan(x) ? x : Real(x > 0 ? 1 : x < 0 ? -1 : 0);
      case Op::maximum: return extreme(x, operand(n, 1, index), true);
      case Op::minimum: return extreme(x, operand(n, 1, index), false);
      case Op::function: return function(*n.function, x);
      case Op::entered: return x;
      case Op::rounded: {
        if (!isfinite(x)) return x;
        return Real(precise_of(x, {.out = n.format, .options = n.rounding}).rounded);
      }
      case Op::whole: return whole(n.whole, x);
      case Op::less: return Real(x < operand(n, 1, index) ? 1 : 0);
      case Op::equal: return Real(x == operand(n, 1, index) ? 1 : 0);
      case Op::both: return Real(x != 0 && operand(n, 1, index) != 0 ? 1 : 0);
      case Op::opposite: return Real(x == 0 ? 1 : 0);
      case Op::choose: return operand(n, x != 0 ? 1 : 2, index);
      default: return Real(0);
    }
  }

  static Real extreme(const Real& x, const Real& y, bool greatest) {
    if (isnan(x) || isnan(y)) return Real(std::numeric_limits<double>::quiet_NaN());
    return (x > y) == greatest ? x : y;
  }
  static Real function(const Function& f, const Real& x) {
    if (isfinite(x)) return f.precise(x);
    return Real(f.value(mpfr_get_d(x.backend().data(), MPFR_RNDN)));
  }
  static Real whole(WholePart part, const Real& x) {
    Real y;
    const mpfr_rnd_t direction = part == WholePart::down          ? MPFR_RNDD
                                 : part == WholePart::up          ? MPFR_RNDU
                                 : part == WholePart::toward_zero ? MPFR_RNDZ
                                                                  : MPFR_RNDN;
    mpfr_rint(y.backend().data(), x.backend().data(), direction);
    return y;
  }

  Real reduction(const Node& n, std::uint64_t index) {
    const std::uint64_t before = index / n.behind, behind = index % n.behind;
    Real result(0);
    for (std::uint64_t k = 0; k < n.along; ++k) {
      const Real& x = of(n.operands[0], (before * n.along + k) * n.behind + behind);
      if (n.op == Op::sum || n.op == Op::mean)
        result += x;
      else
        result = k == 0 ? x : extreme(result, x, n.op == Op::greatest);
    }
    return n.op == Op::mean ? Real(result / static_cast<double>(n.along)) : result;
  }

  Real running(const Node& n, std::uint64_t index) {
    const std::uint64_t behind = index % n.behind, before = index / n.behind / n.along, last = index / n.behind % n.along;
    Real result(0);
    for (std::uint64_t k = 0; k <= last; ++k) result += of(n.operands[0], (before * n.along + k) * n.behind + behind);
    return result;
  }

  Real scanned(const Node& n, std::size_t node, std::uint64_t index) {
    const Approximate kept = evaluation_.kept_[node]->at(index);
    if (kept.radius == 0) return Real(kept.value);
    const auto rounded = [&](const Real& x) { return isfinite(x) ? Real(precise_of(x, {.out = n.format}).rounded) : x; };
    const std::uint64_t behind = index % n.behind, before = index / n.behind / n.along, last = index / n.behind % n.along;
    std::vector<Real> sums;
    for (std::uint64_t k = 0; k <= last; ++k)
      sums.push_back(rounded(of(n.operands[0], (before * n.along + k) * n.behind + behind)));
    scan(std::span(sums), *n.order, [&](const Real& x, const Real& y) { return rounded(Real(x + y)); });
    return sums.back();
  }

  Real contraction(const Node& n, std::uint64_t index) {
    const Contraction& c = n.contraction;
    std::vector<std::uint64_t> begins(n.operands.size(), 0);
    for (std::size_t i = c.kept.size(); i-- > 0;) {
      for (std::size_t operand = 0; operand < begins.size(); ++operand)
        begins[operand] += index % c.kept[i] * c.operands[operand].kept[i];
      index /= c.kept[i];
    }
    Real result(0);
    const std::uint64_t terms = element_count(c.summed);
    for (std::uint64_t k = 0; k < terms; ++k) {
      Real product(1);
      for (std::size_t operand = 0; operand < begins.size(); ++operand) {
        std::uint64_t rest = k, place = begins[operand];
        for (std::size_t i = c.summed.size(); i-- > 0;) {
          place += rest % c.summed[i] * c.operands[operand].summed[i];
          rest /= c.summed[i];
        }
        product *= of(n.operands[operand], place);
      }
      result += product;
    }
    return result;
  }

  const Evaluation& evaluation_;
  std::map<std::pair<std::size_t, std::uint64_t>, Real> known_;
};

Real Evaluation::precise(std::uint64_t index) const { return Digits(*this).of(formula_.nodes.size() - 1, index); }

}  // namespace ulpscope::verify
