// SPDX-License-Identifier: Apache-2.0
// Turns what is declared into a chain whose bound is known.
#include "verify/matmul_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "emu/decode.hpp"
#include "emu/engine_bound.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/split_bound.hpp"

namespace ulpscope::verify {
namespace {

using Scales = std::optional<products::MatmulScales>;

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float x : values) most = std::max(most, std::fabs(static_cast<double>(x)));
  return most;
}

/// The greatest finite number of an operand.
double largest(const products::MatmulOperand& operand) {
  products::RoundedElements counts;
  double most = 0;
  for (const double x : products::rounded_elements<double>(operand.input.tensor, operand.rounding, counts))
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

emu::Chain chain_of(const products::Product& problem, const Arithmetic& arithmetic, std::size_t k) {
  const Scales &a = problem.a.scales, &b = problem.b.scales;
  const bool by_engine = arithmetic.engine && arithmetic.engine->scaled_by == products::ScaledBy::engine;
  const double whole = std::fabs(static_cast<double>(a ? a->whole : 1) * static_cast<double>(b ? b->whole : 1));
  emu::Chain chain{.promote = problem.promote, .split_k = problem.split_k, .has_c = problem.c.has_value()};
  chain.largest_scale = whole * std::fabs(problem.alpha);
  if ((a || b) && by_engine) {
    chain.scale_format = a ? a->format : b->format;
  } else if (a || b) {
    chain.scale_products = shared_scales(problem, k);
    chain.largest_scale *= (a ? largest(a->values) : 1) * (b ? largest(b->values) : 1);
  }
  // Factors of all of the sum, each with a rounding, and that of c and its addition.
  chain.epilogue = (whole != 1 ? 2U : 0U) + (problem.alpha != 1 ? 1U : 0U) + (problem.beta ? 1U : 0U);
  if (!arithmetic.engine) return chain;
  chain.largest_a = largest(problem.a);
  chain.largest_b = largest(problem.b);
  return chain;
}

bool zeroes_subnormals(const products::MatmulOperand& operand) {
  return operand.rounding.options.flush_subnormals || operand.rounding.options.subnormals_are_zero;
}

[[noreturn]] void refuse_without_bound(const products::ChosenEngine& engine) {
  throw Error("engine " + engine.word + ": no bound is derived; compare with the engine bit for bit, --against engine");
}

/// Sums in float64 may be rounded to an accumulator of float32.
emu::ErrorBound bound_of_split(const products::ChosenEngine& engine, emu::Format acc, std::size_t k, const emu::Chain& chain) {
  auto bound = emu::split_bound(*engine.split, k, chain);
  if (!bound) refuse_without_bound(engine);
  if (engine.split->scheme != emu::SplitScheme::parts && acc == emu::float32) {
    const double unit = 0x1p-24;
    bound->relative += unit * (1 + bound->relative);
    bound->random_relative += unit;
    bound->absolute += emu::decode(acc, 1);
  }
  return *bound;
}

/// Scales of blocks multiply the sums of the blocks, or, where `chain` does not declare sums by --promote, the operands: then
/// each product has two roundings more, and there is one sum of all of them.
emu::ErrorBound of_either_order(const emu::DeclaredSum& sum, std::size_t k, emu::Chain chain) {
  const emu::ErrorBound last = emu::any_order_bound(sum, k, chain);
  if (chain.scale_products == 0 || chain.promote != 0) return last;
  chain.scale_products = k;
  chain.largest_scale = std::max(chain.largest_scale, 1.0);  // what is scaled may be subnormal
  emu::ErrorBound first = emu::any_order_bound(sum, k, chain);
  const double unit = first.unit;
  first.relative += unit * (2 + unit) * (1 + first.relative);
  first.random_relative = std::sqrt(first.random_relative * first.random_relative + 2 * unit * unit);
  first.losses += 2;
  if (!(first.relative > last.relative)) first = last;
  first.absolute = std::max(first.absolute, last.absolute);
  return first;
}

emu::ErrorBound bound_of(const products::Product& problem, const Arithmetic& arithmetic, std::size_t k) {
  const emu::Format a = problem.a.rounding.format, b = problem.b.rounding.format;
  emu::Chain chain = chain_of(problem, arithmetic, k);
  if (!arithmetic.engine) {
    const bool flushes = arithmetic.flushes_results || zeroes_subnormals(problem.a) || zeroes_subnormals(problem.b);
    // Operands are judged as given: those that are zeroed are zeros already.
    return of_either_order(
        {.a = a, .b = b, .accumulator = problem.acc, .rounding = arithmetic.rounding, .flushes_subnormals = flushes}, k, chain);
  }
  if (arithmetic.engine->split) return bound_of_split(*arithmetic.engine, problem.acc, k, chain);
  const auto bound = emu::engine_bound(arithmetic.engine->model, a, b, k, chain);
  if (!bound) refuse_without_bound(*arithmetic.engine);
  return *bound;
}

}  // namespace

std::size_t shared_scales(const products::Product& product, std::size_t k) {
  const auto block = [](const Scales& x) { return x ? x->k_block : products::MatmulScales::all; };
  const std::size_t common = std::gcd(block(product.a.scales), block(product.b.scales));
  return common == 0 ? k : common;
}

Allowance matmul_allowance(const products::Product& problem, const Arithmetic& arithmetic) {
  const products::MatmulShape shape = products::matmul_shape(problem.a.input, problem.b.input);
  emu::ErrorBound bound = bound_of(problem, arithmetic, shape.k);
  const double certain = arithmetic.false_alarm && !arithmetic.engine ? bound.relative : 0;
  if (arithmetic.false_alarm) {
    double elements = 1;
    for (const std::uint64_t extent : shape.d) elements *= static_cast<double>(std::max<std::uint64_t>(extent, 1));
    bound.relative = emu::probable(bound, *arithmetic.false_alarm / elements);
  }
  Allowance allowance{.relative = std::min(bound.relative, std::numeric_limits<double>::max()),
                      .absolute = bound.absolute,
                      .certain = std::min(certain, std::numeric_limits<double>::max()),
                      .refusal = emu::worthless(bound),
                      .engine = arithmetic.engine};
  if (allowance.engine) allowance.engine->device.reset();  // what it is said to be, not what it does
  const bool split = arithmetic.engine && arithmetic.engine->split;
  allowance.words = fmt::format("sums of {} products in {}, {}{}: {:.3g} of the sum of |a||b|", shape.k,
                                emu::format_name(problem.acc), arithmetic.engine ? "on " + arithmetic.engine->word : "",
                                split               ? ""
                                : arithmetic.engine ? ", in any order"
                                                    : "in any order",
                                bound.relative);
  if (split && arithmetic.engine->split->scheme == emu::SplitScheme::parts)
    allowance.largest_operand = emu::max_finite(arithmetic.engine->split->part);
  else if (split)
    allowance.words += fmt::format(", and {:.3g} whatever that is", bound.absolute);
  if (arithmetic.false_alarm)
    allowance.words += fmt::format(", beyond which a correct output is with a probability of {:.3g}", *arithmetic.false_alarm);
  return allowance;
}

}  // namespace ulpscope::verify
