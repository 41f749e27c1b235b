// SPDX-License-Identifier: Apache-2.0
// Products on devices beside the engines that their instructions claim to be, where K fills no whole instruction.
#include "products/device.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/engines.hpp"
#include "gpu/emulated/emulated_device.hpp"

namespace ulpscope::products {
namespace {

/// Bits of a number; of every NaN the same.
template <class Real>
auto bits_of(Real x) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(std::isnan(x) ? std::numeric_limits<Real>::quiet_NaN() : x);
}

/// Rows of A and columns of B whose products are zeros of one sign or of both, vanish below the least number, or cancel.
template <class Real>
std::vector<std::vector<Real>> lines_of(emu::Format format, std::size_t k) {
  const auto least = static_cast<Real>(emu::decode(format, 1));  // of code 1
  const auto normal = static_cast<Real>(emu::min_normal(format));
  const auto one = Real{1}, zero = Real{0};
  std::vector<std::vector<Real>> lines;
  const std::vector<std::vector<Real>> patterns{{-zero},         {zero},
                                                {least},         {-least},
                                                {one},           {-one},
                                                {one, -one},     {-zero, least},
                                                {-least, zero},  {least, -least, one},
                                                {normal},        {-normal},
                                                {-zero, normal}, {normal, -normal, one}};
  for (const std::vector<Real>& pattern : patterns) {
    lines.emplace_back();
    for (std::size_t i = 0; i < k; ++i) lines.back().push_back(pattern[i % pattern.size()]);
  }
  return lines;
}

/// Sums in float16 of instructions that are two steps of the engine: the second step makes +0 of a -0 of the first.
bool loses_signs(const emu::Engine& engine, const gpu::Operation& operation) {
  return operation.accumulator == emu::float16 && static_cast<std::size_t>(engine.products) < operation.products;
}

/// Elements whose bits are not those of the model; zeros of one that loses signs are not looked at.
template <class Real>
std::size_t differences(const gpu::Device& device, const gpu::Operation& operation, std::size_t k) {
  const auto a = lines_of<Real>(operation.a, k), b = lines_of<Real>(operation.b, k);
  std::vector<Real> of_a, of_b;
  for (const auto& line : a) of_a.insert(of_a.end(), line.begin(), line.end());
  for (const auto& line : b) of_b.insert(of_b.end(), line.begin(), line.end());
  emu::EngineMatmul<Real> problem{
      .engine = emu::parse_engine(operation.engine, {operation.a, operation.b, operation.accumulator}),
      .a = {operation.a, of_a, {a.size(), k}, false},
      .b = {operation.b, of_b, {b.size(), k}, true},
      .c = {},
      .beta = {},
      .out = operation.accumulator,
      .threads = 1};
  std::vector<Real> model(a.size() * b.size()), hardware(model.size());
  emu::engine_matmul(problem, std::span<Real>(model));
  device_matmul(MatmulDevice{device.description.id, device.unit, operation}, problem, std::span<Real>(hardware));
  std::size_t count = 0;
  for (std::size_t i = 0; i < model.size(); ++i)
    if ((!loses_signs(problem.engine, operation) || model[i] != hardware[i]) && bits_of(model[i]) != bits_of(hardware[i])) {
      if (++count == 1)
        UNSCOPED_INFO("k " << k << ", row " << i / b.size() << ", column " << i % b.size() << ": " << hardware[i] << ", not "
                           << model[i]);
    }
  return count;
}

std::size_t differences(const gpu::Device& device) {
  std::size_t count = 0;
  for (const gpu::Operation& operation : device.unit->operations()) {
    if (operation.engine.empty() || operation.scales != emu::EngineScales::none) continue;
    UNSCOPED_INFO(device.description.id << " " << operation.instruction);
    for (std::size_t k = 1; k <= 2 * operation.products + 1; ++k)
      count += operation.accumulator == emu::float64 ? differences<double>(device, operation, k)
                                                     : differences<float>(device, operation, k);
  }
  return count;
}

}  // namespace

TEST_CASE("zeros that fill an instruction change no bit, not even the sign of a zero", "[products]") {
  for (const std::string& name : gpu::emulated_names()) {
    CAPTURE(name);
    CHECK(differences(gpu::emulated_device(name)) == 0);
  }
  for (const gpu::Device& device : gpu::find_devices().devices) {
    CAPTURE(device.description.id);
    if (device.unit) CHECK(differences(device) == 0);
  }
}

}  // namespace ulpscope::products
