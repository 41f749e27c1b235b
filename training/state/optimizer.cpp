// SPDX-License-Identifier: Apache-2.0
// The steps of optimizers, and what their formats leave of them.
#include "training/state/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "training/state/lerp.hpp"
#include "training/state/orthogonal.hpp"

namespace ulpscope::training {
namespace {

template <class Value, std::size_t count>
using Names = std::array<std::pair<std::string_view, Value>, count>;

constexpr Names<OptimizerKind, 4> kinds{{{"sgd", OptimizerKind::sgd},
                                         {"adam", OptimizerKind::adam},
                                         {"adamw", OptimizerKind::adamw},
                                         {"muon", OptimizerKind::muon}}};
constexpr Names<RateAdjustment, 2> adjustments{
    {{"original", RateAdjustment::original}, {"match_rms_adamw", RateAdjustment::match_rms_adamw}}};
constexpr Names<EpsilonPlacement, 3> placements{{{"torch", EpsilonPlacement::torch},
                                                 {"inside_step", EpsilonPlacement::inside_step},
                                                 {"bitsandbytes", EpsilonPlacement::bitsandbytes}}};
constexpr Names<UpdateRounding, 3> roundings{
    {{"nearest", UpdateRounding::nearest}, {"stochastic", UpdateRounding::stochastic}, {"kahan", UpdateRounding::kahan}}};

template <class Value, std::size_t count>
std::string_view name_in(const Names<Value, count>& names, Value value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& entry) { return entry.second == value; })->first;
}

template <class Value, std::size_t count>
Value parse_in(const Names<Value, count>& names, std::string_view word, const std::string& what) {
  std::vector<std::string> known;
  for (const auto& [name, value] : names) {
    if (name == word) return value;
    known.emplace_back(name);
  }
  throw Error("unknown " + what + " '" + std::string(word) + "'; known: " + emu::comma_separated(known));
}

template <class Real>
void store(std::vector<Real>& values, const Storage& storage, emu::RandomBits random = {}) {
  emu::round_to(storage.format, std::span<const Real>(values), std::span<Real>(values), storage.options, random);
}

/// b^n by squaring, each product rounded to float64: the same on every machine.
double power(double b, std::uint64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, b *= b)
    if (n % 2 == 1) result *= b;
  return result;
}

/// Results of operations on tensors as they are computed, or rounded to a format.
template <class Real>
struct AsComputed {
  Real operator()(Real x) const { return x; }
};
template <class Real>
struct RoundedTo {
  emu::Format format;
  Real operator()(Real x) const { return static_cast<Real>(emu::round_to(format, static_cast<double>(x)).value); }
};

/// The wide values that the weights would have.
template <class Real, class In>
class Steps {
 public:
  Steps(const OptimizerSettings& settings, double learning_rate, OptimizerState<Real>& state, In in)
      : settings_(settings), rate_(learning_rate), state_(state), in_(in) {}

  /// Of each weight, whether its step is not zero: in the format of the weights it may be lost.
  std::vector<char> take_moves() { return std::move(moves_); }

  /// A state that was restored may be another tensor's.
  void check(const std::vector<Real>& moment, std::size_t elements) const {
    if (moment.size() != elements)
      throw Error("a state of " + std::to_string(moment.size()) + " elements for " + std::to_string(elements) + " weights");
  }

  std::vector<Real> sgd(const std::vector<Real>& weights, const std::vector<Real>& gradient) {
    const auto rate = real(rate_), decay = real(settings_.weight_decay), momentum = real(settings_.momentum);
    const auto taken = real(1 - settings_.dampening);
    const bool first = state_.steps == 1;
    if (settings_.momentum != 0 && first) state_.first.assign(weights.size(), 0);
    if (settings_.momentum != 0) check(state_.first, weights.size());
    std::vector<Real> next(weights.size());
    moves_.resize(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Real d = settings_.weight_decay == 0 ? gradient[i] : in_(gradient[i] + decay * weights[i]);
      if (settings_.momentum != 0) {
        Real& buffer = state_.first[i];
        buffer = first ? d : in_(in_(momentum * buffer) + taken * d);
        d = settings_.nesterov ? in_(d + momentum * buffer) : buffer;
      }
      moves_[i] = rate * d != 0;
      next[i] = in_(weights[i] - rate * d);
    }
    return next;
  }

