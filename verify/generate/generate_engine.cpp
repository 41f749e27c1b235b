// SPDX-License-Identifier: Apache-2.0
// Multiplies on the engine and counts differences.
#include "verify/generate/generate_engine.hpp"

#include <cmath>

#include "emu/engine_matmul.hpp"
#include "products/exact_product.hpp"
#include "products/engine.hpp"

namespace ulpscope::verify {
namespace {

bool same(float x, float y) { return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y); }

}  // namespace

EngineOutcome outcome_on(const std::string& engine, const CaseRequest& request, const MatmulCase& made) {
  const products::ChosenEngine chosen =
      products::choose_engine(engine, {request.a, request.b, request.accumulator}, request.k, {}, {});
  emu::EngineMatmul<float> problem{};
  problem.engine = chosen.model;
  problem.a = {request.a, made.a, {request.m, request.k}};
  problem.b = {request.b, made.b, {request.k, request.n}};
  problem.c = made.c;
  problem.out = request.out;
  EngineOutcome out{chosen.word, std::vector<float>(request.m * request.n)};
  if (chosen.exact) {
    products::exact_product(problem, out.d);
  } else {
    emu::engine_matmul(problem, out.d);
  }
  for (std::size_t i = 0; i < out.d.size(); ++i) out.differing += !same(out.d[i], made.expected[i]);
  return out;
}

}  // namespace ulpscope::verify
