// SPDX-License-Identifier: Apache-2.0
// A small generative adversarial network (Goodfellow et al., arXiv 1406.2661): one perceptron makes samples of random numbers,
// another tells them from those of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/model.hpp"

namespace ulpscope::training {

/// Which of the two networks a loss is for.
enum class GanPart : std::uint8_t { discriminator, generator };

/// The loss of one of the two, with the other's parameters as they are: binary cross-entropy of the discriminator's logits. The
/// discriminator wants 1 of samples and 0 of as many made ones; the generator wants 1 of made ones (the non-saturating loss of
/// section 3 there). Random numbers are drawn with `seed`.
template <class Real>
Variable gan_loss(Tape<Real>& tape, const ModelSpec& model, GanPart part, const std::vector<Variable>& parameters,
                  const Samples& samples, const std::vector<std::size_t>& batch, std::uint64_t seed, Buffers<Real>& buffers);

/// `count` samples that the generator makes, (count, numbers of a sample), of the model's parameters.
template <class Real>
Variable gan_samples(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, std::size_t count,
                     std::uint64_t seed, Buffers<Real>& buffers);

/// Points of a plane, one after the other, of a normal distribution with mean (1, -0.5) and covariance ((1, 0.6), (0.6, 0.52)).
std::vector<double> normal_points(std::size_t count);

/// How far two sets of points of a plane are apart as normal distributions (Frechet; Heusel et al., arXiv 1706.08500, section
/// 2): |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)). Both hold pairs (x, y), at least two.
double frechet_distance(std::span<const double> points, std::span<const double> others);

}  // namespace ulpscope::training
