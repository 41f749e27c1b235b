// SPDX-License-Identifier: Apache-2.0
// What studies of several tensors tell of their progress.
#include "studies/census/all_tensors.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

#include "emu/catalogue.hpp"

using namespace ulpscope;

TEST_CASE("progress counts the elements of all tensors, up to all of them", "[studies]") {
  std::vector<tensors::Tensor> tensors;
  std::uint64_t all = 0;
  for (const std::size_t count : {std::size_t{3}, std::size_t{50'000}, (std::size_t{1} << 22) + 7}) {
    tensors.push_back(tensors::from_values("t", {count}, std::vector<float>(count, 1.0F)));
    all += count;
  }
  for (const int threads : {1, 3}) {
    studies::CensusConfig config;
    config.formats = {emu::fp16};
    config.threads = threads;
    std::vector<std::uint64_t> told, totals;
    const studies::Progress progress = [&](std::uint64_t done, std::uint64_t total) {
      totals.push_back(total);
      told.push_back(done);
    };

    studies::census_all(tensors, {}, config, progress);

    CAPTURE(threads);
    REQUIRE(told.size() >= tensors.size());
    CHECK(totals == std::vector(told.size(), all));
    CHECK(told.back() == all);
    CHECK(std::is_sorted(told.begin(), told.end()));
  }
}
