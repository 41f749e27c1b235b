// SPDX-License-Identifier: Apache-2.0
// The rotation that spreads outliers over their neighbours before a tensor is quantized: a randomized Hadamard transform.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// y = (x o s) H / sqrt(n) of every n neighbours x of a row: H is Sylvester's Hadamard matrix of n rows, s are signs that all
/// of them share (NVFP4 pretraining, arXiv 2509.25149, section 4; QuaRot, arXiv 2404.00456). It is orthogonal: norms stay.
struct Hadamard {
  std::vector<double> signs;  ///< s, of +1 and -1; n of them, a power of two
  std::string word;           ///< as given

  /// n.
  std::size_t size() const noexcept { return signs.size(); }
  /// Whether rows of the tensor are numbers of floating point, and a multiple of n.
  bool fits(const Tensor& tensor) const;
};

/// x H, by sums and differences of numbers 1, 2, 4, ... apart, each rounded to nearest even in Real. Precondition: a power of
/// two of numbers.
template <class Real>
void hadamard_transform(std::span<Real> x) {
  for (std::size_t apart = 1; apart < x.size(); apart *= 2)
    for (std::size_t first = 0; first < x.size(); first += 2 * apart)
      for (std::size_t i = first; i < first + apart; ++i) {
        const Real a = x[i], b = x[i + apart];
        x[i] = a + b;
        x[i + apart] = a - b;
      }
}

/// Reads `N`, a power of two up to 4096, without signs; `16:te`, the signs of Transformer Engine's NVFP4 recipe
/// (NVFP4BlockScaling: get_wgrad_sign_vector()); `N:KEY`, the lowest bit of rounding_bits(KEY, i) for each sign.
/// @throws ulpscope::Error that begins with `what`
Hadamard parse_hadamard(const std::string& word, const std::string& what = "--hadamard");

/// The tensor rotated, when it is read: in float64, by additions of numbers 1, 2, 4, ... apart, multiplied by 1 / sqrt(n), and
/// rounded once to float32; of what is no float32 to float64. Precondition: fits().
Tensor rotated(const Tensor& tensor, const Hadamard& hadamard);
/// The tensor of which this is the rotated one, but for roundings. Precondition: fits().
Tensor rotated_back(const Tensor& tensor, const Hadamard& hadamard);

}  // namespace ulpscope::tensors
