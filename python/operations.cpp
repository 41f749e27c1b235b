// SPDX-License-Identifier: Apache-2.0
// The operations that an emulated model may be made of: those of the laboratory, and what is put together of them.
#include "python/operations.hpp"

#include "training/train/lstm.hpp"

namespace ulpscope::python {
namespace {

std::optional<Variable> third(const Variables& x) { return x.size() > 2 ? std::optional(x[2]) : std::nullopt; }

template <class Real>
Operation<Real> of_one(Variable (*function)(training::Tape<Real>&, Variable)) {
  return [function](training::Tape<Real>& tape, const Variables& x, const Settings&) { return function(tape, x[0]); };
}
template <class Real>
Operation<Real> of_two(Variable (*function)(training::Tape<Real>&, Variable, Variable)) {
  return [function](training::Tape<Real>& tape, const Variables& x, const Settings&) { return function(tape, x[0], x[1]); };
}

template <class Real>
Real real(const Settings& s, const std::string& key) {
  return static_cast<Real>(s.number(key));
}

/// A layer of LSTM: inputs (sequences, context, features), where the state begins, both weights, with `bias` both biases, with
/// `cell` where the cell begins. Made: a state, the cell, and (sequences, context + 1, width), the cell behind the states.
template <class Real>
Made<Real> lstm(training::Tape<Real>& tape, const Variables& x, const Settings& s) {
  const bool biased = s.whole("bias") != 0, has_cell = s.whole("cell") != 0;
  const auto bias = [&](std::size_t i) { return biased ? std::optional(x[4 + i]) : std::nullopt; };
  const Variable inputs = training::lstm_inputs(tape, x[0], x[2], bias(0));
  training::LstmStates states =
      training::lstm_layer(tape, inputs, x[3], bias(1), x[1], has_cell ? std::optional(x.back()) : std::nullopt);
  const training::Shape shape = tape.shape(states.outputs.front());
  const Variable state = states.outputs.front();
  states.outputs.push_back(training::reshape(tape, states.cell, shape));
  return Made<Real>(Variables{state, states.cell, training::concatenate(tape, states.outputs, 1)});
}

template <class Real>
Made<Real> batch_norm(training::Tape<Real>& tape, const Variables& x, const Settings& s) {
  training::BatchStatistics<Real> statistics;
  Made<Real> made(training::batch_norm(tape, x[0], x[1], x[2], real<Real>(s, "eps"), &statistics));
  made.statistics = std::move(statistics);
  return made;
}

/// By statistics that are given: mean and variance are the last two inputs. There are no gradients.
template <class Real>
Made<Real> batch_norm_by(training::Tape<Real>& tape, const Variables& x, const Settings& s) {
  return training::batch_norm_by(tape, x[0], x[1], x[2], real<Real>(s, "eps"),
                                 {tape.value(x[3]).values, tape.value(x[4]).values});
}

}  // namespace

template <class Real>
const std::map<std::string, Operation<Real>>& operations() {
  namespace t = training;
  using Tape = t::Tape<Real>;
  static const std::map<std::string, Operation<Real>> all = {
      {"add", of_two(t::add<Real>)},
      {"subtract", of_two(t::subtract<Real>)},
      {"multiply", of_two(t::multiply<Real>)},
      {"divide", of_two(t::divide<Real>)},
      {"affine", [](Tape& tape, const Variables& x,
                    const Settings& s) { return t::affine(tape, x[0], real<Real>(s, "factor"), real<Real>(s, "summand")); }},
      {"exp", of_one(t::exp<Real>)},
      {"log", of_one(t::log<Real>)},
      {"sqrt", of_one(t::sqrt<Real>)},
      {"square", of_one(t::square<Real>)},
      {"relu", of_one(t::relu<Real>)},
      {"sigmoid", of_one(t::sigmoid<Real>)},
      {"tanh", of_one(t::tanh<Real>)},
      {"gelu", of_one(t::gelu<Real>)},
      {"silu", of_one(t::silu<Real>)},
      {"sum", [](Tape& tape, const Variables& x, const Settings& s) { return t::sum(tape, x[0], s.dimension()); }},
      {"mean", [](Tape& tape, const Variables& x, const Settings& s) { return t::mean(tape, x[0], s.dimension()); }},
      {"softmax", of_one(t::softmax<Real>)},
      {"log_softmax", of_one(t::log_softmax<Real>)},
      {"layer_norm", [](Tape& tape, const Variables& x,
                        const Settings& s) { return t::layer_norm(tape, x[0], x[1], x[2], real<Real>(s, "eps")); }},
      {"rms_norm",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::rms_norm(tape, x[0], x[1], real<Real>(s, "eps")); }},
      {"gather", [](Tape& tape, const Variables& x, const Settings& s) { return t::gather(tape, x[0], s.wholes("rows")); }},
      {"max_pool", [](Tape& tape, const Variables& x, const Settings& s) { return t::max_pool(tape, x[0], s.whole("size")); }},
      {"mask_future",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::mask_future(tape, x[0], real<Real>(s, "value")); }},
      {"matmul", [](Tape& tape, const Variables& x, const Settings&) { return t::matmul(tape, x[0], x[1]); }},
      {"attention_scores", [](Tape& tape, const Variables& x,
                              const Settings&) { return t::matmul(tape, x[0], x[1], t::Transpose::yes, "attention"); }},
      {"attention_mean", [](Tape& tape, const Variables& x,
                            const Settings&) { return t::matmul(tape, x[0], x[1], t::Transpose::no, "attention"); }},
      {"lstm", lstm<Real>},
      {"batch_norm", batch_norm<Real>},
      {"batch_norm_by", batch_norm_by<Real>},
      {"linear", [](Tape& tape, const Variables& x, const Settings&) { return t::linear(tape, x[0], x[1], third(x)); }},
      {"convolution",
       [](Tape& tape, const Variables& x, const Settings& s) {
         return t::convolution(tape, x[0], x[1], third(x), {.stride = s.whole("stride"), .padding = s.whole("padding")});
       }},
      {"cross_entropy",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::cross_entropy(tape, x[0], s.wholes("classes")); }},
      {"mean_squared_error", of_two(t::mean_squared_error<Real>)},
      {"binary_cross_entropy_with_logits", of_two(t::binary_cross_entropy_with_logits<Real>)},
  };
  return all;
}

template const std::map<std::string, Operation<float>>& operations<float>();
template const std::map<std::string, Operation<double>>& operations<double>();

}  // namespace ulpscope::python
