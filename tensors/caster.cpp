// SPDX-License-Identifier: Apache-2.0
// Reads a piece in the widest type it needs, and rounds it.
#include "tensors/caster.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/catalogue.hpp"

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

/// An integer as a double with a last bit of 1 wherever bits are left out (rounding to odd): what is narrower is then rounded
/// as the integer itself would be (Boldo and Melquiond, IEEE Transactions on Computers 57, 2008).
double to_odd(std::uint64_t magnitude) {
  const int left_out = static_cast<int>(std::bit_width(magnitude)) - 53;
  if (left_out <= 0) return static_cast<double>(magnitude);
  const std::uint64_t kept = magnitude >> left_out;
  return std::ldexp(static_cast<double>(kept | ((kept << left_out) != magnitude ? 1 : 0)), left_out);
}

}  // namespace

std::span<const double> Caster::doubles(std::uint64_t first, std::size_t count) const {
  doubles_.resize(count);
  const bool is_signed = tensor_.dtype.name == "int64";
  if ((is_signed || tensor_.dtype.name == "uint64") && format_.fraction_bits < 51) {
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
