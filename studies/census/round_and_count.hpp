// SPDX-License-Identifier: Apache-2.0
// The fused pass over a chunk: round, classify, count, and sum the errors.
#pragma once

#include <cstdint>
#include <span>

#include "emu/rounding.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Rounds `values`, elements first, first + 1, ... of a tensor of `dtype`, to `format` under `scales`.
template <class Float>
ErrorSums round_and_count(std::span<const Float> values, std::uint64_t first, emu::Format format, const ScaleMap& scales,
                          const tensors::DType& dtype, const emu::RoundingOptions& options, std::uint64_t seed);

/// What `values` become: rounded under their scales and divided by them again. `out` is as long, and so is `codes`, of what was
/// rounded, unless it is empty.
template <class Float>
void round_and_unscale(std::span<const Float> values, std::uint64_t first, emu::Format format, const ScaleMap& scales,
                       const tensors::DType& dtype, const emu::RoundingOptions& options, std::uint64_t seed,
                       std::span<double> out, std::span<emu::Code> codes = {});

}  // namespace ulpscope::studies
