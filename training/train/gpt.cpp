// SPDX-License-Identifier: Apache-2.0
// The layers of a GPT (Radford et al. 2019: norms before the layers, GELU), on the tape.
#include "training/train/gpt.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "training/tape/operations.hpp"

namespace ulpscope::training {
namespace {

std::string block_name(std::size_t i) { return "transformer.h." + std::to_string(i); }

constexpr double epsilon = 1e-5;

/// (sequences * context, width) as (sequences * heads, context, width / heads), and back.
template <class Real>
Variable by_heads(Tape<Real>& tape, Variable x, std::size_t sequences, std::size_t context, std::size_t heads) {
  const std::size_t each = tape.shape(x).back() / heads;
  return reshape(tape, permute(tape, reshape(tape, x, {sequences, context, heads, each}), {0, 2, 1, 3}),
                 {sequences * heads, context, each});
}
template <class Real>
Variable by_tokens(Tape<Real>& tape, Variable x, std::size_t sequences, std::size_t context, std::size_t heads) {
  const std::size_t each = tape.shape(x).back();
  return reshape(tape, permute(tape, reshape(tape, x, {sequences, heads, context, each}), {0, 2, 1, 3}),
                 {sequences * context, heads * each});
}

/// The products of an attention, behind its name: queries by keys, probabilities by values.
constexpr const char *scores_name = ".scores", *values_name = ".values";

/// `linear` as the layer of its parameters.
template <class Real>
Variable linear_of(Tape<Real>& tape, const std::string& layer, ParametersInOrder& taken, Variable x) {
  tape.enter(layer);
  const Variable weight = taken.next(), bias = taken.next();
  return linear(tape, x, weight, std::optional(bias));
}

/// `layer`: the block's attention. Its two products have names of their own, and with them scales of their own.
template <class Real>
Variable attention(Tape<Real>& tape, const std::string& layer, ParametersInOrder& taken, Variable x, std::size_t sequences,
                   std::size_t context, std::size_t heads) {
  const std::size_t width = tape.shape(x).back();
  const Variable all = linear_of(tape, layer + ".c_attn", taken, x);
  tape.enter(layer);
  const auto part = [&](std::size_t i) {
    return by_heads(tape, slice(tape, all, 1, i * width, (i + 1) * width), sequences, context, heads);
  };
  const Variable q = part(0), k = part(1), v = part(2);
  const std::size_t width_of_head = width / heads;
  const double scale = 1 / std::sqrt(static_cast<double>(width_of_head));
  const auto product = [&](const char* name, Variable a, Variable b, Transpose transpose) {
    tape.enter(layer + name);
    const Variable made = matmul(tape, a, b, transpose, "attention");
    tape.enter(layer);
    return made;
  };
  const Variable scores = affine(tape, product(scores_name, q, k, Transpose::yes), static_cast<Real>(scale), Real{0});
  const Variable probabilities = softmax(tape, mask_future(tape, scores, -std::numeric_limits<Real>::infinity()));
  const Variable out = by_tokens(tape, product(values_name, probabilities, v, Transpose::no), sequences, context, heads);
  return linear_of(tape, layer + ".c_proj", taken, out);
}

template <class Real>
Variable norm(Tape<Real>& tape, const std::string& layer, ParametersInOrder& taken, Variable x) {
  tape.enter(layer);
  const Variable weight = taken.next(), bias = taken.next();
  return layer_norm(tape, x, weight, bias, static_cast<Real>(epsilon));
}

template <class Real>
Variable perceptron(Tape<Real>& tape, const std::string& layer, ParametersInOrder& taken, Variable x) {
  const Variable hidden = linear_of(tape, layer + ".c_fc", taken, x);
  tape.enter(layer);
  return linear_of(tape, layer + ".c_proj", taken, gelu(tape, hidden));
}

/// Part of a block, whose results within need not be kept.
template <class Real, class Part>
Variable segment(Tape<Real>& tape, bool checkpoint, Variable x, ParametersInOrder& taken, std::size_t parameters,
                 const Part& part) {
  if (!checkpoint) return part(tape, taken, x);
  std::vector<Variable> inputs{x};
  for (std::size_t i = 0; i < parameters; ++i) inputs.push_back(taken.next());
  return tape.checkpointed(inputs, [part](Tape<Real>& own, const std::vector<Variable>& variables) {
    ParametersInOrder order(std::span<const Variable>(variables).subspan(1));
    return part(own, order, variables[0]);
  });
}

}  // namespace

std::vector<ParameterShape> gpt_parameters(const ModelSpec& model) {
  const std::size_t width = model.width;
  std::vector<ParameterShape> all;
  const auto add_linear = [&](const std::string& name, std::size_t in, std::size_t out, bool bias) {
    all.push_back({name + ".weight", {out, in}, in, 0});
    if (bias) all.push_back({name + ".bias", {out}, in, 0});
  };
  const auto add_norm = [&](const std::string& name) {
    all.push_back({name + ".weight", {width}, 0, 1});
    all.push_back({name + ".bias", {width}, 0, 0});
  };
  all.push_back({"transformer.wte.weight", {model.vocabulary, width}, width, 0});
  all.push_back({"transformer.wpe.weight", {model.context, width}, width, 0});
  for (std::size_t i = 0; i < model.blocks; ++i) {
    const std::string block = block_name(i);
    add_norm(block + ".ln_1");
    add_linear(block + ".attn.c_attn", width, 3 * width, true);
    add_linear(block + ".attn.c_proj", width, width, true);
    add_norm(block + ".ln_2");
    add_linear(block + ".mlp.c_fc", width, 4 * width, true);
    add_linear(block + ".mlp.c_proj", 4 * width, width, true);
  }
  add_norm("transformer.ln_f");
  add_linear("lm_head", width, model.vocabulary, false);
  return all;
}

std::vector<std::string> gpt_product_layers(const ModelSpec& model) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.blocks; ++i)
    for (const std::string& part :
         {std::string(".attn.c_attn"), std::string(".attn") + scores_name, std::string(".attn") + values_name,
          std::string(".attn.c_proj"), std::string(".mlp.c_fc"), std::string(".mlp.c_proj")})
      names.push_back(block_name(i) + part);
  names.emplace_back("lm_head");
  return names;
}

