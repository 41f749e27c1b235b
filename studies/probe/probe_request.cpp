// SPDX-License-Identifier: Apache-2.0
// From a request to the operations of an engine or a device, and their probes.
#include "studies/probe/probe_request.hpp"

#include <algorithm>
#include <optional>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "gpu/device.hpp"
#include "gpu/emulated/emulated_unit.hpp"
#include "requests/parts.hpp"
#include "studies/probe/probe_table.hpp"

namespace ulpscope::studies {
namespace {

/// Of one emulated inner product: longer than most steps, so that the length of a step is found and not read.
constexpr std::size_t products = 64;

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

Asked asked(const ProbeRequest& request) {
  if (request.in.size() > 2) throw Error("--in takes one format, or one for A and one for B");
  Asked asked;
  if (!request.in.empty()) {
    asked.a = requests::parse_format(request.in.front());
    asked.b = requests::parse_format(request.in.back());
  }
  for (const auto& format : {asked.a, asked.b})
    if (format && !(format->is_signed() && format->has_zero()))
      throw Error("--in " + emu::format_name(*format) + ": operands have a sign and a zero");
  if (request.acc.empty()) return asked;
  asked.accumulator = requests::parse_format(request.acc);
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

std::vector<gpu::EmulatedUnit::Entry> entries_of(const ProbeRequest& request) {
  const Asked formats = asked(request);
  if (!request.engine.starts_with("block:")) return modes_of(request.engine, formats);
  const emu::Format a = formats.a.value_or(emu::float16), b = formats.b.value_or(emu::float16);
  const emu::Engine engine = emu::parse_engine(request.engine, {a, b, formats.accumulator.value_or(emu::float32)});
  return {entry_of(request.engine, a, b, engine, emu::float8_e8m0fnu)};
}

/// Those that were asked for: by their formats, and by a part of the instruction's name.
std::vector<gpu::Operation> operations_of(const gpu::Unit& unit, const ProbeRequest& request) {
  const Asked formats = asked(request);
  std::vector<gpu::Operation> operations;
  for (const gpu::Operation& o : unit.operations()) {
    const bool fits = (!formats.a || (*formats.a == o.a && *formats.b == o.b)) &&
                      (!formats.accumulator || *formats.accumulator == o.accumulator) &&
                      o.instruction.find(request.instruction) != std::string::npos;
    if (fits) operations.push_back(o);
  }
  if (operations.empty())
    throw Error(unit.name() + " has no operation of these formats and this name; `ulpscope devices` lists all");
  return operations;
}

/// Says of what was only published that it was.
std::vector<std::string> published(const std::string& engine) {
  std::vector<std::string> lines;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.engine != engine || !emu::lacks_hardware(mode.evidence)) continue;
    lines.push_back("engine " + engine + " (" + std::string(mode.instruction) + ") into " +
                    emu::format_name(mode.model.accumulator) + ": as published (" + std::string(mode.source) +
                    "), not checked here against the hardware");
  }
  return lines;
}

/// What is probed: an emulated engine, or the unit of a device.
struct ProbeSubject {
  std::shared_ptr<const gpu::Unit> unit;
  std::vector<gpu::Operation> operations;
};

ProbeSubject subject_of(const ProbeRequest& request) {
  if (request.engine.empty() == request.device.empty())
    throw Error("name what to probe: --engine E (`ulpscope engines` lists them) or --device D");
  if (request.device.empty()) {
    auto unit = std::make_shared<gpu::EmulatedUnit>(request.engine, entries_of(request));
    return {unit, unit->operations()};
  }
  const gpu::Device device = gpu::open_device(request.device);
  if (device.unit == nullptr) throw Error(request.device + " multiplies no matrices");
  return {device.unit, operations_of(*device.unit, request)};
}

}  // namespace

StudyResult run(const ProbeRequest& request, const Progress& progress) {
  const ProbeSubject subject = subject_of(request);
  const ProbeModel model = request.device.empty() ? ProbeModel::without : ProbeModel::beside;
  return {.tables = {probe_table(*subject.unit, subject.operations, request.seed, model, progress)},
          .remarks = request.device.empty() ? published(request.engine) : std::vector<std::string>{}};
}

Work work_of(const ProbeRequest& request) {
  const std::uint64_t operations = subject_of(request).operations.size();
  constexpr std::uint64_t features = 12;  // of most operations
  return {.operations = operations, .rows = operations * features};
}

void ProbeRequest::describe(requests::Fields& fields) {
  fields.add("engine", engine, "an engine of `ulpscope engines`, or block:n=16,f=25,out=rz").as_value("E");
  fields.add("device", device, "a device of `ulpscope devices`, such as cuda:0 or cpu:amx_bf16").as_value("D");
  fields.add("instruction", instruction, "with --device: a part of the names of the instructions to probe").as_value("TEXT");
  fields.add("in", in, "operand format, or one for A and one for B; all of the engine by default")
      .as_either()
      .as_value("F[,F]");
  fields.add("acc", acc, "format of c and of the result; all of the engine by default").as_value("F");
  requests::describe_seed(fields, seed, "of the random inner products");
}

}  // namespace ulpscope::studies
