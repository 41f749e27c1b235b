// SPDX-License-Identifier: Apache-2.0
// The operations of a framework's model under a recipe: each is done on a tape of its own, forward and backward, by the code
// that the laboratory trains with.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "python/bindings.hpp"
#include "recipes/recipe.hpp"
#include "requests/parts.hpp"
#include "training/state/optimizer.hpp"
#include "training/tape/operations.hpp"
#include "training/train/monitor.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_findings.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::python {
namespace {

using training::Variable;
using Tape = training::Tape<float>;
using Variables = std::vector<Variable>;
using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

/// Numbers of an operation that are no tensors: `eps`, `stride`, classes. Those that are missing have no default here.
class Settings {
 public:
  explicit Settings(std::map<std::string, std::vector<double>> values) : values_(std::move(values)) {}
  const std::vector<double>& list(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw Error("emulate: an operation without '" + key + "'");
    return found->second;
  }
  double number(const std::string& key) const { return list(key).at(0); }
  float real(const std::string& key) const { return static_cast<float>(number(key)); }
  std::size_t whole(const std::string& key) const { return static_cast<std::size_t>(number(key)); }
  std::vector<std::size_t> wholes(const std::string& key) const { return {list(key).begin(), list(key).end()}; }
  std::optional<std::size_t> dimension() const {
    return values_.contains("dimension") ? std::optional(whole("dimension")) : std::nullopt;
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

using Operation = std::function<Variable(Tape&, const Variables&, const Settings&)>;

std::optional<Variable> third(const Variables& x) { return x.size() > 2 ? std::optional(x[2]) : std::nullopt; }

Operation of_one(Variable (*function)(Tape&, Variable)) {
  return [function](Tape& tape, const Variables& x, const Settings&) { return function(tape, x[0]); };
}
Operation of_two(Variable (*function)(Tape&, Variable, Variable)) {
  return [function](Tape& tape, const Variables& x, const Settings&) { return function(tape, x[0], x[1]); };
}

/// By the names that recipes' rules have for them, or those of training/tape/operations.hpp.
const std::map<std::string, Operation>& operations() {
  namespace t = training;
  static const std::map<std::string, Operation> all = {
      {"add", of_two(t::add<float>)},
      {"subtract", of_two(t::subtract<float>)},
      {"multiply", of_two(t::multiply<float>)},
      {"divide", of_two(t::divide<float>)},
      {"affine", [](Tape& tape, const Variables& x,
                    const Settings& s) { return t::affine(tape, x[0], s.real("factor"), s.real("summand")); }},
      {"exp", of_one(t::exp<float>)},
      {"log", of_one(t::log<float>)},
      {"sqrt", of_one(t::sqrt<float>)},
      {"square", of_one(t::square<float>)},
      {"relu", of_one(t::relu<float>)},
      {"sigmoid", of_one(t::sigmoid<float>)},
      {"tanh", of_one(t::tanh<float>)},
      {"gelu", of_one(t::gelu<float>)},
      {"silu", of_one(t::silu<float>)},
      {"sum", [](Tape& tape, const Variables& x, const Settings& s) { return t::sum(tape, x[0], s.dimension()); }},
      {"mean", [](Tape& tape, const Variables& x, const Settings& s) { return t::mean(tape, x[0], s.dimension()); }},
      {"softmax", of_one(t::softmax<float>)},
      {"log_softmax", of_one(t::log_softmax<float>)},
      {"layer_norm",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::layer_norm(tape, x[0], x[1], x[2], s.real("eps")); }},
      {"rms_norm",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::rms_norm(tape, x[0], x[1], s.real("eps")); }},
      {"gather", [](Tape& tape, const Variables& x, const Settings& s) { return t::gather(tape, x[0], s.wholes("rows")); }},
      {"max_pool", [](Tape& tape, const Variables& x, const Settings& s) { return t::max_pool(tape, x[0], s.whole("size")); }},
      {"mask_future",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::mask_future(tape, x[0], s.real("value")); }},
      {"matmul", [](Tape& tape, const Variables& x, const Settings&) { return t::matmul(tape, x[0], x[1]); }},
      {"linear", [](Tape& tape, const Variables& x, const Settings&) { return t::linear(tape, x[0], x[1], third(x)); }},
      {"convolution",
       [](Tape& tape, const Variables& x, const Settings& s) {
         return t::convolution(tape, x[0], x[1], third(x), {.stride = s.whole("stride"), .padding = s.whole("padding")});
       }},
      {"cross_entropy",
       [](Tape& tape, const Variables& x, const Settings& s) { return t::cross_entropy(tape, x[0], s.wholes("classes")); }},
      {"mean_squared_error", of_two(t::mean_squared_error<float>)},
      {"binary_cross_entropy_with_logits", of_two(t::binary_cross_entropy_with_logits<float>)},
  };
  return all;
}

