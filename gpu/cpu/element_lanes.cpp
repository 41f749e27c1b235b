// SPDX-License-Identifier: Apache-2.0
// A device made of instructions: finds the one asked for, sets the control word and runs it.
#include "gpu/cpu/element_lanes.hpp"

#include <stdexcept>
#include <utility>

#include "emu/error.hpp"
#include "gpu/cpu/control_word.hpp"
#include "gpu/cpu/element_models.hpp"

namespace ulpscope::gpu::detail {
namespace {

/// A model, and what computes the same.
struct Computed {
  CpuElementModel known;
  void (*apply)(const ElementOperands& operands, std::span<emu::Code> d);
};

class CpuElementwise final : public Elementwise {
 public:
  CpuElementwise(std::string device, std::vector<Computed> computed)
      : device_(std::move(device)), computed_(std::move(computed)) {}

  std::vector<ElementOperation> operations() const override {
    std::vector<ElementOperation> operations;
    for (const Computed& one : computed_) operations.push_back(one.known.operation);
    return operations;
  }

  void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const override {
    for (const Computed& one : computed_) {
      if (one.known.operation.instruction != operation.instruction) continue;
      const ControlWord control(ControlWord::usual | std::uint64_t{one.known.rounding} << ControlWord::rounding_position);
      return one.apply(operands, d);
    }
    throw Error(device_ + " has no operation " + operation.instruction);
  }

 private:
  std::string device_;
  std::vector<Computed> computed_;
};

}  // namespace

std::shared_ptr<const Elementwise> cpu_elementwise(std::string device, const std::vector<CpuElementInstruction>& instructions) {
  std::vector<Computed> computed;
  std::size_t used = 0;
  for (CpuElementModel& known : cpu_element_models(device)) {
    // The roundings of an instruction follow one another.
    if (computed.empty() || computed.back().known.mnemonic != known.mnemonic) ++used;
    if (used > instructions.size() || instructions[used - 1].mnemonic != known.mnemonic)
      throw std::logic_error(device + ": nothing computes " + known.mnemonic);
    computed.push_back({std::move(known), instructions[used - 1].apply});
  }
  if (used != instructions.size()) throw std::logic_error(device + ": has no " + instructions[used].mnemonic);
  return std::make_shared<CpuElementwise>(std::move(device), std::move(computed));
}

}  // namespace ulpscope::gpu::detail
