// SPDX-License-Identifier: Apache-2.0
// What the keys of a training study are, and what they may be.
#include "training/train/train_study.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "emu/error.hpp"
#include "emu/suggestions.hpp"
#include "recipes/scaler.hpp"
#include "requests/numbers.hpp"

namespace ulpscope::training {
namespace {

auto among(std::vector<std::string> known) {
  return [known = std::move(known)](const std::string& word) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw Error("'" + word + "': known are " + emu::comma_separated(known));
  };
}

}  // namespace

void ModelSpec::describe(requests::Fields& fields) {
  fields.add("kind", kind, "layers, mlp, cnn (of 8 by 8 pixels), gpt, lstm, or gan")
      .checked(among({"layers", "mlp", "cnn", "gpt", "lstm", "gan"}));
  fields.add("init", init, "a .safetensors file of torch's names, or kaiming_uniform, torch's own, from the seed");
  fields.add("widths", widths, "of mlp: inputs, hidden units, outputs; of gan the generator's, from random numbers to a sample")
      .whole({1, 1 << 20})
      .as_commas();
  fields.add("discriminator_widths", discriminator_widths, "of gan: from a sample to one number")
      .whole({1, 1 << 20})
      .as_commas();
  fields.add("activation", activation, "of mlp, cnn and gan").checked(among({"relu", "gelu", "silu", "sigmoid", "tanh"}));
  fields.add("vocabulary", vocabulary, "of gpt and lstm: how many tokens there are").whole({2, 1 << 16});
  fields.add("context", context, "of gpt and lstm: tokens of a sequence").whole({1, 1 << 16});
  fields.add("width", width, "of gpt and lstm: numbers that stand for a token").whole({1, 1 << 16});
  fields.add("heads", heads, "of gpt: a divisor of width").whole({1, 1 << 16});
  fields.add("blocks", blocks, "of gpt: attention and perceptron, one after the other").whole({1, 1 << 10});
}

void DataSpec::describe(requests::Fields& fields) {
  fields.add("inputs", inputs, "a tensor: samples first");
  fields.add("targets", targets, "a tensor: classes, or what the loss compares with");
  fields
      .add(
          "table", table,
          "digits: pixels and classes in studies/data; markov: sequences for gpt and lstm, drawn with a known optimum; normal: "
          "points of a plane for gan")
      .checked(among({"digits", "markov", "normal"}));
  fields.add("text", text,
             "a file for gpt and lstm: its bytes are the tokens, numbered in ascending order of those that occur");
  fields.add("order", order, "fixed, or shuffled in every epoch").checked(among({"fixed", "shuffled"}));
  fields.add("batch", batch, "samples of a step; 0: all");
  fields.add("samples", samples, "sequences of markov, points of normal that are drawn").whole({1, 1 << 24});
  fields.add("held_back", held_back, "samples at the end that are not trained on, for the accuracy");
}

void OptimizerSpec::describe(requests::Fields& fields) {
  fields.add("kind", kind, "sgd, adam, adamw or muon").checked(among({"sgd", "adam", "adamw", "muon"}));
  fields.add("lr", lr, "learning rate").real({.least = 0});
  fields.add("momentum", momentum, "of sgd, and of muon, 0.95 there without it").real({.least = 0, .most = 1});
  fields.add("dampening", dampening, "of sgd").real({.least = 0, .most = 1});
  fields.add("nesterov", nesterov, "of sgd and muon: Nesterov's momentum, which muon has without it");
  fields.add("weight_decay", weight_decay, "times the weight").real({.least = 0});
  fields.add("betas", betas, "of adam, adamw and what muon leaves to it").as_commas();
  fields.add("eps", eps, "of adam, adamw and what muon leaves to it").real({.least = 0});
  fields.add("eps_placement", eps_placement, "torch, inside_step or bitsandbytes")
      .checked(among({"torch", "inside_step", "bitsandbytes"}));
  fields.add("adjust_lr", adjust_lr, "of muon: original, or match_rms_adamw").checked(among({"original", "match_rms_adamw"}));
  fields.add("ns_steps", ns_steps, "of muon: steps of its iteration").whole({1, 99});
}

