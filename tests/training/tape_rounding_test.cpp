// SPDX-License-Identifier: Apache-2.0
// What is rounded on a tape, where, to what; and that nothing else changes the bits.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "training/tape/operations.hpp"

using namespace ulpscope;
using training::Array;
using training::OperandPrecision;
using training::OperationPrecision;
using training::Precision;
using training::ProductPrecision;
using training::Shape;
using training::Storage;
using training::Tape;
using training::Variable;

namespace {

Array<float> random_array(const Shape& shape, std::uint64_t seed, float size = 1) {
  std::mt19937_64 random(seed);
  Array<float> out(shape);
  for (float& x : out.values) x = size * (static_cast<float>(random() >> 40) * 0x1p-23F - 1);
  return out;
}

Precision precision_of(const OperationPrecision& operation, const ProductPrecision& product) {
  return {[operation](std::string_view, const std::string&) { return operation; },
          [product](std::string_view, const std::string&) { return product; }};
}

bool all_of(const Array<float>& x, emu::Format format) {
  for (const float v : x.values)
    if (!(static_cast<float>(emu::round_to(format, v).value) == v)) return false;
  return true;
}

ProductPrecision fp8_blocks() {
  const OperandPrecision rows{{emu::float8_e4m3fn, {}}, studies::parse_scaling("1x128")};
  const OperandPrecision squares{{emu::float8_e4m3fn, {}}, studies::parse_scaling("128x128")};
  return {.input = rows,
          .weight = squares,
          .grad_output = rows,
          .engine = "sm_90",
          .accumulate = emu::float32,
          .promote = 128,
          .output = {emu::bfloat16, {}},
          .grad_input = {emu::bfloat16, {}},
          .grad_weight = {emu::float32, {}}};
}

}  // namespace

TEST_CASE("results have the format of their operation, gradients that of their value", "[training]") {
  Tape<float> tape(precision_of({std::nullopt, Storage{emu::bfloat16, {}}}, {}), 0, 1);
  const Variable x = tape.input(random_array({4, 8}, 1), emu::float32, true);
  const Variable y = training::gelu(tape, x);
  tape.backward(training::sum(tape, training::square(tape, y)));

  CHECK(all_of(tape.value(y), emu::bfloat16));
  CHECK(all_of(tape.gradient(y), emu::bfloat16));
  CHECK_FALSE(all_of(tape.gradient(x), emu::bfloat16));
}

TEST_CASE("inputs are cast where the operation says so, and their gradients cast back", "[training]") {
  Tape<float> tape(precision_of({Storage{emu::float16, {}}, Storage{emu::float16, {}}}, {}), 0, 1);
  const Variable x = tape.input(Array<float>({2}, std::vector<float>{1.0009765F, 70000}), emu::float32, true);
  const Variable y = training::affine(tape, x, 1.0F, 0.0F);

  CHECK(tape.value(y).values[0] == 1.0009766F);  // 1 + 2^-10, a float16
  CHECK(std::isinf(tape.value(y).values[1]));
}

TEST_CASE("gradients of biases have the format of those of weights", "[training]") {
  const OperandPrecision half{{emu::float16, {}}, {}};
  const Storage stored{emu::float16, {}};
  const ProductPrecision product{
      .input = half, .weight = half, .grad_output = half, .output = stored, .grad_input = stored, .grad_weight = stored};
  Tape<float> tape(precision_of({}, product), 0, 1);
  const Variable x = tape.input(random_array({3, 2}, 1), emu::float32, true);
  const Variable w = tape.input(random_array({2, 2}, 2), emu::float32, true);
  const Variable b = tape.input(random_array({2}, 3), emu::float32, true);
  Array<float> seed({3, 2}, std::vector<float>{30000, 1, 30000, 0x1p-11F, 30000, 0});
  tape.backward(training::linear(tape, x, w, b), seed);
  CHECK(std::isinf(tape.gradient(b).values[0]));  // 90000
  CHECK(tape.gradient(b).values[1] == 1);         // 1 + 2^-11, a tie

  Tape<float> images(precision_of({}, product), 0, 1);
  const Variable image = images.input(random_array({1, 1, 1, 3}, 1), emu::float32, true);
  const Variable filter = images.input(random_array({1, 1, 1, 1}, 2), emu::float32, true);
  const Variable shift = images.input(random_array({1}, 3), emu::float32, true);
  images.backward(training::convolution(images, image, filter, shift, {}),
                  Array<float>({1, 1, 1, 3}, std::vector<float>{30000, 30000, 30000}));
  CHECK(std::isinf(images.gradient(shift).values[0]));
}

