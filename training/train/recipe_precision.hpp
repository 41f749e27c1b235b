// SPDX-License-Identifier: Apache-2.0
// A recipe as the tape and the optimizer take it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "training/state/optimizer.hpp"
#include "training/tape/precision.hpp"

namespace ulpscope::training {

/// Scales of operands that follow the amax of past steps (`scaling = "delayed"`), one for each operand of each layer.
class DelayedScales {
 public:
  /// Another step has been: its amaxes are taken into the histories.
  void step();

  /// The scale of an operand, and where its amax goes.
  OperandPrecision operand(const std::string& layer, const std::string& place, const Storage& storage);

 private:
  struct Entry {
    recipes::Scaler scaler;
    std::shared_ptr<double> amax = std::make_shared<double>(0);
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

/// What is rounded to what. Operands of 8 bits and fewer saturate, as the conversions of GPUs do. `delayed` must outlive it.
/// @throws ulpscope::Error, now or later, where a rule names no format, engine or scale that there is
Precision precision_of(const recipes::Recipe& recipe, DelayedScales& delayed);

/// What weights and states are stored in. @throws ulpscope::Error
StateStorage state_storage_of(const recipes::Recipe& recipe);

/// Whether the recipe needs a tape of doubles: its weights are no float32 numbers.
bool is_wide(const recipes::Recipe& recipe);

}  // namespace ulpscope::training
