// SPDX-License-Identifier: Apache-2.0
// The operations of a framework's model under a recipe: each is done on a tape of its own, forward and backward, by the code
// that the laboratory trains with.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "python/bindings.hpp"
#include "python/emulation.hpp"
#include "python/operations.hpp"
#include "requests/parts.hpp"
#include "training/train/random_keys.hpp"

namespace ulpscope::python {
namespace {

template <class Real>
using Numbers = nb::ndarray<const Real, nb::c_contig, nb::device::cpu>;

template <class Real>
training::Array<Real> array_of(const Numbers<Real>& array) {
  training::Shape shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(array.shape(i));
  return {std::move(shape), std::vector<Real>(array.data(), array.data() + array.size())};
}

/// In place, to nearest even.
template <class Real>
void round_numbers(std::vector<Real>& values, emu::Format format) {
  if (format == (std::is_same_v<Real, float> ? emu::float32 : emu::float64)) return;
  emu::round_to(format, std::span<const Real>(values), std::span<Real>(values), {}, {});
}

template <class Real>
nb::object numpy_of(training::Array<Real> array) {
  return nb::cast(new_array(std::move(array.values), {array.shape.begin(), array.shape.end()}));
}

/// One operation that was done, until its gradients are asked for.
template <class Real>
class Done {
 public:
  Done(std::shared_ptr<Emulation> by, const std::string& operation, const std::string& layer,
       const std::vector<Numbers<Real>>& arrays, const std::vector<std::string>& formats, const std::vector<bool>& trained,
       const Settings& settings)
      : by_(std::move(by)), tape_(by_->tape<Real>()), made_(Variables{}) {
    const auto found = operations<Real>().find(operation);
    if (found == operations<Real>().end()) throw Error("emulate: there is no operation " + operation);
    std::size_t numbers = 0;
    for (const Numbers<Real>& array : arrays) numbers += array.size();
    work_on(numbers, [&] {
      tape_.on_stored([to = by_.get()](const training::Stored<Real>& stored) { to->count(stored); });
      tape_.enter(layer);
      Variables inputs;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        training::Array<Real> value = array_of(arrays[i]);
        const emu::Format format = requests::parse_format(formats.at(i));
        // Weights may come as torch has them, before their first step.
        if (format == by_->weights_format()) round_numbers(value.values, format);
        inputs.push_back(tape_.input(std::move(value), format, trained.at(i)));
      }
      made_ = found->second(tape_, inputs, settings);
      by_->take_random_from(tape_);
      inputs_ = std::move(inputs);
    });
  }
  nb::object output() const { return numpy_of(training::Array<Real>(tape_.value(made_.variables.back()))); }
  std::vector<std::string> formats() const {
    std::vector<std::string> all;
    for (const Variable v : made_.variables) all.push_back(emu::format_name(tape_.format(v)));
    return all;
  }
  /// An array for each input, None where it has no gradient.
  nb::list backward(const Numbers<Real>& gradient) {
    const Variable of = made_.variables.back();
    std::size_t numbers = gradient.size();
    for (const Variable input : inputs_) numbers += tape_.value(input).count();
    work_on(numbers, [&] {
      training::Array<Real> seed = array_of(gradient);
      seed.shape = tape_.shape(of);
      by_->give_random_to(tape_);
      tape_.backward(of, std::move(seed));
      by_->take_random_from(tape_);
    });
    nb::list all;
    for (const Variable input : inputs_) {
      if (tape_.has_gradient(input) && !tape_.gradient(input).empty())
        all.append(numpy_of(training::Array<Real>(tape_.gradient(input))));
      else
        all.append(nb::none());
    }
    return all;
  }
  /// Of a batch norm: running mean and variance behind this batch.
  nb::object follow(const std::string& layer, const Numbers<Real>& mean, const Numbers<Real>& variance, double momentum) {
    const training::BatchStatistics<Real> kept =
        by_->follow<Real>(layer, {array_of(mean).values, array_of(variance).values}, made_.statistics, momentum);
    const training::Shape shape{kept.mean.size()};
    return nb::make_tuple(numpy_of(training::Array<Real>(shape, kept.mean)),
                          numpy_of(training::Array<Real>(shape, kept.variance)));
  }