TEST_CASE("the bits do not depend on threads", "[training]") {
  const auto run = [](int threads) {
    Tape<float> tape(
        precision_of({std::nullopt, Storage{emu::bfloat16, {.rounding = emu::Rounding::stochastic}}}, fp8_blocks()), 5,
        threads);
    const Variable x = tape.input(random_array({96, 200}, 1), emu::float32, true);
    const Variable w = tape.input(random_array({130, 200}, 2, 0.1F), emu::float32, true);
    const Variable b = tape.input(random_array({130}, 3), emu::float32, true);
    const Variable y = training::softmax(tape, training::gelu(tape, training::linear(tape, x, w, b)));
    tape.backward(training::sum(tape, training::square(tape, y)), 1024.0F);
    std::vector<float> all = tape.value(y).values;
    for (const Variable v : {x, w, b}) all.insert(all.end(), tape.gradient(v).values.begin(), tape.gradient(v).values.end());
    return all;
  };
  const std::vector<float> one = run(1), two = run(2);
  REQUIRE(one.size() == two.size());
  CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
}

TEST_CASE("all that is stored is told, with its place", "[training]") {
  Tape<float> tape(precision_of({std::nullopt, Storage{emu::bfloat16, {}}}, fp8_blocks()), 0, 1);
  std::map<std::string, std::set<std::string>> places;
  tape.on_stored([&](const training::Stored<float>& stored) {
    places[std::string(stored.operation)].insert(std::string(stored.place));
    REQUIRE(stored.before.size() == stored.after.size());
    for (std::size_t i = 0; i < stored.before.size(); ++i)
      REQUIRE(stored.after[i] == static_cast<float>(emu::round_to(stored.format, stored.before[i]).value));
  });
  tape.enter("0");
  const Variable x = tape.input(random_array({8, 64}, 1), emu::float32, true);
  const Variable w = tape.input(random_array({16, 64}, 2), emu::float32, true);
  tape.backward(training::sum(tape, training::linear(tape, x, w, {})));

  CHECK(places["linear"] ==
        std::set<std::string>{"input", "weight", "output", "grad_output", "grad_input", "grad_weight", "gradient"});
  CHECK(places["sum"] == std::set<std::string>{"output", "gradient"});
}

TEST_CASE("nvfp4 weights in blocks of 16 by 16 have the scale of their block in both directions", "[training]") {
  // Numbers of E2M1 times a power of two for each block, and 6 times the identity: all is exact but the scales of whole
  // operands, 1/448 each. They are rounded, so are their product and that with the sum: four times half of 2^-23.
  const std::size_t n = 48, k = 32;
  const std::vector<float> e2m1{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  std::mt19937_64 random(5);
  Array<float> w({n, k}), x({k, k}), seed({n, n});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      const float number = i % 16 == 0 && j % 16 == 0 ? 6 : e2m1[random() % e2m1.size()];
      w.values[i * k + j] = std::ldexp(number, -static_cast<int>(i / 16 * (k / 16) + j / 16));
    }
  for (std::size_t i = 0; i < k; ++i) x.values[i * k + i] = 6;
  for (std::size_t i = 0; i < n; ++i) seed.values[i * n + i] = 6;
  const OperandPrecision rows{{emu::e2m1, {}}, studies::parse_scaling("nvfp4")};
  const Storage wide{emu::float32, {}};
  Tape<float> tape(precision_of({}, {.input = rows,
                                     .weight = {{emu::e2m1, {}}, studies::parse_scaling("nvfp4:16x16")},
                                     .grad_output = rows,
                                     .engine = "sm_100",
                                     .output = wide,
                                     .grad_input = wide,
                                     .grad_weight = wide}),
                   0, 1);
  const Variable of_w = tape.input(w, emu::float32, false);
  const Variable y = training::linear(tape, tape.input(x, emu::float32, false), of_w, {});
  const Variable z = tape.input(Array<float>({n, k}, 1.0F), emu::float32, true);
  tape.backward(training::linear(tape, z, of_w, {}), seed);

  std::size_t differing = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      const float expected = 6 * w.values[i * k + j], bound = 0x1p-22F * expected;
      differing += std::fabs(tape.value(y).values[j * n + i] - expected) <= bound ? 0 : 1;
      differing += std::fabs(tape.gradient(z).values[i * k + j] - expected) <= bound ? 0 : 1;
    }
  CHECK(differing == 0);
}

