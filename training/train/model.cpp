// SPDX-License-Identifier: Apache-2.0
// Layers on a tape, and where their parameters begin.
#include "training/train/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "emu/philox.hpp"
#include "emu/suggestions.hpp"
#include "tensors/tensor.hpp"
#include "training/tape/operations.hpp"
#include "training/train/gpt.hpp"
#include "training/train/lstm.hpp"

namespace ulpscope::training {
namespace {

constexpr double norm_epsilon = 1e-5;  // torch's for LayerNorm

/// Parameters of a layer: how many it takes.
std::size_t parameters_taken(const Layer& layer) {
  if (layer.kind == "rms_norm") return 1;
  return layer.kind == "linear" || layer.kind == "conv" || layer.kind == "layer_norm" || layer.kind == "batch_norm" ? 2 : 0;
}

template <class Real>
using Function = Variable (*)(Tape<Real>&, Variable);

template <class Real>
const std::map<std::string, Function<Real>>& functions() {
  static const std::map<std::string, Function<Real>> all{{"relu", relu<Real>}, {"gelu", gelu<Real>},
                                                         {"silu", silu<Real>}, {"sigmoid", sigmoid<Real>},
                                                         {"tanh", tanh<Real>}, {"softmax", softmax<Real>}};
  return all;
}

template <class Real>
Variable batch_norm_of(Tape<Real>& tape, std::span<const Variable> parameters, Variable x, Buffers<Real>& buffers) {
  const auto epsilon = static_cast<Real>(norm_epsilon);
  const auto kept = buffers.kept.try_emplace(tape.layer(), tape.value(parameters[0]).count()).first;
  if (!buffers.training) return batch_norm_by(tape, x, parameters[0], parameters[1], epsilon, kept->second.statistics);
  BatchStatistics<Real> of_batch;
  const Variable y = batch_norm(tape, x, parameters[0], parameters[1], epsilon, &of_batch);
  follow(kept->second, of_batch, buffers.storage);
  return y;
}

template <class Real>
Variable apply_one(Tape<Real>& tape, const Layer& layer, std::span<const Variable> parameters, Variable x,
                   Buffers<Real>& buffers) {
  const auto& sizes = layer.sizes;
  if (layer.kind == "linear") return linear(tape, x, parameters[0], std::optional<Variable>(parameters[1]));
  if (layer.kind == "conv")
    return convolution(tape, x, parameters[0], std::optional<Variable>(parameters[1]), {1, sizes.size() > 3 ? sizes[3] : 0});
  if (layer.kind == "layer_norm") return layer_norm(tape, x, parameters[0], parameters[1], static_cast<Real>(norm_epsilon));
  if (layer.kind == "rms_norm") return rms_norm(tape, x, parameters[0], static_cast<Real>(norm_epsilon));
  if (layer.kind == "batch_norm") return batch_norm_of(tape, parameters, x, buffers);
  if (layer.kind == "max_pool") return max_pool(tape, x, sizes[0]);
  const std::size_t samples = tape.shape(x).empty() ? 1 : tape.shape(x).front();
  if (layer.kind == "flatten") return reshape(tape, x, {samples, tape.value(x).count() / std::max<std::size_t>(samples, 1)});
  if (layer.kind == "reshape") return reshape(tape, x, {samples, sizes[0], sizes[1], sizes[2]});
  return functions<Real>().at(layer.kind)(tape, x);
}

template <class Real>
std::vector<Real> read_parameter(const std::string& path, const ParameterShape& parameter) {
  const tensors::Tensor tensor = tensors::open_one(path + ":" + parameter.name);
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  if (shape != parameter.shape)
    throw Error(tensor.label + ": has shape " + words_of(shape) + ", the model's is " + words_of(parameter.shape));
  if (!tensor.dtype.format) throw Error(tensor.label + ": weights are floating-point numbers; this is " + tensor.dtype.name);
  std::vector<double> values(tensor.count());
  tensor.source->read(0, std::span<double>(values));
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<ParameterShape> layer_parameters(const std::vector<Layer>& layers, const std::string& prefix) {
  std::vector<ParameterShape> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const auto add = [&](const char* name, Shape shape, std::size_t fan_in, double constant) {
      all.push_back({prefix + std::to_string(i) + "." + name, std::move(shape), fan_in, constant});
    };
    const auto& s = layer.sizes;
    if (layer.kind == "linear") {
      add("weight", {s[1], s[0]}, s[0], 0);
      add("bias", {s[1]}, s[0], 0);
    } else if (layer.kind == "conv") {
      add("weight", {s[1], s[0], s[2], s[2]}, s[0] * s[2] * s[2], 0);
      add("bias", {s[1]}, s[0] * s[2] * s[2], 0);
    } else if (layer.kind == "layer_norm" || layer.kind == "batch_norm") {
      add("weight", {s[0]}, 0, 1);
      add("bias", {s[0]}, 0, 0);
    } else if (layer.kind == "rms_norm") {
      add("weight", {s[0]}, 0, 1);
    }
  }
  return all;
}

std::vector<ParameterShape> parameters_of(const ModelSpec& model) {
  if (model.kind == "gpt") return gpt_parameters(model);
  if (model.kind == "lstm") return lstm_parameters(model);
  if (model.kind != "gan") return layer_parameters(model.layers, "");
  std::vector<ParameterShape> all = layer_parameters(model.layers, "generator.");
  const std::vector<ParameterShape> others = layer_parameters(model.discriminator, "discriminator.");
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<std::string> product_layers(const ModelSpec& model) {
  if (model.kind == "gpt") return gpt_product_layers(model);
  if (model.kind == "lstm") return lstm_product_layers();
  std::vector<std::string> names;
  const auto add = [&](const std::vector<Layer>& layers, const std::string& prefix) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (layers[i].kind == "linear" || layers[i].kind == "conv") names.push_back(prefix + std::to_string(i));
  };
  add(model.layers, model.kind == "gan" ? "generator." : "");
  add(model.discriminator, "discriminator.");
  return names;
}

template <class Real>
std::vector<std::vector<Real>> initial_parameters(const ModelSpec& model, const std::vector<ParameterShape>& shapes,
                                                  std::uint64_t seed) {
  std::vector<std::vector<Real>> all;
  std::uint64_t next = 0;
  for (const ParameterShape& parameter : shapes) {
    if (model.init != "kaiming_uniform") {
      all.push_back(read_parameter<Real>(model.init, parameter));
      continue;
    }
    std::vector<Real> values(count_of(parameter.shape), static_cast<Real>(parameter.constant));
    if (parameter.fan_in > 0) {
      const double bound = 1 / std::sqrt(static_cast<double>(parameter.fan_in));
      // Of 24 bits, so that the numbers are the same in float32 and float64.
      for (Real& x : values) {
        const double unit = static_cast<double>(emu::random_word(seed, next++) >> 8) * 0x1p-23 - 1;
        x = static_cast<Real>(static_cast<float>(bound * unit));
      }
    }
    all.push_back(std::move(values));
  }
  return all;
}

namespace {

/// Layers from `begin` up to `end` - 1.
struct Stretch {
  std::size_t begin, end;
};

template <class Real>
Variable apply_stretch(Tape<Real>& tape, const std::vector<Layer>& layers, Stretch stretch, const std::string& prefix,
                       ParametersInOrder& order, Variable x, Buffers<Real>& buffers) {
  for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
    const std::string name = prefix + std::to_string(i);
    tape.enter(name);
    try {
      x = apply_one(tape, layers[i], order.take(parameters_taken(layers[i])), x, buffers);
    } catch (const ProductError&) {
      throw;
    } catch (const Error& error) {
      throw Error("layer " + name + ": " + error.what());
    }
  }
  return x;
}

}  // namespace

template <class Real>
Variable apply_layers(Tape<Real>& tape, const std::vector<Layer>& layers, const std::string& prefix,
                      std::span<const Variable> parameters, Variable x, Buffers<Real>& buffers, bool checkpoint) {
  ParametersInOrder order(parameters);
  if (!checkpoint) return apply_stretch(tape, layers, {0, layers.size()}, prefix, order, x, buffers);
  // About sqrt(n) stretches of as many layers: the least that is kept (Chen et al., arXiv 1604.06174, section 4.2).
  const auto at_once = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(layers.size()))));
  for (std::size_t begin = 0; begin < layers.size(); begin += at_once) {
    const Stretch stretch{begin, std::min(begin + at_once, layers.size())};
    std::vector<Variable> inputs{x};
    for (std::size_t i = stretch.begin; i < stretch.end; ++i)
      for (const Variable parameter : order.take(parameters_taken(layers[i]))) inputs.push_back(parameter);
    // Running statistics follow a batch once.
    const auto is_first = std::make_shared<bool>(true);
    x = tape.checkpointed(
        inputs, [&layers, &buffers, prefix, stretch, is_first](Tape<Real>& own, const std::vector<Variable>& variables) {
          ParametersInOrder taken(std::span<const Variable>(variables).subspan(1));
          Buffers<Real> scratch = buffers;
          return apply_stretch(own, layers, stretch, prefix, taken, variables[0],
                               std::exchange(*is_first, false) ? buffers : scratch);
        });
  }
  return x;
}

