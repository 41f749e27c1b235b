// SPDX-License-Identifier: Apache-2.0
// Every engine's products in turn; outputs are compared where chance picks them.
#include "studies/devices/device_emulation.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "gpu/device_emulator.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

/// A mode of an engine with operands of one of its formats.
struct Multiplier {
  const emu::EngineMode* mode;
  Format format;
};

std::vector<Multiplier> multipliers(const std::string& part) {
  std::vector<Multiplier> all;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    const bool is_chain = mode.engine == "fma";
    if (!(mode.engine.starts_with("sm_") || is_chain) || mode.model.scales != emu::EngineScales::none) continue;
    if (mode.engine.find(part) == std::string_view::npos) continue;
    if (is_chain) {
      if (mode.model.accumulator != emu::float16) all.push_back({&mode, mode.model.accumulator});
      continue;
    }
    for (const Format format : mode.inputs) all.push_back({&mode, format});
  }
  return all;
}

/// What became of one product.
struct EmulationOutcome {
  double seconds = 0;
  std::size_t outputs = 0, mismatches = 0;
  std::string remark;
};

/// Whether output (i, j) of d is not what the interpreter gives.
bool differs(const gpu::EmulatedProduct& product, const std::vector<std::byte>& d, std::size_t i, std::size_t j) {
  const gpu::ConstMatrix &a = product.product.a, &b = product.product.b;
  std::vector<Code> row(a.columns), column(a.columns);
  for (std::size_t k = 0; k < a.columns; ++k) {
    row[k] = a.at(i, k);
    column[k] = b.at(k, j);
  }
  const Code wanted = emu::inner_product(product.engine, a.format, row, b.format, column, 0);
  return wanted != gpu::load_code(product.engine.accumulator, d.data(), i * b.columns + j);
}

EmulationOutcome outcome_of(const gpu::DeviceEmulator& emulator, const Multiplier& by, const ProductShape& shape,
                            const DeviceEmulationConfig& config) {
  EmulationOutcome outcome;
  const ProductOperands operands = product_operands(OperandKind::normal, by.format, by.format, shape, config.seed);
  const gpu::EmulatedProduct product{by.mode->model, operands.view()};
  std::vector<std::byte> d(shape.m * shape.n * gpu::bytes_per_code(by.mode->model.accumulator));
  for (int i = 0; i < config.repetitions; ++i) {
    emulator.multiply(product, d);
    const double seconds = emulator.last_seconds();
    outcome.seconds = i == 0 ? seconds : std::min(outcome.seconds, seconds);
  }
  for (; outcome.outputs < config.outputs; ++outcome.outputs) {
    const emu::PhiloxBlock random = emu::philox4x32(config.seed, outcome.outputs, 2);
    outcome.mismatches += differs(product, d, random.word[0] % shape.m, random.word[1] % shape.n) ? 1 : 0;
  }
  return outcome;
}

std::vector<reports::Cell> row_of(const Multiplier& by, const ProductShape& shape, const EmulationOutcome& outcome) {
  const double seconds = outcome.seconds > 0 ? outcome.seconds : std::numeric_limits<double>::quiet_NaN();
  const double operations = 2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  return {std::string(by.mode->engine),
          emu::format_name(by.format),
          emu::format_name(by.mode->model.accumulator),
          reports::whole(shape.m),
          reports::whole(shape.n),
          reports::whole(shape.k),
          seconds * 1e6,
          operations / seconds * 1e-12,
          reports::whole(outcome.outputs),
          reports::whole(outcome.mismatches),
          outcome.remark};
}

}  // namespace

reports::Table device_emulation(const gpu::Device& device, const DeviceEmulationConfig& config) {
  reports::Table table{
      "device_emulation",
      {"engine", "format", "accumulator", "m", "n", "k", "least_us", "tflops", "outputs", "mismatches", "remark"},
      {}};
  DeviceWork work(config.deadline, config.usable, config.log);
  std::uint64_t piece = 0;
  for (const ProductShape& shape : config.shapes)
    for (const Multiplier& by : multipliers(config.instruction)) {
      const auto keep = [&](const EmulationOutcome& outcome) {
        table.rows.push_back(row_of(by, shape, outcome));
        if (config.so_far) config.so_far(table);
      };
      const auto multiply = [&] {
        EmulationOutcome outcome;
        try {
          outcome = outcome_of(*device.emulator, by, shape, config);
        } catch (const Error& error) {
          outcome.remark = error.what();
        }
        keep(outcome);
        return outcome.remark.empty();
      };
      const auto leave_out = [&](const std::string& reason) {
        if (!reason.empty()) keep({0, 0, 0, reason});
      };
      work.piece(piece++, std::string(by.mode->engine), multiply, leave_out);
    }
  return table;
}

}  // namespace ulpscope::studies
