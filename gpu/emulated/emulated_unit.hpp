// SPDX-License-Identifier: Apache-2.0
// An emulated engine behind the interface of the real ones.
#pragma once

#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// Computes each operation on the engine beside it, by the scalar reference.
class EmulatedUnit final : public Unit {
 public:
  /// An operation, and what computes it.
  struct Entry {
    Operation operation;  ///< what is asked for
    emu::Engine engine;   ///< what answers
  };
  /// A unit of this name that offers these.
  EmulatedUnit(std::string name, std::vector<Entry> entries);

  std::string name() const override { return name_; }
  std::vector<Operation> operations() const override;
  void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const override;

 private:
  std::string name_;
  std::vector<Entry> entries_;
};

}  // namespace ulpscope::gpu
