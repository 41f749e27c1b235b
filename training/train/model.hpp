// SPDX-License-Identifier: Apache-2.0
// A model as torch's nn.Sequential has it: layers in a list, parameters named by their places; or a small GPT, LSTM or GAN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "training/state/running_statistics.hpp"
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
/// `transformer.h.0.attn.c_attn.weight`, ..., `lm_head.weight`; of lstm `embedding.weight`, those of torch.nn.LSTM behind
/// `lstm.` and `head.weight`, `head.bias`; of gan `generator.0.weight`, ... and `discriminator.0.weight`, ...
std::vector<ParameterShape> parameters_of(const ModelSpec& model);

/// The same of layers alone, each name behind `prefix`.
std::vector<ParameterShape> layer_parameters(const std::vector<Layer>& layers, const std::string& prefix);

/// Names of a model's layers that have products, in the order in which they are applied.
std::vector<std::string> product_layers(const ModelSpec& model);

/// Their first values: numbers of a .safetensors file of these names and shapes, or uniform in +-1/sqrt(fan-in), which is what
/// torch's defaults for Linear and Conv2d come to, drawn with `seed`. @throws ulpscope::Error naming tensor and file
template <class Real>
std::vector<std::vector<Real>> initial_parameters(const ModelSpec& model, const std::vector<ParameterShape>& shapes,
                                                  std::uint64_t seed);

/// What layers keep beside their parameters.
template <class Real>
struct Buffers {
  Storage storage = {};                                      ///< of the statistics
  bool training = true;                                      ///< batch norms take the batch's statistics, and keep them
  std::map<std::string, RunningStatistics<Real>> kept = {};  ///< of batch norms, by the names of their layers
};

/// What torch names the running statistics of a batch norm, behind its layer's name.
inline constexpr const char *running_mean = ".running_mean", *running_variance = ".running_var";

/// The running statistics that the model's `init` holds, as they are there. @throws ulpscope::Error
template <class Real>
void initial_statistics(const ModelSpec& model, Buffers<Real>& buffers);

/// A sentence that names what `init` holds and the model does not take; empty where it takes all. @throws ulpscope::Error
std::string unused_in_init(const ModelSpec& model);

/// Layers one after the other, on parameters in the order of layer_parameters(). With `checkpoint` nothing but their results is
/// kept. @throws ulpscope::Error naming the layer that the shapes do not fit
template <class Real>
Variable apply_layers(Tape<Real>& tape, const std::vector<Layer>& layers, const std::string& prefix,
                      std::span<const Variable> parameters, Variable x, Buffers<Real>& buffers, bool checkpoint);

/// The outputs for a batch, (samples, ...), of gpt and lstm (samples * context, vocabulary); a gan has none.
/// @throws ulpscope::Error naming the layer that the shapes do not fit
template <class Real>
Variable apply(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, const Samples& samples,
               const std::vector<std::size_t>& batch, Buffers<Real>& buffers);

/// Takes parameters in their order.
class ParametersInOrder {
 public:
  explicit ParametersInOrder(std::span<const Variable> all) : all_(all) {}
  /// The next one.
  Variable next() { return take(1).front(); }
  /// The next `count`.
  std::span<const Variable> take(std::size_t count) {
    const std::span<const Variable> taken = all_.first(count);
    all_ = all_.subspan(count);
    return taken;
  }

 private:
  std::span<const Variable> all_;
};

}  // namespace ulpscope::training
