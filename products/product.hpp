// SPDX-License-Identifier: Apache-2.0
// One matrix product of tensors: operands, formats, scales, the order of the sum, the epilogue, and the engine that computes
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "emu/format.hpp"
#include "products/engine.hpp"
#include "products/operand.hpp"
#include "products/shape.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::products {

/// D = alpha * (C + A.B); with `beta` D = alpha * A.B + beta * C.
struct Product {
  /// A word for emu::parse_engine or emu::parse_split; `exact`: one rounding to `out`; empty: not said.
  std::string engine = {};
  MatmulOperand a, b;                     ///< the operands
  std::optional<tensors::Tensor> c = {};  ///< broadcast to the shape of D, rounded to nearest even to `acc`
  emu::Format acc, out;                   ///< of the sum, of D
  double alpha = 1;                       ///< factor of the sum, C included where there is no `beta`
  std::optional<double> beta = {};        ///< factor of C; none: the sum starts from C
  std::size_t promote = 0;                ///< products after which the partial sum is added to a float32 sum; 0: never
  std::size_t split_k = 1;                ///< chains that K is cut into
  int threads = 0;                        ///< 0: all
};

/// Its engine, or another one in its place. @throws ulpscope::Error as choose_engine()
ChosenEngine engine_of(const Product& product);
ChosenEngine engine_of(const Product& product, const std::string& engine);

/// The same before the last rounding: D has the format in which it is computed, float32 or float64.
Product unrounded(Product product);

/// How a product is computed in portions, for progress. It changes no result.
struct Portions {
  std::function<void(std::uint64_t elements)> progress = {};     ///< told of elements of D that are done
  std::size_t products_between_progress = std::size_t{1} << 28;  ///< as far as whole lines allow
};

template <class Float>
class Multiplication;

/// Operands that are rounded and laid out once, for as many engines as are asked for.
class LoadedProduct {
 public:
  /// @throws ulpscope::Error where shapes, formats or scales do not fit. `product` must outlive it.
  explicit LoadedProduct(const Product& product);
  LoadedProduct(const LoadedProduct&) = delete;
  LoadedProduct& operator=(const LoadedProduct&) = delete;
  ~LoadedProduct();

  /// Extents and batch.
  const MatmulShape& shape() const noexcept { return shape_; }
  const RoundedElements& a() const;  ///< what rounding did to the inputs
  /// What rounding did to the elements of B.
  const RoundedElements& b() const;
  /// What rounding did to the elements of C.
  const RoundedElements& c() const;

  /// D, numbers of the product's `out`; its label is the engine's word.
  tensors::Tensor on(const ChosenEngine& engine, const Portions& portions = {}) const;

  /// As many rows of a product rows() computes together, for B is made ready for each call.
  std::size_t rows_at_a_time() const;
  /// The rows of D from `first` on, counted over all products, rows_at_a_time() or as many as are left of their product, in one
  /// thread. `first` is a multiple of rows_at_a_time() behind the first row of its product.
  std::vector<double> rows(const ChosenEngine& engine, std::size_t first) const;

  /// The greatest magnitude, over all elements of D, of the sums of the first 1, 2, .. products in ascending order, from C,
  /// which counts itself, where the chain starts there, and from 0 behind every `promote` products: what an accumulator must
  /// hold, whatever it rounds. In float64; NaN is passed over. Without scales and split K.
  double largest_partial_sum() const;

 private:
  MatmulShape shape_;
  std::variant<std::unique_ptr<Multiplication<float>>, std::unique_ptr<Multiplication<double>>> multiplication_;
};

/// D on the product's engine. @throws ulpscope::Error where shapes, formats, scales or engine do not fit
tensors::Tensor multiply(const Product& product);

}  // namespace ulpscope::products
