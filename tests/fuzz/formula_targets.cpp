// SPDX-License-Identifier: Apache-2.0
// The reader of formulas. One that is read is written and read again as the same; where it is small it is evaluated, in one
// piece and element by element, and in 200 digits, which must be within the radius.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tests/fuzz/targets.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/formula.hpp"
#include "verify/expressions/syntax.hpp"

namespace ulpscope::fuzz {
namespace {

using verify::Approximate;
using verify::Formula;
using verify::Node;

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }
bool same(const Approximate& x, const Approximate& y) {
  return same(x.value, y.value) && same(x.radius, y.radius) && same(x.error, y.error) && x.overflow == y.overflow;
}

std::uint64_t product(const std::vector<std::uint64_t>& extents) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= std::min(extent, std::uint64_t{1} << 16);
  return extents.size() > 3 ? std::min(count, std::uint64_t{1} << 40) : count;
}

/// Few nodes and few elements: a few milliseconds.
bool is_small(const Formula& formula) {
  return formula.nodes.size() <= 64 && std::all_of(formula.nodes.begin(), formula.nodes.end(), [](const Node& node) {
           return node.shape.size() <= 8 && verify::element_count(node.shape) <= 4096 &&
                  node.before * node.along * node.behind <= 4096 && node.contraction.summed.size() <= 3 &&
                  product(node.contraction.summed) <= 64;
         });
}

void evaluate(Formula formula, const std::vector<verify::Values>& inputs) {
  const verify::Evaluation evaluation(std::move(formula), inputs, 1);
  const auto count = static_cast<std::size_t>(verify::element_count(evaluation.formula().value().shape));
  std::vector<Approximate> all(count);
  evaluation.values(0, all);
  for (std::size_t i = 0; i < count; ++i) {
    require(!(all[i].radius < 0) && !(all[i].error < 0));
    Approximate one;
    evaluation.values(i, {&one, 1});
    require(same(one, all[i]));
  }
  for (const std::size_t i : {std::size_t{0}, count / 2, count - 1}) {
    if (i >= count || !std::isfinite(all[i].value)) continue;
    const verify::Real precise = evaluation.precise(i);
    if (isfinite(precise)) require(abs(precise - verify::Real(all[i].value)) <= verify::Real(all[i].radius));
  }
}

}  // namespace

void read_formula(const std::uint8_t* data, std::size_t size) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  static const std::vector<std::string> names{"x", "w", "q", "s", "i"};
  static const std::vector<verify::Values> values{{{2, 3}, {1, -2.5F, 0x1p-140F, 3e38F, inf, -0.0F}},
                                                  {{3}, {0.3F, 7, -1}},
                                                  {{4, 2, 3}, std::vector<float>(24, 0.7F)},
                                                  {{}, {1.5F}},
                                                  {{2}, {0, 1}}};
  std::vector<verify::FormulaInput> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) inputs.push_back({names[i], values[i].shape});
  try {
    const std::string_view given(reinterpret_cast<const char*>(data), size);
    const std::string text = verify::text_of(verify::parse_formula(given));
    require(verify::text_of(verify::parse_formula(text)) == text);
    Formula formula = verify::read_formula(given, inputs, {{"eps", "1e-6"}}, {});
    if (is_small(formula)) evaluate(std::move(formula), values);
  } catch (const Error& error) {
    require(!emu::visible(error.what()).empty());
  }
}

}  // namespace ulpscope::fuzz
