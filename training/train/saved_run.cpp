// SPDX-License-Identifier: Apache-2.0
// Runs to files and back.
#include "training/train/saved_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "emu/names.hpp"
#include "reports/sha256.hpp"
#include "tensors/tensor.hpp"
#include "tensors/write.hpp"
#include "training/train/model.hpp"

namespace ulpscope::training {
namespace {

using nlohmann::json;

const char* const kind = "ulpscope training run";

/// Null where the text is no JSON that is read.
json json_of(const std::string& text) {
  try {
    return emu::parse_json(text);
  } catch (const emu::BadJson&) {
    return {};
  }
}

/// Takes numbers one after the other.
class Taken {
 public:
  explicit Taken(const std::vector<double>& all) : all_(all) {}
  double number() {
    if (next_ >= all_.size()) throw Error("a saved run ends too early");
    return all_[next_++];
  }
  std::uint64_t whole() { return whole_of(number()); }
  bool is_left() const { return next_ < all_.size(); }

 private:
  const std::vector<double>& all_;
  std::size_t next_ = 0;
};

constexpr const char* of_weights = "recorded";  ///< what is recorded of them; of gradients there are no statistics

double number(std::uint64_t x) { return static_cast<double>(x); }

void save_recorded(const std::string& name, const std::vector<RecordedWeights>& all, SavedRun& run) {
  std::vector<double>& steps = run.numbers[name];
  for (const RecordedWeights& recorded : all) {
    steps.push_back(number(recorded.step));
    for (std::size_t i = 0; i < recorded.values.size(); ++i)
      run.numbers[name + "/" + std::to_string(recorded.step) + "/" + std::to_string(i)] = recorded.values[i];
    for (std::size_t i = 0; i < recorded.averages.size(); ++i)
      run.numbers[name + "/average/" + std::to_string(recorded.step) + "/" + std::to_string(i)] = recorded.averages[i];
    for (const auto& [of_layer, values] : recorded.statistics)
      run.numbers[name + "/statistics/" + std::to_string(recorded.step) + "/" + of_layer] = values;
  }
}

void restore_recorded(const std::string& name, const std::vector<ParameterShape>& parameters, const SavedRun& run,
                      std::vector<RecordedWeights>& all) {
  all.clear();
  for (const double step : run.at(name)) {
    RecordedWeights& recorded = all.emplace_back();
    recorded.step = whole_of(step);
    const auto sized = [&](const std::string& entry, std::size_t i) {
      const std::vector<double>& values = run.at(entry);
      if (values.size() != count_of(parameters[i].shape))
        throw Error(entry + ": " + std::to_string(values.size()) + " numbers");
      return values;
    };
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string entry = std::to_string(recorded.step) + "/" + std::to_string(i);
      recorded.values.push_back(sized(name + "/" + entry, i));
      if (run.numbers.contains(name + "/average/" + entry)) recorded.averages.push_back(sized(name + "/average/" + entry, i));
    }
    if (!recorded.averages.empty() && recorded.averages.size() != parameters.size())
      throw Error(name + "/average: of " + std::to_string(recorded.averages.size()) + " parameters");
    const std::string statistics = name + "/statistics/" + std::to_string(recorded.step) + "/";
    for (auto entry = run.numbers.lower_bound(statistics); entry != run.numbers.end() && entry->first.starts_with(statistics);
         ++entry)
      recorded.statistics[entry->first.substr(statistics.size())] = entry->second;
    for (const auto& [entry, mean] : run.numbers) {
      constexpr std::string_view of_layer = "mean/";  // what the run itself keeps of each batch norm; a part has no state
      if (name != of_weights || !entry.starts_with(of_layer)) continue;
      for (const char* const which : {running_mean, running_variance})
        if (const std::string key = statistics + entry.substr(of_layer.size()) + which; run.at(key).size() != mean.size())
          throw Error(key + ": not as many as means");
    }
  }
}

constexpr const char* of_content = "sha256";  ///< the word of it

/// Of all names, numbers and words: a bit that a disk loses would else make another run.
std::string digest_of(const SavedRun& run) {
  std::string all;
  const auto add = [&](std::string_view text) { all += std::to_string(text.size()) + " " + std::string(text); };
  for (const auto& [name, values] : run.numbers) {
    add(name), add(std::to_string(values.size()));
    for (const double value : values)
      for (emu::Code code = emu::encode(emu::float64, value), byte = 0; byte < sizeof code; ++byte, code >>= 8)
        all += static_cast<char>(code & 0xff);
  }
  for (const auto& [name, word] : run.words)
    if (name != "kind" && name != of_content) add(name), add(word);
  return reports::sha256(all);
}

}  // namespace

