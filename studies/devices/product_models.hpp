// SPDX-License-Identifier: Apache-2.0
// What a library of matrix products may have computed: an engine, how K was cut into chains, and how the chains' sums were
// joined. Each combination predicts every bit of a product.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "emu/product_chains.hpp"
#include "emu/rounding.hpp"
#include "gpu/library.hpp"

namespace ulpscope::studies {

using emu::KPart, emu::KRange;

/// K, cut into parts.
struct KCut {
  std::string words;         ///< empty for one part
  std::vector<KPart> parts;  ///< each a chain
};

/// How the sums of parts become one: each is rounded to `stored`, then they are added one after another, every sum rounded to
/// the engine's accumulator and then to `summed`.
struct PartJoin {
  std::string words;                                 ///< empty for one part
  emu::Format stored, summed;                        ///< of each part, and of each sum
  emu::Reduction order = emu::Reduction::ascending;  ///< ascending or descending
};

/// What an operand becomes before it is multiplied: itself, or one with fewer bits.
struct TakenOperands {
  std::string words;                                     ///< empty where they stay as they are
  emu::Format a, b;                                      ///< formats that they have then
  emu::Rounding rounding = emu::Rounding::nearest_even;  ///< to fewer bits
};

/// An engine and what it is called in an explanation.
struct NamedEngine {
  std::string words;   ///< its name, and what is varied
  emu::Engine engine;  ///< the engine
};

/// How a float32 sum meets the scales of its line of A and of B, which no document says. Scales of lines meet the whole sum,
/// scales of blocks of products what is promoted, which a fused multiply-add may join with what is there.
struct ScaleJoin {
  std::string words;         ///< empty where there is nothing to scale, or the engine does it
  emu::ScaleRule rule = {};  ///< what is multiplied first, and whether the last product is added by a fused multiply-add
};

/// One way in which a library may compute a product.
struct ProductModel {
  TakenOperands operands;           ///< what is multiplied
  NamedEngine engine;               ///< what multiplies and sums
  std::shared_ptr<const KCut> cut;  ///< how K is cut
  std::size_t promote = 0;          ///< products after which a chain's sum is added to a float32 sum and begins anew; 0: never
  PartJoin join;                    ///< of no meaning for one part
  ScaleJoin scaling = {};           ///< how scales of lines and blocks are applied
  /// Other words for the same computation: the number of parts, and how it is said.
  std::vector<std::pair<std::size_t, std::string>> same = {};
};

/// `sm_90 chains; K in 3 parts of units of 64, the last one shorter; joined in float32`. Where the computation has several
/// names, one with this number of parts if there is one.
std::string words_of(const ProductModel& model, std::size_t parts = 1);
/// Whether the computation has a name with this number of parts.
bool has_parts(const ProductModel& model, std::size_t parts);

/// What is known before: the device's engines and what the algorithms declare.
struct ModelRequest {
  std::string engine;             ///< a name of emu::engine_names(): the device's
  std::size_t k = 0;              ///< products of a sum
  std::vector<int> split_k = {};  ///< parts that are declared, beside 2 to 8 which are always tried
};

/// What operands may become, the likeliest first.
std::vector<TakenOperands> taken_operands(const gpu::LibraryCall& call);
/// How scales may be multiplied, the likeliest first.
std::vector<ScaleJoin> scale_rules(const gpu::LibraryCall& call);
/// Products after which sums are scaled outside the engine; 0: not before the end.
std::size_t scaled_block(const gpu::LibraryCall& call);
/// Ways to join two parts or more, none that comes to the same as one before it.
std::vector<PartJoin> part_joins(const gpu::LibraryCall& call, emu::Format part, std::size_t parts);

/// The engines that are tried: those of the device, of other GPUs and a chain of fused multiply-adds under every cut of K, and
/// the device's with other blocks and other fraction bits under the cuts that are declared. fp8 is promoted under every cut,
/// the rest under those that are declared. What has scales of blocks is promoted within the blocks.
///
/// Simple models first; no two of them are the same computation by construction.
/// @throws ulpscope::Error where the device has no engine of that name.
std::vector<ProductModel> product_models(const gpu::LibraryCall& call, const ModelRequest& request);

}  // namespace ulpscope::studies
