// SPDX-License-Identifier: Apache-2.0
// Inner products by the scalar reference.
#include "gpu/emulated/emulated_unit.hpp"

#include <algorithm>
#include <utility>

#include "emu/engine_step.hpp"
#include "emu/error.hpp"

namespace ulpscope::gpu {

EmulatedUnit::EmulatedUnit(std::string name, std::vector<Entry> entries)
    : name_(std::move(name)), entries_(std::move(entries)) {}

std::vector<Operation> EmulatedUnit::operations() const {
  std::vector<Operation> operations;
  for (const Entry& entry : entries_) operations.push_back(entry.operation);
  return operations;
}

void EmulatedUnit::multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.operation.instruction == operation.instruction; });
  if (entry == entries_.end()) throw Error(name_ + " has no operation " + operation.instruction);
  const std::size_t k = problem.products;
  const std::size_t blocks = operation.scale_products == 0 ? 0 : k / operation.scale_products;
  for (std::size_t i = 0; i < d.size(); ++i) {
    emu::BlockScales scales;
    scales.format = operation.scale_format;
    if (!problem.a_scales.empty()) scales.a = problem.a_scales.subspan(i * blocks, blocks);
    if (!problem.b_scales.empty()) scales.b = problem.b_scales.subspan(i * blocks, blocks);
    d[i] = emu::inner_product(entry->engine, operation.a, problem.a.subspan(i * k, k), operation.b, problem.b.subspan(i * k, k),
                              problem.c[i], scales);
  }
}

}  // namespace ulpscope::gpu
