// SPDX-License-Identifier: Apache-2.0
// The products of training on real engines: each goes to an instruction that claims to compute what the recipe's engine does,
// and whatever surrounds the chains stays here (products/device.hpp), so that the run keeps its bits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/device.hpp"
#include "products/device.hpp"
#include "training/tape/multiplier.hpp"

namespace ulpscope::training {

/// How devices take the place of emulated engines.
struct DeviceOptions {
  std::string instruction = {};  ///< a part of the name of the one to use, whatever it claims to be; empty: the claim decides
  bool checked = false;          ///< each product is compared with the model's
  bool rest_emulated = false;    ///< products that no device takes are emulated, not refused
};

/// A product of a device is not that of the model.
class ProductDiffers : public ProductError {
 public:
  using ProductError::ProductError;
};

/// Products by what formed them: `cpu:avx512_bf16 VDPBF16PS`, `emulated`.
using ProductCounts = std::map<std::string, std::uint64_t>;

/// Multiplies on devices: each product on the first of them that can.
class DeviceProducts final : public Multiplier {
 public:
  DeviceProducts(std::vector<gpu::Device> devices, DeviceOptions options);

  /// Says where the run is, for messages: `bf16_amp`, `seed 0, step 3`.
  void enter(std::string recipe, std::string when) { recipe_ = std::move(recipe), when_ = std::move(when); }
  /// While it is set, instructions are chosen, or refused, and every product is zeros.
  void rehearse(bool on) { rehearses_ = on; }
  /// What has been multiplied since the last call.
  ProductCounts take_counts() { return std::exchange(counts_, {}); }

  /// @throws ProductError where no device can or the device fails, ProductDiffers where a check finds a difference
  ///@{
  void multiply(const AskedProduct<float>& product, std::span<float> d) override;
  void multiply(const AskedProduct<double>& product, std::span<double> d) override;
  ///@}

 private:
  /// What forms the products of an engine: a device, or nothing, which emulates.
  struct Choice {
    std::string engine;
    emu::EngineRequest request;
    std::optional<products::MatmulDevice> device;
  };
  template <class Real>
  void multiply_here(const AskedProduct<Real>& product, std::span<Real> d);
  template <class Real>
  void compare(const AskedProduct<Real>& product, const products::MatmulDevice& device, std::span<const Real> d) const;
  const std::optional<products::MatmulDevice>& device_for(const products::ChosenEngine& engine,
                                                          const emu::EngineRequest& request, const std::string& place);
  products::MatmulDevice chosen(const products::ChosenEngine& engine, const emu::EngineRequest& request) const;

  std::vector<gpu::Device> devices_;
  DeviceOptions options_;
  std::string recipe_, when_;
  bool rehearses_ = false;
  std::vector<Choice> choices_;
  ProductCounts counts_;
};

/// `5000 products on cpu:avx512_bf16 VDPBF16PS, 20 emulated`.
std::string words_of(const ProductCounts& counts);

}  // namespace ulpscope::training
