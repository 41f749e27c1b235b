// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor as a tensor, without a copy.
#pragma once

#include <cstdint>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::verify {

/// These rows (all that share a first index) of a tensor of one dimension or more, in this order.
tensors::Tensor rows_of_tensor(const tensors::Tensor& tensor, std::vector<std::uint64_t> rows);
/// What a tensor has at one first index: a matrix of a batch.
tensors::Tensor member_of_tensor(const tensors::Tensor& tensor, std::uint64_t index);
/// The tensor, a matrix, with zeros in the rows for which `is_zero` holds.
tensors::Tensor with_zero_rows(const tensors::Tensor& tensor, std::vector<bool> is_zero);

}  // namespace ulpscope::verify
