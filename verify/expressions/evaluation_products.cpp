// SPDX-License-Identifier: Apache-2.0
// Sums of products, for a row of neighbouring results at once: sum by sum of labels, the row's values, their sizes and errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/tasks.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/overflows.hpp"

namespace ulpscope::verify {
namespace {

/// Places of an operand, one for each combination of summed labels in turn.
class Places {
 public:
  Places(const std::vector<std::uint64_t>& extents, const std::vector<std::uint64_t>& steps, std::uint64_t begin)
      : extents_(extents), steps_(steps), at_(extents.size(), 0), place_(begin) {}
  std::uint64_t place() const noexcept { return place_; }
  void next() noexcept {
    for (std::size_t i = extents_.size(); i-- > 0;) {
      place_ += steps_[i];
      if (++at_[i] < extents_[i]) return;
      place_ -= steps_[i] * extents_[i];
      at_[i] = 0;
    }
  }

 private:
  const std::vector<std::uint64_t>&extents_, &steps_;
  std::vector<std::uint64_t> at_;
  std::uint64_t place_;
};

/// An operand of a contraction.
struct Factor {
  const Kept* kept;            ///< null: ones
  std::vector<double> values;  ///< all of them
  std::uint64_t step;          ///< from one result of a row to the next

  Factor(const Kept* from, std::uint64_t count, std::uint64_t steps) : kept(from), values(from ? count : 1, 1.0), step(steps) {
    if (from != nullptr)
      for (std::uint64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = from->at(i).value;
  }
  bool is_exact() const noexcept { return kept == nullptr || kept->is_exact(); }
  Approximate at(std::uint64_t place) const noexcept { return kept == nullptr ? Approximate{.value = 1} : kept->at(place); }
};

/// What the results of a row are the sums of.
struct Row {
  std::vector<double> sum, size, radius, error;
  std::vector<SignedTerms> terms;  ///< of add() alone
  std::vector<Kinds> kinds;
  std::vector<char> is_doubtful;  ///< some operand is infinite or NaN, and need not be

  explicit Row(std::size_t width)
      : sum(width), size(width), radius(width), error(width), terms(width), kinds(width), is_doubtful(width, 0) {}

