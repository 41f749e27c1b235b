// SPDX-License-Identifier: Apache-2.0
// Sums of whole numbers in bins by exponent: products of scaled significands are added as int64 and folded together at the end.
#include "emu/exact_matmul.hpp"

#include <algorithm>
#include <atomic>
#include <sstream>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "emu/stop.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu {

namespace {

using detail::GroupedTerm;

/// Columns of the result worked on together: as many independent chains of additions hide the latency of one.
constexpr std::size_t panel_width = 8;
/// Rows that share a panel of b while it is in the cache.
constexpr std::size_t rows_per_task = 64;

/// Index of the binade, from the least spacing up: the code counts significands of 2^(index + least spacing).
int binade(Format format, Code magnitude) noexcept {
  const auto field = static_cast<int>(magnitude >> format.fraction_bits);
  return format.has_zero() ? std::max(field, 1) - 1 : field;
}

/// How many products of scaled significands an int64 surely holds: that many are below 2^62.
std::size_t products_per_bin(Format a, Format b) noexcept {
  return std::size_t{1} << (62 - (a.precision() + b.precision() + 2 * (GroupedTerm::group_bits - 1)));
}

/// A product on its way. In a panel, terms stand k by k, `panel_width` columns next to each other, their groups offset to the
/// bins of their column.
class Product {
 public:
  Product(const ExactMatrix& a, const ExactMatrix& b, Format to, const MatmulSink& sink, const MatmulOptions& options,
          const MatmulAddend& addend)
      : a_(a),
        b_(b),
        to_(to),
        sink_(sink),
        options_(options),
        addend_(addend),
        bins_(a.groups() + b.groups() - 1),
        unit_(a.format().min_spacing_exponent() + b.format().min_spacing_exponent()),
        chunk_(products_per_bin(a.format(), b.format())),
        panels_((b.columns() + panel_width - 1) / panel_width),
        row_blocks_((a.rows() + rows_per_task - 1) / rows_per_task) {
    pack();
  }

  std::size_t tasks() const noexcept { return panels_ * row_blocks_; }

  /// One panel of columns by one block of rows.
  Flags run(std::size_t task) const {
    const std::size_t panel = task / row_blocks_, first = task % row_blocks_ * rows_per_task;
    std::vector<std::int64_t> bins(panel_width * static_cast<std::size_t>(bins_));
    Flags flags = no_flags;
    for (std::size_t row = first; row < std::min(first + rows_per_task, a_.rows()); ++row) {
      stop_if_asked();
      flags = flags | run_row(row, panel, bins);
    }
    return flags;
  }

 private:
  void pack() {
    const std::size_t inner = b_.rows();
    packed_.resize(panels_ * inner * panel_width);
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < b_.columns(); ++j) {
        const std::size_t lane = j % panel_width;
        const GroupedTerm term = b_.row(k)[j];
        packed_[(j / panel_width * inner + k) * panel_width + lane] = {term.scaled,
                                                                       term.group + static_cast<int>(lane) * bins_};
      }
  }

