// SPDX-License-Identifier: Apache-2.0
// The commands `devices record` and `devices replay`.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "cli/devices.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "gpu/element_words.hpp"
#include "requests/parts.hpp"
#include "studies/devices/device_record.hpp"

namespace ulpscope::cli {
namespace {

struct Record {
  std::string device, file;
  studies::DeviceRecordOptions options;
};

/// The device named, else the first GPU.
gpu::Device device_to_record(const std::string& id) {
  if (!id.empty()) return gpu::open_device(id);
  gpu::DeviceSearch search = gpu::find_devices();
  const auto is_gpu = [](const gpu::Device& device) { return !device.description.id.starts_with("cpu:"); };
  const auto gpu = std::find_if(search.devices.begin(), search.devices.end(), is_gpu);
  if (gpu != search.devices.end()) return *gpu;
  std::string message = "no GPU to record; --device names another device, which `ulpscope devices` lists";
  for (const std::string& line : search.remarks)
    if (!line.starts_with("cpu:")) message += "; " + line;
  throw gpu::NoDevice(message);
}

int run(const Record& record) {
  const gpu::Device device = device_to_record(record.device);
  ProgressLine progress;
  studies::DeviceRecordOptions options = record.options;
  options.progress = progress.callback();
  const studies::RecordedDevice recorded = studies::record_device(device, options);
  for (const auto* lines : {&recorded.remarks, &recorded.left_out})
    for (const std::string& line : *lines) remark(line);
  if (recorded.recording.products.empty() && recorded.recording.elements.empty())
    throw Error(device.description.id + ": there is nothing to record");
  gpu::write_recording(record.file, recorded.recording);
  return recorded.remarks.empty() ? done : check_failed;
}

struct Replay {
  CommonOptions common;
  std::vector<std::string> files;
  std::string engine;
};

/// Says something of words in a remark, if there are any: the first of them, and how many more.
void remark_words(const std::string& before, const std::set<std::string>& words, const std::string& behind) {
  if (words.empty()) return;
  const std::string more = words.size() == 1 ? "" : " and " + std::to_string(words.size() - 1) + " more";
  remark(before + " (" + *words.begin() + more + ")" + behind);
}

bool is_engine(const gpu::Operation& o) try {
  static_cast<void>(emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format}));
  return true;
} catch (const Error&) {
  return false;
}

/// A recording may bring the engine that it is compared with: whoever wrote it chose what would be found right.
void remark_own_engines(const std::string& file, const gpu::Recording& recording) {
  const std::vector<std::string> names = emu::engine_names();
  std::set<std::string> own, none;
  for (const gpu::RecordedProducts& set : recording.products)
    if (const std::string& engine = set.operation.engine; !engine.empty() && std::ranges::find(names, engine) == names.end())
      (is_engine(set.operation) ? own : none).insert(engine);
  remark_words(file + ": is compared with an engine of its own description", own, "; --engine E compares with another");
  remark_words(file + ": names what is no engine", none, ", and is not compared there; --engine E compares with one");
}

/// It always brings the models of conversions and arithmetic. Those that its device has are not known on every machine.
void remark_own_models(const std::string& file, const gpu::Recording& recording) {
  const std::vector<gpu::ElementOperation> known = gpu::known_elements(recording.device.id);
  std::set<std::string> other, unknown;
  for (const gpu::RecordedElements& set : recording.elements) {
    const gpu::ElementOperation& operation = set.operation;
    const auto here = std::ranges::find(known, operation.instruction, &gpu::ElementOperation::instruction);
    const std::string model = gpu::model_words(operation.model);
    if (here == known.end())
      unknown.insert(operation.instruction);
    else if (model != gpu::model_words(here->model))
      other.insert(operation.instruction + ": " + model);
  }
  remark_words(file + ": is compared with a model of its own description", other, ", which is not this program's");
  remark_words(file + ": is compared with a model of its own description", unknown,
               "; there is none of " + recording.device.id + " here to hold it against");
}

int run(const Replay& options) {
  studies::require_engine(options.engine);
  std::vector<studies::DeviceRow> rows;
  for (const std::string& file : options.files) {
    const gpu::Recording recording = gpu::read_recording(file);
    if (options.engine.empty()) remark_own_engines(file, recording);
    remark_own_models(file, recording);
    auto own = studies::replay(recording, options.engine, options.common.threads);
    std::move(own.begin(), own.end(), std::back_inserter(rows));
  }
  return report(studies::result_of(rows, "devices_replay"), options.common);
}

}  // namespace

void add_devices_record(Command& devices, int& exit_code) {
  auto record = std::make_shared<Record>();
  Command& command = *devices.add_subcommand("record", "operands and what a device made of them, to a file");
  command.add_option("--device", record->device, "the device; the first GPU by default")->type_name("D");
  command.add_written("-o,--output", record->file, "the recording", "FILE")->required();
  command.add_option("--tests", record->options.tests, "inner products of each instruction and class of operands")
      ->whole({1, requests::most_elements})
      ->capture_default_str();
  command.add_option("--seed", record->options.seed, "of the operands")->whole()->capture_default_str();
  command.add_option("--instruction", record->options.instruction, "only instructions that have this in their name")
      ->type_name("TEXT");
  command.footer(
      "Example: ulpscope devices record --device emulated:sm_90 --instruction wgmma.f32.f16.f16 --tests 100 -o "
      "sm_90.recording");
  command.callback([record, &exit_code] { exit_code = run(*record); });
}

void add_devices_replay(Command& devices, int& exit_code) {
  auto replay = std::make_shared<Replay>();
  Command& command =
      *devices.add_subcommand("replay", "recordings beside the emulator, on any machine; exit code 1 where they differ");
  command.add_option("FILE", replay->files, "recordings")->required();
  command.add_option("--engine", replay->engine, "compare inner products with this engine instead of the recorded one")
      ->type_name("E");
  replay->common.add_threads(command);
  replay->common.add_output(command);
  command.footer("Example: ulpscope devices replay tests/recordings/f16c.recording");
  command.callback([replay, &exit_code] { exit_code = run(*replay); });
}

}  // namespace ulpscope::cli
