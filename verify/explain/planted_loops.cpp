// SPDX-License-Identifier: Apache-2.0
// Sums written out as loops, one for each fault.
#include "verify/explain/planted_loops.hpp"

#include <algorithm>
#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;
using Problem = PlantedProblem;

float on_engine(const std::string& engine, const Problem& p, std::size_t i, std::size_t j, const Indices& ks, float start) {
  if (engine == "fma") {
    for (const std::size_t k : ks) start = std::fma(p.a[i * p.k + k], p.b[k * p.n + j], start);
    return start;
  }
  std::vector<emu::Code> a, b;
  for (const std::size_t k : ks) {
    a.push_back(emu::encode(p.in, p.a[i * p.k + k]));
    b.push_back(emu::encode(p.in, p.b[k * p.n + j]));
  }
  const emu::Engine& model = emu::find_engine(engine, {p.in, p.in}).model;
  return static_cast<float>(
      emu::decode(emu::float32, emu::inner_product(model, p.in, a, p.in, b, emu::encode(emu::float32, start))));
}
float halved(const std::vector<float>& parts, std::size_t first, std::size_t count) {
  if (count == 1) return parts[first];
  const std::size_t left = (count + 1) / 2;
  return halved(parts, first, left) + halved(parts, first + left, count - left);
}

}  // namespace

float rounded(Format format, double x, emu::RoundingOptions options) {
  return static_cast<float>(emu::round_to(format, x, options).value);
}

float claimed_sum(const Problem& p, std::size_t i, std::size_t j, const Indices& ks, float start) {
  return on_engine(p.engine, p, i, j, ks, start);
}

Indices ascending(std::size_t k) {
  Indices ks;
  for (std::size_t i = 0; i < k; ++i) ks.push_back(i);
  return ks;
}

float epilogue(const Problem& p, std::size_t i, std::size_t j, float sum) {
  if (p.sa.empty()) return p.alpha == 1 ? sum : p.alpha * sum;
  return sum * (p.sa[i] * p.sb[j]);
}

float start_of(const Problem& p, std::size_t i, std::size_t j) { return p.c.empty() ? 0.0F : p.c[i * p.n + j]; }

std::vector<float> whole(const Problem& p, const Indices& ks, const Summing& sum) {
  return each(
      p, [&](std::size_t i, std::size_t j) { return rounded(p.out, epilogue(p, i, j, sum(p, i, j, ks, start_of(p, i, j)))); });
}

std::vector<float> in_parts(const Problem& p, const std::vector<Indices>& parts, char way, const Summing& sum) {
  return each(p, [&](std::size_t i, std::size_t j) {
    std::vector<float> sums;
    for (const Indices& ks : parts) sums.push_back(sum(p, i, j, ks, 0));
    if (way == 'd') std::reverse(sums.begin(), sums.end());
    float total = start_of(p, i, j);
    if (way == 'p')
      total += halved(sums, 0, sums.size());
    else
      for (const float x : sums) total += x;
    return rounded(p.out, epilogue(p, i, j, total));
  });
}

std::vector<Indices> lengths_of(std::size_t k, std::size_t length) {
  std::vector<Indices> parts;
  for (std::size_t i = 0; i < k; ++i) {
    if (i % length == 0) parts.emplace_back();
    parts.back().push_back(i);
  }
  return parts;
}

Summing of_engine(const std::string& engine) {
  return [engine](const Problem& p, std::size_t i, std::size_t j, const Indices& ks, float start) {
    return on_engine(engine, p, i, j, ks, start);
  };
}

float multiply_add(const Problem& p, std::size_t i, std::size_t j, const Indices& ks, float start) {
  for (const std::size_t k : ks) {
    const float product = p.a[i * p.k + k] * p.b[k * p.n + j];
    start = start + product;
  }
  return start;
}
float in_bfloat16(const Problem& p, std::size_t i, std::size_t j, const Indices& ks, float start) {
  double sum = static_cast<double>(start);
  for (const std::size_t k : ks) {
    // Three halfway bits and more: a product has 16 bits, so that float64 holds sums that are not far apart.
    const double product = static_cast<double>(p.a[i * p.k + k]) * static_cast<double>(p.b[k * p.n + j]);
    sum = static_cast<double>(rounded(emu::bfloat16, sum + product));
  }
  return static_cast<float>(sum);
}

std::size_t chain_length(const Problem& p, const std::string& engine, std::size_t parts) {
  const std::size_t step =
      engine == "fma" ? 1 : static_cast<std::size_t>(emu::find_engine(engine, {p.in, p.in}).model.products);
  const std::size_t each_part = (p.k + parts - 1) / parts;
  return (each_part + step - 1) / step * step;
}

std::vector<Indices> lanes_of(std::size_t k, std::size_t lanes, std::size_t run) {
  std::vector<Indices> parts(lanes);
  for (std::size_t i = 0; i < k; ++i) parts[i / run % lanes].push_back(i);
  return parts;
}

}  // namespace ulpscope::verify