  static void accumulate(const GroupedTerm* row, const GroupedTerm* panel, std::size_t count, std::int64_t* bins) noexcept {
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t scaled = row[k].scaled;
      std::int64_t* const base = bins + row[k].group;
      for (std::size_t lane = 0; lane < panel_width; ++lane) {
        const GroupedTerm term = panel[k * panel_width + lane];
        base[term.group] += scaled * term.scaled;
      }
    }
  }

  Flags run_row(std::size_t row, std::size_t panel, std::vector<std::int64_t>& bins) const {
    const std::size_t inner = b_.rows(), first = panel * panel_width, width = std::min(panel_width, b_.columns() - first);
    ExactSum sums[panel_width];
    for (std::size_t k = 0; k < inner; k += chunk_) {
      std::fill(bins.begin(), bins.end(), 0);
      accumulate(a_.row(row).data() + k, packed_.data() + (panel * inner + k) * panel_width, std::min(chunk_, inner - k),
                 bins.data());
      for (std::size_t lane = 0; lane < width; ++lane) fold(bins.data() + lane * static_cast<std::size_t>(bins_), sums[lane]);
    }
    Flags flags = no_flags;
    for (std::size_t lane = 0; lane < width; ++lane) flags = flags | deliver(row, first + lane, sums[lane]);
    return flags;
  }

  void fold(const std::int64_t* bins, ExactSum& sum) const noexcept {
    for (int i = 0; i < bins_; ++i)
      if (bins[i] != 0) sum.add_scaled(bins[i], i * GroupedTerm::group_bits + unit_);
  }

  Flags deliver(std::size_t row, std::size_t column, ExactSum& sum) const {
    const std::uint32_t random =
        options_.rounding.rounding == Rounding::stochastic ? rounding_bits(options_.seed, row * b_.columns() + column) : 0;
    if (addend_) sum.add(addend_(row, column));
    const bool special = a_.row_is_special(row) || b_.column_is_special(column);
    Rounded element = sum.rounded(to_, options_.rounding, random);
    // The bins know nothing of NaN, infinity and the signs of zeros: the terms do.
    if (special || element.outcome == Outcome::zero)
      element = term_by_term(row, column).rounded(to_, options_.rounding, random);
    sink_(row, column, element);
    return element.flags;
  }

  ExactSum term_by_term(std::size_t row, std::size_t column) const {
    ExactSum sum;
    for (std::size_t k = 0; k < b_.rows(); ++k) sum.add_product(a_.format(), a_.code(row, k), b_.format(), b_.code(k, column));
    if (addend_) sum.add(addend_(row, column));
    return sum;
  }

  const ExactMatrix& a_;
  const ExactMatrix& b_;
  Format to_;
  const MatmulSink& sink_;
  const MatmulOptions& options_;
  const MatmulAddend& addend_;
  int bins_;
  int unit_;  ///< log2 of the unit of bin 0
  std::size_t chunk_;
  std::size_t panels_, row_blocks_;
  std::vector<GroupedTerm> packed_;
};

}  // namespace

ExactMatrix::ExactMatrix(Format format, std::size_t rows, std::size_t columns)
    : format_(format),
      rows_(rows),
      columns_(columns),
      codes_(rows * columns),
      terms_(rows * columns),
      special_rows_(rows),
      special_columns_(columns) {
  assert(format.precision() <= most_precision);
}

ExactMatrix::ExactMatrix(Format format, std::span<const float> values, MatrixShape shape, const RoundingOptions& options)
    : ExactMatrix(format, shape.rows, shape.columns) {
  assert(values.size() >= shape.extent());
  for (std::size_t i = 0; i < rows_; ++i)
    for (std::size_t j = 0; j < columns_; ++j) {
      const Rounded rounded = round_to(format, values[shape.at(i, j)]);
      if (rounded.flags != no_flags) {
        std::ostringstream message;
        message << "element (" << i << ", " << j << ") is " << std::hexfloat << values[shape.at(i, j)]
                << ", which is not a number of " << format_name(format) << ": round the matrix to that format first";
        throw Error(message.str());
      }
      set(i, j, detail::operand(format, rounded.code, options));
    }
}

int ExactMatrix::groups() const noexcept { return binade(format_, format_.max_finite_code()) / GroupedTerm::group_bits + 1; }

void ExactMatrix::set(std::size_t row, std::size_t column, Code code) noexcept {
  const std::size_t at = row * columns_ + column;
  codes_[at] = static_cast<std::uint32_t>(code);
  if (format_.is_nan(code) || format_.is_infinite(code)) {
    special_rows_[row] = special_columns_[column] = 1;
    return;
  }
  const Code magnitude = code & format_.magnitude_mask();
  const bool normal = magnitude >= format_.implicit_bit_code();
  const auto significand =
      static_cast<std::int32_t>((magnitude & format_.fraction_mask()) | (normal ? Code{1} << format_.fraction_bits : Code{0}));
  const int shift = binade(format_, magnitude) % GroupedTerm::group_bits;
  const std::int32_t scaled = significand << shift;
  terms_[at] = {format_.is_negative(code) ? -scaled : scaled, binade(format_, magnitude) / GroupedTerm::group_bits};
}

Flags exact_matmul(const ExactMatrix& a, const ExactMatrix& b, Format to, const MatmulSink& sink, const MatmulOptions& options,
                   const MatmulAddend& addend) {
  assert(a.columns() == b.rows());
  const Product product(a, b, to, sink, options, addend);
  std::atomic<int> flags{no_flags};
  for_each_task(product.tasks(), options.threads, [&](std::size_t task) { flags |= product.run(task); });
  return static_cast<Flags>(flags.load());
}

}  // namespace ulpscope::emu
