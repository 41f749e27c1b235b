// SPDX-License-Identifier: Apache-2.0
// The matrix instructions of a CUDA device behind the interface of all units.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/cuda/instruction.hpp"
#include "gpu/cuda/portions.hpp"
#include "gpu/cuda/workspace.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu::cuda {

/// May be called from any thread; the thread's current device is the one it was before.
class CudaUnit final : public Unit {
 public:
  /// @param portion_bytes of the device's memory that a call takes at most, if one inner product or one row does not need more
  CudaUnit(std::string name, int ordinal, std::vector<Instruction> instructions,
           std::size_t portion_bytes = usual_portion_bytes);

  std::string name() const override { return name_; }
  std::vector<Operation> operations() const override;
  void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const override;
  void multiply_matrices(const Operation& operation, const MatrixProduct& product, std::span<std::byte> d) const override;

 private:
  const Instruction& find(const Operation& operation) const;

  std::string name_;
  int ordinal_;
  std::vector<Instruction> instructions_;
  std::size_t portion_bytes_;
  mutable Workspace workspace_;
};

}  // namespace ulpscope::gpu::cuda
