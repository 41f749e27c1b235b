// SPDX-License-Identifier: Apache-2.0
// The operations of a framework's model under a recipe: each is done on a tape of its own, forward and backward, by the code
// that the laboratory trains with.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "python/bindings.hpp"
#include "python/operations.hpp"
#include "recipes/recipe.hpp"
#include "requests/parts.hpp"
#include "training/state/optimizer.hpp"
#include "training/state/running_statistics.hpp"
#include "training/train/monitor.hpp"
#include "training/train/random_keys.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_findings.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::python {
namespace {

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

training::Array<float> array_of(const Floats& array) {
  training::Shape shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return {std::move(shape), std::vector<float>(array.data(), array.data() + array.size())};
}

/// In place, to nearest even.
void round_floats(std::vector<float>& values, emu::Format format) {
  if (format != emu::float32) emu::round_to(format, std::span<const float>(values), std::span<float>(values), {}, {});
}

nb::object numpy_of(const training::Array<float>& array) {
  return nb::cast(new_array(std::vector<float>(array.values), {array.shape.begin(), array.shape.end()}));
}

/// A recipe at work on a model that is not ours, and what became of every number that it rounded.
class Emulation : public std::enable_shared_from_this<Emulation> {
 public:
  Emulation(const std::string& recipe, std::uint64_t seed)
      : recipe_(recipes::open_recipe(recipe)),
        seed_(seed),
        storage_(training::state_storage_of(recipe_)),
        dynamic_(recipe_.dynamic) {
    if (training::is_wide(recipe_)) throw Error("emulate: " + recipe + " keeps weights in float64, which this cannot");
    result_.recipe = recipe, result_.seed = seed;
    set_layers({});
  }

  /// Those that have products, in order, for rules by depth.
  void set_layers(std::vector<std::string> layers) {
    precision_ = training::precision_of(recipe_, delayed_, std::move(layers), &dynamic_);
  }
  /// A tape for the next operation: its stochastic roundings go on where the last one's ended, as those of one tape of the
  /// laboratory for all of a step.
  Tape tape() {
    const std::scoped_lock lock(mutex_);
    Tape made(*precision_, training::batch_key(seed_, step_), 0);
    made.go_on_from(random_);
    return made;
  }
  /// The same for the gradients of an operation: the words of its tape from now on, and what it left.
  ///@{
  void give_random_to(Tape& tape) {
    const std::scoped_lock lock(mutex_);
    tape.go_on_from(random_);
  }
  void take_random_from(const Tape& tape) {
    const std::scoped_lock lock(mutex_);
    random_ = tape.next_random();
  }
  ///@}
  emu::Format weights_format() const { return storage_.weights.format; }
  emu::Format gradients_format() const { return requests::parse_format(recipe_.state.gradients); }
  void count(const training::Stored<float>& stored) {
    const std::scoped_lock lock(mutex_);
    monitor_.add(stored);
  }
  /// An optimizer's step has been.
  void step() {
    const std::scoped_lock lock(mutex_);
    take();
    for (const training::LayerMove& move : dynamic_.look(step_, monitor_.places()))
      result_.findings.push_back(
          {step_, move.layer, move.place, move.wider ? "wider" : "narrower", move.value, move.threshold});
    delayed_.step();
    monitor_.clear();
    random_ = 0;
    ++step_;
  }
  /// What became of the numbers of each layer, operation and place, by step; what monitors of a run of the laboratory say of
  /// it.
  ///@{
  reports::Table tensors() {
    const std::scoped_lock lock(mutex_);
    return training::tensors_table({so_far()});
  }
  reports::Table findings() {
    const std::scoped_lock lock(mutex_);
    training::RunResult all = so_far();
    // Of losses and norms of gradients nothing is known here: a skipped step says nothing of them.
    for (std::uint64_t step = 0; step <= step_; ++step) {
      all.steps.emplace_back();
      all.steps.back().step = step, all.steps.back().skipped = true;
      if (step < updates_.size()) all.steps.back().wanted = updates_[step].wanted, all.steps.back().lost = updates_[step].lost;
    }
    constexpr double notable_loss = 0.5;  // of changes to a running statistic, as the laboratory has it
    for (const auto& [layer, kept] : statistics_)
      if (const double lost = static_cast<double>(kept.lost) / static_cast<double>(std::max<std::uint64_t>(kept.wanted, 1));
          lost > notable_loss)
        all.findings.push_back({step_, layer, "batch_norm", "statistics_stagnation", lost, notable_loss});
    return training::findings_table({all});
  }
  ///@}
  /// Mean and variance of a layer's batch norm behind a batch.
  training::BatchStatistics<float> follow(const std::string& layer, training::BatchStatistics<float> kept,
                                          const training::BatchStatistics<float>& batch, double momentum) {
    const std::scoped_lock lock(mutex_);
    training::RunningStatistics<float>& running = statistics_.try_emplace(layer, kept.mean.size()).first->second;
    running.statistics = std::move(kept);
    training::follow(running, batch, {requests::parse_format(recipe_.state.statistics), {}}, momentum);
    return running.statistics;
  }
  /// What became of a tensor's updates in the present step.
  void count_updates(const training::UpdateCounts& counts) {
    const std::scoped_lock lock(mutex_);
    updates_.resize(step_ + 1);
    updates_[step_].wanted += counts.wanted, updates_[step_].lost += counts.lost;
  }
  const training::StateStorage& storage() const { return storage_; }
  std::uint64_t seed() const { return seed_; }
  /// Random words for the update of so many weights: where they begin.
  std::uint64_t take_update_words(std::size_t count) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(update_words_, update_words_ + count);
  }

