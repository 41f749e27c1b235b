// SPDX-License-Identifier: Apache-2.0
// The emulator, run by the device itself beside what it claims to emulate: comparisons by the hundred million, and whole
// emulated products. The same headers of emu, compiled for the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "gpu/elementwise.hpp"
#include "gpu/matrix.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::gpu {

/// What a comparison on the device came to.
struct Tally {
  static constexpr std::size_t most_kept = 16;  ///< mismatches that are told by index

  std::uint64_t tests = 0, mismatches = 0;  ///< how many were compared, and how many differ
  std::vector<std::uint64_t> first;         ///< indices of the first mismatches, ascending; at most `most_kept`
};

/// A range of numbered tests: [begin, begin + count). What number i is depends on i and the seed alone.
struct TestRange {
  std::uint64_t seed = 0, begin = 0, count = 0;  ///< the key, the first number and how many
};

/// An emulated product: the chain of each element starts from c, or begins anew from 0 every `promote` products (0: never) of
/// each of `split_k` equal parts of K; parts are added in float32 to nearest even, ascending. As emu::EngineMatmul.
struct EmulatedProduct {
  emu::Engine engine;                    ///< what multiplies and sums
  MatrixProduct product;                 ///< its operands
  std::size_t promote = 0, split_k = 1;  ///< in products; chains of equal length
};

/// The emulator itself on a device: a product, and comparisons of the device's instructions with their models.
class DeviceEmulator {
 public:
  virtual ~DeviceEmulator() = default;

  /// The adversarial inner products of gpu/adversarial.hpp with those numbers: the instruction beside the engine, bit by bit.
  virtual Tally check(const Operation& operation, const emu::Engine& engine, const TestRange& tests) const = 0;
  /// An element operation beside its model. With one operand of at most 32 bits, test i is the operand of code i, so that
  /// begin = 0, count = 2^bits visits every input; otherwise the operands of number i of gpu/adversarial.hpp.
  virtual Tally sweep(const ElementOperation& operation, const TestRange& tests) const = 0;
  /// Inner products by the interpreter of emu/engine_step.hpp.
  virtual void inner_products(const emu::Engine& engine, const Operation& operation, const InnerProducts& problem,
                              std::span<emu::Code> d) const = 0;
  /// d: m * n stored codes; of the engine's accumulator, of float32 where parts are added.
  virtual void multiply(const EmulatedProduct& product, std::span<std::byte> d) const = 0;
  /// Seconds that the device took for the last multiply, transfers apart; 0 where it does not say.
  virtual double last_seconds() const = 0;
};

}  // namespace ulpscope::gpu
