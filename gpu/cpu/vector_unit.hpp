// SPDX-License-Identifier: Apache-2.0
// A unit made of vector instructions, each of which computes the same in every lane.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/format.hpp"
#include "gpu/cpu/lanes.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu::detail {

/// An operation, and what runs it on a whole problem.
struct VectorOperation {
  Operation operation;
  void (*multiply)(const InnerProducts& problem, std::span<emu::Code> d);
};

class VectorUnit final : public Unit {
 public:
  VectorUnit(std::string name, std::vector<VectorOperation> instructions)
      : name_(std::move(name)), instructions_(std::move(instructions)) {}

  std::string name() const override { return name_; }

  std::vector<Operation> operations() const override {
    std::vector<Operation> operations;
    for (const VectorOperation& instruction : instructions_) operations.push_back(instruction.operation);
    return operations;
  }

  void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const override {
    for (const VectorOperation& instruction : instructions_)
      if (instruction.operation.instruction == operation.instruction) return instruction.multiply(problem, d);
    throw Error(name_ + " has no operation " + operation.instruction);
  }

 private:
  std::string name_;
  std::vector<VectorOperation> instructions_;
};

/// codes_in_word: products of one instruction.
template <class Word, std::size_t codes_in_word, void (*chain)(Lanes<Word>&)>
void multiply_by_vectors(const InnerProducts& problem, std::span<emu::Code> d) {
  multiply_in_lanes<Word>(problem, codes_in_word, Lanes<Word>::Layout::step_by_step, d, chain);
}

/// A fused multiply-add, of operands of one format.
inline VectorOperation fused(std::string instruction, emu::Format operands, emu::Format accumulator, std::string engine,
                             void (*multiply)(const InnerProducts&, std::span<emu::Code>)) {
  return {{.instruction = std::move(instruction),
           .a = operands,
           .b = operands,
           .accumulator = accumulator,
           .products = 1,
           .engine = std::move(engine)},
          multiply};
}

}  // namespace ulpscope::gpu::detail
