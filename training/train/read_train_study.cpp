// SPDX-License-Identifier: Apache-2.0
// Training studies from TOML, and what in one has no effect.
#include <algorithm>
#include <map>
#include <set>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "files/own_files.hpp"
#include "recipes/recipe.hpp"
#include "requests/toml.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/train_study.hpp"

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
        throw Error(value.place() + ": " + kind + ": sizes are whole numbers from 1 to 16777216");
      layer.sizes.push_back(static_cast<std::size_t>(*number));
    }
  } else {
    throw Error(value.place() + ": a layer is a word, such as \"relu\", or one with sizes, such as {linear = [64, 10]}");
  }
  const auto known = layer_kinds().find(layer.kind);
  if (known == layer_kinds().end()) {
    std::vector<std::string> names;
    for (const auto& [name, sizes] : layer_kinds()) names.push_back(name);
    throw Error(value.place() + ": unknown layer '" + layer.kind +
                "'; nearest: " + emu::comma_separated(emu::closest_words(layer.kind, names)));
  }
  const auto [least, most] = known->second;
  if (layer.sizes.size() < least || layer.sizes.size() > most)
    throw Error(value.place() + ": " + layer.kind + " has " + std::to_string(least) +
                (most > least ? " or " + std::to_string(most) : "") + " sizes, not " + std::to_string(layer.sizes.size()));
  return layer;
}

/// Puts before an error where it is.
template <class Act>
void in_place(const std::string& place, Act act) {
  try {
    act();
  } catch (const Error& error) {
    throw Error(place + " " + error.what());
  }
}

/// Where a key of a section stands, and its name; of the section, where it is not there: `study.toml:12: [run] recipes`.
std::string place_of(const TomlTable& file, const std::string& name, const std::string& section, const std::string& key) {
  const TomlValue* const value = file.find(section);
  const TomlValue* const found = value == nullptr ? nullptr : value->table().find(key);
  return (found != nullptr ? found->place() : value != nullptr ? value->place() : name) + ": [" + section + "] " + key;
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
    throw Error(value.place() + ": [model] layers: give them with kind \"layers\", and with no other");
  if (model.kind == "mlp" || model.kind == "gan")
    in_place(value.place() + ":", [&] { model.layers = perceptron(model.widths, model.activation); });
  if (model.kind == "gan") {
    in_place(value.place() + ":", [&] { model.discriminator = perceptron(model.discriminator_widths, model.activation); });
    if (model.widths.back() != model.discriminator_widths.front() || model.discriminator_widths.back() != 1)
      throw Error(value.place() + ": [model] discriminator_widths: begin with the generator's last width, end with 1");
  }
  if (model.kind == "cnn") model.layers = convolutions(model);
  if (layers == nullptr) return;
  if (!layers->is_list() || layers->list().empty()) throw Error(layers->place() + ": [model] layers: give a list of layers");
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
      if (!found->is_table()) throw Error(found->place() + ": write [optimizer." + part + "]");
      if (study.model.kind != "gan")
        throw Error(found->place() + ": [optimizer." + part + "]: only [model] kind \"gan\" has two optimizers");
    }
  read_section(value->table(), "generator", study.generator);
  read_section(value->table(), "discriminator", study.discriminator);
  in_place(value->place() + ": [optimizer]", [&] {
    for (const OptimizerSpec* const spec : {&study.optimizer, &study.generator, &study.discriminator}) spec->settings();
  });
}

