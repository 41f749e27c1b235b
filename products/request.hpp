// SPDX-License-Identifier: Apache-2.0
// A matrix product as people ask for it, in words: what `ulpscope matmul`, `verify matmul`, `explain`, `audit`, study files and
// tests in C++ share, and the one place that makes a Product of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "products/product.hpp"
#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::products {

/// D = alpha * (C + A.B); with `beta` D = alpha * A.B + beta * C, and with a beta of 0 C is not read. The members mean what
/// their fields' help says.
struct ProductRequest {
  /// What the fields of these names say in the help of `ulpscope matmul`.
  ///@{
  std::string a, b, c;
  std::vector<std::string> in, dtype, scale_a, scale_b;
  std::string acc, out, scale_dtype;
  std::vector<std::uint64_t> seed{0};
  double alpha = 1;
  std::optional<double> beta;
  std::uint64_t promote = 0, split_k = 1;
  bool transpose_a = false, transpose_b = false;
  requests::RoundingRequest rounding;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// What a request names.
struct ProductInputs {
  tensors::Tensor a, b;                                     ///< the operands
  std::optional<tensors::Tensor> c = {};                    ///< none: zeros
  std::vector<tensors::Tensor> scale_a = {}, scale_b = {};  ///< none; one; or one, and one number for the whole operand
};

/// Opens the inputs. `further`: another tensor that `--dtype` may be of. @throws ulpscope::Error
ProductInputs open(const ProductRequest& request, const tensors::Tensor* further = nullptr);

/// The product of these inputs on `engine`, a word in any case. Empty: no engine, and sums in float32 unless `acc` says
/// otherwise.
/// @throws ulpscope::Error where words mean nothing, or shapes, formats and scales do not fit
Product resolve(const ProductRequest& request, const ProductInputs& inputs, const std::string& engine);

/// A line for each extent whose scales fit two kinds of blocks, one of 128, 32 or 16 and a divisor: which it is taken to be.
std::vector<std::string> ambiguous_scales(const Product& product);

/// An engine's name as this project spells it: in lower case, `_` for `-`.
std::string engine_word(std::string typed);

}  // namespace ulpscope::products
