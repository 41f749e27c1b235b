// SPDX-License-Identifier: Apache-2.0
// Arrays of a program as tensors that a check reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::verify {

/// A copy of `values`. @throws ulpscope::Error where they are not as many as `shape` has, or one is no number of `format`
tensors::Tensor check_tensor(const std::string& name, std::span<const float> values, const std::vector<std::uint64_t>& shape,
                             emu::Format format);

/// The same of integers of 64 bits.
tensors::Tensor check_tensor(const std::string& name, std::span<const std::int64_t> values,
                             const std::vector<std::uint64_t>& shape);

/// What is said of options, said of the members that have their names: `--split-k` is split_k.
std::string with_member_names(std::string text);

}  // namespace ulpscope::verify
