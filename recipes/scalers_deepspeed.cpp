// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's two scalers, and fairseq's: they count iterations since the last overflow, and raise at their minimum.
#include <algorithm>

#include "recipes/scaler_rule.hpp"

namespace ulpscope::recipes {
namespace {

/// DynamicLossScaler of runtime/fp16/loss_scaler.py, with the names and defaults of the JSON configuration. Scales are Python's
/// numbers. The scale grows where a multiple of the window has passed since the overflow, which the first time is one step
/// more.
class DeepSpeed : public OverflowRule<DeepSpeed> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("initial_scale_power", power_, "the first scale is 2 to this power").whole({.most = 1000});
    parameters.add("loss_scale_window", window_, "good steps before the scale doubles").whole(interval);
    parameters.add("hysteresis", hysteresis_, "overflows before the scale halves").whole({.least = 1, .most = 1 << 30});
    parameters.add("consecutive_hysteresis", consecutive_, "a good step refills the counter of overflows");
    parameters.add("min_loss_scale", min_, "the scale halves no further").checked(above(0));
  }
  void start(double) override {
    scale_ = std::ldexp(1.0, static_cast<int>(power_));
    left_ = static_cast<std::int64_t>(hysteresis_);
  }
  void describe(ScalerState& state) override {
    state.add("cur_scale", scale_);
    state.add("cur_iter", iteration_);
    state.add("last_overflow_iter", last_overflow_);
    state.add("cur_hysteresis", left_);
  }
  double scale() const override { return scale_; }
  double floor() const override { return min_; }

 protected:
  /// Whether it raises.
  virtual bool overflowed() {
    if (left_ > 1) {
      --left_;
      return false;
    }
    if (scale_ == min_) return true;
    scale_ = std::max(scale_ / 2, min_);
    return false;
  }
  bool update(bool found_inf) override {
    bool raised = false;
    if (found_inf) {
      raised = overflowed();
      last_overflow_ = iteration_;
    } else {
      if (consecutive_) left_ = static_cast<std::int64_t>(hysteresis_);
      const std::int64_t stable = iteration_ - last_overflow_ - 1;
      if (stable > 0 && stable % static_cast<std::int64_t>(window_) == 0) {
        left_ = static_cast<std::int64_t>(hysteresis_);
        scale_ *= 2;
      }
    }
    ++iteration_;
    return raised;
  }

  std::uint64_t power_ = 16, window_ = 1000, hysteresis_ = 2;
  bool consecutive_ = false;
  double min_ = 1, scale_ = 1;
  std::int64_t iteration_ = 0, last_overflow_ = -1, left_ = 0;
};

/// FP16_Optimizer's own scaler: it stays at its minimum in place of raising.
class DeepSpeedOptimizer final : public DeepSpeed {
 public:
  std::unique_ptr<ScalerRule> copy() const override { return std::make_unique<DeepSpeedOptimizer>(*this); }

 protected:
  bool overflowed() override {
    if (left_ > 1)
      --left_;
    else
      scale_ = std::max(scale_ / 2, min_);
    return false;
  }
};

/// fairseq's DynamicLossScaler. It raises where a step would bring the scale to its minimum, and keeps the scale before that.
class Fairseq final : public OverflowRule<Fairseq> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("init_scale", init_scale_, "the first scale").checked(above(0));
    parameters.add("scale_factor", factor_, "multiplies and divides the scale").checked(above(1));
    parameters.add("scale_window", window_, "steps since the last overflow, at whose multiples the scale grows")
        .whole(interval);
    parameters
        .add("tolerance", tolerance_, "share of the steps since the last change that may overflow before the scale shrinks")
        .real({.least = 0, .most = 1});
    parameters.add("threshold", threshold_, "the scale shrinks no further; none by default");
    parameters.add("min_loss_scale", min_, "at this scale or below training ends").real({.least = 0});
  }
  void start(double) override { scale_ = init_scale_; }
  void describe(ScalerState& state) override {
    state.add("loss_scale", scale_);
    state.add("iter", iteration_);
    state.add("last_overflow_iter", last_overflow_);
    state.add("last_rescale_iter", last_rescale_);
    state.add("overflows_since_rescale", overflows_);
  }
  double scale() const override { return scale_; }
  double floor() const override { return threshold_.value_or(min_); }

 protected:
  bool update(bool found_inf) override {
    if (!found_inf) {
      if ((iteration_ - last_overflow_) % static_cast<std::int64_t>(window_) == 0) {
        scale_ *= factor_;
        last_rescale_ = iteration_;
      }
      ++iteration_;
      return false;
    }
    const double before = scale_;
    const std::int64_t since = iteration_ - last_rescale_;
    last_overflow_ = iteration_;
    ++overflows_;
    // A quotient by zero is as IEEE 754 has it, where Python would end.
    if (static_cast<double>(overflows_) / static_cast<double>(since) >= tolerance_) {
      scale_ = std::max(scale_ / factor_, threshold_.value_or(0));
      last_rescale_ = iteration_;
      overflows_ = 0;
    }
    if (scale_ <= min_) {
      scale_ = before;
      return true;
    }
    ++iteration_;
    return false;
  }

 private:
  double init_scale_ = 0x1p15, factor_ = 2, tolerance_ = 0, min_ = 1e-4;
  std::uint64_t window_ = 2000;
  std::optional<double> threshold_;
  double scale_ = 1;
  std::int64_t iteration_ = 0, last_overflow_ = -1, last_rescale_ = -1, overflows_ = 0;
};

}  // namespace

std::vector<RuleMaker> deepspeed_rules() {
  return {
      maker<DeepSpeed>("deepspeed", "halves at the hysteresis-th overflow, raises at its minimum; refilled by growth alone",
                       "deepspeed/runtime/fp16/loss_scaler.py; names and defaults of its JSON configuration"),
      maker<DeepSpeedOptimizer>("deepspeed_fp16_optimizer", "as deepspeed, but stays at its minimum",
                                "deepspeed/runtime/fp16/fused_optimizer.py, FP16_Optimizer; names of its JSON configuration"),
      maker<Fairseq>("fairseq", "halves where overflows since the last change are frequent, raises at its minimum",
                     "fairseq/optim/dynamic_loss_scaler.py")};
}

}  // namespace ulpscope::recipes
