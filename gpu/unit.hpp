// SPDX-License-Identifier: Apache-2.0
// A matrix unit that can be asked for inner products: a GPU's tensor core, a unit of this processor, or an emulated engine. All
// speak in bit patterns, so that what they answer can be compared, probed and recorded by the same code.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emu/engine.hpp"
#include "emu/error.hpp"
#include "emu/format.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu {

/// One instruction of a unit.
struct Operation {
  std::string instruction;                             ///< as its manual spells it
  emu::Format a, b, accumulator;                       ///< of the operands, and of c and the result
  std::size_t products;                                ///< of one inner product of the instruction
  emu::EngineScales scales = emu::EngineScales::none;  ///< block scales that the instruction applies
  emu::Format scale_format = emu::float8_e8m0fnu;      ///< of the scales
  std::size_t scale_products = 0;                      ///< products that share two scales; 0 where there are none
  std::string engine = {};                             ///< the emulated engine that claims to compute the same
};

/// Independent inner products d[i] = c[i] + sum of a[i][k] * b[i][k], k < products. Codes, row-major: a and b hold count times
/// `products` of them, c holds count.
struct InnerProducts {
  std::size_t products;                           ///< of one inner product
  std::span<const emu::Code> a, b, c;             ///< operands and addends
  std::span<const emu::Code> a_scales, b_scales;  ///< count times products / scale_products, or empty
};

/// Matrix instructions of a device.
class Unit {
 public:
  virtual ~Unit() = default;

  /// For messages: what computes.
  virtual std::string name() const = 0;
  /// What it offers.
  virtual std::vector<Operation> operations() const = 0;
  /// One instruction for each inner product. d holds as many codes as c. `problem.products` is a multiple of
  /// operation.products; more than one makes a chain of instructions, each with the result of the one before for its c.
  /// @throws ulpscope::Error when the device fails; nothing in d counts then.
  virtual void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const = 0;
  /// A whole product: for each element a chain of the operation over ascending k, that starts from c; zeros fill the last
  /// instruction. d holds m * n stored codes of the accumulator's format, row-major. Without scales.
  /// @throws ulpscope::Error when the device fails or formats and shapes do not fit; nothing in d counts then.
  virtual void multiply_matrices(const Operation& operation, const MatrixProduct& product, std::span<std::byte> d) const;
};

/// @throws ulpscope::Error where a product is none that the operation can take.
void check_shapes(const Operation& operation, const MatrixProduct& product, std::span<const std::byte> d);

/// What a device is asked for is not there: no driver, no device of that name, no such instruction.
class NoDevice : public Error {
 public:
  using Error::Error;
};

}  // namespace ulpscope::gpu