const std::vector<double>& SavedRun::at(const std::string& name) const {
  const auto found = numbers.find(name);
  if (found == numbers.end()) throw Error("a saved run without " + name);
  return found->second;
}

void write_saved_run(const std::string& path, const SavedRun& run) {
  std::vector<tensors::NamedCodes> all;
  for (const auto& [name, values] : run.numbers)
    all.push_back({name, emu::float64, {values.size()}, [&values](std::uint64_t first, std::span<emu::Code> out) {
                     for (std::size_t i = 0; i < out.size(); ++i)
                       out[i] = emu::encode(emu::float64, values[static_cast<std::size_t>(first) + i]);
                   }});
  json words(run.words);
  words["kind"] = kind;
  words[of_content] = digest_of(run);
  tensors::write_safetensors(path, all, {.copied = {}, .metadata = words.dump()});
}

std::uint64_t whole_of(double number) {
  if (!(number >= 0 && number <= 0x1p53)) throw Error("a saved run with a count that is none");
  return static_cast<std::uint64_t>(number);
}

SavedRun saved_run_of(const std::string& metadata, const std::vector<tensors::Tensor>& tensors, const std::string& path) {
  SavedRun run;
  const json words = json_of(metadata);
  if (!words.is_object() || words.value("kind", "") != kind) throw Error(path + ": is no saved training run");
  for (const auto& [name, word] : words.items())
    if (word.is_string()) run.words[name] = word.get<std::string>();
  for (const tensors::Tensor& tensor : tensors) {
    std::vector<double>& values = run.numbers[tensor.name];
    values.resize(tensor.count());
    if (!values.empty()) tensor.source->read(0, std::span<double>(values));
  }
  return run;
}

SavedRun read_saved_run(const std::string& path) {
  SavedRun run = saved_run_of(tensors::metadata(path), tensors::open(path), path);
  const auto written = run.words.find(of_content);
  if (written == run.words.end() || written->second != digest_of(run))
    throw Error(path + ": is damaged: it does not hold what was saved");
  run.words.erase(written);
  return run;
}

void save_result(const RunResult& result, SavedRun& run) {
  std::vector<double>& steps = run.numbers["result/steps"];
  for (const TrainStep& s : result.steps)
    for (const double x : {number(s.step), s.loss, s.grad_norm, s.scale, s.skipped ? 1.0 : 0.0, number(s.wanted),
                           number(s.lost), number(s.small), number(s.right), number(s.asked), s.other_loss,
                           s.other_skipped ? 1.0 : 0.0, number(s.average_wanted), number(s.average_lost)})
      steps.push_back(x);
  std::vector<double>& updates = run.numbers["result/updates"];
  for (const ParameterUpdates& u : result.updates)
    for (const double x : {number(u.wanted), number(u.lost), u.since ? 1.0 : 0.0, number(u.since.value_or(0))})
      updates.push_back(x);
  json places = json::array(), findings = json::array(), evaluations = json::array();
  std::vector<double>& counts = run.numbers["result/places"];
  for (const WatchedPlace& w : result.places) {
    const PlaceCounts& c = w.counts;
    places.push_back({w.place.layer, w.place.operation, w.place.place, emu::format_name(c.format)});
    for (const double x : {number(w.step), number(c.count), number(c.nan), number(c.infinite), number(c.zero), number(c.exact),
                           number(c.subnormal), number(c.to_zero), number(c.overflow), c.signal, c.noise})
      counts.push_back(x);
  }
  std::vector<double>& values = run.numbers["result/findings"];
  for (const TrainFinding& f : result.findings) {
    findings.push_back({f.layer, f.place, f.finding});
    for (const double x : {number(f.step), f.value, f.threshold}) values.push_back(x);
  }
  std::vector<double>& evaluated = run.numbers["result/evaluations"];
  for (const Evaluation& e : result.evaluations) {
    evaluations.push_back(e.recipe);
    for (const double x : {e.loss, e.accuracy ? 1.0 : 0.0, e.accuracy.value_or(0)}) evaluated.push_back(x);
  }
  run.words["places"] = places.dump(), run.words["findings"] = findings.dump(), run.words["evaluations"] = evaluations.dump();
  json products = json::array();
  std::vector<double>& counted = run.numbers["result/products"];
  for (const auto& [what, count] : result.products) products.push_back(what), counted.push_back(number(count));
  run.words["products"] = products.dump();
  save_recorded(of_weights, result.recorded, run);
  save_recorded("gradients", result.gradients, run);
  run.numbers["result/all"] = {result.diverged ? 1.0 : 0.0, result.accuracy ? 1.0 : 0.0,     result.accuracy.value_or(0),
                               result.distance ? 1.0 : 0.0, result.distance.value_or(0),     result.bytes_per_parameter,
                               result.bytes_per_activation, number(result.activation_bytes), number(result.all_reduce_bytes),
                               result.step_time ? 1.0 : 0.0};
  const StepTime time = result.step_time.value_or(StepTime{});
  run.numbers["result/all"].insert(run.numbers["result/all"].end(), {time.microseconds, time.covered});
}