training::Array<float> array_of(const Floats& array) {
  training::Shape shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return {std::move(shape), std::vector<float>(array.data(), array.data() + array.size())};
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
  training::Precision precision() const { return *precision_; }
  std::uint64_t next_key() { return (seed_ << 32U) + operation_++; }
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
    return training::findings_table({all});
  }
  ///@}
  /// What became of a tensor's updates in the present step.
  void count_updates(const training::UpdateCounts& counts) {
    const std::scoped_lock lock(mutex_);
    updates_.resize(step_ + 1);
    updates_[step_].wanted += counts.wanted, updates_[step_].lost += counts.lost;
  }
  const training::StateStorage& storage() const { return storage_; }
  std::uint64_t steps() const { return step_; }
  std::uint64_t seed() const { return seed_; }

 private:
  training::RunResult so_far() {
    training::RunResult all = result_;
    for (const auto& [place, counts] : monitor_.places()) all.places.push_back({step_, place, counts});
    return all;
  }
  void take() { result_ = so_far(); }

  recipes::Recipe recipe_;
  std::uint64_t seed_, operation_ = 0, step_ = 0;
  training::StateStorage storage_;
  training::DelayedScales delayed_;
  training::DynamicLayers dynamic_;
  std::optional<training::Precision> precision_;
  std::mutex mutex_;
  training::Monitor monitor_;
  training::RunResult result_;
  std::vector<training::UpdateCounts> updates_;  // by step
};

/// One operation that was done, until its gradients are asked for.
class Done {
 public:
  Done(std::shared_ptr<Emulation> by, const std::string& operation, const std::string& layer, const std::vector<Floats>& arrays,
       const std::vector<std::string>& formats, const std::vector<bool>& trained, const Settings& settings)
      : by_(std::move(by)), tape_(by_->precision(), by_->next_key(), 0) {
    const auto found = operations().find(operation);
    if (found == operations().end()) throw Error("emulate: there is no operation " + operation);
    std::vector<training::Array<float>> values;
    for (const Floats& array : arrays) values.push_back(array_of(array));
    const nb::gil_scoped_release released;
    tape_.on_stored([to = by_.get()](const training::Stored<float>& stored) { to->count(stored); });
    tape_.enter(layer);
    for (std::size_t i = 0; i < values.size(); ++i)
      inputs_.push_back(tape_.input(std::move(values[i]), requests::parse_format(formats.at(i)), trained.at(i)));
    output_ = found->second(tape_, inputs_, settings);
  }
  nb::object output() const { return numpy_of(tape_.value(output_)); }
  std::string format() const { return emu::format_name(tape_.format(output_)); }
  /// An array for each input, None where it has no gradient.
  nb::list backward(const Floats& gradient) {
    if (back_) throw Error("emulate: the gradients of an operation can be asked for once");
    back_ = true;
    training::Array<float> seed = array_of(gradient);
    seed.shape = tape_.shape(output_);
    {
      const nb::gil_scoped_release released;
      tape_.backward(output_, std::move(seed));
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

 private:
  std::shared_ptr<Emulation> by_;
  Tape tape_;
  Variables inputs_;
  Variable output_;
  bool back_ = false;
};

/// One tensor's step by the recipe's storage: its new weights.
nb::object step_of(Emulation& by, const std::string& kind, const std::map<std::string, double>& numbers, const Floats& weights,
                   const Floats& gradient, training::OptimizerState<float>& state, std::uint64_t tensor) {
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
  training::Array<float> now = array_of(weights);
  const training::Array<float> by_gradient = array_of(gradient);
  training::UpdateCounts counts;
  {
    const nb::gil_scoped_release released;
    const std::uint64_t key = (by.seed() << 32U) ^ (by.steps() << 16U) ^ tensor ^ 0x9e3779b97f4a7c15U;
    counts = training::optimizer_step(settings, by.storage(), number("lr", 0), now.values, by_gradient.values, state, key, 0,
                                      now.shape);
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
      .def_prop_ro("format", &Done::format)
      .def("backward", &Done::backward);
}

}  // namespace ulpscope::python
