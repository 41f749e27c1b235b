// SPDX-License-Identifier: Apache-2.0
// Splits operands and has their parts multiplied: on an engine, as one longer product, or as integers.
#include "emu/split_matmul.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/float_environment.hpp"
#include "emu/split_integers.hpp"

namespace ulpscope::emu {
namespace {

using detail::Direction;
using detail::FloatEnvironment;

template <class Float>
void check_split(const SplitProduct& split, const EngineMatmul<Float>& problem, std::size_t d_size) {
  const std::size_t rows = problem.a.rows(), columns = problem.b.columns(), k = problem.a.columns();
  if (k != problem.b.rows())
    throw Error("A has " + std::to_string(k) + " columns, B has " + std::to_string(problem.b.rows()) +
                " rows: they must be as many");
  if (problem.a.values.size() < problem.a.shape.extent() || problem.b.values.size() < problem.b.shape.extent())
    throw Error(split.name + ": an operand has fewer values than its shape says");
  if (d_size < rows * columns || (!problem.c.empty() && problem.c.size() != rows * columns))
    throw Error(split.name + ": C and D must have " + std::to_string(rows * columns) + " elements");
  const bool scaled =
      !problem.scale_a.empty() || !problem.scale_b.empty() || problem.scale_a.whole != 1 || problem.scale_b.whole != 1;
  if (scaled || problem.promote != 0 || problem.split_k != 1)
    throw Error(split.name + ": takes no scales, promotion or split K" +
                (split.scheme == SplitScheme::parts ? "; its own key k cuts K, as in bf16x9:k=64" : ""));
  if (!split.join.empty() && (k + split.block - 1) / split.block > blocks_of_join(split))
    throw Error(split.name + ": K is " + std::to_string(k) + ", which makes more than the " +
                std::to_string(blocks_of_join(split)) + " blocks of k=" + std::to_string(split.block) + " that join says");
  if (split.scheme != SplitScheme::parts && k > most_integer_products)
    throw Error(split.name + ": K is " + std::to_string(k) + "; sums in int32 have room for " +
                std::to_string(most_integer_products) + " products");
}

/// The parts of an operand, row-major.
std::vector<std::vector<float>> parts_of(const SplitProduct& split, const EngineOperand<float>& operand) {
  std::vector<float> values;
  values.reserve(operand.rows() * operand.columns());
  for (std::size_t i = 0; i < operand.rows(); ++i)
    for (std::size_t j = 0; j < operand.columns(); ++j) values.push_back(operand.at(i, j));
  return split_into_parts(split, values);
}

/// A product on an engine for each block of K, along which the pairs' parts lie one after the other.
class PartsProduct {
 public:
  PartsProduct(const SplitProduct& split, const EngineMatmul<float>& problem)
      : split_(split),
        m_(problem.a.rows()),
        n_(problem.b.columns()),
        k_(problem.a.columns()),
        threads_(problem.threads),
        a_(parts_of(split, problem.a)),
        b_(parts_of(split, problem.b)) {}

  std::vector<float> sums() {
    std::vector<float> total(m_ * n_, 0.0F);
    if (!split_.join.empty()) {
      if (k_ > 0) add_to(total, joined(0, split_.join.size()));
      return total;
    }
    const std::size_t block = split_.block == 0 ? std::max<std::size_t>(k_, 1) : split_.block;
    std::vector<float> of_block(m_ * n_);
    for (std::size_t begin = 0; begin < k_; begin += block) {
      add_pairs(begin, std::min(block, k_ - begin), of_block);
      add_to(total, of_block);
    }
    return total;
  }

 private:
  struct Stretch {
    PartPair pair;
    std::size_t begin, count, room;  ///< products, and their place with the zeros that fill up a step
  };

  static void add_to(std::vector<float>& total, const std::vector<float>& more) {
    const FloatEnvironment environment(Direction::nearest);
    for (std::size_t at = 0; at < total.size(); ++at) total[at] += more[at];
  }

  /// The sum of the blocks whose numbers are `first` but for the bits that meet first, `bits` of them. Where K has none of
  /// them, empty.
  std::vector<float> joined(std::size_t first, std::size_t bits) {
    if (first * split_.block >= k_) return {};
    if (bits == 0) {
      std::vector<float> of_block(m_ * n_);
      add_pairs(first * split_.block, std::min(split_.block, k_ - first * split_.block), of_block);
      return of_block;
    }
    std::vector<float> sum = joined(first, bits - 1);
    const std::vector<float> other = joined(first | std::size_t{1} << split_.join[bits - 1], bits - 1);
    if (!other.empty()) add_to(sum, other);
    return sum;
  }

  void add_pairs(std::size_t begin, std::size_t depth, std::vector<float>& sums) {
    const auto all = static_cast<std::size_t>(split_.pair_count), smaller = split_.zeroes_nans ? all - 1 : all;
    std::fill(sums.begin(), sums.end(), 0.0F);
    add(stretches(begin, depth, 0, smaller), sums);
    if (smaller == all) return;
    for (float& x : sums) x = x == x ? x : 0.0F;
    add(stretches(begin, depth, smaller, all), sums);
  }

  /// Pairs [first, end) over a block of K, in the order in which their products are added.
  std::vector<Stretch> stretches(std::size_t begin, std::size_t depth, std::size_t first, std::size_t end) const {
    const auto step = static_cast<std::size_t>(std::max(split_.model.products, 1));
    const std::size_t turn = split_.takes_turns ? products_of_turn(split_) : depth;
    std::vector<Stretch> out;
    for (std::size_t at = 0; at < depth; at += turn)
      for (std::size_t pair = first; pair < end; ++pair) {
        const std::size_t count = std::min(turn, depth - at);
        out.push_back({split_.pairs[pair], begin + at, count, (count + step - 1) / step * step});
      }
    return out;
  }