TEST_CASE("a block-scaled product is that of its blocks, promoted", "[training]") {
  // Written out: blocks of 128 products, each a chain of the engine of 32 products a step from 0, times both scales, added.
  const std::size_t m = 3, k = 256, n = 5;
  const Array<float> x = random_array({m, k}, 11, 3), w = random_array({n, k}, 12, 0.01F);
  ProductPrecision precision = fp8_blocks();
  precision.output = {emu::float32, {}};
  Tape<float> tape(precision_of({}, precision), 0, 1);
  const Variable y = training::linear(tape, tape.input(x, emu::float32, false), tape.input(w, emu::float32, false), {});

  const auto amax_scale = [](float amax) { return 448.0F / amax; };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double expected = 0, slack = 0;
      for (std::size_t block = 0; block < 2; ++block) {
        float amax_x = 0, amax_w = 0;
        for (std::size_t p = block * 128; p < (block + 1) * 128; ++p) {
          amax_x = std::max(amax_x, std::fabs(x.values[i * k + p]));
          for (std::size_t row = 0; row < n; ++row) amax_w = std::max(amax_w, std::fabs(w.values[row * k + p]));
        }
        const float scale_x = amax_scale(amax_x), scale_w = amax_scale(amax_w);
        double sum = 0, size = 0;
        for (std::size_t p = block * 128; p < (block + 1) * 128; ++p) {
          const double a = emu::round_to(emu::float8_e4m3fn, x.values[i * k + p] * scale_x).value;
          const double b = emu::round_to(emu::float8_e4m3fn, w.values[j * k + p] * scale_w).value;
          sum += a * b, size += std::fabs(a * b);
        }
        expected += sum / (static_cast<double>(scale_x) * static_cast<double>(scale_w));
        slack += size / (static_cast<double>(scale_x) * static_cast<double>(scale_w));
      }
      // 13 fraction bits are kept of each step's sum (docs/engines.md, sm_90 with fp8): four steps a block.
      CHECK(std::fabs(static_cast<double>(tape.value(y).values[i * n + j]) - expected) <= slack * 0x1p-9);
      CHECK(static_cast<double>(tape.value(y).values[i * n + j]) != expected);
    }
  }
}

TEST_CASE("stochastic rounding has the same bits again, and others by another key", "[training]") {
  const auto run = [](std::uint64_t seed) {
    Tape<float> tape(precision_of({std::nullopt, Storage{emu::float8_e5m2, {.rounding = emu::Rounding::stochastic}}}, {}), seed,
                     1);
    const Variable x = tape.input(random_array({64}, 1), emu::float32, false);
    const Variable once = training::affine(tape, x, 1.0F, 0.0F), again = training::affine(tape, x, 1.0F, 0.0F);
    CHECK(tape.value(once).values != tape.value(again).values);  // another place takes other bits
    return tape.value(once).values;
  };
  CHECK(run(3) == run(3));
  CHECK(run(3) != run(4));
}

TEST_CASE("without a format a result takes the widest one of its inputs, as frameworks promote types", "[training]") {
  Tape<float> tape(precision_of({}, {}), 0, 1);
  const auto input = [&](emu::Format format, float value) { return tape.input(Array<float>(Shape{1}, value), format, true); };
  const Variable half = input(emu::float16, 1.5F), brain = input(emu::bfloat16, 1.5F), wide = input(emu::float32, 1.5F);
  CHECK(tape.format(add(tape, half, half)) == emu::float16);
  CHECK(tape.format(add(tape, half, wide)) == emu::float32);
  CHECK(tape.format(add(tape, wide, brain)) == emu::float32);
  CHECK(tape.format(multiply(tape, half, brain)) == emu::float32);
  CHECK(tape.format(gelu(tape, brain)) == emu::bfloat16);
  // (1 + 2^-7)^2 needs more bits than bfloat16 has.
  const Variable near = input(emu::bfloat16, 1 + 0x1p-7F);
  CHECK(tape.value(multiply(tape, near, near)).values[0] == 1 + 0x1p-6F);
}