 private:
  std::shared_ptr<Emulation> by_;
  training::Tape<Real> tape_;
  Variables inputs_;
  Made<Real> made_;
};

training::OptimizerSettings settings_of(const std::string& kind, const std::map<std::string, double>& numbers) {
  const auto number = [&](const char* key, double standard) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? standard : found->second;
  };
  training::OptimizerSettings settings;
  settings.kind = training::parse_optimizer(kind);
  settings.momentum = number("momentum", 0), settings.dampening = number("dampening", 0);
  settings.nesterov = number("nesterov", 0) != 0, settings.weight_decay = number("weight_decay", 0);
  settings.beta1 = number("beta1", settings.beta1), settings.beta2 = number("beta2", settings.beta2);
  settings.eps = number("eps", settings.eps);
  settings.ns_steps = static_cast<std::uint64_t>(number("ns_steps", static_cast<double>(settings.ns_steps)));
  settings.adjust_lr =
      number("match_rms_adamw", 0) != 0 ? training::RateAdjustment::match_rms_adamw : training::RateAdjustment::original;
  return settings;
}

/// One tensor's step by the recipe's storage: its new weights.
template <class Real>
nb::object step_of(Emulation& by, const std::string& kind, const std::map<std::string, double>& numbers,
                   const Numbers<Real>& weights, const Numbers<Real>& gradient, training::OptimizerState<Real>& state) {
  const training::OptimizerSettings settings = settings_of(kind, numbers);
  const auto rate = numbers.find("lr");
  training::Array<Real> now;
  training::UpdateCounts counts;
  work_on(weights.size(), [&] {
    now = array_of(weights);
    round_numbers(now.values, by.weights_format());
    counts = training::optimizer_step(settings, by.storage(), rate == numbers.end() ? 0 : rate->second, now.values,
                                      array_of(gradient).values, state, training::update_key(by.seed()),
                                      by.take_update_words(now.count()), now.shape);
  });
  by.count_updates(counts);
  return numpy_of(std::move(now));
}

template <class Real>
nb::object rounded(const Numbers<Real>& numbers, const std::string& format) {
  training::Array<Real> all = array_of(numbers);
  round_numbers(all.values, requests::parse_format(format));
  return numpy_of(std::move(all));
}

/// What is of float32 numbers, or of float64 numbers, whose classes have other names.
template <class Real>
void add_of(nb::module_& m, nb::class_<Emulation>& emulation, const char* done, const char* state) {
  using State = training::OptimizerState<Real>;
  nb::class_<State> states(m, state);
  states.def(nb::init<>()).def_rw("steps", &State::steps);
  const auto add = [&](const char* name, std::vector<Real> State::*moment) {
    states.def_prop_rw(
        name, [moment](const State& self) { return numpy_of(training::Array<Real>({(self.*moment).size()}, self.*moment)); },
        [moment](State& self, const Numbers<Real>& values) { self.*moment = array_of(values).values; });
  };
  add("first", &State::first), add("second", &State::second), add("compensation", &State::compensation);
  emulation.def("optimizer_step", &step_of<Real>);
  nb::class_<Done<Real>>(m, done)
      .def("__init__",
           [](Done<Real>* self, std::shared_ptr<Emulation> by, const std::string& operation, const std::string& layer,
              const std::vector<Numbers<Real>>& arrays, const std::vector<std::string>& formats,
              const std::vector<bool>& trained, std::map<std::string, std::vector<double>> settings) {
             new (self) Done<Real>(std::move(by), operation, layer, arrays, formats, trained, Settings(std::move(settings)));
           })
      .def_prop_ro("output", &Done<Real>::output)
      .def_prop_ro("formats", &Done<Real>::formats)
      .def("backward", &Done<Real>::backward)
      .def("follow", &Done<Real>::follow);
  m.def("rounded", &rounded<Real>);
}

}  // namespace

void add_emulation(nb::module_& m) {
  nb::class_<Emulation> emulation(m, "Emulation");
  emulation
      .def(nb::new_([](const std::string& recipe, std::uint64_t seed) { return std::make_shared<Emulation>(recipe, seed); }))
      .def("set_layers", &Emulation::set_layers)
      .def_prop_ro("is_wide", &Emulation::is_wide)
      .def_prop_ro("weights_format", [](const Emulation& self) { return emu::format_name(self.weights_format()); })
      .def_prop_ro("gradients_format", [](const Emulation& self) { return emu::format_name(self.gradients_format()); })
      .def_prop_ro("given_format", [](const Emulation& self) { return emu::format_name(self.given_format()); })
      .def("step", &Emulation::step)
      .def("tensors", [](Emulation& self) { return as_python(self.tensors()); })
      .def("findings", [](Emulation& self) { return as_python(self.findings()); });
  add_of<float>(m, emulation, "Done", "OptimizerState");
  add_of<double>(m, emulation, "WideDone", "WideOptimizerState");
}

}  // namespace ulpscope::python
