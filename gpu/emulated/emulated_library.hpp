// SPDX-License-Identifier: Apache-2.0
// An emulated library of matrix products: algorithms that differ in known ways, so that what tells the algorithms of a real
// library apart can be tried where there is none.
#pragma once

#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "gpu/emulated/emulated_calls.hpp"
#include "gpu/library.hpp"

namespace ulpscope::gpu {

/// A library on the engine of a GPU. Its algorithms:
/// - chain: one chain over K;
/// - split_k: 2, 3 or 4 chains over consecutive parts of K, multiples of 64 products and as equal as they can be, the last one
///   shorter; joined in the accumulator's format, or stored in D's format first, then added, ascending;
/// - promote: a chain begins anew every 32, 64, 128 or 512 products; its sums are added up in float32;
/// - stream_k: tiles of 16 by 16 outputs, most of them cut in two at some multiple of 32 products, each tile elsewhere;
/// - other_engine: one chain on an older engine, sm_80, for fp8 sm_89; where that is the same one, pairwise sums;
/// - noise: every fourth output is off by one unit in its last place, at random.
///
/// fp8 without fast accumulation promotes every 128 products unless the algorithm says how often. Scales of lines multiply the
/// sum, those of 128 products what is promoted, which joins with a fused multiply-add; both scales are multiplied first. sm_90
/// has these modes, as cuBLASLt has them there; scales of 16 and 32 products are the engine's. Operands of the fast compute
/// types lose their low bits first (tf32: cut off; float16 and bfloat16: to nearest even). It has no clock: time() says 0.
class EmulatedLibrary final : public Library {
 public:
  /// @throws ulpscope::Error where there is no engine of that name.
  explicit EmulatedLibrary(std::string engine);

  std::string name() const override { return "emulated:" + engine_; }
  std::string version() const override { return "1"; }
  std::vector<LibraryCall> calls() const override { return calls_of_engine(engine_); }
  std::vector<LibraryAlgorithm> algorithms(const LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                           std::size_t most) const override;
  void multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                std::span<std::byte> d) const override;
  LibraryTime time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                   std::size_t k) const override;
  void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const override {
    draw_normal_here(format, seed, operand, codes);
  }

 private:
  void require(const LibraryCall& call) const;

  std::string engine_;
};

}  // namespace ulpscope::gpu
