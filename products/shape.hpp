// SPDX-License-Identifier: Apache-2.0
// The shapes of a matrix product, by the rules of numpy.matmul.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::products {

/// A tensor as an operand: its last two dimensions are matrices, the others the batch; one dimension alone is a vector.
struct MatmulInput {
  tensors::Tensor tensor;   ///< as stored
  bool transposed = false;  ///< its matrices stand for their transposes

  /// Extents of a matrix as stored; a vector is a row in A and a column in B.
  struct Extents {
    std::size_t rows, columns;  ///< extents
  };
  /// Whether it has one dimension.
  bool is_vector() const { return tensor.shape.size() == 1; }
  /// Its extents without the last two; empty for a vector.
  std::vector<std::uint64_t> batch() const;
  /// The label and the shape, for messages.
  std::string words() const;
};

/// Extents of a product and its batch.
struct MatmulShape {
  std::size_t m, n, k;                  ///< A is m by k, B is k by n
  std::vector<std::uint64_t> d;         ///< of the result
  std::vector<std::size_t> a_of, b_of;  ///< which matrix of A and of B each product of the batch takes
  std::size_t a_matrices, b_matrices;   ///< that A and B hold

  std::size_t batch() const { return a_of.size(); }  ///< products
};

/// (M,K)x(K,N); (B,M,K)x(B,K,N) with broadcast batches; a vector is a row in A, a column in B, and its extent of 1 is left out
/// of D. @throws Error with both shapes.
MatmulShape matmul_shape(const MatmulInput& a, const MatmulInput& b);

/// For every element of a tensor of shape `to`, the index of the element of one of shape `from` that broadcasting puts there.
/// @throws Error, which begins with `name`, where the shapes do not fit.
std::vector<std::size_t> broadcast_indices(const std::string& name, const std::vector<std::uint64_t>& from,
                                           const std::vector<std::uint64_t>& to);

}  // namespace ulpscope::products
