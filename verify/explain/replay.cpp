// SPDX-License-Identifier: Apache-2.0
// Computes outputs step by step as a Kernel says: operands, order, parts, sums, epilogue.
#include "verify/explain/replay.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "products/exact_product.hpp"
#include "verify/explain/replay_chain.hpp"
#include "verify/explain/replay_operands.hpp"
#include "verify/explain/replay_scales.hpp"

namespace ulpscope::verify {
namespace {

template <class Float>
std::vector<Float> stored(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

template <class Float>
class Replay {
 public:
  Replay(const MatmulData& data, const Kernel& kernel, const Region& region)
      : data_(data),
        kernel_(kernel),
        region_(region),
        scales_(data, kernel, region),
        c_(stored<Float>(fetch_c(data, kernel, region))) {
    const RegionOperands fetched = fetch_operands(data, kernel, region);
    const bool swapped = kernel.operands_swapped;
    operands_ = {.a_format = (swapped ? kernel.b : kernel.a).format(),
                 .b_format = (swapped ? kernel.a : kernel.b).format(),
                 .a = stored<Float>(fetched.a),
                 .b = stored<Float>(fetched.b),
                 .rows = region.rows.size(),
                 .columns = region.columns.size(),
                 .k = data.shape.k,
                 .scales = {}};
    if (kernel.epilogue.dequantized)
      dequantize(*kernel.epilogue.dequantized);
    else if (kernel.engine_scales())
      operands_.scales = scales_.of_engine(*kernel.chain.engine, data.shape.k);
  }

  std::vector<double> run() const {
    if (kernel_.chain.exact) return exact();
    std::vector<Float> sums = total();
    for (std::size_t i = 0; i < operands_.rows; ++i)
      for (std::size_t j = 0; j < operands_.columns; ++j) {
        Float& x = sums[i * operands_.columns + j];
        x = finished(x, i, j);
      }
    std::vector<double> d(sums.begin(), sums.end());
    for (const emu::Format format : kernel_.epilogue.between) round(d, format, {});
    round(d, kernel_.epilogue.out, kernel_.epilogue.rounding);
    return d;
  }

 private:
  static void round(std::vector<double>& x, emu::Format format, const emu::RoundingOptions& options) {
    emu::round_to(format, std::span<const double>(x), std::span<double>(x), options, {});
  }

  /// Whether sums are scaled: not where the engine applies scales, nor where operands have them before.
  bool scaled() const { return scales_.any() && !kernel_.engine_scales() && !kernel_.epilogue.dequantized; }
  ScaleUse use() const { return kernel_.epilogue.scales; }
  /// As emu::EngineMatmul has it: C starts the sum unless it, or the sum, is scaled.
  bool starts_from_c() const {
    return !c_.empty() && !kernel_.epilogue.beta && !scaled() && scales_.whole() == 1 &&
           (kernel_.epilogue.c == CUse::declared || kernel_.epilogue.c == CUse::twice);
  }
  std::size_t block() const { return scaled() ? common_k_block(data_.scale_a, data_.scale_b) : 0; }

  /// The scales onto the elements, in the storage of sums, and those rounded.
  void dequantize(const Dequantized& dequantized) {
    const std::size_t columns = operands_.columns, k = operands_.k;
    for (std::size_t x = 0; x < k; ++x) {
      for (std::size_t i = 0; i < operands_.rows; ++i) operands_.a[i * k + x] *= scales_.dequantizing_a(i, x);
      for (std::size_t j = 0; j < columns; ++j) operands_.b[x * columns + j] *= scales_.dequantizing_b(j, x);
    }
    for (std::vector<Float>* values : {&operands_.a, &operands_.b})
      emu::round_to(dequantized.to, std::span<const Float>(*values), std::span<Float>(*values), {}, {});
    operands_.a_format = operands_.b_format = dequantized.to;
  }

  std::vector<Float> total() const {
    const std::vector<std::size_t> order = indices(kernel_.order, operands_.k);
    const auto& engine = kernel_.chain.engine;
    const std::size_t step = engine ? static_cast<std::size_t>(std::max(engine->products, 1)) : 1;
    const std::vector<ChainPieces> chains = cut(order, kernel_.parts, step, block());
    const std::vector<Float> start = starts_from_c() ? c_ : std::vector<Float>(region_.count());
    if (chains.size() == 1 && chains.front().size() == 1 && block() == 0 && !kernel_.parts.sum_format &&
        kernel_.parts.blocks.length == 0)
      return chain_sums(kernel_.chain, operands_, chains.front().front(), start);
    std::vector<std::vector<Float>> sums;
    for (const ChainPieces& chain : chains) sums.push_back(sum_of(chain));
    if (kernel_.parts.added_in) return added_in(*kernel_.parts.added_in, start, std::move(sums));
    if (!kernel_.parts.join.empty()) return reduced_in_tree(start, std::move(sums), kernel_.parts.join);
    return reduced(start, sums, kernel_.parts.reduction);
  }

  /// Onto memory that holds the format, one part after another.
  std::vector<Float> added_in(emu::Format format, std::vector<Float> sum, std::vector<std::vector<Float>> parts) const {
    if (kernel_.parts.reduction == Reduction::descending) std::reverse(parts.begin(), parts.end());
    for (const std::vector<Float>& part : parts) {
      sum = reduced(std::move(sum), {part}, Reduction::ascending);
      round_to(format, sum);
    }
    return sum;
  }

  std::vector<Float> sum_of(const ChainPieces& pieces) const {
    std::vector<Float> sum(region_.count());
    if (kernel_.parts.blocks.length != 0) {
      std::vector<std::vector<Float>> lanes;
      for (const auto& piece : pieces) lanes.push_back(chain_sums(kernel_.chain, operands_, piece, {}));
      return reduced(std::move(sum), lanes, Reduction::pairwise);
    }
    std::vector<Float> part;
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      if (pieces[n].empty()) continue;  // all of K is left out: no product says whose scales
      part = chain_sums(kernel_.chain, operands_, pieces[n], part);
      if (kernel_.parts.carried) round_to(*kernel_.parts.carried, part);
      if (is_carried_on(pieces, n)) continue;
      for (std::size_t at = 0; at < sum.size(); ++at) {
        const std::size_t i = at / operands_.columns, j = at % operands_.columns;
        sum[at] = block() == 0 ? sum[at] + part[at] : scaled_onto(sum[at], part[at], i, j, pieces[n].front());
      }
      part.clear();
      if (kernel_.parts.kept) round_to(*kernel_.parts.kept, sum);
    }
    if (kernel_.parts.sum_format) round_to(*kernel_.parts.sum_format, sum);
    return sum;
  }
  /// Whether the piece behind piece n starts from its sum.
  bool is_carried_on(const ChainPieces& pieces, std::size_t n) const {
    if (!kernel_.parts.carried || n + 1 == pieces.size()) return false;
    const std::size_t length = block();
    return length == 0 || pieces[n].back() / length == pieces[n + 1].front() / length;
  }
  static void round_to(emu::Format format, std::vector<Float>& sum) {
    for (Float& x : sum) x = static_cast<Float>(emu::round_to(format, static_cast<double>(x)).value);
  }

  /// As emu::EngineMatmul has it, unless the scales are applied one by one.
  emu::ScaleRule rule() const {
    if (use() == ScaleUse::one_by_one) return {.first = emu::ScaleRule::First::a, .fused = false};
    return {.first = emu::ScaleRule::First::both, .fused = true};
  }
  Float scaled_onto(Float sum, Float part, std::size_t i, std::size_t j, std::size_t k) const {
    const auto [a, b, again] = scales_.at(i, j, k);
    if (use() == ScaleUse::by_inverse) return sum + part / (1 / (a * b));
    if (!again) return rule().add(sum, part, a, b);
    switch (kernel_.epilogue.twice_at) {
      case TwiceAt::before: return std::fma(part * *again, a * b, sum);
      case TwiceAt::after: return std::fma(part * (a * b), *again, sum);
      case TwiceAt::after_rounded: return sum + part * (a * b) * *again;
      default: return std::fma(part, a * b * *again, sum);
    }
  }

  Float finished(Float x, std::size_t i, std::size_t j) const {
    const Float y = before_times(x, i, j);
    return kernel_.epilogue.times == 1 ? y : static_cast<Float>(kernel_.epilogue.times) * y;
  }
  Float before_times(Float x, std::size_t i, std::size_t j) const {
    const Epilogue& epilogue = kernel_.epilogue;
    if (scaled()) x = with_scales(x, i, j);
    if (const Float whole = scales_.whole(); whole != 1) x *= whole;
    if (epilogue.alpha_use == AlphaUse::after_rounding || epilogue.c == CUse::after_rounding)
      x = static_cast<Float>(emu::round_to(epilogue.out, static_cast<double>(x), epilogue.rounding).value);
    const auto alpha = static_cast<Float>(epilogue.alpha_use == AlphaUse::none ? 1 : epilogue.alpha);
    const Float c = c_.empty() ? Float{0} : c_[i * operands_.columns + j];
    const bool adds_c = !c_.empty() && !starts_from_c();
    const Float source = epilogue.beta ? static_cast<Float>(*epilogue.beta) * c : c;
    Float y = x;
    if (!adds_c) {
      y = alpha == 1 ? x : alpha * x;
    } else if (epilogue.alpha_use == AlphaUse::of_everything) {
      y = alpha * (x + source);
    } else {
      y = epilogue.alpha_use == AlphaUse::separate ? alpha * x + source : std::fma(alpha, x, source);
    }
    return epilogue.c == CUse::twice && !c_.empty() ? y + source : y;
  }

  Float twice_scaled(Float x, Float both, Float again) const {
    if (kernel_.epilogue.twice_at == TwiceAt::both) return x * (both * again);
    return kernel_.epilogue.twice_at == TwiceAt::before ? x * again * both : x * both * again;
  }
  Float with_scales(Float x, std::size_t i, std::size_t j) const {
    if (block() == 0) {
      const auto [a, b, again] = scales_.at(i, j, 0);
      if (again)
        x = twice_scaled(x, a * b, *again);
      else if (use() == ScaleUse::one_by_one)
        x = x * a * b;
      else
        x = use() == ScaleUse::by_inverse ? x / (1 / (a * b)) : x * (a * b);
    }
    return x;
  }

  /// The operands of the products at `ks` alone.
  ChainOperands<Float> in_order(const std::vector<std::size_t>& ks) const {
    ChainOperands<Float> some{operands_.a_format, operands_.b_format, {}, {}, operands_.rows, operands_.columns, ks.size()};
    for (std::size_t i = 0; i < operands_.rows; ++i)
      for (const std::size_t k : ks) some.a.push_back(operands_.a[i * operands_.k + k]);
    for (const std::size_t k : ks) {
      const auto row = operands_.b.begin() + static_cast<std::ptrdiff_t>(k * operands_.columns);
      some.b.insert(some.b.end(), row, row + static_cast<std::ptrdiff_t>(operands_.columns));
    }
    return some;
  }

  std::vector<double> exact() const {
    const Epilogue& epilogue = kernel_.epilogue;
    const ChainOperands<Float> operands = in_order(indices(kernel_.order, operands_.k));
    emu::EngineMatmul<Float> problem{.engine = emu::fma_chain(std::is_same_v<Float, double> ? emu::float64 : emu::float32),
                                     .a = {operands.a_format, operands.a, {operands.rows, operands.k}},
                                     .b = {operands.b_format, operands.b, {operands.k, operands.columns}},
                                     .c = c_,
                                     .scale_a = {},
                                     .scale_b = {},
                                     .alpha = static_cast<Float>(epilogue.alpha * epilogue.times),
                                     .beta = {},
                                     .out = epilogue.out,
                                     .threads = 1};
    if (epilogue.beta) problem.beta = static_cast<Float>(*epilogue.beta * epilogue.times);
    std::vector<Float> d(region_.count());
    products::exact_product(problem, std::span(d));
    return {d.begin(), d.end()};
  }

  const MatmulData& data_;
  const Kernel& kernel_;
  const Region& region_;
  SeenScales<Float> scales_;
  std::vector<Float> c_;
  ChainOperands<Float> operands_;
};

std::vector<double> run(const MatmulData& data, const Kernel& kernel, const Region& region) {
  return kernel.wide() ? Replay<double>(data, kernel, region).run() : Replay<float>(data, kernel, region).run();
}

}  // namespace

bool Kernel::wide() const {
  const auto is_wide = [](emu::Format format) { return !emu::fits_float(format); };
  return is_wide(a.format()) || is_wide(b.format()) || is_wide(chain.engine ? chain.engine->accumulator : chain.accumulator);
}

std::vector<double> replay(const MatmulData& data, const Kernel& kernel, const Region& region) {
  if (!kernel.result_transposed) return run(data, kernel, region);
  const std::vector<double> d = run(data, kernel, {region.matrix, region.columns, region.rows});
  std::vector<double> transposed(d.size());
  const std::size_t rows = region.rows.size(), columns = region.columns.size();
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) transposed[i * columns + j] = d[j * rows + i];
  return transposed;
}

