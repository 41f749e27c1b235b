// SPDX-License-Identifier: Apache-2.0
// One matrix product in memory: operands scaled and rounded, multiplied on an engine, the result stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "training/tape/multiplier.hpp"
#include "training/tape/padding.hpp"
#include "training/tape/precision.hpp"
#include "training/tape/workspace.hpp"

namespace ulpscope::training {

/// A matrix that is somewhere: row-major as stored, or standing for its transpose.
template <class Real>
struct MatrixView {
  std::span<const Real> values;
  std::size_t rows, columns;  ///< as multiplied
  bool transposed = false;    ///< stored columns by rows

  MatrixView t() const noexcept { return {values, columns, rows, !transposed}; }
};

/// An operand, and how it is to be stored before it is multiplied.
template <class Real>
struct ProductOperand {
  MatrixView<Real> matrix;
  OperandPrecision precision;
  std::string_view place;  ///< `input`, `weight`, `grad_output`: for who is told
};

/// How the sums are formed and what becomes of them.
struct ProductSums {
  std::string engine;
  emu::Format accumulate;
  std::size_t promote = 0;
  int threads = 0;
  bool hadamard = false;             ///< both operands are multiplied by S H / 4 along the sum first, see product.cpp
  Multiplier* multiplier = nullptr;  ///< null: the emulated engine
  std::string_view operation = {}, layer = {};  ///< for the multiplier
};

/// Stores numbers of an operand: rounds them in place.
template <class Real>
using Store =
    std::function<void(std::span<Real> values, const Storage& storage, std::string_view place, const Padding& padding)>;

/// d = a.b, row-major, numbers of `accumulate`. Scales are those of blocks along the products of a sum, as the recipes that
/// name them have it (studies/census/scaling.hpp); whoever multiplies takes them out again. @throws ulpscope::Error
template <class Real>
void multiply(const ProductOperand<Real>& a, const ProductOperand<Real>& b, const ProductSums& sums, const Store<Real>& store,
              Workspace<Real>& workspace, std::span<Real> d);

}  // namespace ulpscope::training
