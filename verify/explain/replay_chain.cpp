// SPDX-License-Identifier: Apache-2.0
// Chains on engines, in IEEE operations, and by rounding to odd where float64 does not suffice.
#include "verify/explain/replay_chain.hpp"

#include <cmath>
#include <type_traits>

#include "emu/bits.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/split_matmul.hpp"
#include "emu/stop.hpp"

namespace ulpscope::verify {
namespace {

template <class Float>
constexpr emu::Format storage = std::is_same_v<Float, double> ? emu::float64 : emu::float32;

/// The sums of what `multiply` makes of the products at `ks`.
template <class Float, class Multiply>
std::vector<Float> matmul_sums(const emu::Engine& engine, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start, const Multiply& multiply) {
  const std::size_t rows = operands.rows, columns = operands.columns;
  std::vector<Float> a, b, d(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (const std::size_t k : ks) a.push_back(operands.a[i * operands.k + k]);
  for (const std::size_t k : ks)
    b.insert(b.end(), operands.b.begin() + static_cast<std::ptrdiff_t>(k * columns),
             operands.b.begin() + static_cast<std::ptrdiff_t>((k + 1) * columns));
  const emu::EngineMatmul<Float> problem{.engine = engine,
                                         .a = {operands.a_format, a, {rows, ks.size()}},
                                         .b = {operands.b_format, b, {ks.size(), columns}},
                                         .c = start,
                                         .scale_a = {},
                                         .scale_b = {},
                                         .beta = {},
                                         .out = storage<Float>,
                                         .threads = 1};
  multiply(problem, std::span(d));
  return d;
}

template <class Float>
std::vector<Float> engine_sums(const emu::Engine& engine, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start) {
  return matmul_sums(engine, operands, ks, start,
                     [](const emu::EngineMatmul<Float>& problem, std::span<Float> d) { emu::engine_matmul(problem, d); });
}

template <class Float>
std::vector<Float> split_sums(const emu::SplitProduct& split, const ChainOperands<Float>& operands,
                              std::span<const std::size_t> ks, const std::vector<Float>& start) {
  return matmul_sums(split.model, operands, ks, start, [&](const emu::EngineMatmul<Float>& problem, std::span<Float> d) {
    emu::split_matmul(split, problem, d);
  });
}

/// x + y rounded to odd in float64: a second rounding to fewer than 52 bits gives the exact sum's. The error of the sum by
/// Knuth's two-sum (TAOCP 2, 4.2.2, theorem B); where it is not zero, the last bit of the sum is made one, toward the exact
/// sum.
double sum_to_odd(double x, double y) noexcept {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double of_y = sum - x, error = (x - (sum - of_y)) + (y - of_y);
  if (error == 0) return sum;
  auto code = std::bit_cast<std::uint64_t>(sum);
  if ((code & 1) == 0) code += (error > 0) == (sum > 0) ? 1 : std::uint64_t{0} - 1;
  return std::bit_cast<double>(code);
}

/// One product after another by float64, in which products of two float32 numbers are exact. Additions are rounded to odd
/// before their rounding to the accumulator.
std::vector<float> rounded_sums(const Chain& chain, const ChainOperands<float>& operands, std::span<const std::size_t> ks,
                                const std::vector<float>& start) {
  const std::size_t columns = operands.columns;
  std::vector<float> out;
  std::vector<double> sum(columns), products(columns);
  const auto round = [&](std::vector<double>& x) {
    emu::round_to(chain.accumulator, std::span<const double>(x), std::span<double>(x), chain.rounding, {});
  };
  for (std::size_t i = 0; i < operands.rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) sum[j] = start.empty() ? 0 : static_cast<double>(start[i * columns + j]);
    for (const std::size_t k : ks) {
      const auto a = static_cast<double>(operands.a[i * operands.k + k]);
      for (std::size_t j = 0; j < columns; ++j) products[j] = a * static_cast<double>(operands.b[k * columns + j]);
      if (chain.products == emu::Products::rounded) round(products);
      for (std::size_t j = 0; j < columns; ++j) sum[j] = sum_to_odd(sum[j], products[j]);
      round(sum);
    }
    for (const double x : sum) out.push_back(static_cast<float>(x));
  }
  return out;
}

/// Products and sums in the storage's own arithmetic.
template <class Float>
std::vector<Float> native_sums(const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start) {
  const std::size_t columns = operands.columns;
  std::vector<Float> sums = start;
  sums.resize(operands.rows * columns);
  for (std::size_t i = 0; i < operands.rows; ++i) {
    Float* const sum = sums.data() + i * columns;
    for (const std::size_t k : ks) {
      const Float a = operands.a[i * operands.k + k];
      const Float* const b = operands.b.data() + k * columns;
      for (std::size_t j = 0; j < columns; ++j) sum[j] += a * b[j];
    }
  }
  return sums;
}

}  // namespace

template <class Float>
std::vector<Float> chain_sums(const Chain& chain, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                              const std::vector<Float>& start) {
  emu::stop_if_asked();
  if (chain.split) return split_sums(*chain.split, operands, ks, start);
  if (chain.engine) return engine_sums(*chain.engine, operands, ks, start);
  const bool plain = chain.accumulator == storage<Float> && chain.rounding == emu::RoundingOptions{};
  if (plain && chain.products == emu::Products::rounded) return native_sums(operands, ks, start);
  if constexpr (std::is_same_v<Float, float>) return rounded_sums(chain, operands, ks, start);
  return engine_sums(emu::fma_chain(emu::float64), operands, ks, start);
}

template std::vector<float> chain_sums(const Chain&, const ChainOperands<float>&, std::span<const std::size_t>,
                                       const std::vector<float>&);
template std::vector<double> chain_sums(const Chain&, const ChainOperands<double>&, std::span<const std::size_t>,
                                        const std::vector<double>&);

}  // namespace ulpscope::verify
