// SPDX-License-Identifier: Apache-2.0
// PyTorch's GradScaler and those made after it: Apex, the kernel with hysteresis, Megatron-LM.
#include <algorithm>
#include <limits>

#include "recipes/scaler_rule.hpp"

namespace ulpscope::recipes {
namespace {

/// The parameters of a scaler that grows and backs off, as PyTorch spells them.
struct Growth {
  double init_scale = 65536, growth_factor = 2, backoff_factor = 0.5;
  std::uint64_t growth_interval = 2000;

  /// `between_of`: which limits factors are held to.
  void describe(requests::Fields& fields, const std::string& init = "init_scale", decltype(&between) between_of = between) {
    fields.add(init, init_scale, "the first scale").checked(above(0));
    fields.add("growth_factor", growth_factor, "multiplies the scale after growth_interval good steps in a row")
        .checked(between_of(1, std::numeric_limits<double>::infinity()));
    fields.add("backoff_factor", backoff_factor, "multiplies the scale after a step that overflowed").checked(between_of(0, 1));
    fields.add("growth_interval", growth_interval, "good steps before the scale grows").whole(interval);
  }
};

/// torch.amp.GradScaler. The scale is a float32 tensor; the factors are doubles, so that products are rounded to float32 once.
/// It grows as long as that is finite, and has no floor: 0 stays 0.
class PyTorch : public OverflowRule<PyTorch> {
 public:
  void describe(requests::Fields& parameters) override { growth_.describe(parameters); }
  void start(double) override { scale_ = static_cast<float>(growth_.init_scale); }
  void describe(ScalerState& state) override {
    state.add("scale", scale_);
    state.add("growth_tracker", tracker_);
  }
  double scale() const override { return static_cast<double>(scale_); }
  double cap() const override { return 0x1p127; }

 protected:
  bool update(bool found_inf) override {
    if (found_inf)
      back_off();
    else
      grow();
    return false;
  }
  void back_off() {
    scale_ = static_cast<float>(static_cast<double>(scale_) * growth_.backoff_factor);
    tracker_ = 0;
  }
  void grow() {
    if (++tracker_ != static_cast<std::int64_t>(growth_.growth_interval)) return;
    const auto next = static_cast<float>(static_cast<double>(scale_) * growth_.growth_factor);
    if (std::isfinite(next)) scale_ = next;
    tracker_ = 0;
  }

  Growth growth_;
  float scale_ = 1;
  std::int64_t tracker_ = 0;
};

/// The kernel that counts overflows in a row: below `hysteresis` of them the scale stays, though the step is skipped.
class ApexHysteresis final : public PyTorch {
 public:
  std::unique_ptr<ScalerRule> copy() const override { return std::make_unique<ApexHysteresis>(*this); }
  void describe(requests::Fields& parameters) override {
    PyTorch::describe(parameters);
    parameters.add("hysteresis", hysteresis_, "overflows in a row before the scale backs off")
        .whole({.least = 1, .most = 1 << 30});
  }
  void start(double largest) override {
    PyTorch::start(largest);
    left_ = static_cast<std::int64_t>(hysteresis_);
  }
  void describe(ScalerState& state) override {
    PyTorch::describe(state);
    state.add("hysteresis_tracker", left_);
  }

 protected:
  bool update(bool found_inf) override {
    if (found_inf && --left_ > 0) {
      tracker_ = 0;
      return false;
    }
    if (!found_inf) left_ = static_cast<std::int64_t>(hysteresis_);
    return PyTorch::update(found_inf);
  }

