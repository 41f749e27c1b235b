// SPDX-License-Identifier: Apache-2.0
// Every mode of every engine against a second implementation that was written from the publications without sight of the first.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tests/emu/engine_oracle_check.hpp"

namespace {
using namespace ulpscope;

/// Inner products compared in every mode, all its pairs of formats together.
constexpr int inner_products = 50000;

template <class Wanted>
void check_modes(Wanted&& wanted) {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (!wanted(mode.engine)) continue;
    CAPTURE(mode.engine, mode.instruction);
    const auto pairs = test::format_pairs(mode);
    const int share = inner_products / static_cast<int>(pairs.size()) + 1;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto mismatch = test::first_mismatch(mode, mode.model, pairs[i], share, i);

      INFO(mismatch.value_or(""));
      CHECK(mismatch == std::nullopt);
    }
  }
}

bool is_tensor_core(std::string_view engine) { return engine.starts_with("sm_"); }
bool is_blackwell(std::string_view engine) { return engine.starts_with("sm_100") || engine.starts_with("sm_120"); }
bool is_matrix_core(std::string_view engine) { return engine.starts_with("cdna"); }
bool is_processor(std::string_view engine) { return engine.ends_with("_bf16"); }

TEST_CASE("every mode has an oracle") {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    CAPTURE(mode.engine, mode.instruction);
    for (const auto& [a, b] : test::format_pairs(mode)) CHECK(test::oracle_of(mode, a).has_value());
  }
}

TEST_CASE("tensor cores before sm_100 compute what the oracle computes", "[long]") {
  check_modes([](auto engine) { return is_tensor_core(engine) && !is_blackwell(engine); });
}

TEST_CASE("tensor cores from sm_100 on compute what the oracle computes", "[long]") { check_modes(is_blackwell); }

TEST_CASE("matrix cores compute what the oracle computes") { check_modes(is_matrix_core); }

TEST_CASE("units of processors compute what the oracle computes") { check_modes(is_processor); }

TEST_CASE("products that Arm's units scale down are what the oracle computes") {
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    const auto greatest = emu::greatest_lscale(mode);
    if (!greatest) continue;
    for (const int lscale : {1, 4, 9, 15, 24, 64, 126, 127}) {
      if (lscale > *greatest) continue;
      emu::EngineMode scaled = mode;
      for (const auto& pair : test::format_pairs(mode)) {
        const std::string words = std::string(mode.engine) + ":lscale=" + std::to_string(lscale);
        scaled.model = emu::parse_engine(words, {pair.first, pair.second, mode.model.accumulator});
        const auto mismatch = test::first_mismatch(scaled, scaled.model, pair, inner_products / 10, 77);

        CAPTURE(words, mode.instruction);
        INFO(mismatch.value_or(""));
        CHECK(mismatch == std::nullopt);
      }
    }
  }
}

TEST_CASE("reference orders compute what the oracle computes", "[long]") {
  check_modes([](auto engine) { return !is_tensor_core(engine) && !is_matrix_core(engine) && !is_processor(engine); });
}

}  // namespace
