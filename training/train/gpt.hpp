// SPDX-License-Identifier: Apache-2.0
// A small GPT: embeddings, blocks of attention and a perceptron behind layer norms, and a product onto the vocabulary.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/model.hpp"

namespace ulpscope::training {

/// Its parameters, by nanoGPT's names (linear layers as torch keeps them: outputs by inputs). lm_head has no bias.
std::vector<ParameterShape> gpt_parameters(const ModelSpec& model);

/// Names of its layers that have products.
std::vector<std::string> gpt_product_layers(const ModelSpec& model);

/// Logits (sequences * context, vocabulary) of `tokens`, sequence after sequence. Layers are named `wte`, `h.0.attn`,
/// `h.0.mlp`, ..., `ln_f`, `lm_head`; the products of attention are the operation `attention`.
template <class Real>
Variable gpt_outputs(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters,
                     const std::vector<std::size_t>& tokens);

}  // namespace ulpscope::training