/// What belongs together does.
void check(const TrainStudy& study, const TomlTable& file, const std::string& name) {
  const ModelSpec& model = study.model;
  const DataSpec& data = study.data;
  const RunSpec& run = study.run;
  const auto at = [&](const char* section, const char* key) { return place_of(file, name, section, key); };
  if ((run.steps == 0) == (run.epochs == 0)) throw Error(at("run", "steps") + " or epochs: give one of them");
  if (!data.inputs.empty() + !data.table.empty() + !data.text.empty() != 1)
    throw Error(at("data", "inputs") + ", table or text: give one of them");
  const bool wants_targets = study.loss != "sum" && model.kind != "gan";
  if (data.inputs.empty() != data.targets.empty() && wants_targets)
    throw Error(at("data", "targets") + ": give them with inputs; only loss \"sum\" and kind \"gan\" need none");
  const bool sequences = model.kind == "gpt" || model.kind == "lstm";
  if (sequences != (data.table == "markov" || !data.text.empty()))
    throw Error(at("model", "kind") +
                ": \"gpt\" and \"lstm\" go together with [data] text or table \"markov\", the others do not");
  if (sequences && study.loss != "cross_entropy" && study.loss != "sum")
    throw Error(at("loss", "kind") + ": \"" + study.loss + "\" compares numbers; of tokens there are cross_entropy and sum");
  if (data.table == "normal" && model.kind != "gan")
    throw Error(at("data", "table") + ": \"normal\" is for [model] kind \"gan\"");
  if (model.kind == "gan" && (data.table == "digits" || run.accumulate > 1))
    throw Error(at("model", "kind") + ": \"gan\" takes inputs or table \"normal\", and no accumulate");
  if (model.kind == "gpt" && model.width % model.heads != 0)
    throw Error(at("model", "heads") + ": " + std::to_string(model.heads) + " does not divide width " +
                std::to_string(model.width));
  if (run.reload_at.has_value() == run.reload_loses.empty())
    throw Error(at("run", "reload_at") + " and reload_loses go together");
  in_place(at("run", "evaluate") + ":", [&] {
    for (const std::string& word : run.evaluate) recipes::open_recipe(word);
  });
}

/// Keys of a section that only some studies have a use for.
struct Uses {
  const char* section;
  std::vector<std::string> keys;
  bool are_used;
  std::string otherwise;  ///< why not
};

std::vector<std::string> idle_keys(const TrainStudy& study, const TomlTable& file) {
  const ModelSpec& model = study.model;
  const auto is = [](const std::string& word, std::initializer_list<const char*> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  const std::string kind = "[model] kind \"" + model.kind + "\"", optimizer = "kind \"" + study.optimizer.kind + "\"";
  const bool sequences = is(model.kind, {"gpt", "lstm"}), one_optimizer = study.model.kind != "gan";
  const auto by = [&](std::initializer_list<const char*> kinds) { return !one_optimizer || is(study.optimizer.kind, kinds); };
  const RunSpec& run = study.run;
  const auto is_lost = [&](const char* what) {
    return std::find(run.reload_loses.begin(), run.reload_loses.end(), what) != run.reload_loses.end();
  };
  std::vector<std::string> idle;
  for (const Uses& uses : std::vector<Uses>{
           {"model", {"widths"}, is(model.kind, {"mlp", "gan"}), kind},
           {"model", {"activation"}, is(model.kind, {"mlp", "cnn", "gan"}), kind},
           {"model", {"discriminator_widths"}, model.kind == "gan", kind},
           {"model", {"context", "vocabulary", "width"}, sequences, kind},
           {"model", {"heads", "blocks"}, model.kind == "gpt", kind},
           {"data", {"targets"}, !study.data.inputs.empty() && study.loss != "sum" && one_optimizer, "this loss and data"},
           {"data", {"samples"}, is(study.data.table, {"markov", "normal"}), "data that is not drawn"},
           {"loss", {"kind"}, one_optimizer, kind},
           {"optimizer", {"momentum", "nesterov"}, by({"sgd", "muon"}), optimizer},
           {"optimizer", {"dampening"}, by({"sgd"}), optimizer},
           {"optimizer", {"dampening"}, !by({"sgd"}) || study.optimizer.momentum != 0, "no momentum"},
           {"optimizer", {"betas", "eps", "eps_placement"}, by({"adam", "adamw", "muon"}), optimizer},
           {"optimizer", {"adjust_lr", "ns_steps"}, by({"muon"}), optimizer},
           {"run", {"all_reduce"}, run.workers > 1, "one worker"},
           {"run", {"clip"}, run.clip_norm || run.clip_value, "neither clip_norm nor clip_value"},
           {"run", {"unscale", "on_overflow"}, !study.scaler.empty(), "no [scaler]"},
           {"run", {"evaluate"}, one_optimizer, kind},
           {"run", {"checkpoint_activations"}, model.kind != "lstm", kind},
           {"run", {"reload_loses"}, !is_lost("scaler") || run.reload_loses.size() > 1 || !study.scaler.empty(), "no [scaler]"},
       })
    for (const std::string& key : uses.keys) {
      const TomlValue* const section = file.find(uses.section);
      const TomlValue* const value = section == nullptr ? nullptr : section->table().find(key);
      if (value != nullptr && !uses.are_used)
        idle.push_back(value->place() + ": [" + uses.section + "] " + key + " has no effect with " + uses.otherwise);
    }
  return idle;
}

}  // namespace

