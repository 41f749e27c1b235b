// SPDX-License-Identifier: Apache-2.0
// Zeros that fill up the blocks of an operand's scales: they are left out of products where nothing comes of them, and no bit
// of a result or a count says so.
#include "training/tape/padding.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "training/tape/multiplier.hpp"
#include "training/tape/operations.hpp"
#include "training/train/monitor.hpp"

namespace ulpscope::training {
namespace {

/// Forms products as the tape does by itself, but of whole blocks.
class WholeBlocks final : public Multiplier {
 public:
  void multiply(const AskedProduct<float>& product, std::span<float> d) override { emu::engine_matmul(product.problem, d); }
  void multiply(const AskedProduct<double>& product, std::span<double> d) override { emu::engine_matmul(product.problem, d); }
};

struct Case {
  const char *rows, *weights, *engine;
  emu::Format format;
  std::size_t promote;
  emu::Rounding rounding;
  bool leaves_out;        ///< fewer numbers are stored than whole blocks have
  bool hadamard = false;  ///< of the weight's gradient
};

ProductPrecision precision_of(const Case& of) {
  Storage storage{of.format, {.rounding = of.rounding, .policy = emu::Policy::saturating}};
  const OperandPrecision rows{storage, studies::parse_scaling(of.rows)};
  storage.options.rounding = emu::Rounding::nearest_even;
  return {.input = rows,
          .weight = {storage, studies::parse_scaling(of.weights)},
          .grad_output = rows,
          .engine = of.engine,
          .accumulate = emu::float32,
          .promote = of.promote,
          .hadamard = of.hadamard,
          .output = {emu::bfloat16, {}},
          .grad_input = {emu::bfloat16, {}},
          .grad_weight = {emu::float32, {}}};
}

Array<float> some_numbers(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Array<float> out(shape);
  for (float& x : out.values) {
    const float unit = static_cast<float>(random() >> 40) * 0x1p-23F - 1;
    x = std::ldexp(unit, static_cast<int>(random() % 12));
  }
  return out;
}

/// What a layer comes to, and what was told of it.
struct Layer {
  std::vector<std::vector<float>> results;  ///< outputs and gradients
  std::map<Place, PlaceCounts> places;
  std::size_t told = 0;  ///< numbers
};

/// `size` is m, k and n.
Layer layer_of(const Case& of, const std::array<std::size_t, 3>& size, bool finite, Multiplier* multiplier) {
  Tape<float> tape({[](std::string_view, const std::string&) { return OperationPrecision{}; },
                    [&](std::string_view, const std::string&) -> ProductPrecision { return precision_of(of); }},
                   7, 1);
  tape.multiply_by(multiplier);
  Layer layer;
  Monitor monitor;
  tape.on_stored([&](const Stored<float>& stored) {
    monitor.add(stored);
    layer.told += stored.after.size();
  });
  Array<float> x = some_numbers({size[0], size[1]}, 1), w = some_numbers({size[2], size[1]}, 2);
  if (!finite) x.values.front() = HUGE_VALF, x.values.back() = std::nanf("");
  const Variable of_x = tape.input(x, emu::float32, true), of_w = tape.input(w, emu::float32, true);
  const Variable y = linear(tape, of_x, of_w, {});
  tape.backward(y, some_numbers({size[0], size[2]}, 3));
  layer.results = {tape.value(y).values, tape.gradient(of_x).values, tape.gradient(of_w).values};
  layer.places = monitor.places();
  return layer;
}

}  // namespace

TEST_CASE("zeros that fill up blocks change no bit of a product and are counted, left out or not", "[training]") {
  using emu::Rounding;
  const std::vector<Case> cases{
      {"1x128", "128x128", "sm_90", emu::float8_e4m3fn, 128, Rounding::nearest_even, true},
      {"1x128", "128x128", "sm_90", emu::float8_e5m2, 64, Rounding::nearest_even, true},
      {"1x128", "128x128", "sm_90", emu::float8_e4m3fn, 0, Rounding::stochastic, true},
      {"1x128", "1x128", "block:n=8,f=13,out=rz", emu::float8_e4m3fn, 0, Rounding::nearest_even, false},
      {"1x128", "1x128", "sm_90", emu::float8_e4m3fn, 0, Rounding::nearest_even, true, true},
      {"1x128", "128x128", "fma", emu::float8_e4m3fn, 0, Rounding::nearest_even, true},
      {"128x128", "row", "sm_80", emu::float16, 0, Rounding::nearest_even, true},
      {"mx:rceil", "mx:rceil", "sm_90", emu::float8_e4m3fn, 0, Rounding::nearest_even, false},
      {"mx:rceil", "mx:rceil", "sm_100", emu::float8_e4m3fn, 0, Rounding::nearest_even, false},
      {"nvfp4", "nvfp4:16x16", "sm_100", emu::e2m1, 0, Rounding::stochastic, false},
  };
  const Case of = cases[GENERATE_REF(range(std::size_t{0}, cases.size()))];
  const bool finite = GENERATE(true, false);
  CAPTURE(of.rows, of.weights, of.engine, of.promote, finite);
  std::size_t left_out = 0;
  for (const std::array<std::size_t, 3>& size :
       {std::array<std::size_t, 3>{12, 10, 20}, {3, 64, 40}, {5, 200, 140}, {130, 128, 9}, {1, 1, 1}}) {
    CAPTURE(size[0], size[1], size[2]);
    WholeBlocks whole;
    const Layer expected = layer_of(of, size, finite, &whole), found = layer_of(of, size, finite, nullptr);
    for (std::size_t i = 0; i < expected.results.size(); ++i) {
      REQUIRE(found.results[i].size() == expected.results[i].size());
      CHECK(std::memcmp(found.results[i].data(), expected.results[i].data(), found.results[i].size() * sizeof(float)) == 0);
    }
    REQUIRE(found.places.size() == expected.places.size());
    for (const auto& [place, counts] : expected.places) {
      CAPTURE(words_of(place));
      CHECK(found.places.at(place) == counts);
    }
    REQUIRE(found.told <= expected.told);
    left_out += expected.told - found.told;
  }
  CHECK((left_out > 0) == of.leaves_out);
}

}  // namespace ulpscope::training
