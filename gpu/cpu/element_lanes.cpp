// SPDX-License-Identifier: Apache-2.0
// A device made of instructions: finds the one asked for, sets the control word and runs it.
#include "gpu/cpu/element_lanes.hpp"

#include <memory>

namespace ulpscope::gpu::detail {
namespace {

class CpuElementwise final : public Elementwise {
 public:
  CpuElementwise(std::string device, std::vector<CpuElementInstruction> instructions)
      : device_(std::move(device)), instructions_(std::move(instructions)) {}

  std::vector<ElementOperation> operations() const override {
    std::vector<ElementOperation> operations;
    for (const CpuElementInstruction& instruction : instructions_) operations.push_back(instruction.operation);
    return operations;
  }

  void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const override {
    for (const CpuElementInstruction& instruction : instructions_) {
      if (instruction.operation.instruction != operation.instruction) continue;
      const ControlWord control(instruction.control);
      return instruction.apply(operands, d);
    }
    throw Error(device_ + " has no operation " + operation.instruction);
  }

 private:
  std::string device_;
  std::vector<CpuElementInstruction> instructions_;
};

}  // namespace

std::shared_ptr<const Elementwise> cpu_elementwise(std::string device, std::vector<CpuElementInstruction> instructions) {
  return std::make_shared<CpuElementwise>(std::move(device), std::move(instructions));
}

}  // namespace ulpscope::gpu::detail
