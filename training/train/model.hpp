// SPDX-License-Identifier: Apache-2.0
// A model as torch's nn.Sequential has it: layers in a list, parameters named by their places; or a small GPT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/samples.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// A trained tensor.
struct ParameterShape {
  std::string name;        ///< `0.weight`
  Shape shape;             ///< as torch keeps it
  std::size_t fan_in = 0;  ///< inputs of one output; 0: it begins at `constant`
  double constant = 0;     ///< where there is no fan-in
};

/// In the order of the layers: weight, then bias. Of gpt those of nanoGPT, named as there: `transformer.wte.weight`,
/// `transformer.h.0.attn.c_attn.weight`, ..., `lm_head.weight`.
std::vector<ParameterShape> parameters_of(const ModelSpec& model);

/// Their first values: numbers of a .safetensors file of these names and shapes, or uniform in +-1/sqrt(fan-in), which is what
/// torch's defaults for Linear and Conv2d come to, drawn with `seed`. @throws ulpscope::Error naming tensor and file
template <class Real>
std::vector<std::vector<Real>> initial_parameters(const ModelSpec& model, const std::vector<ParameterShape>& shapes,
                                                  std::uint64_t seed);

/// The outputs for a batch, (samples, ...), of gpt (samples * context, vocabulary).
/// @throws ulpscope::Error naming the layer that the shapes do not fit
template <class Real>
Variable apply(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, const Samples& samples,
               const std::vector<std::size_t>& batch);

}  // namespace ulpscope::training
