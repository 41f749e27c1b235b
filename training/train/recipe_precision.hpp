// SPDX-License-Identifier: Apache-2.0
// A recipe as the tape and the optimizer take it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "training/state/optimizer.hpp"
#include "training/tape/precision.hpp"
#include "training/train/monitor.hpp"

namespace ulpscope::training {

/// Scales of operands that follow the amax of past steps (`scaling = "delayed"`), one for each operand of each layer.
class DelayedScales {
 public:
  /// Another step has been: its amaxes are taken into the histories.
  void step();

  /// The scale of an operand, and where its amax goes.
  OperandPrecision operand(const std::string& layer, const std::string& place, const Storage& storage,
                           const std::string& parameters);

  /// What the histories hold, by `layer/place/name`: for a run that goes on later.
  std::map<std::string, std::vector<double>> state() const;
  /// Histories of operands that are asked for later. @throws ulpscope::Error, then, where they do not fit
  void set_state(std::map<std::string, std::vector<double>> state) { pending_ = std::move(state); }

 private:
  struct Entry {
    recipes::Scaler scaler;
    std::shared_ptr<double> amax = std::make_shared<double>(0);
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
  std::map<std::string, std::vector<double>> pending_;
};

/// A layer that moved, and what it was held to.
struct LayerMove {
  std::string layer, place;         ///< place: of the operand that lost too much, `linear input`
  bool wider = false;               ///< or back
  double value = 0, threshold = 0;  ///< an SQNR in dB, or a share that was lost
};

/// The layers that have a wider recipe's rules for the time being (recipes::RecipeDynamic).
class DynamicLayers {
 public:
  explicit DynamicLayers(recipes::RecipeDynamic dynamic = {}) : dynamic_(std::move(dynamic)) {}

  bool is_wide(const std::string& layer) const;
  /// Whether layers are judged behind this step.
  bool looks_at(std::uint64_t step) const { return !dynamic_.wider.empty() && (step + 1) % dynamic_.every == 0; }
  /// What became of the operands of products in a step; every few steps layers are judged by it. @returns those that moved
  std::vector<LayerMove> look(std::uint64_t step, const std::map<Place, PlaceCounts>& places);

  /// By layer: whether it is wide (1), whether it ever was, looks since it moved, looks that it stays away. For a run that goes
  /// on later.
  std::map<std::string, std::vector<double>> state() const;
  /// @throws ulpscope::Error where a layer has other than four numbers, or a count is none
  void set_state(const std::map<std::string, std::vector<double>>& state);

 private:
  struct Layer {
    bool wide = false, moved = false;
    std::uint64_t looks = 0, stays = 0;
  };
  recipes::RecipeDynamic dynamic_;
  std::map<std::string, Layer> layers_;
};

/// What is rounded to what. Operands of 8 bits and fewer saturate, as the conversions of GPUs do. `layers` are those that have
/// products, in order, for rules by depth. `delayed`, and `dynamic` where there is one, must outlive it.
/// @throws ulpscope::Error, now or later, where a rule names no format, engine or scale that there is
Precision precision_of(const recipes::Recipe& recipe, DelayedScales& delayed, std::vector<std::string> layers,
                       const DynamicLayers* dynamic = nullptr);

/// The same with all products on one engine; of an empty word, as it is.
Precision on_engine(Precision precision, const std::string& engine);

/// What weights and states are stored in. @throws ulpscope::Error
StateStorage state_storage_of(const recipes::Recipe& recipe);

/// Whether gradients stay in their format when they are unscaled and clipped. Weights that are no wider are given these very
/// tensors, which torch multiplies in place; wider ones are given what was unscaled and clipped in float32 (Apex O2,
/// Megatron-LM, DeepSpeed).
bool gradients_stay_narrow(const recipes::Recipe& recipe);

/// Whether the recipe needs a tape of doubles: its weights are no float32 numbers.
bool is_wide(const recipes::Recipe& recipe);

}  // namespace ulpscope::training
