// SPDX-License-Identifier: Apache-2.0
// Which nodes of a formula are computed in vectors.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "verify/expressions/formula.hpp"
#include "verify/expressions/lane_kernels.hpp"
#include "verify/operations/elementwise_functions.hpp"

namespace ulpscope::verify {

/// The operation of a node, where it is there in vectors.
inline std::optional<LaneOperation> in_vectors(const Node& node) {
  using Kind = LaneOperation::Kind;
  constexpr std::array kinds{
      std::pair{Op::add, Kind::add},         std::pair{Op::subtract, Kind::subtract}, std::pair{Op::multiply, Kind::multiply},
      std::pair{Op::divide, Kind::divide},   std::pair{Op::negate, Kind::negate},     std::pair{Op::absolute, Kind::absolute},
      std::pair{Op::maximum, Kind::maximum}, std::pair{Op::minimum, Kind::minimum},   std::pair{Op::less, Kind::less},
      std::pair{Op::equal, Kind::equal},     std::pair{Op::both, Kind::both},         std::pair{Op::opposite, Kind::opposite},
      std::pair{Op::choose, Kind::choose}};
  const auto of = [&](Kind kind) { return LaneOperation{kind, node.divides_by_number, node.arithmetic}; };
  for (const auto& [op, kind] : kinds)
    if (node.op == op) return of(kind);
  if (node.op != Op::function) return {};
  const std::string_view name = node.function->name;
  if (name == "exp") return of(Kind::exp);
  if (name == "tanh") return of(Kind::tanh);
  if (name == "erf") return of(Kind::erf);
  if (node.arithmetic.function_ulp == 0) return {};
  if (name == "sigmoid") return of(Kind::sigmoid);
  if (name == "silu") return of(Kind::silu);
  if (name == "gelu") return of(Kind::gelu);
  if (name == "gelu_tanh") return of(Kind::gelu_tanh);
  return {};
}

}  // namespace ulpscope::verify
