// SPDX-License-Identifier: Apache-2.0
// Draws a product and a fault that can happen to it.
#include "verify/explain/planted_kernel.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "emu/catalogue.hpp"
#include "verify/explain/planted_loops.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;
using Problem = PlantedProblem;

std::vector<float> numbers(std::size_t count, Format format, Draws& draws) {
  const std::size_t distribution = draws.below(3);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    double x = draws.unit() * 2 - 1;
    if (distribution == 1) x = draws.unit();
    if (distribution == 2) x = std::ldexp(x, static_cast<int>(draws.below(9)) - 6);
    values.push_back(rounded(format, x));
  }
  return values;
}

Problem draw_problem(PlantKind kind, Draws& draws) {
  Problem p{};
  p.m = 8 + draws.below(8);
  p.n = kind == PlantKind::layout || kind == PlantKind::scale ? p.m : 8 + draws.below(8);
  p.k = kind == PlantKind::layout ? p.n : 40 + draws.below(40);
  p.engine = std::array<std::string, 3>{"fma", "sm_80", "sm_90"}[draws.below(3)];
  p.in = draws.below(2) == 0 ? emu::float16 : emu::bfloat16;
  p.out = emu::float32;
  const bool one_of_three = draws.below(3) == 0;
  if (kind == PlantKind::input || kind == PlantKind::sum || (kind == PlantKind::pair && one_of_three)) p.in = emu::float32;
  if (kind == PlantKind::read) p.in = emu::float8_e4m3fn;
  if (p.in == emu::float32 || kind == PlantKind::read) p.engine = "fma";
  if (kind == PlantKind::promote || kind == PlantKind::sum) p.k = 64;
  if (kind == PlantKind::result || (kind == PlantKind::alpha && draws.below(2) == 0)) p.out = emu::bfloat16;
  p.a = numbers(p.m * p.k, p.in, draws);
  p.b = numbers(p.k * p.n, p.in, draws);
  if (kind == PlantKind::c || (kind != PlantKind::scale && kind != PlantKind::alpha && draws.below(3) == 0))
    p.c = numbers(p.m * p.n, emu::float32, draws);
  if (kind == PlantKind::alpha) p.alpha = static_cast<float>(0.3 + draws.unit());
  if (kind == PlantKind::scale) {
    for (std::size_t i = 0; i < p.m; ++i) p.sa.push_back(static_cast<float>(0.5 + draws.unit()));
    for (std::size_t j = 0; j < p.n; ++j) p.sb.push_back(static_cast<float>(0.01 + draws.unit()));
  }
  return p;
}

}  // namespace

PlantedCase draw_case(Draws& draws) {
  const auto kind = static_cast<PlantKind>(draws.below(plant_kinds));
  PlantedProblem problem = draw_problem(kind, draws);
  Plant plant = known_plant(kind, problem, draws);
  return {std::move(problem), std::move(plant)};
}

products::Product PlantedProblem::config() const {
  const auto operand = [&](const char* name, std::size_t rows, std::size_t columns, const std::vector<float>& values) {
    return products::MatmulOperand{{tensors::from_values(name, {rows, columns}, values)}, {in}, {}};
  };
  products::Product config{.engine = engine,
                           .a = operand("A", m, k, a),
                           .b = operand("B", k, n, b),
                           .c = {},
                           .acc = emu::float32,
                           .out = out,
                           .alpha = alpha,
                           .beta = {},
                           .threads = 1};
  if (!c.empty()) config.c = tensors::from_values("C", {m, n}, c);
  if (sa.empty()) return config;
  config.a.scales = products::fit_scales(tensors::from_values("sA", {m, 1}, sa), config.a.input, products::MatmulSide::a);
  config.b.scales = products::fit_scales(tensors::from_values("sB", {1, n}, sb), config.b.input, products::MatmulSide::b);
  return config;
}

}  // namespace ulpscope::verify
