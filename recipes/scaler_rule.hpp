// SPDX-License-Identifier: Apache-2.0
// What every scaler has: parameters, state, and a step.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "emu/format.hpp"
#include "recipes/scaler.hpp"
#include "requests/field.hpp"

namespace ulpscope::recipes {

/// Variables of a scaler that steps change, by name.
class ScalerState {
 public:
  using Variable = std::variant<float*, double*, std::int64_t*, std::vector<float>*>;
  template <class T>
  void add(std::string name, T& variable) {
    variables_.emplace_back(std::move(name), &variable);
  }
  const std::vector<std::pair<std::string, Variable>>& all() const { return variables_; }

 private:
  std::vector<std::pair<std::string, Variable>> variables_;
};

/// A scaler without its name.
class ScalerRule {
 public:
  virtual ~ScalerRule() = default;
  virtual std::unique_ptr<ScalerRule> copy() const = 0;

  /// Names the parameters, each with the default of its source.
  virtual void describe(requests::Fields& parameters) = 0;
  /// Sets the state that the parameters ask for. `largest`: the largest finite value of what is scaled.
  /// @throws ulpscope::Error where they contradict each other
  virtual void start(double largest) = 0;
  virtual void describe(ScalerState& state) = 0;
  virtual double scale() const = 0;
  virtual ScalerStep step(const Seen& seen) = 0;

  virtual bool follows_amax() const { return false; }
  virtual std::optional<double> bin_edge() const { return {}; }
  virtual bool unscales_in_format() const { return false; }
  virtual double floor() const { return 0; }
  virtual double cap() const { return std::numeric_limits<double>::infinity(); }
};

/// Adds what a rule's type says: a copy of itself.
template <class Rule>
class RuleOf : public ScalerRule {
 public:
  std::unique_ptr<ScalerRule> copy() const override { return std::make_unique<Rule>(static_cast<const Rule&>(*this)); }
};

/// A rule that decides by found_inf alone: update() is told of it, and whether it raised comes back.
template <class Rule>
class OverflowRule : public RuleOf<Rule> {
 public:
  ScalerStep step(const Seen& seen) override {
    ScalerStep step{.scale = this->scale(), .skipped = seen.found_inf};
    step.raised = update(seen.found_inf);
    step.next_scale = this->scale();
    return step;
  }

 protected:
  virtual bool update(bool found_inf) = 0;
};

/// Checks of parameters beyond the bounds that fields have: finite numbers above or below a limit that is not among them.
std::function<void(const std::string&)> above(double limit);
std::function<void(const std::string&)> between(double low, double high);  ///< low and high excluded
/// The same of numbers that are used as float32: they are within the limits, and finite, once they are rounded to it.
std::function<void(const std::string&)> float_above(double limit);
std::function<void(const std::string&)> float_between(double low, double high);

/// Steps that are counted by std::int64_t.
inline constexpr requests::WholeBounds interval{.least = 1, .most = std::numeric_limits<std::int64_t>::max()};

/// A kind's name and words, and a new rule of it.
struct RuleMaker {
  std::string name, help, source;
  std::function<std::unique_ptr<ScalerRule>()> make;
};
template <class Rule>
RuleMaker maker(std::string name, std::string help, std::string source) {
  return {std::move(name), std::move(help), std::move(source), [] { return std::make_unique<Rule>(); }};
}

// Each file's part of the list.
std::vector<RuleMaker> pytorch_rules();
std::vector<RuleMaker> deepspeed_rules();
std::vector<RuleMaker> framework_rules();
std::vector<RuleMaker> plain_rules();
std::vector<RuleMaker> tensor_rules();

}  // namespace ulpscope::recipes
