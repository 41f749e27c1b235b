// SPDX-License-Identifier: Apache-2.0
// What may multiply in the place of the emulated engines: the products of a tape go through it one by one, operands stored.
#pragma once

#include <span>
#include <string_view>

#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "products/engine.hpp"

namespace ulpscope::training {

/// A product that is to be formed.
template <class Real>
struct AskedProduct {
  std::string_view operation, layer;     ///< that it belongs to
  std::string_view place;                ///< of the result: `output`, `grad_input`, `grad_weight`
  const products::ChosenEngine& engine;  ///< that the recipe names
  const emu::EngineMatmul<Real>& problem;
};

/// A product that is not formed, or not as it must be; says which, and where in the run.
class ProductError : public Error {
 public:
  using Error::Error;
};

/// Forms products of stored operands.
class Multiplier {
 public:
  virtual ~Multiplier() = default;

  /// d as emu::engine_matmul gives it. @throws ProductError
  ///@{
  virtual void multiply(const AskedProduct<float>& product, std::span<float> d) = 0;
  virtual void multiply(const AskedProduct<double>& product, std::span<double> d) = 0;
  ///@}
};

}  // namespace ulpscope::training