  /// Adds a product to each result; the operands are known exactly.
  void add_exact(const double* a, std::uint64_t a_step, const double* b, std::uint64_t b_step) noexcept {
    const std::size_t width = sum.size();
    double* const sums = sum.data();
    double* const sizes = size.data();
    if (a_step == 0 && b_step == 1) {
      for (std::size_t j = 0; j < width; ++j) {
        const double product = *a * b[j];
        sums[j] += product;
        sizes[j] += std::fabs(product);
      }
      return;
    }
    for (std::size_t j = 0; j < width; ++j) {
      const double product = a[j * a_step] * b[j * b_step];
      sums[j] += product;
      sizes[j] += std::fabs(product);
    }
  }
  void add(std::size_t j, const Approximate& x, const Approximate& y) noexcept {
    const double a = std::fabs(x.value), b = std::fabs(y.value), product = x.value * y.value;
    sum[j] += product;
    size[j] += a * b;
    terms[j].add(product);
    if (std::isfinite(product)) {
      radius[j] += a * y.radius + b * x.radius + x.radius * y.radius;
      error[j] += a * y.error + b * x.error + x.error * y.error;
    }
    if (is_plain(x) && is_plain(y)) return;
    kinds[j] = sum_of(kinds[j], product_of(x, y));
    if (is_doubted(x) || is_doubted(y)) is_doubtful[j] = 1;
  }
  /// Whether no sum of some of the products leaves the range of a format by far.
  bool is_in_range(emu::Format format) const {
    return std::all_of(size.begin(), size.end(), [most = largest(format) / 2](double x) { return x <= most; });
  }
  /// Of `count` products, or of `count` elements that are copied where that is one.
  Approximate total(const KernelArithmetic& a, std::size_t j, std::uint64_t count, bool is_copy) const {
    // Errors may all be of one sign.
    const double errors = error[j] + radius[j];
    const Overflow of_sum =
        overflow_of_sum(sum[j], {terms[j].positive + errors, terms[j].negative + errors}, 1 + 0x1p-10, largest(a.format));
    if (!std::isfinite(sum[j]))
      return not_finite(sum[j], {kinds[j].special | of_sum, kinds[j].finite}, is_doubtful[j] != 0, radius[j]);
    const Overflow of_terms = kinds[j].special;
    const double all = size[j] + errors, n = static_cast<double>(count);
    if (all == 0 || is_copy) return settled(a, {sum[j], radius[j], error[j], of_terms});
    // A rounding of each product and of each addition in float64; what the kernel loses, by its own arithmetic.
    const double here = (n + 2) * 0x1p-53 * all * (1 + 0x1p-20) + std::numeric_limits<double>::denorm_min();
    const double there = sum_relative(a, count) * all + n * underflow(a.format);
    return settled(a, {sum[j], radius[j] + here, error[j] + there, of_terms | of_sum});
  }
};

/// The place of the first result of a row in an operand.
std::uint64_t begin_of(const Contraction& c, std::size_t operand, std::uint64_t row) {
  std::uint64_t place = 0;
  for (std::size_t i = c.kept.size(); i-- > 1;) {
    place += row % c.kept[i - 1] * c.operands[operand].kept[i - 1];
    row /= c.kept[i - 1];
  }
  return place;
}

}  // namespace

void Evaluation::keep_contraction(std::size_t node, Kept& out, int threads) const {
  const Node& n = formula_.nodes[node];
  const Contraction& c = n.contraction;
  const auto factor = [&](std::size_t i) {
    if (i >= n.operands.size()) return Factor(nullptr, 1, 0);
    return Factor(kept_[n.operands[i]].get(), element_count(formula_.nodes[n.operands[i]].shape),
                  c.kept.empty() ? 0 : c.operands[i].kept.back());
  };
  const Factor a = factor(0), b = factor(1);
  const bool exact = a.is_exact() && b.is_exact(), has_b = b.kept != nullptr;
  const std::uint64_t width = c.kept.empty() ? 1 : c.kept.back(), terms = element_count(c.summed);
  const std::uint64_t rows = width == 0 ? 0 : element_count(c.kept) / width;
  const std::vector<std::uint64_t> none(c.summed.size(), 0);
  out.make(rows * width);
  const auto sums_of = [&](std::size_t row, bool from_values) {
    Row sums(static_cast<std::size_t>(width));
    Places of_a(c.summed, c.operands[0].summed, begin_of(c, 0, row));
    Places of_b(c.summed, has_b ? c.operands[1].summed : none, has_b ? begin_of(c, 1, row) : 0);
    for (std::uint64_t k = 0; k < terms; ++k, of_a.next(), of_b.next()) {
      if (from_values) {
        sums.add_exact(a.values.data() + of_a.place(), a.step, b.values.data() + of_b.place(), b.step);
        continue;
      }
      for (std::uint64_t j = 0; j < width; ++j)
        sums.add(static_cast<std::size_t>(j), a.at(of_a.place() + j * a.step), b.at(of_b.place() + j * b.step));
    }
    return sums;
  };
  emu::for_each_task(static_cast<std::size_t>(rows), threads, [&](std::size_t row) {
    Row sums = sums_of(row, exact);
    // Near the end of the range it matters of which signs the products are.
    if (exact && !sums.is_in_range(n.arithmetic.format)) sums = sums_of(row, false);
    const bool is_copy = terms == 1 && !has_b;
    for (std::uint64_t j = 0; j < width; ++j)
      out.put(row * width + j, sums.total(n.arithmetic, static_cast<std::size_t>(j), terms, is_copy));
  });
}

}  // namespace ulpscope::verify
