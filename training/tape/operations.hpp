// SPDX-License-Identifier: Apache-2.0
// What can be done on a tape: each operation with its vector-Jacobian product. An operation computes in float32 (in float64 on
// a tape of doubles): each of its elementary operations rounds to nearest even, functions are those of emu/math.hpp and
// emu/special_functions.hpp, and sums of float32 numbers are formed in float64 in ascending order and rounded once, so that no
// result depends on threads, vectors or machine. The result is then rounded to the format that the tape's precision names for
// the operation. Shapes are those of numpy unless it is said otherwise; all throw ulpscope::Error where they do not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "training/tape/tape.hpp"

namespace ulpscope::training {

// Elementwise. Two operands are broadcast to each other: extents are equal or 1, missing ones are 1.

template <class Real>
Variable add(Tape<Real>& tape, Variable x, Variable y);
template <class Real>
Variable subtract(Tape<Real>& tape, Variable x, Variable y);
template <class Real>
Variable multiply(Tape<Real>& tape, Variable x, Variable y);
template <class Real>
Variable divide(Tape<Real>& tape, Variable x, Variable y);
/// x times a constant, plus a constant.
template <class Real>
Variable affine(Tape<Real>& tape, Variable x, Real factor, Real summand);

template <class Real>
Variable exp(Tape<Real>& tape, Variable x);
template <class Real>
Variable log(Tape<Real>& tape, Variable x);
template <class Real>
Variable sqrt(Tape<Real>& tape, Variable x);
template <class Real>
Variable square(Tape<Real>& tape, Variable x);
template <class Real>
Variable relu(Tape<Real>& tape, Variable x);
template <class Real>
Variable sigmoid(Tape<Real>& tape, Variable x);
template <class Real>
Variable tanh(Tape<Real>& tape, Variable x);
/// x times the normal distribution function at x (Hendrycks and Gimpel, 2016), by the error function.
template <class Real>
Variable gelu(Tape<Real>& tape, Variable x);
/// x times sigmoid(x).
template <class Real>
Variable silu(Tape<Real>& tape, Variable x);

/// To another format and back with the gradient: a cast of autocast, or a wider copy.
template <class Real>
Variable cast(Tape<Real>& tape, Variable x, const Storage& storage);

// Sums over one dimension, which stays with extent 1; over all without one.

template <class Real>
Variable sum(Tape<Real>& tape, Variable x, std::optional<std::size_t> dimension = {});
template <class Real>
Variable mean(Tape<Real>& tape, Variable x, std::optional<std::size_t> dimension = {});

// Over the last dimension. Norms keep the format of x where the precision keeps formats.

template <class Real>
Variable softmax(Tape<Real>& tape, Variable x);
template <class Real>
Variable log_softmax(Tape<Real>& tape, Variable x);
/// (x - mean) / sqrt(variance + epsilon) * weight + bias, the variance being that of all elements (Ba, Kiros, Hinton, 2016).
template <class Real>
Variable layer_norm(Tape<Real>& tape, Variable x, Variable weight, Variable bias, Real epsilon);
/// x / sqrt(mean of squares + epsilon) * weight (Zhang and Sennrich, 2019).
template <class Real>
Variable rms_norm(Tape<Real>& tape, Variable x, Variable weight, Real epsilon);

/// Batch norm of (N, C, ...) over all but C, in the format of x where the precision keeps it, by the batch's own mean and
/// variance (Ioffe and Szegedy, 2015); they are also put where they are asked for, the variance with divisor n - 1 as torch
/// keeps it.
template <class Real>
struct BatchStatistics {
  std::vector<Real> mean, variance;
};
template <class Real>
Variable batch_norm(Tape<Real>& tape, Variable x, Variable weight, Variable bias, Real epsilon,
                    BatchStatistics<Real>* statistics = nullptr);
/// The same by statistics that are given, for evaluation: it has no gradients.
template <class Real>
Variable batch_norm_by(Tape<Real>& tape, Variable x, Variable weight, Variable bias, Real epsilon,
                       const BatchStatistics<Real>& statistics);

// Moves: no number changes.

template <class Real>
Variable reshape(Tape<Real>& tape, Variable x, Shape shape);
template <class Real>
Variable permute(Tape<Real>& tape, Variable x, const std::vector<std::size_t>& dimensions);
/// Elements begin up to end - 1 of one dimension.
template <class Real>
Variable slice(Tape<Real>& tape, Variable x, std::size_t dimension, std::size_t begin, std::size_t end);
template <class Real>
Variable concatenate(Tape<Real>& tape, const std::vector<Variable>& parts, std::size_t dimension);
/// Rows of a table: result (count of indices, columns). Gradients of a row that is taken several times are summed.
template <class Real>
Variable gather(Tape<Real>& tape, Variable table, const std::vector<std::size_t>& rows);
/// The largest of each window of (N, C, H, W), `size` by `size` and as far apart; the first of equal ones has the gradient.
template <class Real>
Variable max_pool(Tape<Real>& tape, Variable x, std::size_t size);
/// Elements (i, j) of the last two dimensions with j > i become `value`: causal attention.
template <class Real>
Variable mask_future(Tape<Real>& tape, Variable x, Real value);

// Products, on the engine that the tape's precision names for `operation`.

enum class Transpose : std::uint8_t { no, yes };

/// (..., M, K) times (..., K, N), leading extents being equal. Of `yes` the second operand is (..., N, K).
template <class Real>
Variable matmul(Tape<Real>& tape, Variable x, Variable y, Transpose transpose = Transpose::no,
                std::string_view operation = "matmul");
/// (..., K) times the transpose of weight (N, K), plus bias (N) where there is one: torch.nn.Linear.
template <class Real>
Variable linear(Tape<Real>& tape, Variable x, Variable weight, std::optional<Variable> bias);
/// (N, C, H, W) with weight (O, C, R, S), plus bias (O) where there is one: torch.nn.Conv2d, as one product of patches.
struct ConvolutionShape {
  std::size_t stride = 1, padding = 0;
};
template <class Real>
Variable convolution(Tape<Real>& tape, Variable x, Variable weight, std::optional<Variable> bias, ConvolutionShape shape);

// Losses: the mean over the batch, a single number.

/// Of (batch, classes) against a class each.
template <class Real>
Variable cross_entropy(Tape<Real>& tape, Variable logits, const std::vector<std::size_t>& classes);
/// Mean of squared differences over all elements.
template <class Real>
Variable mean_squared_error(Tape<Real>& tape, Variable x, Variable target);
/// Of logits against probabilities: max(x, 0) - x t + log(1 + e^-|x|).
template <class Real>
Variable binary_cross_entropy_with_logits(Tape<Real>& tape, Variable logits, Variable target);

}  // namespace ulpscope::training