template <class Real>
Variable apply(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, const Samples& samples,
               const std::vector<std::size_t>& batch, Buffers<Real>& buffers) {
  constexpr emu::Format own = sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;
  Variable x{};
  if (model.kind == "gpt")
    x = gpt_outputs(tape, model, parameters, samples.tokens_of(batch));
  else if (model.kind == "lstm")
    x = lstm_outputs(tape, model, parameters, samples.tokens_of(batch));
  else
    x = apply_layers<Real>(tape, model.layers, "", parameters, tape.input(samples.inputs_of<Real>(batch), own, false), buffers,
                           model.checkpoint);
  tape.enter("loss");
  return x;
}

template <class Real>
void initial_statistics(const ModelSpec& model, Buffers<Real>& buffers) {
  if (model.init == "kaiming_uniform") return;
  std::set<std::string> names;
  for (const tensors::Tensor& tensor : tensors::open(model.init)) names.insert(tensor.name);
  const auto read_all = [&](const std::vector<Layer>& layers, const std::string& prefix) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string name = prefix + std::to_string(i);
      if (layers[i].kind != "batch_norm" || !names.contains(name + running_mean)) continue;
      const Shape shape{layers[i].sizes[0]};
      const auto read = [&](const char* which) { return read_parameter<Real>(model.init, {name + which, shape}); };
      RunningStatistics<Real>& kept = buffers.kept.try_emplace(name, shape[0]).first->second;
      kept.statistics = {read(running_mean), read(running_variance)};
    }
  };
  read_all(model.layers, model.kind == "gan" ? "generator." : "");
  read_all(model.discriminator, "discriminator.");
}

