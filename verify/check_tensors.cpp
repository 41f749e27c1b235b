// SPDX-License-Identifier: Apache-2.0
// Copies arrays, and refuses those that are not what they are said to be.
#include "verify/check_tensors.hpp"

#include <cmath>
#include <cstddef>
#include <memory>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tensors/bytes.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::verify {
namespace {

void check_count(const std::string& name, std::size_t given, const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  if (count != given)
    throw Error(name + ": " + std::to_string(given) + " elements; " + tensors::shape_text(shape) + " are " +
                std::to_string(count));
}

}  // namespace

tensors::Tensor check_tensor(const std::string& name, std::span<const float> values, const std::vector<std::uint64_t>& shape,
                             emu::Format format) {
  check_count(name, values.size(), shape);
  tensors::Tensor tensor = tensors::from_values(name, shape, std::vector<float>(values.begin(), values.end()));
  if (format == emu::float32) return tensor;
  for (const float x : values)
    if (!std::isnan(x) && emu::round_to(format, static_cast<double>(x)).value != static_cast<double>(x))
      throw Error(name + ": " + std::to_string(x) + " is no number of " + emu::format_name(format));
  tensor.dtype = {emu::format_name(format), format};
  return tensor;
}

tensors::Tensor check_tensor(const std::string& name, std::span<const std::int64_t> values,
                             const std::vector<std::uint64_t>& shape) {
  check_count(name, values.size(), shape);
  const auto owner = std::make_shared<const std::vector<std::int64_t>>(values.begin(), values.end());
  const std::span<const std::byte> all = std::as_bytes(std::span(*owner));
  const tensors::DType dtype{"int64", {}};
  constexpr int bits = 64;
  auto source = tensors::make_source({.bytes = tensors::bytes_in_memory(all, owner),
                                      .size = all.size(),
                                      .dtype = dtype,
                                      .layout = {tensors::Layout::Kind::signed_integer, bits}});
  return {name, {}, dtype, shape, std::move(source), {}};
}

std::string with_member_names(std::string text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at)) {
    text.erase(at, 2);
    for (; at < text.size() && ((text[at] >= 'a' && text[at] <= 'z') || text[at] == '-'); ++at)
      if (text[at] == '-') text[at] = '_';
  }
  return text;
}

}  // namespace ulpscope::verify
