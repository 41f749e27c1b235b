// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "gpu/device.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "studies/probe_table.hpp"

namespace ulpscope::cli {
namespace {

/// Of one emulated inner product: longer than most steps, so that the length of a step is found and not read.
constexpr std::size_t products = 64;

struct ProbeCommand {
  CommonOptions common;
  std::string engine, device, accumulator, instruction;
  std::vector<std::string> inputs;
};

gpu::EmulatedUnit::Entry entry_of(const std::string& name, emu::Format a, emu::Format b, const emu::Engine& engine,
                                  emu::Format scale_format) {
  gpu::Operation operation;
  operation.instruction = emu::format_name(a) + " " + emu::format_name(b) + " " + emu::format_name(engine.accumulator);
  if (engine.scales != emu::EngineScales::none)
    operation.instruction += " " + emu::format_name(scale_format) + " " + std::to_string(engine.scale_products) +
                             (engine.scales == emu::EngineScales::products ? " of products" : " of sums");
  operation.a = a;
  operation.b = b;
  operation.accumulator = engine.accumulator;
  operation.products = products;
  operation.scales = engine.scales;
  operation.scale_format = scale_format;
  operation.scale_products = static_cast<std::size_t>(engine.scale_products);
  operation.engine = name;
  return {operation, engine};
}

struct Asked {
  std::optional<emu::Format> a, b, accumulator;
};

Asked asked(const ProbeCommand& command) {
  if (command.inputs.size() > 2) throw Error("--in takes one format, or one for A and one for B");
  Asked asked;
  if (!command.inputs.empty()) {
    asked.a = parse_format(command.inputs.front());
    asked.b = parse_format(command.inputs.back());
  }
  for (const auto& format : {asked.a, asked.b})
    if (format && !(format->is_signed() && format->has_zero()))
      throw Error("--in " + emu::format_name(*format) + ": operands have a sign and a zero");
  if (command.accumulator.empty()) return asked;
  asked.accumulator = parse_format(command.accumulator);
  const emu::Format acc = *asked.accumulator;
  if (acc != emu::float32 && acc != emu::float16 && acc != emu::float64)
    throw Error("--acc " + emu::format_name(acc) + ": give float32, float16 or float64");
  return asked;
}

/// The modes of a named engine that were asked for; those that take any operands, with the accumulator's unless told otherwise.
std::vector<gpu::EmulatedUnit::Entry> modes_of(const std::string& name, const Asked& asked) {
  std::vector<gpu::EmulatedUnit::Entry> entries;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.engine != name || (asked.accumulator && *asked.accumulator != mode.model.accumulator)) continue;
    const auto takes = [&](emu::Format format) {
      return mode.inputs.empty() || std::find(mode.inputs.begin(), mode.inputs.end(), format) != mode.inputs.end();
    };
    if (asked.a) {
      if (takes(*asked.a) && takes(*asked.b) && (mode.mixed || *asked.a == *asked.b))
        entries.push_back(entry_of(name, *asked.a, *asked.b, mode.model, mode.scale_format));
      continue;
    }
    if (mode.inputs.empty())
      entries.push_back(entry_of(name, mode.model.accumulator, mode.model.accumulator, mode.model, mode.scale_format));
    for (const emu::Format format : mode.inputs)
      entries.push_back(entry_of(name, format, format, mode.model, mode.scale_format));
  }
  // The sentence that names the closest engines, or the formats that this one has.
  if (entries.empty())
    emu::find_engine(
        name, {asked.a.value_or(emu::float16), asked.b.value_or(emu::float16), asked.accumulator.value_or(emu::float32)});
  return entries;
}

std::vector<gpu::EmulatedUnit::Entry> entries_of(const ProbeCommand& command) {
  const Asked formats = asked(command);
  if (!command.engine.starts_with("block:")) return modes_of(command.engine, formats);
  const emu::Format a = formats.a.value_or(emu::float16), b = formats.b.value_or(emu::float16);
  const emu::Engine engine = emu::parse_engine(command.engine, {a, b, formats.accumulator.value_or(emu::float32)});
  return {entry_of(command.engine, a, b, engine, emu::float8_e8m0fnu)};
}

/// Those that were asked for: by their formats, and by a part of the instruction's name.
std::vector<gpu::Operation> operations_of(const gpu::Unit& unit, const ProbeCommand& command) {
  const Asked formats = asked(command);
  std::vector<gpu::Operation> operations;
  for (const gpu::Operation& o : unit.operations()) {
    const bool fits = (!formats.a || (*formats.a == o.a && *formats.b == o.b)) &&
                      (!formats.accumulator || *formats.accumulator == o.accumulator) &&
                      o.instruction.find(command.instruction) != std::string::npos;
    if (fits) operations.push_back(o);
  }
  if (operations.empty())
    throw Error(unit.name() + " has no operation of these formats and this name; `ulpscope devices` lists all");
  return operations;
}

/// Says of what was only published that it was.
void remark_published(const std::string& engine) {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.engine != engine || !emu::lacks_hardware(mode.evidence)) continue;
    remark("engine " + engine + " (" + std::string(mode.instruction) + ") into " + emu::format_name(mode.model.accumulator) +
           ": as published (" + std::string(mode.source) + "), not checked here against the hardware");
  }
}

void run(const ProbeCommand& command) {
  if (command.engine.empty() == command.device.empty())
    throw Error("name what to probe: --engine E (`ulpscope engines` lists them) or --device D");
  ProgressLine progress;
  if (command.device.empty()) {
    const gpu::EmulatedUnit unit(command.engine, entries_of(command));
    const auto table =
        studies::probe_table(unit, unit.operations(), command.common.seed, studies::ProbeModel::without, progress.callback());
    remark_published(command.engine);
    return print(table, command.common, 6);
  }
  const gpu::Device device = gpu::open_device(command.device);
  if (device.unit == nullptr) throw Error(command.device + " multiplies no matrices");
  const auto operations = operations_of(*device.unit, command);
  const auto table =
      studies::probe_table(*device.unit, operations, command.common.seed, studies::ProbeModel::beside, progress.callback());
  print(table, command.common, 6);
}

}  // namespace

void add_probe(Command& app, int& exit_code) {
  auto probe = std::make_shared<ProbeCommand>();
  Command& command = *app.add_subcommand("probe", "the numerical features of an engine, found by experiment");
  command.add_option("--engine", probe->engine, "an engine of `ulpscope engines`, or block:n=16,f=25,out=rz")->type_name("E");
  command.add_option("--device", probe->device, "a device of `ulpscope devices`, such as cuda:0 or cpu:amx_bf16")
      ->type_name("D");
  command.add_option("--instruction", probe->instruction, "with --device: a part of the names of the instructions to probe")
      ->type_name("TEXT");
  command.add_option("--in", probe->inputs, "operand format, or one for A and one for B; all of the engine by default")
      ->delimiter(',')
      ->type_name("F[,F]");
  command.add_option("--acc", probe->accumulator, "format of c and of the result; all of the engine by default")
      ->type_name("F");
  command.add_option("--seed", probe->common.seed, "of the random inner products")->whole()->capture_default_str();
  probe->common.add_output(command);
  command.footer(
      "Beside a device the engine that claims to compute the same is probed too, column `model`.\n"
      "Example: ulpscope probe --engine sm_90 --in fp16 --acc float32");
  command.callback([probe, &exit_code] {
    run(*probe);
    exit_code = done;
  });
}

}  // namespace ulpscope::cli
