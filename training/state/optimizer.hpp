// SPDX-License-Identifier: Apache-2.0
// Optimizers whose weights and states are numbers of chosen formats: what an update is worth once it is rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/state/moments.hpp"
#include "training/tape/array.hpp"
#include "training/tape/precision.hpp"

namespace ulpscope::training {

/// How the step is made of a gradient.
enum class OptimizerKind : std::uint8_t {
  sgd,    ///< with momentum, and Nesterov's, as torch.optim.SGD has them
  adam,   ///< Kingma and Ba 2015, algorithm 1; weight decay joins the gradient
  adamw,  ///< Loshchilov and Hutter 2019, algorithm 2: weight decay is taken off the weight
  muon,   ///< of weights of two dimensions and more as torch.optim.Muon has it, of others as adamw
};

/// What Muon's learning rate is multiplied by, for a matrix of so many rows and columns.
enum class RateAdjustment : std::uint8_t {
  original,         ///< sqrt(max(1, rows / columns)): Jordan's
  match_rms_adamw,  ///< 0.2 sqrt(max(rows, columns)): steps as large as AdamW's (Liu et al., arXiv 2502.16982)
};

/// Where epsilon stands in Adam's quotient; c1 and c2 are 1 - beta^t.
enum class EpsilonPlacement : std::uint8_t {
  torch,         ///< lr / c1 * m / (sqrt(v) / sqrt(c2) + eps)
  inside_step,   ///< lr * sqrt(c2) / c1 * m / (sqrt(v) + eps): older torch, TensorFlow
  bitsandbytes,  ///< lr * sqrt(c2) / c1 * m / (sqrt(v) + eps * sqrt(c2)); the decay comes behind the step
};

/// What becomes of a step too small for the weight's format.
enum class UpdateRounding : std::uint8_t {
  nearest,     ///< it is lost if it is less than half an ulp
  stochastic,  ///< it is taken with the probability that its size is
  kahan,       ///< it is kept, in the weight's format, for the next step (Zamirai et al., arXiv 2010.06192, algorithm 3)
};

/// The words of these, as study files have them; parse throws ulpscope::Error naming the nearest.
///@{
std::string_view name_of(OptimizerKind kind) noexcept;
std::string_view name_of(RateAdjustment adjustment) noexcept;
std::string_view name_of(EpsilonPlacement placement) noexcept;
std::string_view name_of(UpdateRounding rounding) noexcept;
OptimizerKind parse_optimizer(std::string_view word);
RateAdjustment parse_rate_adjustment(std::string_view word);
EpsilonPlacement parse_epsilon_placement(std::string_view word);
UpdateRounding parse_update_rounding(std::string_view word);
///@}

/// Everything but the learning rate; defaults are torch's.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;                   ///< which
  double momentum = 0, dampening = 0;                        ///< of sgd; momentum of muon as well
  bool nesterov = false;                                     ///< of sgd and muon
  double weight_decay = 0;                                   ///< times the weight
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;             ///< of Adam
  EpsilonPlacement eps_placement = EpsilonPlacement::torch;  ///< of Adam
  RateAdjustment adjust_lr = RateAdjustment::original;       ///< of muon
  std::uint64_t ns_steps = 5;                                ///< of muon: of its iteration (orthogonal.hpp)
};

/// What weights and states are stored in. The step itself is computed in float32, in float64 where an array is of doubles, or
/// as `step` says.
struct StateStorage {
  Storage weights = {};                             ///< the weights that are updated: the master weights where there are some
  MomentStorage first = {}, second = {};            ///< momentum or m, and v
  UpdateRounding update = UpdateRounding::nearest;  ///< of the weights
  /// Each operation on a tensor that the step is made of is rounded to this format, as torch's optimizers that are not fused
  /// have it with narrow weights; muon's matrices are not.
  std::optional<emu::Format> step = {};
  Storage average = {};                    ///< the weights' moving average (average.hpp)
  emu::Format orthogonal = emu::bfloat16;  ///< what Muon's iteration is computed in, by its authors in bfloat16
};

/// What an optimizer keeps of one tensor.
template <class Real>
struct OptimizerState {
  std::vector<Real> first, second;  ///< momentum or m, and v; empty where there are none
  std::vector<Real> compensation;   ///< of Kahan's sums
  std::uint64_t steps = 0;          ///< that were taken

  friend bool operator==(const OptimizerState&, const OptimizerState&) = default;
};

/// What became of the steps of one tensor.
struct UpdateCounts {
  std::uint64_t elements = 0;  ///< of the tensor
  std::uint64_t wanted = 0;    ///< whose step was not zero
  std::uint64_t lost = 0;      ///< that are lost: the weight is as before, and what remembers the step, if anything does, too
  std::uint64_t small = 0;     ///< below half an ulp: to nearest the weight would be as before
};

/// One step: `weights` becomes new numbers of storage.weights. Every elementary operation rounds to nearest even in Real;
/// stochastic roundings take the words rounding_bits(seed, first), and those behind, one an element. Of muon `shape` is that of
/// the weights, of which the first extent counts the rows of a matrix; `threads` compute its products, with the same bits for
/// any number of them.
/// @throws ulpscope::Error where the gradient has another size, or, of muon, the shape
template <class Real>
UpdateCounts optimizer_step(const OptimizerSettings& settings, const StateStorage& storage, double learning_rate,
                            std::vector<Real>& weights, const std::vector<Real>& gradient, OptimizerState<Real>& state,
                            std::uint64_t seed, std::uint64_t first, const Shape& shape = {}, int threads = 0);

}  // namespace ulpscope::training