  /// One chain from `sums` over all stretches; an engine that takes all of K in one step has a step for each.
  void add(const std::vector<Stretch>& stretches, std::vector<float>& sums) {
    if (split_.model.products != Stage::all) return multiply(stretches, sums);
    for (const Stretch& stretch : stretches) multiply(std::span(&stretch, 1), sums);
  }

  void multiply(std::span<const Stretch> stretches, std::vector<float>& sums) {
    std::size_t length = 0;
    for (const Stretch& stretch : stretches) length += stretch.room;
    std::vector<float> a(m_ * length), b(length * n_);
    std::size_t place = 0;
    for (const Stretch& s : stretches) {
      const auto &from_a = a_[s.pair.a], &from_b = b_[s.pair.b];
      for (std::size_t i = 0; i < m_; ++i)
        std::copy_n(from_a.data() + i * k_ + s.begin, s.count, a.data() + i * length + place);
      std::copy_n(from_b.data() + s.begin * n_, s.count * n_, b.data() + place * n_);
      place += s.room;
    }
    const std::vector<float> begun = sums;
    const EngineMatmul<float> problem{.engine = split_.model,
                                      .a = {split_.part, a, {m_, length}},
                                      .b = {split_.part, b, {length, n_}},
                                      .c = begun,
                                      .threads = threads_};
    engine_matmul(problem, std::span(sums), workspace_);
  }

  const SplitProduct& split_;
  std::size_t m_, n_, k_;
  int threads_;
  std::vector<std::vector<float>> a_, b_;
  MatmulWorkspace workspace_;
};

/// C, alpha and beta, all in Float, to nearest even.
template <class Float>
Float finished(Float sum, Float alpha, const Float* c, const std::optional<Float>& beta) noexcept {
  if (c != nullptr && beta) return std::fma(alpha, sum, *beta * *c);
  const Float with_c = c != nullptr ? *c + sum : sum;
  return alpha == 1 ? with_c : alpha * with_c;
}

template <class Float>
detail::SplitLines lines_of(const EngineOperand<Float>& operand, bool rows) {
  detail::SplitLines lines{rows ? operand.rows() : operand.columns(), rows ? operand.columns() : operand.rows(), {}};
  lines.values.reserve(lines.count * lines.length);
  for (std::size_t i = 0; i < lines.count; ++i)
    for (std::size_t k = 0; k < lines.length; ++k)
      lines.values.push_back(static_cast<double>(rows ? operand.at(i, k) : operand.at(k, i)));
  return lines;
}

template <class Float>
void by_integers(const SplitProduct& split, const EngineMatmul<Float>& problem, std::span<Float> d) {
  const detail::SplitLines a = lines_of(problem.a, true), b = lines_of(problem.b, false);
  std::vector<double> sums(a.count * b.count);
  detail::integer_product(split, a, b, problem.threads, sums);
  std::optional<double> beta;
  if (problem.beta) beta = static_cast<double>(*problem.beta);
  {
    const FloatEnvironment environment(Direction::nearest);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const double c = problem.c.empty() ? 0 : static_cast<double>(problem.c[at]);
      sums[at] = finished(sums[at], static_cast<double>(problem.alpha), problem.c.empty() ? nullptr : &c, beta);
      if (sums[at] != sums[at]) sums[at] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  round_to(problem.out, std::span<const double>(sums), std::span(sums));
  std::transform(sums.begin(), sums.end(), d.begin(), [](double x) { return static_cast<Float>(x); });
}

void by_parts(const SplitProduct& split, const EngineMatmul<float>& problem, std::span<float> d) {
  std::vector<float> sums = PartsProduct(split, problem).sums();
  {
    const FloatEnvironment environment(Direction::nearest);
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const float x = finished(sums[at], problem.alpha, problem.c.empty() ? nullptr : &problem.c[at], problem.beta);
      d[at] = x == x ? x : std::numeric_limits<float>::quiet_NaN();
    }
  }
  d = d.first(sums.size());
  if (problem.out != float32) round_to(problem.out, std::span<const float>(d), d);
}

}  // namespace

std::vector<std::vector<float>> split_into_parts(const SplitProduct& split, std::span<const float> values) {
  std::vector<std::vector<float>> parts;
  std::vector<float> rest(values.begin(), values.end());
  for (std::size_t p = 0; p < static_cast<std::size_t>(split.count); ++p) {
    auto& part = parts.emplace_back(values.size());
    round_to(split.part, std::span<const float>(rest), std::span(part), {.rounding = split.roundings[p]});
    const FloatEnvironment environment(Direction::nearest);
    for (std::size_t i = 0; i < rest.size(); ++i) {
      rest[i] -= part[i];
      if (rest[i] != rest[i]) rest[i] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return parts;
}

void split_matmul(const SplitProduct& split, const EngineMatmul<float>& problem, std::span<float> d) {
  check_split(split, problem, d.size());
  split.scheme == SplitScheme::parts ? by_parts(split, problem, d) : by_integers(split, problem, d);
}

void split_matmul(const SplitProduct& split, const EngineMatmul<double>& problem, std::span<double> d) {
  check_split(split, problem, d.size());
  if (split.scheme == SplitScheme::parts)
    throw Error(split.name + ": splits numbers of float32; ozaki1 and ozaki2 take float64");
  by_integers(split, problem, d);
}

}  // namespace ulpscope::emu
