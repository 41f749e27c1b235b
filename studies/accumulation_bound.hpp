// SPDX-License-Identifier: Apache-2.0
// How far an engine's sum can be from the exact one, whatever the operands are.
//
// Let P be the sum of |a||b|, magnitudes below the least normal number counted as that number. Then, without overflow,
//   |computed - exact| <= relative P + absolute.
//
// A step of an aligned engine (n products, F fraction bits, cut toward zero, rounded with unit u: 2^-p toward zero and
// 2^-(p+1) to nearest, p the fraction bits of the result) changes its sum in two places. The term with the greatest exponent e
// is kept whole, because its bits fit into F; each of the n others loses less than 2^(e-F), and 2^e is at most the magnitude of
// that term. Rounding then loses at most u times the sum of the cut terms. With rounding toward zero no magnitude exceeds P, so
// that a step loses at most (n 2^-F + u) P, and T steps T times that; what is lost in one step is passed on unchanged. Each
// rounding to nearest can raise magnitudes by 1 + u: the factor 1 / (1 - T u) allows for it.
// A chain of T fused multiply-adds is the same with nothing cut: T u / (1 - T u), Higham's gamma_T (Accuracy and Stability of
// Numerical Algorithms, 2nd ed., 3.1). In a pairwise sum a product meets h = ceil(log2 K) + 1 roundings: gamma_h (there, 4.2).
// Promotion adds q parts, each with the bound b, in float32: b + gamma_(q-1) (1 + b).
#pragma once

#include <cstddef>
#include <optional>

#include "emu/engine.hpp"
#include "emu/format.hpp"

namespace ulpscope::studies {

struct SumBound {
  double relative, absolute;
};

/// Nothing where no bound is derived: several stages, flushed subnormals, scales, or fewer bits than a term has.
std::optional<SumBound> sum_bound(const emu::Engine& engine, emu::Format in, std::size_t length, std::size_t promote);

}  // namespace ulpscope::studies
