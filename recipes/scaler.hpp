// SPDX-License-Identifier: Apache-2.0
// Loss scalers as pure values: what a step showed goes in, whether it is skipped and the next scale come out. Each follows the
// published semantics of its framework to the letter; scaler_kinds() names them with their sources.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"

namespace ulpscope::recipes {

class ScalerRule;

/// What a step of training showed.
struct Seen {
  bool found_inf = false;            ///< a gradient, multiplied by the scale, was infinite or NaN
  std::optional<double> amax = {};   ///< largest magnitude of what is scaled, before it is; for scalers that follow it
  /// Share of the scaled magnitudes above Scaler::bin_edge(), NaN being one; without it found_inf decides.
  std::optional<double> upper = {};
};

/// What a scaler makes of a step.
struct ScalerStep {
  double scale = 1;       ///< that the step used
  bool skipped = false;   ///< the optimizer does not step
  double next_scale = 1;  ///< that the next step will use
  /// The framework ends the training here: no scale below this one is allowed.
  bool raised = false;
};

/// A scaler and its state: a value, equal copies of which go the same way.
class Scaler {
 public:
  /// `pytorch`, `megatron:hysteresis=3,growth_interval=100`, `static:2^10`. `to` is the format of what is scaled, whose largest
  /// finite value the scalers of fp8 tensors take.
  /// @throws ulpscope::Error naming the nearest scalers, the known parameters, or what is wrong with a value
  explicit Scaler(std::string_view words, emu::Format to = emu::float16);
  Scaler(const Scaler& other);
  Scaler(Scaler&& other) noexcept;
  ~Scaler();

  /// `pytorch`.
  const std::string& name() const noexcept { return name_; }
  /// The name, and the parameters that are not its source's: `pytorch:growth_interval=100`.
  std::string words() const;

  /// Of the next step; for scalers that follow the present amax, of the last one.
  double scale() const;
  /// Goes one step on. @throws ulpscope::Error where follows_amax() and `seen` has none, or `upper` is no share
  ScalerStep step(const Seen& seen);

  /// Whether the scale is made of amax: of this step's, or of those before.
  bool follows_amax() const;
  /// The magnitude above which scaled values are counted for Seen::upper, where the rule counts them.
  std::optional<double> bin_edge() const;
  /// Whether gradients are divided by the scale in their own format, as Genesis does, and not in float32.
  bool unscales_in_format() const;
  /// The least scale it goes to; 0 where it may reach that.
  double floor() const;
  /// The greatest one; infinity where there is none.
  double cap() const;

  /// Everything that steps change, by name: for a checkpoint.
  std::vector<std::pair<std::string, std::vector<double>>> state() const;
  /// @throws ulpscope::Error where names or sizes are not those of state(), or a number is none that steps lead to; then
  /// nothing is set
  void set_state(const std::vector<std::pair<std::string, std::vector<double>>>& state);

 private:
  std::string name_;
  emu::Format to_;
  std::unique_ptr<ScalerRule> rule_;
};

/// One parameter of a kind.
struct ScalerParameter {
  std::string name;      ///< as its source spells it
  std::string standard;  ///< the value it has there; empty: none
  std::string help;      ///< what it does
};

/// A scaler that there is.
struct ScalerKind {
  std::string name;                         ///< as it is asked for
  std::string help;                         ///< what it does, in a phrase
  std::string source;                       ///< where that is written
  std::vector<ScalerParameter> parameters;  ///< in the order of the source
};
/// All of them.
const std::vector<ScalerKind>& scaler_kinds();

/// `pytorch:growth_interval=100,init_scale=4,apex` as two: a comma starts a new scaler unless `key=` follows.
std::vector<std::string> split_scalers(const std::string& words);

}  // namespace ulpscope::recipes