 private:
  training::RunResult so_far() {
    training::RunResult all = result_;
    for (const auto& [place, counts] : monitor_.places()) all.places.push_back({step_, place, counts});
    return all;
  }
  void take() { result_ = so_far(); }

  recipes::Recipe recipe_;
  std::uint64_t seed_, random_ = 0, update_words_ = 0, step_ = 0;
  training::StateStorage storage_;
  training::DelayedScales delayed_;
  training::DynamicLayers dynamic_;
  std::optional<training::Precision> precision_;
  std::mutex mutex_;
  training::Monitor monitor_;
  training::RunResult result_;
  std::vector<training::UpdateCounts> updates_;  // by step
  std::map<std::string, training::RunningStatistics<float>> statistics_;
};

/// One operation that was done, until its gradients are asked for.
class Done {
 public:
  Done(std::shared_ptr<Emulation> by, const std::string& operation, const std::string& layer, const std::vector<Floats>& arrays,
       const std::vector<std::string>& formats, const std::vector<bool>& trained, const Settings& settings)
      : by_(std::move(by)), tape_(by_->tape()), made_(Variables{}) {
    const auto found = operations().find(operation);
    if (found == operations().end()) throw Error("emulate: there is no operation " + operation);
    std::vector<training::Array<float>> values;
    for (const Floats& array : arrays) values.push_back(array_of(array));
    const nb::gil_scoped_release released;
    tape_.on_stored([to = by_.get()](const training::Stored<float>& stored) { to->count(stored); });
    tape_.enter(layer);
    Variables inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const emu::Format format = requests::parse_format(formats.at(i));
      // Weights may come as torch has them, before their first step.
      if (format == by_->weights_format()) round_floats(values[i].values, format);
      inputs.push_back(tape_.input(std::move(values[i]), format, trained.at(i)));
    }
    made_ = found->second(tape_, inputs, settings);
    by_->take_random_from(tape_);
    inputs_ = std::move(inputs);
  }
  nb::object output() const { return numpy_of(tape_.value(made_.variables.back())); }
  std::vector<std::string> formats() const {
    std::vector<std::string> all;
    for (const Variable v : made_.variables) all.push_back(emu::format_name(tape_.format(v)));
    return all;
  }
  /// An array for each input, None where it has no gradient.
  nb::list backward(const Floats& gradient) {
    const Variable of = made_.variables.back();
    training::Array<float> seed = array_of(gradient);
    seed.shape = tape_.shape(of);
    {
      const nb::gil_scoped_release released;
      by_->give_random_to(tape_);
      tape_.backward(of, std::move(seed));
      by_->take_random_from(tape_);
    }
    nb::list all;
    for (const Variable input : inputs_) {
      if (tape_.has_gradient(input) && !tape_.gradient(input).empty())
        all.append(numpy_of(tape_.gradient(input)));
      else
        all.append(nb::none());
    }
    return all;
  }
  /// Of a batch norm: running mean and variance behind this batch.
  nb::object follow(const std::string& layer, const Floats& mean, const Floats& variance, double momentum) {
    const training::BatchStatistics<float> kept =
        by_->follow(layer, {array_of(mean).values, array_of(variance).values}, made_.statistics, momentum);
    const training::Shape shape{kept.mean.size()};
    return nb::make_tuple(numpy_of(training::Array<float>(shape, kept.mean)),
                          numpy_of(training::Array<float>(shape, kept.variance)));
  }

 private:
  std::shared_ptr<Emulation> by_;
  Tape tape_;
  Variables inputs_;
  Made made_;
};