  std::vector<Real> adam(const std::vector<Real>& weights, const std::vector<Real>& gradient) {
    if (state_.steps == 1) state_.first.assign(weights.size(), 0), state_.second.assign(weights.size(), 0);
    check(state_.first, weights.size()), check(state_.second, weights.size());
    const bool decoupled = settings_.kind != OptimizerKind::adam;
    const bool behind = settings_.eps_placement == EpsilonPlacement::bitsandbytes;
    const auto decay = real(settings_.weight_decay), kept = real(1 - rate_ * settings_.weight_decay);
    const bool decays = settings_.weight_decay != 0;
    std::vector<Real> next(weights.size());
    moves_.resize(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Real g = decays && !decoupled ? in_(gradient[i] + decay * weights[i]) : gradient[i];
      Real& m = state_.first[i];
      Real& v = state_.second[i];
      m = in_(lerp(m, g, real(1 - settings_.beta1)));
      v = in_(in_(v * real(settings_.beta2)) + real(1 - settings_.beta2) * g * g);
      Real w = decays && decoupled && !behind ? in_(weights[i] * kept) : weights[i];
      const Real by = step(m, v);
      moves_[i] = by != 0 || (decays && decoupled && kept != 1 && weights[i] != 0);
      w = in_(w - by);
      next[i] = decays && decoupled && behind ? in_(w * kept) : w;
    }
    return next;
  }

  std::vector<Real> muon(const std::vector<Real>& weights, const std::vector<Real>& gradient, const MatrixExtents& extents,
                         emu::Format format, int threads) {
    if (state_.steps == 1) state_.first.assign(weights.size(), 0);
    check(state_.first, weights.size());
    const auto taken = real(1 - settings_.momentum), momentum = real(settings_.momentum);
    for (std::size_t i = 0; i < weights.size(); ++i) state_.first[i] = lerp(state_.first[i], gradient[i], taken);
    std::vector<Real> next = state_.first;
    if (settings_.nesterov)
      for (std::size_t i = 0; i < weights.size(); ++i) next[i] = lerp(gradient[i], next[i], momentum);
    next = orthogonalized(std::move(next), extents, format, settings_.ns_steps, threads);
    const auto kept = real(1 - rate_ * settings_.weight_decay), rate = real(rate_ * adjustment(extents));
    moves_.resize(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      moves_[i] = rate * next[i] != 0 || (kept != 1 && weights[i] != 0);
      next[i] = weights[i] * kept - rate * next[i];
    }
    return next;
  }

  /// The corrections of this step.
  void correct() {
    c1_ = 1 - power(settings_.beta1, state_.steps);
    root_c2_ = std::sqrt(1 - power(settings_.beta2, state_.steps));
  }

 private:
  static Real real(double x) { return static_cast<Real>(x); }
  double adjustment(const MatrixExtents& extents) const {
    const auto rows = static_cast<double>(extents.rows), columns = static_cast<double>(extents.columns);
    return settings_.adjust_lr == RateAdjustment::original ? std::sqrt(std::max(1.0, rows / columns))
                                                           : 0.2 * std::sqrt(std::max(rows, columns));
  }
  Real step(Real m, Real v) const {
    if (settings_.eps_placement == EpsilonPlacement::torch)
      return real(rate_ / c1_) * (m / in_(in_(in_(std::sqrt(v)) / real(root_c2_)) + real(settings_.eps)));
    const double eps = settings_.eps_placement == EpsilonPlacement::inside_step ? settings_.eps : settings_.eps * root_c2_;
    return real(rate_ * root_c2_ / c1_) * (m / in_(in_(std::sqrt(v)) + real(eps)));
  }

  const OptimizerSettings& settings_;
  double rate_, c1_ = 1, root_c2_ = 1;
  OptimizerState<Real>& state_;
  In in_;
  std::vector<char> moves_;
};

/// A weight as a matrix: the first extent counts the rows, the others together the columns, as Jordan's code has filters.
MatrixExtents extents_of(const Shape& shape) {
  const std::size_t rows = shape.front();
  return {rows, rows == 0 ? 0 : count_of(shape) / rows};
}

/// Stores the sum of weight and step, and what is left of the step.
template <class Real>
void add_by_kahan(std::vector<Real>& weights, const std::vector<Real>& next, std::vector<Real>& compensation,
                  const Storage& storage) {
  compensation.resize(weights.size());
  std::vector<Real> y(weights.size()), t(weights.size()), back(weights.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = (next[i] - weights[i]) - compensation[i];
  store(y, storage);
  for (std::size_t i = 0; i < y.size(); ++i) t[i] = weights[i] + y[i];
  store(t, storage);
  for (std::size_t i = 0; i < y.size(); ++i) back[i] = t[i] - weights[i];
  store(back, storage);
  for (std::size_t i = 0; i < y.size(); ++i) compensation[i] = back[i] - y[i];
  store(compensation, storage);
  weights = std::move(t);
}

}  // namespace

