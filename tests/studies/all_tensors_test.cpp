// SPDX-License-Identifier: Apache-2.0
// What studies of several tensors tell of their progress.
#include "studies/census/all_tensors.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
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

TEST_CASE("groups of more tensors than are swept at a time have all of their members", "[studies]") {
  constexpr std::size_t tensors = 600;
  std::vector<tensors::Tensor> all;
  for (std::size_t i = 0; i < tensors; ++i)
    all.push_back(tensors::from_values("t" + std::to_string(i), {1}, std::vector<float>(1, static_cast<float>(i + 1))));
  studies::CensusConfig config;
  config.formats = {emu::fp16};

  const auto rows = studies::sweep_all(all, {{"some", {1, 257, 599}}}, {.low = 0, .high = 0}, config, {});

  REQUIRE(rows.size() == tensors + 1);
  for (std::size_t i = 0; i < tensors; ++i) REQUIRE(rows[i].front().sums.largest.magnitude == static_cast<double>(i + 1));
  const studies::SweepRow& group = rows.back().front();
  CHECK(group.sums.count() == 3);
  CHECK(group.largest_in == "t599");
  CHECK(group.smallest_in == "t1");
}