Kernel declared_kernel(const products::Product& config) {
  const products::ChosenEngine engine = products::engine_of(config);
  if (engine.exact && (config.a.scales || config.b.scales))
    throw Error("engine exact: with scales there is no one order of roundings; name the engine that is claimed");
  const auto path_of = [](const products::MatmulOperand& operand) {
    if (operand.rounding.options.rounding == emu::Rounding::stochastic)
      throw Error(operand.input.tensor.label + ": stochastic rounding is not replayed; give the rounded tensor");
    OperandPath path;
    const auto& own = operand.input.tensor.dtype.format;
    if (operand.rounding.options.subnormals_are_zero && own) path.roundings.push_back({*own, {.flush_subnormals = true}});
    path.roundings.push_back(operand.rounding);
    path.roundings.back().options.subnormals_are_zero = false;
    return path;
  };
  Kernel kernel{.a = path_of(config.a), .b = path_of(config.b), .order = {}, .parts = {}, .chain = {}, .epilogue = {}};
  kernel.parts = {.split = config.split_k, .promote = config.promote};
  const auto step = static_cast<std::size_t>(std::max(engine.model.products, 1));
  if (config.promote % step != 0)
    throw Error("--promote " + std::to_string(config.promote) + ": " + engine.word + " takes " + std::to_string(step) +
                " products in a step; give a multiple of that");
  if (engine.split)
    kernel.chain = {.accumulator = config.acc, .split = engine.split};
  else
    kernel.chain = {.engine = engine.model, .accumulator = config.acc, .exact = engine.exact};
  kernel.c_format = config.acc;
  kernel.epilogue = {.alpha = config.alpha, .beta = config.beta, .between = {}, .out = config.out};
  return kernel;
}

}  // namespace ulpscope::verify
