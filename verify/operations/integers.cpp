// SPDX-License-Identifier: Apache-2.0
// Reads whole numbers by way of float64, which holds those of 53 bits.
#include "verify/operations/integers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "emu/error.hpp"

namespace ulpscope::verify {

Integers read_integers(const tensors::Tensor& tensor, const std::string& option) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  Integers out{tensor.shape, {}};
  out.elements.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(std::fabs(values[i]) < 0x1p53) || std::trunc(values[i]) != values[i])
      throw Error(fmt::format("{} {}: element {} is {}; whole numbers are needed", option, tensor.label, i, values[i]));
    out.elements.push_back(static_cast<std::int64_t>(values[i]));
  }
  return out;
}

}  // namespace ulpscope::verify
