// SPDX-License-Identifier: Apache-2.0
// Finds the operation by its name and runs it in portions.
#include "gpu/cuda/elementwise.hpp"

#include <algorithm>
#include <utility>

#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Code;

void check_operands(const ElementOperation& operation, const ElementOperands& operands, std::size_t count) {
  const int needed = operands_of(operation.model.kind);
  const auto fits = [&](std::span<const Code> codes, int position) { return codes.size() == (position <= needed ? count : 0); };
  if (!fits(operands.a, 1) || !fits(operands.b, 2) || !fits(operands.c, 3))
    throw Error(operation.instruction + ": it takes " + std::to_string(needed) + " operands of " + std::to_string(count) +
                " codes each");
}

}  // namespace

CudaElementwise::CudaElementwise(std::string name, int ordinal, std::vector<ElementInstruction> instructions,
                                 std::size_t portion_bytes)
    : name_(std::move(name)), ordinal_(ordinal), instructions_(std::move(instructions)), portion_bytes_(portion_bytes) {}

std::vector<ElementOperation> CudaElementwise::operations() const {
  std::vector<ElementOperation> operations;
  for (const ElementInstruction& instruction : instructions_) operations.push_back(instruction.operation);
  return operations;
}

const ElementInstruction& CudaElementwise::find(const ElementOperation& operation) const {
  const auto found = std::find_if(instructions_.begin(), instructions_.end(), [&](const ElementInstruction& i) {
    return i.operation.instruction == operation.instruction;
  });
  if (found == instructions_.end()) throw NoDevice(name_ + " has no instruction " + operation.instruction);
  return *found;
}

void CudaElementwise::apply(const ElementOperation& operation, const ElementOperands& operands, std::span<Code> d) const {
  const ElementInstruction& instruction = find(operation);
  check_operands(instruction.operation, operands, d.size());
  const OnDevice device(ordinal_);
  std::vector<Code> results(d.size());
  in_portions(d.size(), 4 * sizeof(Code), portion_bytes_, [&](std::size_t first, std::size_t count) {
    const auto part = [&](std::span<const Code> codes) { return codes.empty() ? codes : codes.subspan(first, count); };
    workspace_.run(instruction.operation.instruction, std::array{part(operands.a), part(operands.b), part(operands.c)},
                   std::span(results).subspan(first, count), [&](const auto& on_device, Code* values) {
                     const auto [a, b, c] = on_device;
                     instruction.run({.count = count, .a = a, .b = b, .c = c, .d = values});
                   });
  });
  std::copy(results.begin(), results.end(), d.begin());
}

}  // namespace ulpscope::gpu::cuda
