// SPDX-License-Identifier: Apache-2.0
// By finite series in the angle whose tangent is t / sqrt(n).
#include "training/outcomes/student.hpp"

#include <cmath>
#include <numbers>

#include "emu/special_functions.hpp"

namespace ulpscope::training {
namespace {

/// The probability that |t| <= sqrt(n) tan(angle) (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and
/// 26.7.4).
double share_within(int n, double angle) {
  const double sine = emu::sin(angle), cosine = emu::cos(angle);
  const bool is_odd = n % 2 != 0;
  double term = is_odd ? cosine : 1, sum = 0;
  for (int power = is_odd ? 1 : 0; power <= n - 2; power += 2) {
    sum += term;
    term *= (power + 1.0) / (power + 2.0) * cosine * cosine;
  }
  return is_odd ? 2 * (angle + sine * sum) / std::numbers::pi : sine * sum;
}

}  // namespace

double critical_t(int degrees_of_freedom, double probability) {
  double below = 0, above = std::numbers::pi / 2;
  for (int bit = 0; bit < 60; ++bit) {
    const double middle = below + (above - below) / 2;
    (share_within(degrees_of_freedom, middle) < 1 - probability ? below : above) = middle;
  }
  return std::sqrt(static_cast<double>(degrees_of_freedom)) * emu::sin(below) / emu::cos(below);
}

}  // namespace ulpscope::training