namespace {

void restore(const SavedRun& run, RunResult& result) {
  const auto words = [&](const char* name) {
    const auto found = run.words.find(name);
    const json list = found == run.words.end() ? json() : json_of(found->second);
    if (!list.is_array()) throw Error(std::string("a saved run without ") + name);
    return list;
  };
  const auto optional_of = [](Taken& taken) {
    const bool is_there = taken.number() != 0;
    const double value = taken.number();
    return is_there ? std::optional(value) : std::nullopt;
  };
  result.steps.clear();
  for (Taken taken(run.at("result/steps")); taken.is_left();) {
    TrainStep& s = result.steps.emplace_back();
    s.step = taken.whole(), s.loss = taken.number(), s.grad_norm = taken.number(), s.scale = taken.number();
    s.skipped = taken.number() != 0, s.wanted = taken.whole(), s.lost = taken.whole(), s.small = taken.whole();
    s.right = taken.whole(), s.asked = taken.whole();
    s.other_loss = taken.number(), s.other_skipped = taken.number() != 0;
    s.average_wanted = taken.whole(), s.average_lost = taken.whole();
  }
  Taken updates(run.at("result/updates"));
  for (ParameterUpdates& u : result.updates) {
    u.wanted = updates.whole(), u.lost = updates.whole();
    const bool is_lost = updates.number() != 0;
    const std::uint64_t since = updates.whole();
    u.since = is_lost ? std::optional(since) : std::nullopt;
  }
  result.places.clear();
  Taken counts(run.at("result/places"));
  for (const json& place : words("places")) {
    WatchedPlace& w = result.places.emplace_back();
    w.place = {place.at(0), place.at(1), place.at(2)};
    const auto format = emu::parse_format(place.at(3).get<std::string>());
    if (!format) throw Error("a saved run of format " + place.at(3).get<std::string>());
    PlaceCounts& c = w.counts;
    c.format = *format, w.step = counts.whole(), c.count = counts.whole();
    for (std::uint64_t* const to : {&c.nan, &c.infinite, &c.zero, &c.exact, &c.subnormal, &c.to_zero, &c.overflow})
      *to = counts.whole();
    c.signal = counts.number(), c.noise = counts.number();
  }
  result.findings.clear();
  Taken values(run.at("result/findings"));
  for (const json& finding : words("findings")) {
    TrainFinding& f = result.findings.emplace_back();
    f.layer = finding.at(0), f.place = finding.at(1), f.finding = finding.at(2);
    f.step = values.whole(), f.value = values.number(), f.threshold = values.number();
  }
  result.evaluations.clear();
  Taken evaluated(run.at("result/evaluations"));
  for (const json& recipe : words("evaluations")) {
    Evaluation& e = result.evaluations.emplace_back();
    e.recipe = recipe, e.loss = evaluated.number(), e.accuracy = optional_of(evaluated);
  }
  result.products.clear();
  Taken counted(run.at("result/products"));
  for (const json& what : words("products")) result.products[what.get<std::string>()] = counted.whole();
  restore_recorded(of_weights, result.parameters, run, result.recorded);
  restore_recorded("gradients", result.parameters, run, result.gradients);
  Taken all(run.at("result/all"));
  result.diverged = all.number() != 0, result.accuracy = optional_of(all), result.distance = optional_of(all);
  result.bytes_per_parameter = all.number(), result.bytes_per_activation = all.number();
  result.activation_bytes = all.whole(), result.all_reduce_bytes = all.whole();
  const bool has_time = all.number() != 0;
  const double microseconds = all.number(), covered = all.number();
  result.step_time = has_time ? std::optional(StepTime{microseconds, covered}) : std::nullopt;
}

}  // namespace

void restore_result(const SavedRun& run, RunResult& result) {
  try {
    restore(run, result);
  } catch (const json::exception&) {
    throw Error("a saved run whose words are not ours");
  }
}

}  // namespace ulpscope::training
