// SPDX-License-Identifier: Apache-2.0
// Makes a device of the modes of an engine: each instruction named as on the real one.
#include "gpu/emulated/emulated_device.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "emu/engines.hpp"
#include "gpu/emulated/emulated_elements.hpp"
#include "gpu/emulated/emulated_library.hpp"
#include "gpu/emulated/emulated_unit.hpp"

namespace ulpscope::gpu {
namespace {

/// The number that a text has after a prefix.
std::optional<std::size_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

/// The K of a shape like m16n8k16 in an instruction's name; those without a shape have the products of one step.
std::size_t products_of(const emu::EngineMode& mode) {
  const std::string_view words = mode.instruction;
  const std::size_t shape = words.find(".m16n8k"), square = words.find(".m8n8k");
  if (shape != std::string_view::npos) return number_after(words.substr(shape), ".m16n8k").value();
  if (square != std::string_view::npos) return number_after(words.substr(square), ".m8n8k").value();
  return static_cast<std::size_t>(mode.model.products);
}

EmulatedUnit::Entry entry_of(const emu::EngineMode& mode, emu::Format a, emu::Format b) {
  std::string instruction(mode.instruction.substr(0, mode.instruction.find(',')));
  std::replace(instruction.begin(), instruction.end(), ' ', '.');
  for (const emu::Format format : {mode.model.accumulator, a, b}) instruction += '.' + ptx_word(format);
  return {{.instruction = std::move(instruction),
           .a = a,
           .b = b,
           .accumulator = mode.model.accumulator,
           .products = products_of(mode),
           .scales = mode.model.scales,
           .scale_format = mode.scale_format,
           .scale_products = static_cast<std::size_t>(mode.model.scale_products),
           .engine = std::string(mode.engine)},
          mode.model};
}

bool has_mode(std::string_view name, const emu::EngineMode& mode) {
  return mode.engine == name || mode.engine.starts_with(std::string(name) + '/');
}

std::vector<EmulatedUnit::Entry> entries_of(std::string_view name) {
  std::vector<EmulatedUnit::Entry> entries;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (!has_mode(name, mode)) continue;
    for (const emu::Format a : mode.inputs)
      for (const emu::Format b : mode.inputs)
        if (a == b || mode.mixed) entries.push_back(entry_of(mode, a, b));
  }
  return entries;
}

}  // namespace

std::vector<std::string> emulated_names() {
  std::vector<std::string> names = emu::engine_names();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("sm_") && !name.starts_with("cdna"); });
  return names;
}

Device emulated_device(std::string_view name) {
  const std::string id = "emulated:" + std::string(name);
  const std::string architecture(name.substr(0, name.find('/')));
  Device device;
  device.description = {id, "emulated " + std::string(name), architecture, "", ""};
  device.unit = std::make_shared<EmulatedUnit>(id, entries_of(name));
  if (const auto capability = number_after(name, "sm_"); capability && name == architecture)
    device.elementwise = emulated_elements(id, static_cast<int>(*capability));
  if (device.elementwise)
    device.libraries = [engine = architecture] {
      return std::vector<std::shared_ptr<const Library>>{std::make_shared<EmulatedLibrary>(engine)};
    };
  return device;
}

}  // namespace ulpscope::gpu