OptimizerSettings OptimizerSpec::settings() const {
  if (betas.size() != 2) throw Error("betas: give two");
  if (nesterov && kind == "sgd" && (momentum == 0 || dampening != 0)) throw Error("nesterov: needs momentum, and no dampening");
  std::array<double, 2> numbers{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (const std::string wrong = requests::read_real(betas[i], {.least = 0, .most = 1}); !wrong.empty())
      throw Error("betas: " + wrong);
    numbers[i] = requests::real_of(betas[i]);
    if (numbers[i] == 1) throw Error("betas: 1: give numbers below 1");
  }
  return {.kind = parse_optimizer(kind),
          .momentum = momentum,
          .dampening = dampening,
          .nesterov = nesterov,
          .weight_decay = weight_decay,
          .beta1 = numbers[0],
          .beta2 = numbers[1],
          .eps = eps,
          .eps_placement = parse_epsilon_placement(eps_placement),
          .adjust_lr = parse_rate_adjustment(adjust_lr),
          .ns_steps = ns_steps};
}

void RunSpec::describe(requests::Fields& fields) {
  constexpr std::uint64_t most = 1'000'000'000;
  fields.add("steps", steps, "of the optimizer").whole({.most = most});
  fields.add("epochs", epochs, "times through the data, in place of steps").whole({.most = 1'000'000});
  fields.add("accumulate", accumulate, "batches whose gradients one step adds up").whole({1, 1 << 20});
  fields.add("warmup", warmup, "steps in which the learning rate grows from 0");
  fields.add("schedule", schedule, "constant, or cosine to 0").checked(among({"constant", "cosine"}));
  fields.add("workers", workers, "that have a batch each and add up their gradients").whole({1, 1 << 10});
  fields.add("all_reduce", all_reduce, "in which order they add up: ring or tree").checked(among({"ring", "tree"}));
  fields.add("checkpoint_activations", checkpoint_activations,
             "keep layers' results alone, compute the rest again: the same bits");
  fields.add("evaluate", evaluate, "recipes that the trained weights are evaluated under, beside their own").as_commas();
  fields.add("reload_at", reload_at, "a step at which the run is saved, loses reload_loses, and goes on");
  fields.add("reload_loses", reload_loses, "master_weights, moments, scaler: what is not saved")
      .as_commas()
      .checked(among({"master_weights", "moments", "scaler"}));
  fields.add("seeds", seeds, "a run for each").as_commas();
  fields.add("recipes", recipes, "a run for each").as_commas();
  fields.add("engine", engine, "of all products, in place of the recipes'");
  fields.add("product_times", product_times, "device_cost.csv of a device: summary.csv says what a step's products take there");
  // Megatron-LM, DeepSpeed and fairseq take 0 for no clipping, torch for no gradients.
  const auto limit = [](const std::string& word) {
    if (requests::read_real(word, {}).empty() && requests::real_of(word) == 0)
      throw Error("0 leaves nothing of any gradient; leave it out for no clipping");
  };
  fields.add("clip_norm", clip_norm, "greatest norm of all gradients together").real({.least = 0}).checked(limit);
  fields.add("clip_value", clip_value, "greatest magnitude of a gradient").real({.least = 0}).checked(limit);
  fields.add("average", average, "decay of the weights' moving average; without it there is none")
      .real({.least = 0, .most = 1});
  fields.add("clip", clip, "after_unscale, or before_unscale, which is wrong: the limit is that over the scale")
      .checked(among({"after_unscale", "before_unscale"}));
  fields.add("unscale", unscale, "before_step, or never, which is wrong: steps are larger by the scale")
      .checked(among({"before_step", "never"}));
  fields.add("on_overflow", on_overflow, "skip, or step, which is wrong: infinite gradients reach the weights")
      .checked(among({"skip", "step"}));
}

std::optional<Error> with_place(const TrainStudy& study, const Error& error) {
  const std::string what = error.what();
  for (const auto& [key, place] : study.places)
    if (what.starts_with(key + ":")) return Error(place + what.substr(key.size()));
  return std::nullopt;
}

void LossSpec::describe(requests::Fields& fields) {
  fields.add("kind", kind, "cross_entropy, mse, bce_with_logits, or sum, of the outputs")
      .checked(among({"cross_entropy", "mse", "bce_with_logits", "sum"}))
      .needed();
}

void ScalerSpec::describe(requests::Fields& fields) {
  fields.add("kind", kind, "a loss scaler, with parameters behind a colon")
      .checked([](const std::string& word) { recipes::Scaler{word}; })
      .needed();
}

}  // namespace ulpscope::training
