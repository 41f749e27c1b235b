// SPDX-License-Identifier: Apache-2.0
// The loss scalers of TensorFlow, Keras, MXNet, Paddle and jmp.
#include <algorithm>
#include <utility>

#include "recipes/scaler_rule.hpp"

namespace ulpscope::recipes {
namespace {

/// A float32 scale that grows after a period of good steps and shrinks at an overflow: what TensorFlow, Keras and jmp have,
/// under their own names.
class Periodic final : public OverflowRule<Periodic> {
 public:
  /// How they differ.
  struct Kind {
    std::string init, period, factor, floor;  ///< names of the parameters; an empty one is none
    std::string of_scale, of_counter;         ///< names of the state
    double least;                             ///< the scale shrinks no further
    bool grows_to_infinity;                   ///< or stays where it would become infinite
  };
  explicit Periodic(Kind kind) : kind_(std::move(kind)), least_(kind_.least) {}

  void describe(requests::Fields& parameters) override {
    parameters.add(kind_.init, init_, "the first scale").checked(above(0));
    parameters.add(kind_.period, period_, "good steps before the scale grows").whole(interval);
    if (!kind_.factor.empty())
      parameters.add(kind_.factor, factor_, "multiplies and divides the scale").checked(float_above(1));
    if (!kind_.floor.empty()) parameters.add(kind_.floor, least_, "the scale shrinks no further").checked(float_above(0));
  }
  void start(double) override { scale_ = static_cast<float>(init_); }
  void describe(ScalerState& state) override {
    state.add(kind_.of_scale, scale_);
    state.add(kind_.of_counter, good_);
  }
  double scale() const override { return static_cast<double>(scale_); }
  double floor() const override { return static_cast<double>(static_cast<float>(least_)); }

 protected:
  bool update(bool found_inf) override {
    const auto factor = static_cast<float>(factor_);
    if (found_inf) {
      good_ = 0;
      scale_ = std::max(scale_ / factor, static_cast<float>(least_));
    } else if (++good_ >= static_cast<std::int64_t>(period_)) {
      good_ = 0;
      const float next = scale_ * factor;
      if (kind_.grows_to_infinity || std::isfinite(next)) scale_ = next;
    }
    return false;
  }

 private:
  Kind kind_;
  double init_ = 0x1p15, factor_ = 2, least_;
  std::uint64_t period_ = 2000;
  float scale_ = 1;
  std::int64_t good_ = 0;
};

RuleMaker periodic(std::string name, std::string help, std::string source, const Periodic::Kind& kind) {
  return {std::move(name), std::move(help), std::move(source), [kind] { return std::make_unique<Periodic>(kind); }};
}

/// MXNet decides at one step and applies at the next: the step behind an overflow still uses the scale that overflowed.
class MxNet final : public OverflowRule<MxNet> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("loss_scale", init_, "the first scale").checked(above(0));
    parameters.add("max_loss_scale", max_, "the scale grows no further").checked(above(0));
    parameters.add("scale_seq_len", window_, "good steps before the scale doubles").whole(interval);
  }
  void start(double) override { scale_ = next_ = init_; }
  void describe(ScalerState& state) override {
    state.add("loss_scale", scale_);
    state.add("next_loss_scale", next_);
    state.add("unskipped", unskipped_);
  }
  double scale() const override { return scale_; }
  double cap() const override { return max_; }

 protected:
  bool update(bool found_inf) override {
    scale_ = next_;
    if (found_inf) {
      next_ = scale_ / 2;
      unskipped_ = 0;
    } else if (++unskipped_ == static_cast<std::int64_t>(window_)) {
      unskipped_ = 0;
      next_ = std::min(max_, scale_ * 2);
    }
    return false;
  }

 private:
  double init_ = 65536, max_ = 0x1p24, scale_ = 1, next_ = 1;
  std::uint64_t window_ = 2000;
  std::int64_t unskipped_ = 0;
};

