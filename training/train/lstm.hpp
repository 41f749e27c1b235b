// SPDX-License-Identifier: Apache-2.0
// A small LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000): an embedding, one layer, and a
// product onto the vocabulary.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/model.hpp"

namespace ulpscope::training {

/// `embedding.weight`, torch.nn.LSTM's `lstm.weight_ih_l0`, `lstm.weight_hh_l0`, `lstm.bias_ih_l0`, `lstm.bias_hh_l0` (gates in
/// the order i, f, g, o), `head.weight`, `head.bias`.
std::vector<ParameterShape> lstm_parameters(const ModelSpec& model);

/// Names of its layers that have products.
std::vector<std::string> lstm_product_layers();

/// The products of a layer's inputs with their bias, as layer `.ih` of the tape's.
template <class Real>
Variable lstm_inputs(Tape<Real>& tape, Variable x, Variable of_input, std::optional<Variable> bias);

/// What a layer gives: a state (sequences, 1, width) for each step, and the last cell (sequences, width).
struct LstmStates {
  std::vector<Variable> outputs;
  Variable cell;
};

/// The steps of a layer. `inputs` (sequences, context, 4 width): the products of the inputs with their bias, gates in the order
/// i, f, g, o: lstm_inputs(); the states' are of layer `.hh`; `h` and `c` (sequences, width): where state and cell begin,
/// without `c` at zero.
template <class Real>
LstmStates lstm_layer(Tape<Real>& tape, Variable inputs, Variable of_state, std::optional<Variable> bias_state, Variable h,
                      std::optional<Variable> c);

/// Logits (sequences * context, vocabulary) of `tokens`, sequence after sequence; state and cell begin at zero. Layers are
/// named `embedding`, `lstm`, `head`; the two products of a step are `linear` of `lstm.ih` and `lstm.hh`.
template <class Real>
Variable lstm_outputs(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters,
                      const std::vector<std::size_t>& tokens);

}  // namespace ulpscope::training
