// SPDX-License-Identifier: Apache-2.0
// Collects every number, tie and threshold with their neighbours.
#include "verify/generate/generate_cast.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::verify {
namespace {

constexpr const char* group_of_numbers = "numbers";

/// Collects inputs, group by group.
class Inputs {
 public:
  void begin(std::string name, std::string what) {
    if (!out_.groups.empty() && out_.groups.back().count == 0) out_.groups.pop_back();
    out_.groups.push_back({std::move(name), out_.input.size(), 0, std::move(what)});
  }
  /// One number, with both signs.
  void add(float x) {
    for (const float signed_x : {x, -x}) {
      out_.input.push_back(signed_x);
      ++out_.groups.back().count;
    }
  }
  /// A threshold, and the float32 numbers next to it.
  void add_with_neighbours(double x) {
    const auto single = static_cast<float>(x);
    if (static_cast<double>(single) != x || std::isinf(single)) {
      ++out_.outside_float32;
      return;
    }
    const float below = std::nextafter(single, 0.0F), above = std::nextafter(single, std::numeric_limits<float>::infinity());
    for (const float near : {below, single, above}) add(near);
  }
  CastCase take() { return std::move(out_); }

 private:
  CastCase out_;
};

/// The number that would come after the largest, if the exponent were not limited.
double beyond(emu::Format to) {
  const double largest = emu::max_finite(to);
  return largest + std::ldexp(1.0, emu::spacing_exponent(to, largest));
}

/// The group of the format's own numbers: not all stay what they are where it has no sign, or subnormal ones become zero.
void count_unchanged(CastCase& made, emu::Format to) {
  for (CastGroup& group : made.groups) {
    if (group.name != group_of_numbers) continue;
    std::size_t unchanged = 0;
    for (std::size_t i = group.first; i < group.first + group.count; ++i)
      unchanged += emu::decode(to, made.expected[i]) == static_cast<double>(made.input[i]);
    if (unchanged == group.count)
      group.what += ": comes out unchanged";
    else
      group.what += ", with both signs: " + std::to_string(unchanged) + " come out unchanged";
  }
}

void add_neighbours(Inputs& inputs, emu::Format to) {
  inputs.begin(group_of_numbers, "every finite number of the format");
  for (emu::Code code = to.has_zero() ? 1 : 0; code <= to.max_finite_code(); ++code)
    if (const auto x = static_cast<float>(emu::decode(to, code)); static_cast<double>(x) == emu::decode(to, code))
      inputs.add(x);
  inputs.begin("ties", "halfway between each number and the next, and the float32 numbers beside");
  for (emu::Code code = 0; code < to.max_finite_code(); ++code)
    inputs.add_with_neighbours((emu::decode(to, code) + emu::decode(to, code + 1)) / 2);
}

void add_thresholds(Inputs& inputs, emu::Format to) {
  inputs.begin("overflow", "the largest number, the tie above it, and what would be the next number; float32 numbers beside");
  const double next = beyond(to);
  for (const double x : {emu::max_finite(to), (emu::max_finite(to) + next) / 2, next, 2 * next}) inputs.add_with_neighbours(x);
  inputs.begin("underflow", "the least normal number, the least number, its half and its quarter; float32 numbers beside");
  for (const double x : {emu::min_normal(to), emu::min_positive(to), emu::min_positive(to) / 2, emu::min_positive(to) / 4})
    inputs.add_with_neighbours(x);
}

void add_specials(Inputs& inputs) {
  using Limits = std::numeric_limits<float>;
  inputs.begin("extremes", "the largest, least normal and least float32 numbers");
  for (const float x : {Limits::max(), Limits::min(), Limits::denorm_min()}) inputs.add(x);
  inputs.begin("zeros", "of both signs");
  inputs.add(0);
  inputs.begin("infinities", "of both signs");
  inputs.add(Limits::infinity());
  inputs.begin("nans", "quiet and signaling, least and greatest payloads, both signs");
  for (const std::uint32_t word : {0x7fc00000U, 0x7fffffffU, 0x7f800001U, 0x7fbfffffU}) inputs.add(std::bit_cast<float>(word));
}

}  // namespace

CastCase generate_cast(emu::Format to, const emu::RoundingOptions& options) {
  constexpr int most_bits = emu::tf32.bits();
  if (to.bits() > most_bits)
    throw Error("cast: " + emu::format_name(to) + " has " + std::to_string(to.bits()) +
                " bits, too many to have every tie; give a format of " + std::to_string(most_bits) + " bits or fewer");
  if (options.rounding == emu::Rounding::stochastic)
    throw Error("cast: stochastic rounding has no expected code; give another --rounding");
  Inputs inputs;
  add_neighbours(inputs, to);
  add_thresholds(inputs, to);
  add_specials(inputs);
  CastCase out = inputs.take();
  out.expected.reserve(out.input.size());
  for (const float x : out.input) out.expected.push_back(emu::encode(to, x, options));
  count_unchanged(out, to);
  return out;
}

}  // namespace ulpscope::verify
