// SPDX-License-Identifier: Apache-2.0
// Emulated products for the tests of the device's emulator, and what the CPU makes of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "gpu/adversarial.hpp"
#include "gpu/emulated_product.hpp"

namespace ulpscope::testing {

using emu::Code;

enum class Numbers { normal, wide, special, tiny };

/// A product and the memory that it looks at.
struct ProductProblem {
  gpu::EmulatedProduct product;
  std::vector<std::byte> a, b, c;
  std::vector<Code> a_codes, b_codes, c_codes;
};

struct ProductShape {
  std::size_t m, n, k;
  bool with_c = true;
  std::size_t promote = 0, split_k = 1;
};

inline std::vector<Code> random_codes(emu::Format format, std::size_t count, Numbers numbers, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Code> codes;
  for (std::size_t i = 0; i < count; ++i) {
    const bool adversarial = numbers == Numbers::special && random() % 23 == 0;
    const int spread = numbers == Numbers::wide ? static_cast<int>(random() % 41) - 20 : (numbers == Numbers::tiny ? -13 : 0);
    Code code = emu::encode(format, std::ldexp(normal(random), spread), {.policy = emu::Policy::saturating});
    if (adversarial) code = gpu::Adversary({}, seed, i).operand(format);
    if (random() % 13 == 0) code = random() % 2 == 0 ? 0 : format.sign_mask();
    codes.push_back(code);
  }
  return codes;
}

inline std::vector<std::byte> stored(emu::Format format, const std::vector<Code>& codes) {
  std::vector<std::byte> bytes(codes.size() * gpu::bytes_per_code(format));
  for (std::size_t i = 0; i < codes.size(); ++i) gpu::store_code(format, bytes.data(), i, codes[i]);
  return bytes;
}

inline ProductProblem product_problem(const emu::Engine& engine, emu::Format a, emu::Format b, const ProductShape& shape,
                                      Numbers numbers, std::uint64_t seed) {
  ProductProblem problem;
  problem.a_codes = random_codes(a, shape.m * shape.k, numbers, seed);
  problem.b_codes = random_codes(b, shape.k * shape.n, numbers, seed + 1);
  if (shape.with_c) problem.c_codes = random_codes(engine.accumulator, shape.m * shape.n, numbers, seed + 2);
  problem.a = stored(a, problem.a_codes);
  problem.b = stored(b, problem.b_codes);
  problem.c = stored(engine.accumulator, problem.c_codes);
  problem.product = {
      engine,
      {{a, shape.m, shape.k, problem.a}, {b, shape.k, shape.n, problem.b}, {engine.accumulator, shape.m, shape.n, problem.c}},
      shape.promote,
      shape.split_k};
  return problem;
}

template <class Float>
std::vector<Code> cpu_results(const ProductProblem& problem) {
  const auto values = [](emu::Format format, const std::vector<Code>& codes) {
    std::vector<Float> all;
    for (const Code code : codes) all.push_back(static_cast<Float>(emu::decode(format, code)));
    return all;
  };
  const gpu::EmulatedProduct& product = problem.product;
  const auto& [a, b, c] = product.product;
  const std::vector<Float> left = values(a.format, problem.a_codes), right = values(b.format, problem.b_codes),
                           addend = values(c.format, problem.c_codes);
  emu::EngineMatmul<Float> matmul{product.engine,
                                  {a.format, left, {a.rows, a.columns}},
                                  {b.format, right, {b.rows, b.columns}},
                                  addend,
                                  {},
                                  {},
                                  product.promote,
                                  product.split_k,
                                  1,
                                  {},
                                  sizeof(Float) == 4 ? emu::float32 : emu::float64,
                                  1};
  std::vector<Float> d(a.rows * b.columns);
  emu::engine_matmul(matmul, d);
  std::vector<Code> codes;
  for (const Float x : d) codes.push_back(emu::encode(gpu::result_format(product), x));
  return codes;
}

/// What emu::engine_matmul makes of it, as codes of the result's format.
inline std::vector<Code> cpu_results(const ProductProblem& problem) {
  const bool wide = problem.product.engine.accumulator == emu::float64;
  return wide ? cpu_results<double>(problem) : cpu_results<float>(problem);
}

}  // namespace ulpscope::testing
