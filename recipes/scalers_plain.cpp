// SPDX-License-Identifier: Apache-2.0
// Scalers of articles and small frameworks, and PopART's, which counts magnitudes in place of overflows.
#include <algorithm>

#include "recipes/scaler_rule.hpp"

namespace ulpscope::recipes {
namespace {

/// One scale for all steps; a step that overflows is skipped.
class Static final : public OverflowRule<Static> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("scale", scale_, "the scale: a number, or 2^K").checked(above(0));
  }
  void start(double) override {}
  void describe(ScalerState& state) override { state.add("scale", scale_); }
  double scale() const override { return scale_; }

 protected:
  bool update(bool) override { return false; }

 private:
  double scale_ = 1;
};

/// Halves at an overflow, not below a floor, and doubles after an interval of good steps, not above a cap.
class Bounded : public OverflowRule<Bounded> {
 public:
  explicit Bounded(std::uint64_t interval = 1) : interval_(interval) {}
  void describe(requests::Fields& parameters) override {
    parameters.add("init_scale", init_, "the first scale").checked(above(0));
    parameters.add("min_scale", min_, "the scale halves no further").checked(above(0));
    parameters.add("max_scale", max_, "the scale doubles no further").checked(above(0));
  }
  void start(double) override { scale_ = init_; }
  void describe(ScalerState& state) override {
    state.add("scale", scale_);
    state.add("good_steps", good_);
  }
  double scale() const override { return scale_; }
  double floor() const override { return min_; }
  double cap() const override { return max_; }

 protected:
  bool update(bool found_inf) override {
    if (found_inf) {
      scale_ = std::max(scale_ / 2, min_);
      good_ = 0;
    } else if (++good_ == static_cast<std::int64_t>(interval_)) {
      scale_ = std::min(scale_ * 2, max_);
      good_ = 0;
    }
    return false;
  }

  double init_ = 65536, min_ = 1, max_ = 0x1p24, scale_ = 1;
  std::uint64_t interval_;
  std::int64_t good_ = 0;
};

class Adaptive final : public Bounded {
 public:
  Adaptive() : Bounded(2000) {}
  std::unique_ptr<ScalerRule> copy() const override { return std::make_unique<Adaptive>(*this); }
  void describe(requests::Fields& parameters) override {
    Bounded::describe(parameters);
    parameters.add("growth_interval", interval_, "good steps in a row before the scale doubles").whole(interval);
  }
};

/// Genesis divides gradients by the scale in their own format and looks for infinities behind that.
class Genesis final : public Bounded {
 public:
  Genesis() : Bounded(2000) { max_ = std::numeric_limits<double>::infinity(); }
  std::unique_ptr<ScalerRule> copy() const override { return std::make_unique<Genesis>(*this); }
  void describe(requests::Fields& parameters) override {
    parameters.add("init_scale", init_, "the first scale").checked(above(0));
    parameters.add("growth_interval", interval_, "good steps in a row before the scale doubles").whole(interval);
  }
  bool unscales_in_format() const override { return true; }
};

/// PopART's automatic loss scaling moves at every period: down where too many magnitudes are in the upper one of two bins, up
/// otherwise. No step is skipped.
class PopArt final : public RuleOf<PopArt> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("lossScaling", init_, "the first scale").checked(above(0));
    parameters.add("binEdgeLocation", edge_, "where the upper bin begins, as a share of the largest finite number")
        .real({.least = 0, .most = 1});
    parameters
        .add("thresholdUpperCountProportion", threshold_, "share of magnitudes in the upper bin above which the scale halves")
        .real({.least = 0, .most = 1});
    parameters
        .add("updatePeriod", period_, "steps from one change to the next; counted are the magnitudes of the first of them")
        .whole(interval);
  }
  void start(double largest) override {
    scale_ = static_cast<float>(init_);
    largest_ = largest;
  }
  void describe(ScalerState& state) override {
    state.add("lossScaling", scale_);
    state.add("steps", steps_);
  }
  double scale() const override { return static_cast<double>(scale_); }
  std::optional<double> bin_edge() const override { return edge_ * largest_; }
  ScalerStep step(const Seen& seen) override {
    ScalerStep step{.scale = scale()};
    if (steps_ == 0) scale_ *= seen.upper.value_or(seen.found_inf ? 1 : 0) > threshold_ ? 0.5F : 2.0F;
    steps_ = (steps_ + 1) % static_cast<std::int64_t>(period_);
    step.next_scale = scale();
    return step;
  }

 private:
  double init_ = 1, edge_ = 0.0625, threshold_ = 1e-7, largest_ = 0;
  std::uint64_t period_ = 1;
  float scale_ = 1;
  std::int64_t steps_ = 0;
};

}  // namespace

std::vector<RuleMaker> plain_rules() {
  return {
      maker<Static>("static", "one scale; steps that overflow are skipped",
                    "Micikevicius et al., Mixed Precision Training, arXiv 1710.03740, section 3.2"),
      maker<Bounded>("every_step", "halves at an overflow, doubles after each good step",
                     "articles; 2^16 at first, between 1 and 2^24"),
      maker<Adaptive>("adaptive", "as every_step, but doubles after an interval of good steps",
                      "articles; 2^16 at first, between 1 and 2^24"),
      maker<Genesis>("genesis", "halves at an overflow, not below 1; divides gradients in their own format",
                     "Genesis, GradScaler"),
      maker<PopArt>("popart", "halves where the upper one of two bins of magnitudes fills, doubles otherwise; skips nothing",
                    "graphcore/popart, willow/src/popx/op/lossscaleupdatex.cpp; automaticlossscaling.hpp (N = 1 of every M); "
                    "experimental")};
}

}  // namespace ulpscope::recipes
