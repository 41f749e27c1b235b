// SPDX-License-Identifier: Apache-2.0
// The interpreter on the device and on the host, on the same operands.
#include "studies/devices/device_interpreter.hpp"

#include <algorithm>
#include <utility>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "gpu/adversarial.hpp"
#include "studies/devices/device_compare.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;

void compare_inner_products(DeviceRow& row, const gpu::DeviceEmulator& emulator, const gpu::Operation& operation,
                            const emu::Engine& engine, const DeviceInterpreterOptions& options) {
  const auto problems = gpu::test_problems(gpu::TestShape(operation), options.seed, 0, options.tests);
  std::vector<Code> d(options.tests);
  emulator.inner_products(engine, operation, problems.view(), d);
  compare(row, operation, engine, problems.view(), d, 0);
}

/// Each output as an inner product of its own, for the engine here.
void compare_product(DeviceRow& row, const gpu::DeviceEmulator& emulator, const gpu::Operation& operation,
                     const emu::Engine& engine, std::uint64_t seed) {
  constexpr std::size_t extent = 8, steps = 3;
  const ProductOperands operands =
      product_operands(OperandKind::wide, operation.a, operation.b, {extent, extent, steps * operation.products}, seed);
  const gpu::MatrixProduct product = operands.view();
  std::vector<std::byte> stored(extent * extent * gpu::bytes_per_code(engine.accumulator));
  emulator.multiply({engine, product}, stored);
  std::vector<Code> a, b, d;
  for (std::size_t i = 0; i < extent * extent; ++i) {
    for (std::size_t k = 0; k < product.k(); ++k) {
      a.push_back(product.a.at(i / extent, k));
      b.push_back(product.b.at(k, i % extent));
    }
    d.push_back(gpu::load_code(engine.accumulator, stored.data(), i));
  }
  const std::vector<Code> c(d.size());
  compare(row, operation, engine, {product.k(), a, b, c, {}, {}}, d, 0);
}

/// One row by one comparison; what that throws is the row's failure.
template <class Compare>
bool add_row(std::vector<DeviceRow>& rows, DeviceRow row, const Compare& compare_with) {
  try {
    compare_with(row);
  } catch (const Error& error) {
    row.failure = error.what();
  }
  rows.push_back(std::move(row));
  return rows.back().failure.empty();
}

}  // namespace

std::vector<DeviceRow> check_interpreter(const gpu::Device& device, const DeviceInterpreterOptions& options) {
  std::vector<DeviceRow> rows;
  if (!device.emulator || !device.unit) return rows;
  DeviceWork work(options.deadline, device.usable, options.log);
  std::size_t piece = 0;
  for (const gpu::Operation& o : device.unit->operations()) {
    if (o.engine.empty() || o.instruction.find(options.instruction) == std::string::npos) continue;
    DeviceRow row = row_of(device.description.id, o, o.products);
    row.seed = options.seed;
    const auto check = [&] {
      const emu::Engine engine = emu::parse_engine(o.engine, {o.a, o.b, o.accumulator, o.scales, o.scale_format});
      const bool good =
          add_row(rows, row, [&](DeviceRow& r) { compare_inner_products(r, *device.emulator, o, engine, options); });
      if (!good || o.scales != emu::EngineScales::none) return good;
      row.operands = gpu::OperandClass::random;
      return add_row(rows, row, [&](DeviceRow& r) { compare_product(r, *device.emulator, o, engine, options.seed); });
    };
    work.piece(piece++, o.instruction, check, [&](const std::string& reason) {
      if (reason.empty()) return;
      (reason == process_ended ? row.failure : row.not_checked) = reason;
      rows.push_back(row);
    });
  }
  return rows;
}

}  // namespace ulpscope::studies
