// SPDX-License-Identifier: Apache-2.0
// How an emulated product is cut along K.
#pragma once

#include <cstddef>

#include "emu/format.hpp"
#include "gpu/device_emulator.hpp"

namespace ulpscope::gpu {

/// K in steps of the engine, and where its parts end: after every `promote` steps of a chain (0: never), after every `chain`
/// steps, and after the last. As emu::EngineMatmul.
struct ProductParts {
  std::size_t step = 1;                           ///< products
  std::size_t steps = 0, chain = 1, promote = 0;  ///< of all of K, of a chain, and of a part within a chain, counted in steps

  /// Whether a part ends after step s, counted from 0.
  ULPSCOPE_HD bool ends_after(std::size_t s) const noexcept { return s + 1 == steps || ends_chain_after(s) || ends_run(s); }
  /// Whether a chain of split K ends after step s.
  ULPSCOPE_HD bool ends_chain_after(std::size_t s) const noexcept { return s + 1 == steps || (s + 1) % chain == 0; }
  /// Whether there is more than one part, so that their sums join c. One part alone is a chain that starts from c.
  ULPSCOPE_HD bool added() const noexcept { return chain < steps || (promote > 0 && promote < steps); }

 private:
  ULPSCOPE_HD bool ends_run(std::size_t s) const noexcept { return promote > 0 && (s % chain + 1) % promote == 0; }
};

/// @throws ulpscope::Error where promote or split_k do not fit the engine.
ProductParts parts_of(const EmulatedProduct& product);

/// What the results are stored as: the accumulator's format; where parts are added float32, float64 for accumulators of that.
emu::Format result_format(const EmulatedProduct& product);

/// @throws ulpscope::Error where operands and results do not fit each other.
void check_shapes(const EmulatedProduct& product, std::size_t result_bytes);

}  // namespace ulpscope::gpu