/// One tensor's step by the recipe's storage: its new weights.
nb::object step_of(Emulation& by, const std::string& kind, const std::map<std::string, double>& numbers, const Floats& weights,
                   const Floats& gradient, training::OptimizerState<float>& state) {
  training::OptimizerSettings settings;
  settings.kind = training::parse_optimizer(kind);
  const auto number = [&](const char* key, double standard) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? standard : found->second;
  };
  settings.momentum = number("momentum", 0), settings.dampening = number("dampening", 0);
  settings.nesterov = number("nesterov", 0) != 0, settings.weight_decay = number("weight_decay", 0);
  settings.beta1 = number("beta1", settings.beta1), settings.beta2 = number("beta2", settings.beta2);
  settings.eps = number("eps", settings.eps);
  settings.ns_steps = static_cast<std::uint64_t>(number("ns_steps", static_cast<double>(settings.ns_steps)));
  settings.adjust_lr =
      number("match_rms_adamw", 0) != 0 ? training::RateAdjustment::match_rms_adamw : training::RateAdjustment::original;
  training::Array<float> now = array_of(weights);
  round_floats(now.values, by.weights_format());
  const training::Array<float> by_gradient = array_of(gradient);
  training::UpdateCounts counts;
  {
    const nb::gil_scoped_release released;
    counts = training::optimizer_step(settings, by.storage(), number("lr", 0), now.values, by_gradient.values, state,
                                      training::update_key(by.seed()), by.take_update_words(now.count()), now.shape);
  }
  by.count_updates(counts);
  return numpy_of(now);
}

}  // namespace

void add_emulation(nb::module_& m) {
  nb::class_<training::OptimizerState<float>>(m, "OptimizerState").def(nb::init<>());
  nb::class_<Emulation>(m, "Emulation")
      .def(nb::new_([](const std::string& recipe, std::uint64_t seed) { return std::make_shared<Emulation>(recipe, seed); }))
      .def("set_layers", &Emulation::set_layers)
      .def_prop_ro("weights_format", [](const Emulation& self) { return emu::format_name(self.weights_format()); })
      .def_prop_ro("gradients_format", [](const Emulation& self) { return emu::format_name(self.gradients_format()); })
      .def("step", &Emulation::step)
      .def("tensors", [](Emulation& self) { return as_python(self.tensors()); })
      .def("findings", [](Emulation& self) { return as_python(self.findings()); })
      .def("optimizer_step", &step_of);
  nb::class_<Done>(m, "Done")
      .def("__init__",
           [](Done* self, std::shared_ptr<Emulation> by, const std::string& operation, const std::string& layer,
              const std::vector<Floats>& arrays, const std::vector<std::string>& formats, const std::vector<bool>& trained,
              std::map<std::string, std::vector<double>> settings) {
             new (self) Done(std::move(by), operation, layer, arrays, formats, trained, Settings(std::move(settings)));
           })
      .def_prop_ro("output", &Done::output)
      .def_prop_ro("formats", &Done::formats)
      .def("backward", &Done::backward)
      .def("follow", &Done::follow);
  m.def("rounded", [](const Floats& numbers, const std::string& format) {
    training::Array<float> all = array_of(numbers);
    round_floats(all.values, requests::parse_format(format));
    return numpy_of(all);
  });
}

}  // namespace ulpscope::python
