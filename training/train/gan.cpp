// SPDX-License-Identifier: Apache-2.0
// Two networks against each other.
#include "training/train/gan.hpp"

#include <cmath>
#include <string>

#include "tensors/synthetic.hpp"
#include "training/tape/operations.hpp"

namespace ulpscope::training {
namespace {

/// Normally distributed, float32 numbers.
std::vector<double> normal_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> values(count);
  tensors::synthetic("normal:0,1:" + std::to_string(count), seed).source->read(0, std::span<double>(values));
  return values;
}

template <class Real>
constexpr emu::Format own_format() {
  return sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;
}

std::size_t generator_parameters(const ModelSpec& model) { return layer_parameters(model.layers, "").size(); }

/// The discriminator's cross-entropy where `wanted` is said of every sample.
template <class Real>
Variable judged(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, Variable samples,
                Real wanted, Buffers<Real>& buffers) {
  const auto of_discriminator = std::span(parameters).subspan(generator_parameters(model));
  const Variable logits =
      apply_layers<Real>(tape, model.discriminator, "discriminator.", of_discriminator, samples, buffers, model.checkpoint);
  tape.enter("loss");
  const Variable target = tape.input(Array<Real>(tape.shape(logits), wanted), own_format<Real>(), false);
  return binary_cross_entropy_with_logits(tape, logits, target);
}

/// Of points of a plane.
struct Moments {
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;

  explicit Moments(std::span<const double> points) {
    const std::size_t pairs = points.size() / 2;
    const auto count = static_cast<double>(pairs);
    for (std::size_t i = 0; i + 1 < points.size(); i += 2) x += points[i] / count, y += points[i + 1] / count;
    for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
      const double dx = points[i] - x, dy = points[i + 1] - y;
      xx += dx * dx / count, xy += dx * dy / count, yy += dy * dy / count;
    }
  }
  double determinant() const { return xx * yy - xy * xy; }
};

}  // namespace

template <class Real>
Variable gan_samples(Tape<Real>& tape, const ModelSpec& model, const std::vector<Variable>& parameters, std::size_t count,
                     std::uint64_t seed, Buffers<Real>& buffers) {
  const std::size_t inputs = model.widths.front();
  const std::vector<double> random = normal_numbers(count * inputs, seed);
  return apply_layers<Real>(tape, model.layers, "generator.", std::span(parameters).first(generator_parameters(model)),
                            tape.input(Array<Real>({count, inputs}, {random.begin(), random.end()}), own_format<Real>(), false),
                            buffers, model.checkpoint);
}

template <class Real>
Variable gan_loss(Tape<Real>& tape, const ModelSpec& model, GanPart part, const std::vector<Variable>& parameters,
                  const Samples& samples, const std::vector<std::size_t>& batch, std::uint64_t seed, Buffers<Real>& buffers) {
  const Variable made = gan_samples(tape, model, parameters, batch.size(), seed, buffers);
  if (part == GanPart::generator) return judged(tape, model, parameters, made, Real{1}, buffers);
  const Variable real = tape.input(samples.inputs_of<Real>(batch), own_format<Real>(), false);
  const Variable of_real = judged(tape, model, parameters, real, Real{1}, buffers);
  return add(tape, of_real, judged(tape, model, parameters, made, Real{0}, buffers));
}

std::vector<double> normal_points(std::size_t count) {
  std::vector<double> points = normal_numbers(2 * count, 0);
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const double a = points[i], b = points[i + 1];
    points[i] = static_cast<double>(static_cast<float>(1 + a));
    points[i + 1] = static_cast<double>(static_cast<float>(-0.5 + 0.6 * a + 0.4 * b));
  }
  return points;
}

double frechet_distance(std::span<const double> points, std::span<const double> others) {
  const Moments a(points), b(others);
  const double dx = a.x - b.x, dy = a.y - b.y;
  // Of a matrix of two by two with eigenvalues p and q: (sqrt p + sqrt q)^2 = trace + 2 sqrt(determinant).
  const double trace_of_product = a.xx * b.xx + 2 * a.xy * b.xy + a.yy * b.yy;
  const double root =
      std::sqrt(std::fmax(0.0, trace_of_product + 2 * std::sqrt(std::fmax(0.0, a.determinant() * b.determinant()))));
  return dx * dx + dy * dy + a.xx + a.yy + b.xx + b.yy - 2 * root;
}

#define ULPSCOPE_GAN(Real)                                                                                               \
  template Variable gan_samples(Tape<Real>&, const ModelSpec&, const std::vector<Variable>&, std::size_t, std::uint64_t, \
                                Buffers<Real>&);                                                                         \
  template Variable gan_loss(Tape<Real>&, const ModelSpec&, GanPart, const std::vector<Variable>&, const Samples&,       \
                             const std::vector<std::size_t>&, std::uint64_t, Buffers<Real>&);
ULPSCOPE_GAN(float)
ULPSCOPE_GAN(double)
#undef ULPSCOPE_GAN

}  // namespace ulpscope::training
