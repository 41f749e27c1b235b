// SPDX-License-Identifier: Apache-2.0
// Blocks of parts of a tensor beside those of all of it.
#include "studies/census/block_sums.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {
namespace {

tensors::Tensor drawn(std::vector<std::uint64_t> shape, std::uint32_t seed) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& x : values) {
    const auto significand = static_cast<float>(random() % 4001) - 2000;
    const int exponent = -static_cast<int>(random() % 24);
    x = std::ldexp(significand, exponent) * static_cast<float>(random() % 3);
  }
  values[values.size() / 3] = NAN;
  values[values.size() / 2] = INFINITY;
  return tensors::from_values("t", shape, std::move(values));
}

/// All that is known of blocks.
std::string words_of(const BlockSums& sums) {
  std::string text;
  for (const std::uint64_t count : {sums.first, sums.counts.blocks, sums.counts.zero, sums.counts.nonfinite,
                                    sums.counts.saturated, sums.counts.with_to_zero, sums.counts.all_to_zero, sums.worst})
    text += std::to_string(count) + " ";
  return text + sums.scales.text() + " " + sums.decibels.text();
}

const std::vector<std::vector<std::uint64_t>> shapes{{1}, {15}, {3, 31}, {2, 5, 40}, {700}, {130, 3}, {4, 129, 257}, {1, 3000}};

TEST_CASE("a block is of the part that holds its first element", "[studies]") {
  const char* const rule =
      GENERATE("row", "1x128", "128x128", "mx:even", "nvfp4", "nvfp4:16x16", "minmax", "minmax:row", "minmax:1x128");
  const std::vector<std::uint64_t> shape = GENERATE(Catch::Generators::from_range(shapes));
  CAPTURE(rule, shape);
  const tensors::Tensor tensor = drawn(shape, 1);
  const ScaleMap layout = ScaleMap::laid_out(parse_scaling(rule), tensor);
  const std::uint64_t columns = layout.columns();

  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < tensor.count(); ++i) {
    REQUIRE(layout.blocks_before(i) == seen.size());
    const std::uint64_t row_of_blocks = layout.row_of_blocks(i / columns);
    REQUIRE(layout.first_row(row_of_blocks) <= i / columns);
    REQUIRE(layout.row_of_blocks(layout.first_row(row_of_blocks)) == row_of_blocks);
    seen.insert(row_of_blocks * layout.blocks_per_row() + i % columns / layout.block_columns());
  }
  CHECK(layout.blocks_before(tensor.count()) == seen.size());
  CHECK(layout.blocks() == seen.size());
  CHECK(*seen.rbegin() == seen.size() - 1);
}

TEST_CASE("parts of a tensor have the blocks of all of it, whatever is held at once", "[studies]") {
  const char* const rule =
      GENERATE("row", "1x128:divide", "128x128", "mx:floor", "nvfp4", "nvfp4:16x16", "minmax", "minmax:row");
  const std::vector<std::uint64_t> shape = GENERATE(Catch::Generators::from_range(shapes));
  CAPTURE(rule, shape);
  const tensors::Tensor tensor = drawn(shape, 2);
  const Scaling scaling = parse_scaling(rule);
  CensusConfig config;
  config.formats = {emu::integer(4), emu::integer(8)};
  if (!has_zero_point(scaling.rule)) config.formats = {emu::e2m1, emu::e4m3};
  config.options.rounding = emu::Rounding::stochastic;

  const ScaledBlocks whole = run_blocks(tensor, scaling, config, {0, tensor.count()});
  for (const std::uint64_t most_blocks : {1U, 7U, 1U << 23})
    for (const std::uint64_t size : {tensor.count(), tensor.count() / 2 + 1, tensor.count() / 5 + 1}) {
      CAPTURE(most_blocks, size);
      config.most_blocks = most_blocks;
      ScaledBlocks parts{.sums = std::vector<BlockSums>(config.formats.size()), .tensor_scales = {}};
      for (std::uint64_t first = 0; first < tensor.count(); first += size) {
        const ScaledBlocks part = run_blocks(tensor, scaling, config, {first, std::min(size, tensor.count() - first)});
        CHECK(part.tensor_scales == whole.tensor_scales);
        CHECK(part.sums.front().first == parts.sums.front().counts.blocks);
        for (std::size_t i = 0; i < parts.sums.size(); ++i) parts.sums[i].merge(part.sums[i]);
        parts.amax = std::max(parts.amax, part.amax);
      }
      for (std::size_t i = 0; i < parts.sums.size(); ++i) CHECK(words_of(parts.sums[i]) == words_of(whole.sums[i]));
      CHECK(parts.amax == whole.amax);
    }
  CHECK(std::isinf(whole.amax));
}

}  // namespace
}  // namespace ulpscope::studies
