// SPDX-License-Identifier: Apache-2.0
// Scales of fp8 tensors, which follow the largest magnitude: Transformer Engine's delayed and current scaling, and MS-AMP's.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "emu/error.hpp"
#include "emu/math.hpp"
#include "recipes/scaler_rule.hpp"

namespace ulpscope::recipes {
namespace {

constexpr float largest_float = std::numeric_limits<float>::max();

/// A float32 scale that is made of amax; nothing is skipped.
template <class Rule>
class AmaxRule : public RuleOf<Rule> {
 public:
  void start(double largest) override { largest_ = static_cast<float>(largest); }
  double scale() const override { return static_cast<double>(scale_); }
  bool follows_amax() const override { return true; }

 protected:
  /// One that is formed at a step and used at it.
  ScalerStep at_once(float scale) {
    scale_ = scale;
    return {.scale = this->scale(), .next_scale = this->scale()};
  }

  float largest_ = 1, scale_ = 1;
};

/// The power of two at or below largest / amax, whose logarithm is rounded to float32 before its floor is taken, as torch does.
class MsAmp final : public AmaxRule<MsAmp> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("margin", margin_, "binades left free above amax").whole({.most = 100});
  }
  void describe(ScalerState& state) override { state.add("scale", scale_); }
  ScalerStep step(const Seen& seen) override {
    const auto amax = static_cast<float>(*seen.amax);
    const auto log2 = static_cast<float>(emu::log2(static_cast<double>(largest_ / amax)));
    const float exponent = std::floor(log2) - static_cast<float>(margin_);
    float scale =
        amax > 0 && std::isfinite(amax) ? std::ldexp(1.0F, static_cast<int>(std::min(std::abs(exponent), 1000.0F))) : scale_;
    if (exponent < 0) scale = 1 / scale;  // where amax is infinite, this is the reciprocal of the scale before
    return at_once(scale);
  }

 private:
  std::uint64_t margin_ = 0;
};

/// The scale of a step is made of the amax of the steps before it; the first one is 1.
class TeDelayed final : public AmaxRule<TeDelayed> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("margin", margin_, "binades left free above amax").whole({.most = 100});
    parameters.add("amax_history_len", length_, "steps that are remembered").whole({.least = 1, .most = 1 << 20});
    parameters.add("amax_compute_algo", algorithm_, "max of the history, or most_recent").checked([](const std::string& word) {
      if (word != "max" && word != "most_recent") throw Error("'" + word + "': give max or most_recent");
    });
  }
  void start(double largest) override {
    AmaxRule::start(largest);
    history_.assign(length_, 0);
  }
  void describe(ScalerState& state) override {
    state.add("scale", scale_);
    state.add("amax_history", history_);
  }
  ScalerStep step(const Seen& seen) override {
    ScalerStep step{.scale = scale()};
    float amax = static_cast<float>(*seen.amax);
    history_.front() = amax;
    if (amax != 0) {  // a tensor that was not used leaves history and scale as they are
      if (algorithm_ == "max") {
        amax = 0;
        for (const float one : history_) amax = std::fmax(amax, one);  // which takes no NaN, as CUDA's fmaxf
      }
      std::rotate(history_.begin(), history_.begin() + 1, history_.end());
      history_.front() = 0;
    }
    if (std::isfinite(amax) && amax > 0)
      scale_ = std::min(std::ldexp(largest_, -static_cast<int>(margin_)) / amax, largest_float);
    step.next_scale = scale();
    return step;
  }

 private:
  std::uint64_t margin_ = 0, length_ = 1024;
  std::string algorithm_ = "max";
  std::vector<float> history_;
};

/// The scale of a step is made of its own amax.
class TeCurrent final : public AmaxRule<TeCurrent> {
 public:
  void describe(requests::Fields& parameters) override {
    parameters.add("power_2_scale", power_of_two_, "the scale is cut to a power of two");
    parameters.add("amax_epsilon", epsilon_, "taken for amax where that is smaller").real({.least = 0});
  }
  void describe(ScalerState& state) override { state.add("scale", scale_); }
  ScalerStep step(const Seen& seen) override {
    auto amax = static_cast<float>(*seen.amax);
    if (amax < static_cast<float>(epsilon_)) amax = static_cast<float>(epsilon_);
    if (!std::isfinite(amax) || amax == 0) return at_once(1);
    float scale = std::min(largest_ / amax, largest_float);
    if (power_of_two_) scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & 0xff800000U);
    return at_once(scale);
  }

 private:
  bool power_of_two_ = false;
  double epsilon_ = 0;
};

}  // namespace

std::vector<RuleMaker> tensor_rules() {
  return {maker<MsAmp>("ms_amp", "a power of two that puts this step's amax into the format's last binade",
                       "Azure/MS-AMP, msamp/common/tensor/meta.py, ScalingMeta"),
          maker<TeDelayed>("te_delayed", "the format's largest number over the amax of the steps before",
                           "NVIDIA/TransformerEngine, recipe DelayedScaling; common/recipe/delayed_scaling.cu"),
          maker<TeCurrent>("te_current", "the format's largest number over this step's amax",
                           "NVIDIA/TransformerEngine, recipe Float8CurrentScaling; common/recipe/current_scaling.cu")};
}

}  // namespace ulpscope::recipes
