// SPDX-License-Identifier: Apache-2.0
// By the names of parameters, scalers and layers.
#include "training/train/run_state.hpp"

#include <map>
#include <string>

#include "emu/error.hpp"
#include "training/train/wide.hpp"

namespace ulpscope::training {
namespace {

template <class Real>
std::vector<Real> narrow(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Names before `prefix/`, without it.
std::map<std::string, std::vector<double>> below(const SavedRun& run, const std::string& prefix) {
  std::map<std::string, std::vector<double>> found;
  for (const auto& [name, values] : run.numbers)
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = values;
  return found;
}

}  // namespace

template <class Real>
void save_state(const RunState<Real>& s, SavedRun& run) {
  run.numbers["run"] = {static_cast<double>(s.next_step), static_cast<double>(s.next_random), s.done ? 1.0 : 0.0};
  for (std::size_t i = 0; i < s.weights.size(); ++i) {
    const std::string& name = s.parameters[i].name;
    const OptimizerState<Real>& state = s.states[i];
    run.numbers["weights/" + name] = wide(s.weights[i]);
    run.numbers["first/" + name] = wide(state.first), run.numbers["second/" + name] = wide(state.second);
    run.numbers["compensation/" + name] = wide(state.compensation);
    run.numbers["updates/" + name] = {static_cast<double>(state.steps)};
    if (!s.average.tensors.empty()) run.numbers["average/" + name] = wide(s.average.tensors[i]);
  }
  if (s.scaler)
    for (const auto& [name, values] : s.scaler->state()) run.numbers["scaler/" + name] = values;
  for (const auto& [name, values] : s.delayed.state()) run.numbers["delayed/" + name] = values;
  for (const auto& [name, values] : s.dynamic.state()) run.numbers["dynamic/" + name] = values;
  for (const auto& [name, kept] : s.buffers.kept) {
    run.numbers["mean/" + name] = wide(kept.statistics.mean);
    run.numbers["variance/" + name] = wide(kept.statistics.variance);
    run.numbers["changes/" + name] = {static_cast<double>(kept.wanted), static_cast<double>(kept.lost)};
  }
}

template <class Real>
void restore_state(const SavedRun& run, const RunState<Real>& s) {
  const std::vector<double>& numbers = run.at("run");
  if (numbers.size() != 3) throw Error("a saved run without its steps");
  s.next_step = whole_of(numbers[0]), s.next_random = whole_of(numbers[1]);
  s.done = numbers[2] != 0;
  for (std::size_t i = 0; i < s.weights.size(); ++i) {
    const std::string& name = s.parameters[i].name;
    const auto sized = [&](const std::string& entry, bool may_be_empty) {
      std::vector<Real> values = narrow<Real>(run.at(entry));
      if (values.size() != s.weights[i].size() && !(may_be_empty && values.empty()))
        throw Error(entry + ": " + std::to_string(values.size()) + " numbers for " + std::to_string(s.weights[i].size()));
      return values;
    };
    s.weights[i] = sized("weights/" + name, false);
    OptimizerState<Real>& state = s.states[i];
    state.first = sized("first/" + name, true), state.second = sized("second/" + name, true);
    state.compensation = sized("compensation/" + name, true);
    if (run.numbers.contains("average/" + name)) s.average.tensors.push_back(sized("average/" + name, false));
    if (run.at("updates/" + name).size() == 1) state.steps = whole_of(run.at("updates/" + name)[0]);
  }
  if (!s.average.tensors.empty() && s.average.tensors.size() != s.weights.size())
    throw Error("averages of " + std::to_string(s.average.tensors.size()) + " parameters, not of " +
                std::to_string(s.weights.size()));
  if (s.scaler) {
    auto state = s.scaler->state();
    for (auto& [name, values] : state) values = run.at("scaler/" + name);
    s.scaler->set_state(state);
  }
  s.delayed.set_state(below(run, "delayed/"));
  s.dynamic.set_state(below(run, "dynamic/"));
  for (const auto& [name, mean] : below(run, "mean/")) {
    RunningStatistics<Real>& kept = s.buffers.kept.try_emplace(name, mean.size()).first->second;
    if (run.at("variance/" + name).size() != mean.size()) throw Error("variance/" + name + ": not as many as means");
    kept.statistics = {narrow<Real>(mean), narrow<Real>(run.at("variance/" + name))};
    const std::vector<double>& changes = run.at("changes/" + name);
    if (changes.size() == 2) kept.wanted = whole_of(changes[0]), kept.lost = whole_of(changes[1]);
  }
}

template void save_state(const RunState<float>&, SavedRun&);
template void save_state(const RunState<double>&, SavedRun&);
template void restore_state(const SavedRun&, const RunState<float>&);
template void restore_state(const SavedRun&, const RunState<double>&);

}  // namespace ulpscope::training
