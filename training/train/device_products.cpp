// SPDX-License-Identifier: Apache-2.0
// Chooses an instruction for each product, multiplies there, and compares with the model.
#include "training/train/device_products.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::training {
namespace {

constexpr const char* emulated = "emulated";

/// NaNs apart, which are all alike in training, both compute the same.
bool same_numbers(emu::Engine x, const emu::Engine& y) {
  x.nan_result = y.nan_result;
  x.nan_code = y.nan_code;
  return x == y;
}

bool same_formats(const emu::EngineRequest& x, const emu::EngineRequest& y) {
  return x.a == y.a && x.b == y.b && x.accumulator == y.accumulator && x.scales == y.scales;
}

/// Engines that instructions for these formats claim to be.
std::set<std::string> claims_of(const gpu::Device& device, const emu::EngineRequest& request) {
  std::set<std::string> claims;
  for (const gpu::Operation& o : device.unit->operations())
    if (same_formats({o.a, o.b, o.accumulator, o.scales}, request) && !o.engine.empty()) claims.insert(o.engine);
  return claims;
}

/// Zeros are the same only with the same sign, NaNs always.
template <class Real>
bool same(Real x, Real y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

/// `3f800001 (1.0000001)`.
std::string words_of(emu::Format format, double value) {
  return emu::hex_code(format, emu::encode(format, value)) + " (" + studies::digits(value, 9) + ")";
}

}  // namespace

DeviceProducts::DeviceProducts(std::vector<gpu::Device> devices, DeviceOptions options)
    : devices_(std::move(devices)), options_(std::move(options)) {
  for (const gpu::Device& device : devices_)
    if (device.unit == nullptr) throw Error(device.description.id + " multiplies no matrices");
}

products::MatmulDevice DeviceProducts::chosen(const products::ChosenEngine& engine, const emu::EngineRequest& request) const {
  if (engine.scaled_by == products::ScaledBy::engine)
    throw Error("engine " + engine.word + " applies the scales of blocks itself, which devices do for no whole matrices");
  std::string refused;
  const auto refuse = [&](const std::string& why) { refused += (refused.empty() ? "" : "; ") + why; };
  for (const gpu::Device& device : devices_) {
    std::vector<std::string> fitting;
    const std::set<std::string> claims = claims_of(device, request);
    for (const std::string& claim : claims)
      if (same_numbers(emu::parse_engine(claim, request), engine.model)) fitting.push_back(claim);
    try {
      const products::MatmulDevice found = products::choose_device(device, options_.instruction, request, fitting);
      if (!options_.instruction.empty() || !fitting.empty()) return found;
      const std::vector<std::string> others(claims.begin(), claims.end());
      refuse(device.description.id + " has no instruction that claims to be engine " + engine.word + "; its own for " +
             emu::format_name(request.a) + " x " + emu::format_name(request.b) + " into " +
             emu::format_name(request.accumulator) + " claim " +
             (others.empty() ? "nothing" : "to be " + emu::comma_separated(others)));
    } catch (const Error& error) {
      refuse(error.what());
    }
  }
  throw Error(refused);
}

const std::optional<products::MatmulDevice>& DeviceProducts::device_for(const products::ChosenEngine& engine,
                                                                        const emu::EngineRequest& request,
                                                                        const std::string& place) {
  const auto known = std::find_if(choices_.begin(), choices_.end(), [&](const Choice& choice) {
    return choice.engine == engine.word && same_formats(choice.request, request);
  });
  if (known != choices_.end()) return known->device;
  std::optional<products::MatmulDevice> device;
  try {
    device = chosen(engine, request);
  } catch (const Error& error) {
    if (!options_.rest_emulated) throw ProductError(place + ": " + error.what());
  }
  return choices_.emplace_back(Choice{engine.word, request, std::move(device)}).device;
}

template <class Real>
void DeviceProducts::compare(const AskedProduct<Real>& product, const products::MatmulDevice& device,
                             std::span<const Real> d) const {
  std::vector<Real> expected(d.size());
  emu::engine_matmul(product.problem, std::span<Real>(expected));
  std::size_t first = d.size(), count = 0;
  for (std::size_t i = d.size(); i-- > 0;)
    if (!same(d[i], expected[i])) first = i, ++count;
  if (count == 0) return;
  const std::size_t columns = product.problem.b.columns();
  const emu::Format format = product.problem.out;
  const auto number = [&](std::span<const Real> values) { return words_of(format, static_cast<double>(values[first])); };
  throw ProductDiffers("element (" + std::to_string(first / columns) + ", " + std::to_string(first % columns) + ") is " +
                       number(d) + " on " + device.word + " " + device.operation.instruction + " and " + number(expected) +
                       " on the model " + product.engine.word + "; " + std::to_string(count) + " of " +
                       std::to_string(d.size()) + " elements differ");
}

template <class Real>
void DeviceProducts::multiply_here(const AskedProduct<Real>& product, std::span<Real> d) {
  const emu::EngineMatmul<Real>& problem = product.problem;
  const std::string place = (product.layer.empty() ? "" : "layer " + std::string(product.layer) + ", ") +
                            std::string(product.operation) + " " + std::string(product.place);
  const std::string here = recipe_ + ", " + when_ + ", " + place;
  const emu::EngineRequest request{problem.a.format, problem.b.format, problem.engine.accumulator, problem.engine.scales};
  const std::optional<products::MatmulDevice>& device = device_for(product.engine, request, recipe_ + ", " + place);
  if (rehearses_) return std::fill(d.begin(), d.end(), Real{0});
  if (!device) {
    emu::engine_matmul(problem, d);
    ++counts_[emulated];
    return;
  }
  try {
    products::device_matmul(*device, problem, d);
    if (options_.checked) compare<Real>(product, *device, d);
  } catch (const ProductDiffers& error) {
    throw ProductDiffers(here + ": " + error.what());
  } catch (const Error& error) {
    throw ProductError(here + ": " + error.what());
  }
  ++counts_[device->word + " " + device->operation.instruction];
}

void DeviceProducts::multiply(const AskedProduct<float>& product, std::span<float> d) { multiply_here(product, d); }
void DeviceProducts::multiply(const AskedProduct<double>& product, std::span<double> d) { multiply_here(product, d); }

std::string words_of(const ProductCounts& counts) {
  std::string words;
  for (const auto& [what, count] : counts)
    if (what != emulated) words += (words.empty() ? "" : ", ") + std::to_string(count) + " products on " + what;
  if (const auto rest = counts.find(emulated); rest != counts.end())
    words += (words.empty() ? "" : ", ") + std::to_string(rest->second) + (words.empty() ? " products" : "") + " emulated";
  return words;
}

}  // namespace ulpscope::training
