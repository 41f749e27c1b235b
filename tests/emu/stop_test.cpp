// SPDX-License-Identifier: Apache-2.0
// emu/stop.hpp: loops in threads end where the thread that began them is asked to, and only there.
#include "emu/stop.hpp"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/products/double_tiles.hpp"
#include "emu/tasks.hpp"

using namespace ulpscope::emu;

TEST_CASE("tasks end once they are asked to, in every thread", "[emu]") {
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    std::atomic<bool> flag = false;
    std::atomic<std::size_t> done = 0;
    const StopScope scope(&flag);

    CHECK_THROWS_AS(for_each_task(1000, threads,
                                  [&](std::size_t) {
                                    if (++done == 10) flag = true;
                                  }),
                    Stopped);

    CHECK(done >= 10);
    CHECK(done < 10 + 4);  // each thread ends with the task that it had begun
  }
}

TEST_CASE("a thread without a flag of its own is not stopped, and has the one of before behind a scope", "[emu]") {
  const std::atomic<bool> flag = true;
  {
    const StopScope outer(&flag);
    {
      const StopScope inner(nullptr);
      CHECK_NOTHROW(stop_if_asked());
    }
    CHECK_THROWS_AS(stop_if_asked(), Stopped);
  }
  CHECK_NOTHROW(stop_if_asked());
}

TEST_CASE("a product ends within its tiles", "[emu]") {
  const std::atomic<bool> flag = true;
  std::vector<float> a(std::size_t{16} * 64, 1), d(std::size_t{16} * 16);
  const EngineMatmul<float> problem{.engine = fma_chain(float32),
                                    .a = {float32, a, {16, 64}},
                                    .b = {float32, a, {64, 16}},
                                    .c = {},
                                    .scale_a = {},
                                    .scale_b = {},
                                    .beta = {},
                                    .out = float32,
                                    .threads = 1};
  engine_matmul(problem, std::span(d));
  CHECK(d[0] == 64);

  const StopScope scope(&flag);
  CHECK_THROWS_AS(engine_matmul(problem, std::span(d)), Stopped);
}

TEST_CASE("a tile of doubles ends between its pairs of panels", "[emu]") {
  std::vector<double> a(8, 1);
  const EngineMatmul<double> problem{.engine = fma_chain(float64),
                                     .a = {float64, a, {2, 4}},
                                     .b = {float64, a, {4, 2}},
                                     .c = {},
                                     .scale_a = {},
                                     .scale_b = {},
                                     .beta = {},
                                     .out = float64,
                                     .threads = 1};
  std::atomic<bool> flag = false;
  const StopScope scope(&flag);
  detail::DoubleTile tile(0, 0, 2, 2);
  int runs = 0;
  const auto stretch = [&] {
    tile.stretch(
        problem, 0, 4, 4, [](double x) { return x; }, [&](std::size_t, const auto&) { ++runs; });
  };

  stretch();
  CHECK(runs == 1);
  flag = true;
  CHECK_THROWS_AS(stretch(), Stopped);
  CHECK(runs == 1);
}