std::string unused_in_init(const ModelSpec& model) {
  if (model.init == "kaiming_uniform") return {};
  std::set<std::string> taken;
  for (const ParameterShape& parameter : parameters_of(model)) taken.insert(parameter.name);
  std::vector<std::string> unused;
  for (const tensors::Tensor& tensor : tensors::open(model.init)) {
    const bool is_statistics = std::ranges::any_of(std::array{running_mean, running_variance, ".num_batches_tracked"},
                                                   [&](const char* ending) { return tensor.name.ends_with(ending); });
    if (!is_statistics && !taken.contains(tensor.name)) unused.push_back(tensor.name);
  }
  if (unused.empty()) return {};
  const std::size_t more = unused.size() - std::min<std::size_t>(unused.size(), 3);
  unused.resize(unused.size() - more);
  return model.init + ": the model has no " + emu::comma_separated(unused) +
         (more == 0 ? "" : " and " + std::to_string(more) + " more") + "; not taken";
}

#define ULPSCOPE_MODELS(Real)                                                                                           \
  template std::vector<std::vector<Real>> initial_parameters(const ModelSpec&, const std::vector<ParameterShape>&,      \
                                                             std::uint64_t);                                            \
  template void initial_statistics(const ModelSpec&, Buffers<Real>&);                                                   \
  template Variable apply_layers(Tape<Real>&, const std::vector<Layer>&, const std::string&, std::span<const Variable>, \
                                 Variable, Buffers<Real>&, bool);                                                       \
  template Variable apply(Tape<Real>&, const ModelSpec&, const std::vector<Variable>&, const Samples&,                  \
                          const std::vector<std::size_t>&, Buffers<Real>&);
ULPSCOPE_MODELS(float)
ULPSCOPE_MODELS(double)
#undef ULPSCOPE_MODELS

}  // namespace ulpscope::training
