// SPDX-License-Identifier: Apache-2.0
// The conversions and the arithmetic of a CUDA device behind the interface of all devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/cuda/instruction.hpp"
#include "gpu/cuda/portions.hpp"
#include "gpu/cuda/workspace.hpp"
#include "gpu/elementwise.hpp"

namespace ulpscope::gpu::cuda {

/// May be called from any thread; the thread's current device is the one it was before.
class CudaElementwise final : public Elementwise {
 public:
  /// @param portion_bytes of the device's memory that a call takes at most
  CudaElementwise(std::string name, int ordinal, std::vector<ElementInstruction> instructions,
                  std::size_t portion_bytes = usual_portion_bytes);

  std::vector<ElementOperation> operations() const override;
  void apply(const ElementOperation& operation, const ElementOperands& operands, std::span<emu::Code> d) const override;

 private:
  const ElementInstruction& find(const ElementOperation& operation) const;

  std::string name_;
  int ordinal_;
  std::vector<ElementInstruction> instructions_;
  std::size_t portion_bytes_;
  mutable Workspace workspace_;
};

}  // namespace ulpscope::gpu::cuda
