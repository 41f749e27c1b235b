// SPDX-License-Identifier: Apache-2.0
// Reads a piece in the widest type it needs, and rounds it.
#include "tensors/caster.hpp"

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

std::span<const double> Caster::doubles(std::uint64_t first, std::size_t count) const {
  doubles_.resize(count);
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
