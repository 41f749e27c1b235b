// SPDX-License-Identifier: Apache-2.0
// The steps of an LSTM, unrolled on the tape.
#include "training/train/lstm.hpp"

#include <optional>

#include "training/tape/operations.hpp"

namespace ulpscope::training {

std::vector<ParameterShape> lstm_parameters(const ModelSpec& model) {
  const std::size_t width = model.width;
  // torch draws all four from +-1/sqrt(hidden size).
  return {{"embedding.weight", {model.vocabulary, width}, width, 0},
          {"lstm.weight_ih_l0", {4 * width, width}, width, 0},
          {"lstm.weight_hh_l0", {4 * width, width}, width, 0},
          {"lstm.bias_ih_l0", {4 * width}, width, 0},
          {"lstm.bias_hh_l0", {4 * width}, width, 0},
          {"head.weight", {model.vocabulary, width}, width, 0},
          {"head.bias", {model.vocabulary}, width, 0}};
}

std::vector<std::string> lstm_product_layers() { return {"lstm.ih", "lstm.hh", "head"}; }

template <class Real>
Variable lstm_inputs(Tape<Real>& tape, Variable x, Variable of_input, std::optional<Variable> bias) {
  const std::string layer = tape.layer();
  tape.enter(layer + ".ih");
  const Variable made = linear(tape, x, of_input, bias);
  tape.enter(layer);
  return made;
}

template <class Real>
LstmStates lstm_layer(Tape<Real>& tape, Variable inputs, Variable of_state, std::optional<Variable> bias_state, Variable h,
                      std::optional<Variable> c) {
  const std::size_t sequences = tape.shape(inputs)[0], context = tape.shape(inputs)[1], width = tape.shape(inputs)[2] / 4;
  LstmStates states{{}, h};
  const std::string layer = tape.layer();
  for (std::size_t t = 0; t < context; ++t) {
    const Variable input = reshape(tape, slice(tape, inputs, 1, t, t + 1), {sequences, 4 * width});
    tape.enter(layer + ".hh");
    const Variable of_past = linear(tape, h, of_state, bias_state);
    tape.enter(layer);
    const Variable gates = add(tape, input, of_past);
    const auto gate = [&](std::size_t i) { return slice(tape, gates, 1, i * width, (i + 1) * width); };
    const Variable i = sigmoid(tape, gate(0)), f = sigmoid(tape, gate(1)), g = tanh(tape, gate(2)), o = sigmoid(tape, gate(3));
    const Variable added = multiply(tape, i, g);
    c = c ? add(tape, multiply(tape, f, *c), added) : added;
    h = multiply(tape, o, tanh(tape, *c));
    states.outputs.push_back(reshape(tape, h, {sequences, 1, width}));
  }
  states.cell = c.value_or(h);
  return states;
}

template <class Real>
Variable lstm_outputs(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters,
                      const std::vector<std::size_t>& tokens) {
  constexpr emu::Format own = sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;
  const std::size_t context = model.context, width = model.width, sequences = tokens.size() / context;
  ParametersInOrder taken(parameters);
  tape.enter("embedding");
  const Variable embedded = gather(tape, taken.next(), tokens);
  tape.enter("lstm");
  const Variable of_input = taken.next(), of_state = taken.next(), bias_input = taken.next(), bias_state = taken.next();
  // The input's products of all steps at once: (sequences, context, 4 width).
  const Variable inputs =
      reshape(tape, lstm_inputs(tape, embedded, of_input, std::optional(bias_input)), {sequences, context, 4 * width});
  const Variable h = tape.input(Array<Real>({sequences, width}), own, false);
  const LstmStates states = lstm_layer(tape, inputs, of_state, std::optional(bias_state), h, std::nullopt);
  const Variable all = reshape(tape, concatenate(tape, states.outputs, 1), {sequences * context, width});
  tape.enter("head");
  const Variable weight = taken.next(), bias = taken.next();
  return linear(tape, all, weight, std::optional(bias));
}

template Variable lstm_inputs(Tape<float>&, Variable, Variable, std::optional<Variable>);
template Variable lstm_inputs(Tape<double>&, Variable, Variable, std::optional<Variable>);
template LstmStates lstm_layer(Tape<float>&, Variable, Variable, std::optional<Variable>, Variable, std::optional<Variable>);
template LstmStates lstm_layer(Tape<double>&, Variable, Variable, std::optional<Variable>, Variable, std::optional<Variable>);
template Variable lstm_outputs(Tape<float>&, const ModelSpec&, const std::vector<Variable>&, const std::vector<std::size_t>&);
template Variable lstm_outputs(Tape<double>&, const ModelSpec&, const std::vector<Variable>&, const std::vector<std::size_t>&);

}  // namespace ulpscope::training
