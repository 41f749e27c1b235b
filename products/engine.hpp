// SPDX-License-Identifier: Apache-2.0
// The engine that a matrix product asks for, and who applies the scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emu/engine.hpp"
#include "emu/engines.hpp"
#include "emu/format.hpp"
#include "emu/split_product.hpp"
#include "products/device.hpp"
#include "products/scales.hpp"

namespace ulpscope::products {

/// What applies block scales.
enum class ScaledBy : std::uint8_t {
  none,      ///< there are no scales
  engine,    ///< its instruction takes them
  software,  ///< the sums of products that share two scales are multiplied by them, in the format of the sum
};
/// `none`, `engine`, `software`.
std::string_view name_of(ScaledBy scaled_by) noexcept;

/// An engine, and what is known of it, for one product.
struct ChosenEngine {
  std::string word;                                    ///< as asked for
  bool exact = false;                                  ///< no engine: the exact product
  emu::Engine model;                                   ///< what it computes
  emu::Evidence evidence = emu::Evidence::definition;  ///< why the model is believed
  std::string instruction, source;                     ///< of a named engine; may be empty
  ScaledBy scaled_by = ScaledBy::none;                 ///< what applies the block scales
  std::shared_ptr<const MatmulDevice> device = {};     ///< real hardware; `model` is what it claims to compute
  /// The product is made of narrower ones; `model` is what multiplies parts, and means nothing where there are none.
  std::optional<emu::SplitProduct> split = {};

  /// Why its results are believed: as Evidence, or `hardware`.
  std::string_view evidence_word() const noexcept { return device ? "hardware" : emu::name_of(evidence); }
};

/// What an engine sums in by default: float32 where it can, else what it has for these operands.
emu::Format default_accumulator(const std::string& word, emu::Format a, emu::Format b);

/// The engine `word` for operands and accumulator of these formats, and for `k` products with these scales, which it applies
/// itself where it can. `request` says nothing of scales.
/// @throws ulpscope::Error naming the closest engines, or the formats that this one takes; for a split product, which is none.
ChosenEngine choose_engine(const std::string& word, const emu::EngineRequest& request, std::size_t k,
                           const std::optional<MatmulScales>& scale_a, const std::optional<MatmulScales>& scale_b);

/// A split product in the place of an engine, for operands and accumulator of these formats.
/// @throws ulpscope::Error where words mean nothing, or formats do not fit
ChosenEngine choose_split(const std::string& word, const emu::EngineRequest& request);

/// A device in the place of an engine; scales are applied in software.
ChosenEngine engine_of(const MatmulDevice& device, bool scaled);

}  // namespace ulpscope::products
