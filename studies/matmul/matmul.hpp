// SPDX-License-Identifier: Apache-2.0
// Matrix products of tensors on emulated engines, and how they differ from each other and from the exact product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/engines.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "products/product.hpp"
#include "reports/table.hpp"
#include "studies/diff/diff.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// On which engines a product is computed, and what with what is compared.
struct MatmulConfig {
  std::vector<std::string> engines;  ///< words for emu::parse_engine; `exact` is the exact product, rounded once to `out`
  std::vector<std::string> against;  ///< what each of them is compared with
  std::vector<products::MatmulDevice> devices = {};  ///< each compared with `against`, and each engine with each of them
  products::Product product;                         ///< its own engine plays no part
  bool partial_sums = false;                         ///< whether the greatest partial sum is looked for
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of elements of D, over all engines
  std::size_t products_between_progress = products::Portions{}.products_between_progress;  ///< changes no result
};

/// D of one engine.
struct MatmulProduct {
  products::ChosenEngine engine;        ///< what computed it
  tensors::Tensor d;                    ///< values of `out`
  std::uint64_t nan = 0, infinite = 0;  ///< elements of D
  double min = 0, max = 0;              ///< of the finite elements; nan where there are none
};

/// How the product of one engine differs from that of another.
struct MatmulComparison {
  std::size_t engine, against;    ///< indices of products
  DiffResult diff;                ///< element by element
  std::uint64_t differing_codes;  ///< elements whose codes differ: those that differ, and zeros of opposite signs
  double max_ulp_error;           ///< inf where one side is not finite and the other differs
  double mean_signed_rel_error;   ///< below zero where magnitudes are lost; over nonzero elements of `against`
};

/// What an accumulator must hold.
struct AccumulatorRange {
  double largest = 0;     ///< products::LoadedProduct::largest_partial_sum()
  double log2_scale = 0;  ///< the greatest k with which 2^k largest is a number of the accumulator's; nan where there is none
};

/// What a run gives.
struct MatmulResult {
  products::MatmulShape shape;                       ///< extents and batch
  products::RoundedElements a = {}, b = {}, c = {};  ///< what rounding did to the inputs
  std::string scale_a = {}, scale_b = {};            ///< products::MatmulScales::word(), or `none`
  std::optional<AccumulatorRange> partial_sums = {};  ///< where they were asked for
  std::vector<MatmulProduct> products = {};  ///< each engine once: those of `engines` first, in their order, then `devices`
  std::vector<MatmulComparison> comparisons = {};  ///< each engine with each of `against`
};

/// @throws ulpscope::Error where shapes, formats, scales or engines do not fit.
MatmulResult matmul(const MatmulConfig& config);

/// matmul.csv: one row for each comparison; without any, one for each engine, whose `against` is empty.
reports::Table matmul_table(const MatmulConfig& config, const MatmulResult& result);

}  // namespace ulpscope::studies