/// Paddle: a counter of bad steps before the scale shrinks, and one of good steps before it grows; each clears the other. The
/// kernel of its static graph keeps the scale finite and at least 1, which its GradScaler does not.
class Paddle final : public OverflowRule<Paddle> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("init_loss_scaling", init_, "the first scale").checked(above(0));
    parameters.add("incr_every_n_steps", good_wanted_, "good steps before the scale grows").whole(interval);
    parameters.add("decr_every_n_nan_or_inf", bad_wanted_, "overflows in a row before the scale shrinks").whole(interval);
    parameters.add("incr_ratio", incr_, "multiplies the scale when it grows").checked(float_above(1));
    parameters.add("decr_ratio", decr_, "multiplies the scale when it shrinks").checked(float_between(0, 1));
    parameters.add("static_graph", static_graph_, "not below 1, and never infinite: the kernel of Paddle's static graph");
  }
  void start(double) override { scale_ = static_cast<float>(init_); }
  void describe(ScalerState& state) override {
    state.add("loss_scaling", scale_);
    state.add("good_steps", good_);
    state.add("bad_steps", bad_);
  }
  double scale() const override { return static_cast<double>(scale_); }
  double floor() const override { return static_graph_ ? 1 : 0; }

 protected:
  bool update(bool found_inf) override {
    if (found_inf) {
      good_ = 0;
      if (++bad_ != static_cast<std::int64_t>(bad_wanted_)) return false;
      bad_ = 0;
      scale_ = std::max(scale_ * static_cast<float>(decr_), static_cast<float>(floor()));
      return false;
    }
    bad_ = 0;
    if (++good_ != static_cast<std::int64_t>(good_wanted_)) return false;
    good_ = 0;
    const float next = scale_ * static_cast<float>(incr_);
    if (!static_graph_ || std::isfinite(next)) scale_ = next;
    return false;
  }

 private:
  double init_ = 65536, incr_ = 2, decr_ = 0.5;
  bool static_graph_ = false;
  std::uint64_t good_wanted_ = 2000, bad_wanted_ = 1;
  float scale_ = 1;
  std::int64_t good_ = 0, bad_ = 0;
};

}  // namespace

std::vector<RuleMaker> framework_rules() {
  return {
      periodic("tensorflow", "halves at an overflow, not below 1; doubles after a period of good steps",
               "tf.train.experimental.DynamicLossScale",
               {.init = "initial_loss_scale",
                .period = "increment_period",
                .factor = "multiplier",
                .floor = "",
                .of_scale = "current_loss_scale",
                .of_counter = "good_steps",
                .least = 1,
                .grows_to_infinity = false}),
      periodic("keras", "as tensorflow, with neither floor nor cap", "keras/src/optimizers/loss_scale_optimizer.py (Keras 3)",
               {.init = "initial_scale",
                .period = "dynamic_growth_steps",
                .factor = "",
                .floor = "",
                .of_scale = "dynamic_scale",
                .of_counter = "step_counter",
                .least = 0,
                .grows_to_infinity = true}),
      // jmp has no default for the first scale: its README gives 2^15.
      periodic("jmp", "as tensorflow, not below min_loss_scale; unscales by the reciprocal",
               "google-deepmind/jmp, jmp/_src/loss_scale.py; the first scale is its README's",
               {.init = "loss_scale",
                .period = "period",
                .factor = "factor",
                .floor = "min_loss_scale",
                .of_scale = "loss_scale",
                .of_counter = "counter",
                .least = 1,
                .grows_to_infinity = false}),
      maker<MxNet>("mxnet", "decides a step late: one overflow costs two skipped steps and two halvings",
                   "python/mxnet/amp/loss_scaler.py; gluon/trainer.py"),
      maker<Paddle>(
          "paddle", "shrinks after so many overflows in a row",
          "python/paddle/amp/grad_scaler.py, AmpScaler; of the static graph paddle/phi/kernels/impl/amp_kernel_impl.h")};
}

}  // namespace ulpscope::recipes