 private:
  std::uint64_t hysteresis_ = 2;
  std::int64_t left_ = 0;
};

/// Megatron-LM's DynamicGradScaler: the counter of overflows is refilled by growth alone, so they need not be in a row, and
/// once it is used up every overflow shrinks the scale.
class Megatron final : public OverflowRule<Megatron> {
 public:
  Megatron() {
    growth_.init_scale = 0x1p32;
    growth_.growth_interval = 1000;
  }
  void describe(requests::Fields& parameters) override {
    growth_.describe(parameters, "initial_scale", float_between);
    parameters.add("min_scale", min_scale_, "the scale backs off no further").checked(float_above(0));
    parameters.add("hysteresis", hysteresis_, "overflows, since the last growth, before the scale backs off")
        .whole({.least = 1, .most = 1 << 30});
  }
  void start(double) override {
    scale_ = static_cast<float>(growth_.init_scale);
    left_ = static_cast<std::int64_t>(hysteresis_);
  }
  void describe(ScalerState& state) override {
    state.add("scale", scale_);
    state.add("growth_tracker", tracker_);
    state.add("hysteresis_tracker", left_);
  }
  double scale() const override { return static_cast<double>(scale_); }
  double floor() const override { return static_cast<double>(static_cast<float>(min_scale_)); }

 protected:
  bool update(bool found_inf) override {
    if (found_inf) {
      tracker_ = 0;
      if (--left_ <= 0) scale_ = std::max(scale_ * static_cast<float>(growth_.backoff_factor), static_cast<float>(min_scale_));
    } else if (++tracker_ == static_cast<std::int64_t>(growth_.growth_interval)) {
      tracker_ = 0;
      left_ = static_cast<std::int64_t>(hysteresis_);
      scale_ *= static_cast<float>(growth_.growth_factor);
    }
    return false;
  }

 private:
  Growth growth_;
  double min_scale_ = 1;
  std::uint64_t hysteresis_ = 2;
  float scale_ = 1;
  std::int64_t tracker_ = 0, left_ = 0;
};

/// Apex's LossScaler, in Python's numbers, with a cap.
class Apex final : public OverflowRule<Apex> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("init_scale", init_scale_, "the first scale").checked(above(0));
    parameters.add("scale_window", window_, "good steps before the scale grows").whole(interval);
    parameters.add("min_loss_scale", min_, "the scale shrinks no further; none by default");
    parameters.add("max_loss_scale", max_, "the scale grows no further").checked(above(0));
  }
  void start(double) override { scale_ = std::min(max_, init_scale_); }
  void describe(ScalerState& state) override {
    state.add("loss_scale", scale_);
    state.add("unskipped", unskipped_);
  }
  double scale() const override { return scale_; }
  double floor() const override { return min_.value_or(0); }
  double cap() const override { return max_; }

 protected:
  bool update(bool found_inf) override {
    if (found_inf) {
      scale_ = std::max(scale_ / factor, min_.value_or(0));
      unskipped_ = 0;
    } else if (++unskipped_ == static_cast<std::int64_t>(window_)) {
      scale_ = std::min(max_, scale_ * factor);
      unskipped_ = 0;
    }
    return false;
  }

 private:
  static constexpr double factor = 2;  // whatever its constructor is given as scale_factor, it has this one
  double init_scale_ = 65536, max_ = 0x1p24;
  std::uint64_t window_ = 2000;
  std::optional<double> min_;
  double scale_ = 1;
  std::int64_t unskipped_ = 0;
};

}  // namespace

std::vector<RuleMaker> pytorch_rules() {
  return {maker<PyTorch>("pytorch", "backs off at every overflow, grows after an interval without; no floor, float32's cap",
                         "torch/amp/grad_scaler.py; aten/src/ATen/native/cuda/AmpKernels.cu"),
          maker<Apex>("apex", "halves and doubles between a floor, if there is one, and a cap",
                      "NVIDIA/apex, apex/amp/scaler.py (removed in cb65b8ed)"),
          maker<ApexHysteresis>("apex_hysteresis", "as pytorch, but backs off at the hysteresis-th overflow in a row",
                                "NVIDIA/apex, csrc/update_scale_hysteresis.cu; hysteresis 2 as callers set it"),
          maker<Megatron>("megatron", "backs off once hysteresis overflows came since the last growth, which alone refills it",
                          "NVIDIA/Megatron-LM, megatron/core/optimizer/grad_scaler.py; defaults of training/arguments.py")};
}

}  // namespace ulpscope::recipes
