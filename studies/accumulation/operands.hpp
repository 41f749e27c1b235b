// SPDX-License-Identifier: Apache-2.0
// Operands of products under study, and their products in float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/exact_matmul.hpp"
#include "emu/format.hpp"

namespace ulpscope::studies {

/// A synthetic tensor of this shape; `distribution` is its word without the shape.
std::vector<float> draw_matrix(const std::string& distribution, emu::MatrixShape shape, std::uint64_t seed);

/// To nearest even, saturating.
std::vector<float> rounded_matrix(emu::Format format, const std::vector<float>& values);

/// A matrix product in float64, every product of float32 numbers being exact and added in the order of k.
std::vector<double> float64_product(const std::vector<float>& a, emu::MatrixShape of_a, const std::vector<float>& b,
                                    emu::MatrixShape of_b);

/// The Frobenius norm.
double frobenius_norm(const std::vector<double>& values);

}  // namespace ulpscope::studies
