// SPDX-License-Identifier: Apache-2.0
// Readers that need all of training: of training studies, of saved runs, and of recorded times.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "reports/compare/csv_file.hpp"
#include "tests/fuzz/read_everything.hpp"
#include "tests/fuzz/targets.hpp"
#include "training/train/product_times.hpp"
#include "training/train/run_state.hpp"
#include "training/train/saved_run.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::fuzz {
namespace {

using namespace training;

/// A run of `linear = [3, 2]`, which the seeds are of, with all that may be in a saved one.
struct SmallRun {
  std::vector<ParameterShape> parameters{{.name = "0.weight", .shape = {2, 3}}, {.name = "0.bias", .shape = {2}}};
  std::uint64_t next_step = 0, next_random = 0;
  bool done = false;
  std::vector<std::vector<float>> weights{std::vector<float>(6), std::vector<float>(2)};
  std::vector<OptimizerState<float>> states{2};
  WeightAverage<float> average;
  std::optional<recipes::Scaler> scaler{"pytorch"};
  DelayedScales delayed;
  DynamicLayers dynamic;
  Buffers<float> buffers;
  RunResult result;

  explicit SmallRun(const SavedRun& saved) {
    result.parameters = parameters;
    result.updates.resize(parameters.size());
    restore_state(saved, state());
    restore_result(saved, result);
  }

  RunState<float> state() {
    return {next_step, next_random, done, parameters, weights, states, average, scaler, delayed, dynamic, buffers};
  }

  SavedRun saved() {
    SavedRun run;
    save_state(state(), run);
    save_result(result, run);
    return run;
  }
};

/// Bits, so that NaN is itself.
std::map<std::string, std::vector<emu::Code>> codes_of(const SavedRun& run) {
  std::map<std::string, std::vector<emu::Code>> codes;
  for (const auto& [name, values] : run.numbers)
    for (std::vector<emu::Code>& of_name = codes[name]; const double value : values)
      of_name.push_back(emu::encode(emu::float64, value));
  return codes;
}

}  // namespace

void read_train(const std::uint8_t* data, std::size_t size) {
  try {
    check_runs(parse_train_study({reinterpret_cast<const char*>(data), size}, "input"));
  } catch (const Error&) {
  }
}

void read_saved_run(const std::uint8_t* data, std::size_t size) {
  const auto owner = std::make_shared<std::vector<std::byte>>(size);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, owner->begin());
  const tensors::FileBytes file{"input", tensors::bytes_in_memory(*owner, owner)};
  try {
    SmallRun run(saved_run_of(tensors::read_safetensors_metadata(file), tensors::read_safetensors(file), "input"));
    const SavedRun saved = run.saved(), again = SmallRun(saved).saved();
    if (codes_of(again) != codes_of(saved) || again.words != saved.words) std::abort();
    static_cast<void>(run.delayed.operand("0", "input", {emu::float8_e4m3fn, {}}, ""));
  } catch (const Error&) {
  }
}

void read_times(const std::uint8_t* data, std::size_t size) {
  using studies::ScaleRule;
  try {
    const ProductTimes times(reports::parse_csv({reinterpret_cast<const char*>(data), size}, "input"), "input");
    for (const emu::Format& format : {emu::bfloat16, emu::float8_e4m3fn})
      for (const ScaleRule rule : {ScaleRule::none, ScaleRule::mx_floor})
        for (const bool promoted : {false, true}) {
          ProductTally tally;
          tally.add({256, 256, 64, format, format, rule, rule, promoted});
          const StepTime step = times.of(tally);
          if (!(step.microseconds >= 0) || (step.covered != 0 && step.covered != 1)) std::abort();
        }
  } catch (const Error&) {
  }
}

}  // namespace ulpscope::fuzz