TrainStudy parse_train_study(std::string_view text, const std::string& name) {
  const TomlValue file = requests::parse_toml(text, name);
  const TomlTable& table = file.table();
  const std::vector<std::string> known{"model", "data", "loss", "optimizer", "scaler", "run", "expect"};
  for (const auto& [key, value] : table.entries) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error(value.place() + ": unknown key '" + key +
                  "'; nearest: " + emu::comma_separated(emu::closest_words(key, known)));
    if (key != "expect" && !value.is_table()) throw Error(value.place() + ": " + key + ": write [" + key + "]");
  }
  TrainStudy study;
  const TomlValue* const model = table.find("model");
  if (model == nullptr) throw Error(name + ": [model] is missing");
  read_model(study.model, *model);
  read_section(table, "data", study.data);
  read_optimizers(study, table);
  read_section(table, "run", study.run);
  LossSpec loss;
  read_section(table, "loss", loss);
  study.loss = loss.kind;
  ScalerSpec scaler;
  read_section(table, "scaler", scaler);
  study.scaler = scaler.kind;
  if (const TomlValue* const expect = table.find("expect")) {
    const auto* const word = std::get_if<std::string>(&expect->value);
    if (word == nullptr || *word != "diverges") throw Error(expect->place() + ": expect: give \"diverges\", or leave it away");
    study.expect = *word;
  }
  study.model.checkpoint = study.run.checkpoint_activations;
  check(study, table, name);
  study.idle = idle_keys(study, table);
  study.recipes_place = place_of(table, name, "run", "recipes");
  study.seeds_place = place_of(table, name, "run", "seeds");
  for (const auto& [section, key] : {std::pair{"data", "batch"}, {"data", "held_back"}, {"model", "vocabulary"}})
    study.places[std::string("[") + section + "] " + key] = place_of(table, name, section, key);
  study.places["cross_entropy"] = place_of(table, name, "data", "targets");
  return study;
}

void check_runs(const TrainStudy& study) {
  in_place(study.recipes_place + ":", [&] {
    if (study.run.recipes.empty()) throw Error("give one or more");
    std::map<std::string, std::string> words;
    for (const std::string& word : study.run.recipes) {
      recipes::wider_of(recipes::open_recipe(word));
      const auto [other, is_new] = words.emplace(recipes::name_of(word), word);
      if (!is_new)
        throw Error("'" + other->second + "' and '" + word + "' have one name, " + other->first + ", and so would their files");
    }
  });
  // Of numbers in float32 a recipe of float64 says nothing.
  for (const std::string& evaluated : study.run.evaluate)
    for (const std::string& trained : study.run.recipes)
      if (is_wide(recipes::open_recipe(evaluated)) && !is_wide(recipes::open_recipe(trained)))
        throw Error(study.recipes_place + ": '" + trained + "' trains in float32, whose weights cannot be evaluated under '" +
                    evaluated + "'; leave one of them out");
  in_place(study.seeds_place + ":", [&] {
    if (study.run.seeds.empty()) throw Error("give one or more");
    std::set<std::uint64_t> seeds;
    for (const std::uint64_t seed : study.run.seeds)
      if (!seeds.insert(seed).second) throw Error(std::to_string(seed) + " is given twice: its runs would be the same");
  });
}

TrainStudy read_train_study(const std::string& path) {
  return parse_train_study(files::read_file_or_own(path, requests::most_toml), path);
}

}  // namespace ulpscope::training
