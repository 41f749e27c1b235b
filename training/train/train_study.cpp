// SPDX-License-Identifier: Apache-2.0
// Training studies from TOML.
#include "training/train/train_study.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "files/own_files.hpp"
#include "files/read_file.hpp"
#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "requests/toml.hpp"

namespace ulpscope::training {
namespace {

using requests::TomlTable, requests::TomlValue;

/// How many sizes a layer has, at least and at most.
struct Sizes {
  std::size_t least, most;
};
const std::map<std::string, Sizes>& layer_kinds() {
  static const std::map<std::string, Sizes> kinds{
      {"linear", {2, 2}},   {"conv", {3, 4}},    {"layer_norm", {1, 1}}, {"rms_norm", {1, 1}}, {"batch_norm", {1, 1}},
      {"max_pool", {1, 1}}, {"reshape", {3, 3}}, {"flatten", {}},        {"relu", {}},         {"gelu", {}},
      {"silu", {}},         {"sigmoid", {}},     {"tanh", {}},           {"softmax", {}},
  };
  return kinds;
}

void one_of(const std::string& word, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw Error("'" + word + "': known are " + emu::comma_separated(known));
}
auto among(std::vector<std::string> known) {
  return [known = std::move(known)](const std::string& word) { one_of(word, known); };
}

Layer layer_of(const TomlValue& value) {
  Layer layer;
  if (const auto* const word = std::get_if<std::string>(&value.value)) {
    layer.kind = *word;
  } else if (value.is_table() && value.table().entries.size() == 1) {
    const auto& [kind, sizes] = value.table().entries.front();
    layer.kind = kind;
    const std::vector<TomlValue> list = sizes.is_list() ? sizes.list() : std::vector<TomlValue>{sizes};
    for (const TomlValue& size : list) {
      const auto* const number = std::get_if<std::int64_t>(&size.value);
      if (number == nullptr || *number < 1 || *number > (1 << 24))
        throw Error(value.place + ": " + kind + ": sizes are whole numbers from 1 to 16777216");
      layer.sizes.push_back(static_cast<std::size_t>(*number));
    }
  } else {
    throw Error(value.place + ": a layer is a word, such as \"relu\", or one with sizes, such as {linear = [64, 10]}");
  }
  const auto known = layer_kinds().find(layer.kind);
  if (known == layer_kinds().end()) {
    std::vector<std::string> names;
    for (const auto& [name, sizes] : layer_kinds()) names.push_back(name);
    throw Error(value.place + ": unknown layer '" + layer.kind +
                "'; nearest: " + emu::comma_separated(emu::closest_words(layer.kind, names)));
  }
  if (layer.sizes.size() < known->second.least || layer.sizes.size() > known->second.most)
    throw Error(value.place + ": " + layer.kind + " has " + std::to_string(known->second.least) + " sizes, not " +
                std::to_string(layer.sizes.size()));
  return layer;
}

std::vector<Layer> perceptron(const std::vector<std::uint64_t>& widths, const std::string& activation) {
  std::vector<Layer> layers;
  if (widths.size() < 2) throw Error("[model] widths: give two or more");
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    if (i > 0) layers.push_back({activation, {}});
    layers.push_back({"linear", {widths[i], widths[i + 1]}});
  }
  return layers;
}

/// Of 8 by 8 pixels: two convolutions, each with a maximum of two by two, and a product.
std::vector<Layer> convolutions(const ModelSpec& model) {
  return {{"reshape", {1, 8, 8}}, {"conv", {1, 8, 3, 1}}, {model.activation, {}}, {"max_pool", {2}},   {"conv", {8, 16, 3, 1}},
          {model.activation, {}}, {"max_pool", {2}},      {"flatten", {}},        {"linear", {64, 10}}};
}

void read_model(ModelSpec& model, const TomlValue& value) {
  requests::Fields fields = requests::fields_of(model);
  requests::set_from(fields, value, {"layers"});
  const TomlValue* const layers = value.table().find("layers");
  if ((model.kind == "layers") != (layers != nullptr))
    throw Error(value.place + ": [model] layers: give them with kind \"layers\", and with no other");
  if (model.kind == "mlp" || model.kind == "gan") model.layers = perceptron(model.widths, model.activation);
  if (model.kind == "gan") {
    model.discriminator = perceptron(model.discriminator_widths, model.activation);
    if (model.widths.back() != model.discriminator_widths.front() || model.discriminator_widths.back() != 1)
      throw Error(value.place + ": [model] discriminator_widths: begin with the generator's last width, end with 1");
  }
  if (model.kind == "cnn") model.layers = convolutions(model);
  if (layers == nullptr) return;
  if (!layers->is_list() || layers->list().empty()) throw Error(layers->place + ": [model] layers: give a list of layers");
  for (const TomlValue& layer : layers->list()) model.layers.push_back(layer_of(layer));
}

template <class Spec>
void read_section(const TomlTable& file, const char* section, Spec& spec, const std::vector<std::string>& others = {}) {
  const TomlValue* const value = file.find(section);
  if (value == nullptr) return;
  requests::Fields fields = requests::fields_of(spec);
  requests::set_from(fields, *value, others);
}

/// `[optimizer]`, and of a gan the two below it, which take from it what they do not say.
void read_optimizers(TrainStudy& study, const TomlTable& file) {
  const std::vector<std::string> parts{"generator", "discriminator"};
  read_section(file, "optimizer", study.optimizer, parts);
  // What a study leaves out is as torch has it, which depends on the kind.
  if (study.optimizer.kind == "muon") {
    study.optimizer = {.momentum = 0.95, .nesterov = true};
    read_section(file, "optimizer", study.optimizer, parts);
  }
  study.generator = study.discriminator = study.optimizer;
  const TomlValue* const value = file.find("optimizer");
  if (value == nullptr) return;
  for (const std::string& part : parts)
    if (const TomlValue* const found = value->table().find(part); found != nullptr) {
      if (!found->is_table()) throw Error(found->place + ": write [optimizer." + part + "]");
      if (study.model.kind != "gan")
        throw Error(found->place + ": [optimizer." + part + "]: only [model] kind \"gan\" has two optimizers");
    }
  read_section(value->table(), "generator", study.generator);
  read_section(value->table(), "discriminator", study.discriminator);
}

/// A section of one key, `kind`.
struct Kind {
  std::string kind;
  void describe(requests::Fields& fields) { fields.add("kind", kind, "which").needed(); }
};

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
  if (betas.size() != 2) throw Error("[optimizer] betas: give two");
  if (nesterov && kind == "sgd" && (momentum == 0 || dampening != 0))
    throw Error("[optimizer] nesterov: needs momentum, and no dampening");
  std::array<double, 2> numbers{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (const std::string wrong = requests::read_real(betas[i], {.least = 0, .most = 1}); !wrong.empty())
      throw Error("[optimizer] betas: " + wrong);
    numbers[i] = requests::real_of(betas[i]);
    if (numbers[i] == 1) throw Error("[optimizer] betas: 1: give numbers below 1");
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
  fields.add("steps", steps, "of the optimizer");
  fields.add("epochs", epochs, "times through the data, in place of steps");
  fields.add("accumulate", accumulate, "batches whose gradients one step adds up").whole({.least = 1});
  fields.add("warmup", warmup, "steps in which the learning rate grows from 0");
  fields.add("schedule", schedule, "constant, or cosine to 0").checked(among({"constant", "cosine"}));
  fields.add("workers", workers, "that have a batch each and add up their gradients").whole({1, 1 << 10});
  fields.add("all_reduce", all_reduce, "in which order they add up: ring or tree").checked(among({"ring", "tree"}));
  fields.add("checkpoint_activations", checkpoint_activations,
             "keep layers' results alone, compute the rest again: the same bits");
  fields.add("evaluate", evaluate, "recipes that the trained weights are evaluated under, beside their own").as_commas();
  fields.add("reload_at", reload_at, "a step at which the run is saved, loses reload_loses, and goes on");
  fields.add("reload_loses", reload_loses, "master_weights, moments, scaler: what is not saved").as_commas();
  fields.add("seeds", seeds, "a run for each").as_commas();
  fields.add("recipes", recipes, "a run for each").as_commas();
  fields.add("engine", engine, "of all products, in place of the recipes'");
  fields.add("clip_norm", clip_norm, "greatest norm of all gradients together").real({.least = 0});
  fields.add("clip_value", clip_value, "greatest magnitude of a gradient").real({.least = 0});
  fields.add("average", average, "decay of the weights' moving average; without it there is none")
      .real({.least = 0, .most = 1});
  fields.add("clip", clip, "after_unscale, or before_unscale, which is wrong: the limit is that over the scale")
      .checked(among({"after_unscale", "before_unscale"}));
  fields.add("unscale", unscale, "before_step, or never, which is wrong: steps are larger by the scale")
      .checked(among({"before_step", "never"}));
  fields.add("on_overflow", on_overflow, "skip, or step, which is wrong: infinite gradients reach the weights")
      .checked(among({"skip", "step"}));
}

namespace {

/// What belongs together does.
void check(const TrainStudy& study, const std::string& name) {
  const ModelSpec& model = study.model;
  const RunSpec& run = study.run;
  if ((run.steps == 0) == (run.epochs == 0)) throw Error(name + ": [run] steps or epochs: give one of them");
  if (study.data.inputs.empty() == study.data.table.empty()) throw Error(name + ": [data] inputs or table: give one of them");
  const bool wants_targets = study.loss != "sum" && model.kind != "gan";
  if (study.data.inputs.empty() != study.data.targets.empty() && wants_targets)
    throw Error(name + ": [data] targets: give them with inputs; only loss \"sum\" and kind \"gan\" need none");
  const bool sequences = model.kind == "gpt" || model.kind == "lstm";
  if (sequences != (study.data.table == "markov"))
    throw Error(name + ": [model] kinds \"gpt\" and \"lstm\" and [data] table \"markov\" go together");
  if (study.data.table == "normal" && model.kind != "gan")
    throw Error(name + ": [data] table \"normal\" is for [model] kind \"gan\"");
  if (model.kind == "gan" && (study.data.table == "digits" || run.accumulate > 1))
    throw Error(name + ": [model] kind \"gan\" takes inputs or table \"normal\", and no accumulate");
  if (model.kind == "gpt" && model.width % model.heads != 0)
    throw Error(name + ": [model] heads: " + std::to_string(model.heads) + " does not divide width " +
                std::to_string(model.width));
  if (run.reload_at.has_value() == run.reload_loses.empty())
    throw Error(name + ": [run] reload_at and reload_loses go together");
  for (const std::string& word : run.reload_loses) one_of(word, {"master_weights", "moments", "scaler"});
  check_runs(run);
  for (const std::string& word : run.recipes) recipes::wider_of(recipes::open_recipe(word));
  for (const std::string& word : run.evaluate) recipes::open_recipe(word);
  for (const OptimizerSpec* const spec : {&study.optimizer, &study.generator, &study.discriminator}) spec->settings();
}

}  // namespace

TrainStudy parse_train_study(std::string_view text, const std::string& name) {
  const TomlValue file = requests::parse_toml(text, name);
  const TomlTable& table = file.table();
  const std::vector<std::string> known{"model", "data", "loss", "optimizer", "scaler", "run", "expect"};
  for (const auto& [key, value] : table.entries) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error(value.place + ": unknown key '" + key +
                  "'; nearest: " + emu::comma_separated(emu::closest_words(key, known)));
    if (key != "expect" && !value.is_table()) throw Error(value.place + ": " + key + ": write [" + key + "]");
  }
  TrainStudy study;
  const TomlValue* const model = table.find("model");
  if (model == nullptr) throw Error(name + ": [model] is missing");
  read_model(study.model, *model);
  read_section(table, "data", study.data);
  read_optimizers(study, table);
  read_section(table, "run", study.run);
  Kind loss{"cross_entropy"}, scaler{""};
  read_section(table, "loss", loss);
  one_of(loss.kind, {"cross_entropy", "mse", "bce_with_logits", "sum"});
  study.loss = loss.kind;
  read_section(table, "scaler", scaler);
  if (!scaler.kind.empty()) recipes::Scaler{scaler.kind};
  study.scaler = scaler.kind;
  if (const TomlValue* const expect = table.find("expect")) {
    const auto* const word = std::get_if<std::string>(&expect->value);
    if (word == nullptr || *word != "diverges") throw Error(expect->place + ": expect: give \"diverges\", or leave it away");
    study.expect = *word;
  }
  study.model.checkpoint = study.run.checkpoint_activations;
  check(study, name);
  return study;
}

void check_runs(const RunSpec& run) {
  if (run.recipes.empty()) throw Error("recipes: give one or more");
  if (run.seeds.empty()) throw Error("seeds: give one or more");
  std::map<std::string, std::string> words;
  for (const std::string& word : run.recipes) {
    const auto [other, is_new] = words.emplace(recipes::name_of(word), word);
    if (!is_new)
      throw Error("recipes '" + other->second + "' and '" + word + "' have one name, " + other->first +
                  ", and so would their files");
  }
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : run.seeds)
    if (!seeds.insert(seed).second) throw Error("seed " + std::to_string(seed) + " is given twice: its runs would be the same");
}

std::string train_study_text(const std::string& path) {
  if (const auto own = files::own_file(path)) return std::string(*own);
  return files::read_file(path);
}

TrainStudy read_train_study(const std::string& path) { return parse_train_study(train_study_text(path), path); }

}  // namespace ulpscope::training
