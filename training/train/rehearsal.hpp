// SPDX-License-Identifier: Apache-2.0
// What training would refuse, told without training: a step of every recipe whose products are not formed.
#pragma once

#include <string>
#include <vector>

#include "recipes/recipe.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// Takes a batch of one or two samples forward and back under each recipe, the wider one that its layers may move to, and those
/// of [run] evaluate; engines are chosen, operands rounded, and all products are zeros. @throws ulpscope::Error in the words of
/// train_all() where a run would end
void rehearse_runs(const TrainStudy& study);

/// The same of a recipe without a model: each kind of product is taken forward and back in the layers that its rules name, by
/// depth and in none of them. A kind of product that no rule names may be without formats, if others are not.
/// @throws ulpscope::Error
void check_recipe(const recipes::Recipe& recipe);

/// A sentence for each rule that is for no operation that there is or says nothing of it, and one for kinds of products of
/// which the recipe says too little.
std::vector<std::string> remarks_of(const recipes::Recipe& recipe);

}  // namespace ulpscope::training