std::string_view name_of(OptimizerKind kind) noexcept { return name_in(kinds, kind); }
std::string_view name_of(RateAdjustment adjustment) noexcept { return name_in(adjustments, adjustment); }
std::string_view name_of(EpsilonPlacement placement) noexcept { return name_in(placements, placement); }
std::string_view name_of(UpdateRounding rounding) noexcept { return name_in(roundings, rounding); }
OptimizerKind parse_optimizer(std::string_view word) { return parse_in(kinds, word, "optimizer"); }
RateAdjustment parse_rate_adjustment(std::string_view word) { return parse_in(adjustments, word, "adjust_lr"); }
EpsilonPlacement parse_epsilon_placement(std::string_view word) { return parse_in(placements, word, "eps_placement"); }
UpdateRounding parse_update_rounding(std::string_view word) { return parse_in(roundings, word, "update rounding"); }

template <class Real>
UpdateCounts optimizer_step(const OptimizerSettings& settings, const StateStorage& storage, double learning_rate,
                            std::vector<Real>& weights, const std::vector<Real>& gradient, OptimizerState<Real>& state,
                            std::uint64_t seed, std::uint64_t first, const Shape& shape, int threads) {
  if (gradient.size() != weights.size())
    throw Error("a gradient of " + std::to_string(gradient.size()) + " elements for " + std::to_string(weights.size()) +
                " weights");
  if (settings.kind == OptimizerKind::muon && count_of(shape) != weights.size())
    throw Error("muon: " + std::to_string(weights.size()) + " weights of shape " + words_of(shape));
  ++state.steps;
  std::vector<char> moves;
  const auto taken = [&](auto in) {
    Steps<Real, decltype(in)> steps(settings, learning_rate, state, in);
    const auto next_of = [&] {
      if (settings.kind == OptimizerKind::sgd) return steps.sgd(weights, gradient);
      if (settings.kind == OptimizerKind::muon && shape.size() > 1)
        return steps.muon(weights, gradient, extents_of(shape), storage.orthogonal, threads);
      steps.correct();
      return steps.adam(weights, gradient);
    };
    std::vector<Real> next = next_of();
    moves = steps.take_moves();
    return next;
  };
  std::vector<Real> next = storage.step ? taken(RoundedTo<Real>{*storage.step}) : taken(AsComputed<Real>{});
  store_moment(state.first, storage.first, MapSigns::both);
  store_moment(state.second, storage.second, MapSigns::positive);

  const std::vector<Real> before = weights;
  UpdateCounts counts{.elements = weights.size()};
  for (const char is_moved : moves) counts.wanted += is_moved != 0 ? 1 : 0;
  const auto same_as_before = [&](const std::vector<Real>& now) {  // of weights whose step was not zero
    std::uint64_t same = 0;
    for (std::size_t i = 0; i < before.size(); ++i) same += moves[i] != 0 && now[i] == before[i] ? 1 : 0;
    return same;
  };
  if (storage.update == UpdateRounding::nearest) {
    store(next, storage.weights, {seed, first});
    weights = std::move(next);
    counts.lost = counts.small = same_as_before(weights);
    return counts;
  }
  std::vector<Real> to_nearest = next;
  store(to_nearest, storage.weights, {seed, first});
  counts.small = same_as_before(to_nearest);
  if (storage.update == UpdateRounding::kahan) {
    const std::vector<Real> kept = state.compensation;
    add_by_kahan(weights, next, state.compensation, storage.weights);
    for (std::size_t i = 0; i < before.size(); ++i)
      counts.lost += moves[i] != 0 && weights[i] == before[i] && state.compensation[i] == (kept.empty() ? 0 : kept[i]);
    return counts;
  }
  counts.lost = same_as_before(next);  // no other is lost, for it may be taken
  Storage stored = storage.weights;
  stored.options.rounding = emu::Rounding::stochastic;
  store(next, stored, {seed, first});
  weights = std::move(next);
  return counts;
}

template UpdateCounts optimizer_step(const OptimizerSettings&, const StateStorage&, double, std::vector<float>&,
                                     const std::vector<float>&, OptimizerState<float>&, std::uint64_t, std::uint64_t,
                                     const Shape&, int);
template UpdateCounts optimizer_step(const OptimizerSettings&, const StateStorage&, double, std::vector<double>&,
                                     const std::vector<double>&, OptimizerState<double>&, std::uint64_t, std::uint64_t,
                                     const Shape&, int);

}  // namespace ulpscope::training