template <class Real>
Variable gpt_outputs(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters,
                     const std::vector<std::size_t>& tokens) {
  const std::size_t context = model.context, sequences = tokens.size() / context;
  ParametersInOrder taken(parameters);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) places.push_back(i % context);
  tape.enter("transformer.wte");
  const Variable wte = taken.next(), wpe = taken.next();
  const Variable embedded = gather(tape, wte, tokens);
  Variable x = add(tape, embedded, gather(tape, wpe, places));
  for (std::size_t i = 0; i < model.blocks; ++i) {
    const std::string block = block_name(i);
    x = segment(tape, model.checkpoint, x, taken, 6,
                [block, sequences, context, heads = model.heads](Tape<Real>& own, ParametersInOrder& order, Variable of) {
                  const Variable normed = norm(own, block + ".ln_1", order, of);
                  const Variable made = attention(own, block + ".attn", order, normed, sequences, context, heads);
                  own.enter(block);
                  return add(own, of, made);
                });
    x = segment(tape, model.checkpoint, x, taken, 6, [block](Tape<Real>& own, ParametersInOrder& order, Variable of) {
      const Variable made = perceptron(own, block + ".mlp", order, norm(own, block + ".ln_2", order, of));
      own.enter(block);
      return add(own, of, made);
    });
  }
  x = norm(tape, "transformer.ln_f", taken, x);
  tape.enter("lm_head");
  return linear(tape, x, taken.next(), std::nullopt);
}

template Variable gpt_outputs(Tape<float>&, const ModelSpec&, const std::vector<Variable>&, const std::vector<std::size_t>&);
template Variable gpt_outputs(Tape<double>&, const ModelSpec&, const std::vector<Variable>&, const std::vector<std::size_t>&);

}  // namespace ulpscope::training
