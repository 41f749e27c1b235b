// SPDX-License-Identifier: Apache-2.0
// A model as torch's nn.Sequential has it: layers in a list, parameters named by their places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// A trained tensor.
struct ParameterShape {
  std::string name;        ///< `0.weight`
  Shape shape;             ///< as torch keeps it
  std::size_t fan_in = 0;  ///< inputs of one output; 0: it begins at `constant`
  double constant = 0;     ///< where there is no fan-in
};

/// In the order of the layers: weight, then bias.
std::vector<ParameterShape> parameters_of(const std::vector<Layer>& layers);

/// Their first values: numbers of a .safetensors file of these names and shapes, or uniform in +-1/sqrt(fan-in), which is what
/// torch's defaults for Linear and Conv2d come to, drawn with `seed`. @throws ulpscope::Error naming tensor and file
template <class Real>
std::vector<std::vector<Real>> initial_parameters(const ModelSpec& model, const std::vector<ParameterShape>& shapes,
                                                  std::uint64_t seed);

/// The outputs for a batch, (samples, ...). @throws ulpscope::Error naming the layer that the shapes do not fit
template <class Real>
Variable apply(Tape<Real>& tape, const std::vector<Layer>& layers, const std::vector<Variable>& parameters, Variable x);

}  // namespace ulpscope::training
