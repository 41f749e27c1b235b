// SPDX-License-Identifier: Apache-2.0
// The operations that an emulated model may be made of: those of the laboratory, and what is put together of them.
#include "python/operations.hpp"

#include "training/train/lstm.hpp"

namespace ulpscope::python {
namespace {

std::optional<Variable> third(const Variables& x) { return x.size() > 2 ? std::optional(x[2]) : std::nullopt; }

Operation of_one(Variable (*function)(Tape&, Variable)) {
  return [function](Tape& tape, const Variables& x, const Settings&) { return function(tape, x[0]); };
}
Operation of_two(Variable (*function)(Tape&, Variable, Variable)) {
  return [function](Tape& tape, const Variables& x, const Settings&) { return function(tape, x[0], x[1]); };
}

/// A layer of LSTM: inputs (sequences, context, features), where the state begins, both weights, with `bias` both biases, with
/// `cell` where the cell begins. Made: a state, the cell, and (sequences, context + 1, width), the cell behind the states.
Made lstm(Tape& tape, const Variables& x, const Settings& s) {
  const bool biased = s.whole("bias") != 0, has_cell = s.whole("cell") != 0;
  const auto bias = [&](std::size_t i) { return biased ? std::optional(x[4 + i]) : std::nullopt; };
  const Variable inputs = training::linear(tape, x[0], x[2], bias(0));
  training::LstmStates states =
      training::lstm_layer(tape, inputs, x[3], bias(1), x[1], has_cell ? std::optional(x.back()) : std::nullopt);
  const training::Shape shape = tape.shape(states.outputs.front());
  const Variable state = states.outputs.front();
  states.outputs.push_back(training::reshape(tape, states.cell, shape));
  return Made(Variables{state, states.cell, training::concatenate(tape, states.outputs, 1)});
}

Made batch_norm(Tape& tape, const Variables& x, const Settings& s) {
  training::BatchStatistics<float> statistics;
  Made made(training::batch_norm(tape, x[0], x[1], x[2], s.real("eps"), &statistics));
  made.statistics = std::move(statistics);
  return made;
}

/// By statistics that are given: mean and variance are the last two inputs. There are no gradients.
Made batch_norm_by(Tape& tape, const Variables& x, const Settings& s) {
  return training::batch_norm_by(tape, x[0], x[1], x[2], s.real("eps"), {tape.value(x[3]).values, tape.value(x[4]).values});
}

}  // namespace

const std::map<std::string, Operation>& operations() {
  namespace t = training;
  static const std::map<std::string, Operation> all = {
      {"add", of_two(t::add<float>)},
      {"subtract", of_two(t::subtract<float>)},
      {"multiply", of_two(t::multiply<float>)},
      {"divide", of_two(t::divide<float>)},
      {"affine", [](Tape& tape, const Variables& x,
                    const Settings& s) { return t::affine(tape, x[0], s.real("factor"), s.real("summand")); }},
      {"exp", of_one(t::exp<float>)},
      {"log", of_one(t::log<float>)},
      {"sqrt", of_one(t::sqrt<float>)},
      {"square", of_one(t::square<float>)},
      {"relu", of_one(t::relu<float>)},
      {"sigmoid", of_one(t::sigmoid<float>)},
      {"tanh", of_one(t::tanh<float>)},
      {"gelu", of_one(t::gelu<float>)},
      {"silu", of_one(t::silu<float>)},
      {"sum", [](Tape& tape, const Variables& x, const Settings& s) { return t::sum(tape, x[0], s.dimension()); }},
      {"mean", [](Tape& tape, const Variables& x, const Settings& s) { return t::mean(tape, x[0], s.dimension()); }},
      {"softmax", of_one(t::softmax<float>)},
      {"log_softmax", of_one(t::log_softmax<float>)},
      {"layer_norm",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::layer_norm(tape, x[0], x[1], x[2], s.real("eps")); }},
      {"rms_norm",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::rms_norm(tape, x[0], x[1], s.real("eps")); }},
      {"gather", [](Tape& tape, const Variables& x, const Settings& s) { return t::gather(tape, x[0], s.wholes("rows")); }},
      {"max_pool", [](Tape& tape, const Variables& x, const Settings& s) { return t::max_pool(tape, x[0], s.whole("size")); }},
      {"mask_future",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::mask_future(tape, x[0], s.real("value")); }},
      {"matmul", [](Tape& tape, const Variables& x, const Settings&) { return t::matmul(tape, x[0], x[1]); }},
      {"attention_scores", [](Tape& tape, const Variables& x,
                              const Settings&) { return t::matmul(tape, x[0], x[1], t::Transpose::yes, "attention"); }},
      {"attention_mean", [](Tape& tape, const Variables& x,
                            const Settings&) { return t::matmul(tape, x[0], x[1], t::Transpose::no, "attention"); }},
      {"lstm", lstm},
      {"batch_norm", batch_norm},
      {"batch_norm_by", batch_norm_by},
      {"linear", [](Tape& tape, const Variables& x, const Settings&) { return t::linear(tape, x[0], x[1], third(x)); }},
      {"convolution",
       [](Tape& tape, const Variables& x, const Settings& s) {
         return t::convolution(tape, x[0], x[1], third(x), {.stride = s.whole("stride"), .padding = s.whole("padding")});
       }},
      {"cross_entropy",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::cross_entropy(tape, x[0], s.wholes("classes")); }},
      {"mean_squared_error", of_two(t::mean_squared_error<float>)},
      {"binary_cross_entropy_with_logits", of_two(t::binary_cross_entropy_with_logits<float>)},
  };
  return all;
}

}  // namespace ulpscope::python
