// SPDX-License-Identifier: Apache-2.0
// The bench on which a unit is probed: inner products put together number by number, asked, and told in words.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "gpu/unit.hpp"

namespace ulpscope::studies {

/// One inner product and its addend, in codes. Scales: one of each for every block of products, none without block scales.
struct ProbeCase {
  std::vector<emu::Code> a, b;                ///< as many as the bench's products
  emu::Code c = 0;                            ///< of the accumulator's format
  std::vector<emu::Code> a_scales, b_scales;  ///< in ascending order of k
};

/// The code of 2^exponent * 1.fraction, or the nearest to it that the format has: never infinite, never NaN, never zero.
emu::Code number_code(emu::Format format, int exponent, emu::Code fraction, bool negative);

/// A number as a reader takes it in: `-2^-24`, `1.5`, `0x1.fffp+3`, `inf`.
std::string number_words(double number);

/// A unit, one of its operations, and the length of the inner products that it is asked for.
class ProbeBench {
 public:
  /// Asks `unit` for inner products of this length; both must outlive it.
  ProbeBench(const gpu::Unit& unit, const gpu::Operation& operation, std::size_t products);

  /// What is asked for.
  const gpu::Operation& operation() const noexcept { return operation_; }
  /// The length of the inner products.
  std::size_t products() const noexcept { return products_; }
  /// Whether the operation has block scales.
  bool scaled() const noexcept { return operation_.scale_products > 0; }
  /// Exponents that products of two normal powers of two have, without scales.
  int least_product() const noexcept;
  /// The same for the greatest.
  int greatest_product() const noexcept;

  /// The same for inner products of another length.
  ProbeBench of_length(std::size_t products) const { return {unit_, operation_, products}; }

  /// All zeros, all scales 1.
  ProbeCase blank() const;
  /// Makes product k a power of two, of normal operands if it can be; false, and nothing done, where there are none.
  bool put(ProbeCase& probe, std::size_t k, int exponent, bool negative = false) const;
  /// Makes c a power of two; false, and nothing done, where the accumulator has it not.
  bool put_addend(ProbeCase& probe, int exponent, bool negative = false) const;

  /// What the unit makes of a case.
  emu::Code answer(const ProbeCase& probe) const;
  /// What the unit makes of many, in one call.
  std::vector<emu::Code> answers(std::span<const ProbeCase> probes) const;
  /// What an engine makes of the same.
  emu::Code emulated(const emu::Engine& engine, const ProbeCase& probe) const;
  /// Whether two answers are the same number. The signs of zeros and the codes of NaNs have probes of their own.
  bool same(emu::Code x, emu::Code y) const noexcept;

  /// `c = 1, p[0] = -2^-24`, p[k] being the product of a[k] and b[k].
  std::string words(const ProbeCase& probe) const;
  std::string words(emu::Code answer) const;
  /// Products that are not zero, and 1 if c is not.
  std::size_t terms(const ProbeCase& probe) const;

 private:
  const gpu::Unit& unit_;
  gpu::Operation operation_;
  std::size_t products_;
};

}  // namespace ulpscope::studies
