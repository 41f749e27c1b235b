// SPDX-License-Identifier: Apache-2.0
// Reads a piece in the widest type it needs, and rounds it.
#include "tensors/caster.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/integral.hpp"
#include "emu/philox.hpp"

namespace ulpscope::tensors {

bool Caster::rounds_codes() const {
  return tensor_.dtype.format && options_.subnormals_are_zero && *tensor_.dtype.format != emu::float32;
}

std::span<const float> Caster::floats(std::uint64_t first, std::size_t count) const {
  floats_.resize(count);
  tensor_.source->read(first, std::span(floats_));
  return floats_;
}

namespace {

constexpr int double_fraction_bits = emu::float64.fraction_bits;

bool is_of_64_bits(const DType& dtype) { return dtype.name == "int64" || dtype.name == "uint64"; }

/// Rounds an integer's own bits to a format that doubles have too few bits for to stand between them.
emu::Code rounded_integer(emu::Format format, emu::Code x, bool is_signed, const emu::RoundingOptions& options,
                          std::uint32_t random) {
  return is_signed ? emu::from_integer(format, static_cast<std::int64_t>(x), options, random).code
                   : emu::from_integer(format, std::uint64_t{x}, options, random).code;
}

/// An integer as a double with a last bit of 1 wherever bits are left out (rounding to odd): what is narrower is then rounded
/// as the integer itself would be (Boldo and Melquiond, IEEE Transactions on Computers 57, 2008).
double to_odd(std::uint64_t magnitude) {
  const int left_out = static_cast<int>(std::bit_width(magnitude)) - 53;
  if (left_out <= 0) return static_cast<double>(magnitude);
  const std::uint64_t kept = magnitude >> left_out;
  return std::ldexp(static_cast<double>(kept | ((kept << left_out) != magnitude ? 1 : 0)), left_out);
}

}  // namespace

bool Caster::rounds_integers() const {
  const bool decides_below = options_.rounding == emu::Rounding::stochastic;  // by the bits that are left out, not one of them
  return is_of_64_bits(tensor_.dtype) && (decides_below || format_.fraction_bits >= double_fraction_bits - 1);
}

std::span<const double> Caster::doubles(std::uint64_t first, std::size_t count) const {
  doubles_.resize(count);
  const bool is_signed = tensor_.dtype.name == "int64";
  if (is_of_64_bits(tensor_.dtype)) {
    std::vector<emu::Code> integers(count);
    tensor_.source->read_codes(first, integers);
    std::transform(integers.begin(), integers.end(), doubles_.begin(), [&](emu::Code x) {
      const bool negative = is_signed && x >> 63 != 0;
      return negative ? -to_odd(~x + 1) : to_odd(x);
    });
    return doubles_;
  }
  tensor_.source->read(first, std::span(doubles_));
  return doubles_;
}

void Caster::codes(std::uint64_t first, std::span<emu::Code> out) const {
  if (rounds_codes()) {
    tensor_.source->read_codes(first, out);
    emu::convert(*tensor_.dtype.format, std::span<const emu::Code>(out), format_, out, options_, random(first));
  } else if (rounds_integers()) {
    tensor_.source->read_codes(first, out);
    const bool is_signed = tensor_.dtype.name == "int64";
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = rounded_integer(format_, out[i], is_signed, options_, emu::rounding_bits(random_.seed, random(first).first + i));
  } else if (tensor_.dtype.fits_float()) {
    emu::encode(format_, floats(first, out.size()), out, options_, random(first));
  } else {
    emu::encode(format_, doubles(first, out.size()), out, options_, random(first));
  }
}

void Caster::values(std::uint64_t first, std::span<float> out) const {
  if (!rounds_codes() && tensor_.dtype.fits_float())
    return emu::round_to(format_, floats(first, out.size()), out, options_, random(first));
  std::vector<emu::Code> rounded(out.size());
  codes(first, rounded);
  emu::decode(format_, std::span<const emu::Code>(rounded), out);
}

void Caster::values(std::uint64_t first, std::span<double> out) const {
  std::vector<emu::Code> rounded(out.size());
  codes(first, rounded);
  emu::decode(format_, std::span<const emu::Code>(rounded), out);
}

}  // namespace ulpscope::tensors
