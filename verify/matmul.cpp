// SPDX-License-Identifier: Apache-2.0
// Encloses outputs tile by tile, and computes exact sums only for those that are still open.
#include "verify/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/exact_sum.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "products/scale_grid.hpp"
#include "verify/diagnosis.hpp"
#include "verify/double_double.hpp"
#include "verify/float64_sums.hpp"
#include "verify/line_sizes.hpp"
#include "verify/operations/kept_rows.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/random_sums.hpp"
#include "verify/sum_epilogue.hpp"

namespace ulpscope::verify {
namespace {

using products::constant_along_k;
using products::scale_at;

/// Elements of D whose sums are in memory at a time.
constexpr std::size_t elements_at_a_time = std::size_t{1} << 18;

template <class Float>
class Matmul final : public Expectation {
 public:
  Matmul(const products::Product& problem, Allowance allowance)
      : shape_(products::matmul_shape(problem.a.input, problem.b.input)),
        k_(shape_.k),
        a_(problem.a, products::MatmulSide::a, k_),
        b_(problem.b, products::MatmulSide::b, k_),
        epilogue_({.alpha = static_cast<double>(static_cast<Float>(problem.alpha)),
                   .beta = problem.beta ? static_cast<double>(static_cast<Float>(*problem.beta)) : 1,
                   .c_is_last = problem.beta || problem.a.scales || problem.b.scales,
                   .roundings = static_cast<double>((std::is_same_v<Float, float> ? k_ : 1) + 16),
                   .relative = allowance.relative,
                   .absolute = allowance.absolute,
                   .largest = emu::max_finite(problem.acc)}),
        a_format_(problem.a.rounding.format),
        b_format_(problem.b.rounding.format),
        acc_(problem.acc),
        out_(problem.out),
        allowance_(std::move(allowance)),
        problem_(problem),
        unrounded_(products::unrounded(problem)) {
    if (problem.c) load_c(*problem.c);
    if constexpr (std::is_same_v<Float, float>)
      for (std::size_t i = 0; i < shape_.b_matrices; ++i) panels_.emplace_back(b_.matrix(i, 0, b_.lines()));
  }

  std::vector<std::uint64_t> shape() const override { return shape_.d; }
  emu::Format out() const override { return out_; }
  std::string bound() const override { return allowance_.words; }
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    if (indices.empty()) return {};
    if (are_flushed(indices, outputs, last))
      return fmt::format(
          "{} wrong elements looked at are right where subnormal numbers become zero: --subnormals-are-zero of "
          "inputs, --flush-subnormals of products and sums, --out-flush of the output say so",
          indices.size());
    const auto same_bound = [&](const products::Product& other) { return expect_matmul(other, allowance_); };
    if (const std::string cut = diagnosis_of_cut_inputs(problem_, same_bound, indices, outputs, last); !cut.empty()) return cut;
    for (const std::size_t tail : tails()) {
      std::size_t right = 0;
      for (std::size_t i = 0; i < indices.size(); ++i)
        right += is_right_without(tail, static_cast<std::size_t>(indices[i]), outputs[i], last);
      if (right * 10 >= indices.size() * 9)
        return fmt::format("{} of {} wrong elements looked at are right if the last {} of {} products are left out", right,
                           indices.size(), tail, shape_.k);
    }
    return {};
  }
  std::string refusal() const override { return allowance_.refusal; }
  std::string weakness(const LastRounding& last) const override {
    for (const emu::Format narrow : {emu::bfloat16, emu::tf32})
      if (hides_rounding_to(narrow, last.out))
        return fmt::format("inputs rounded to {} would pass too; {}--against FILE compares errors with those of another kernel",
                           emu::format_name(narrow),
                           allowance_.certain == 0 ? "--false-alarm P has a smaller bound, and " : "");
    return {};
  }

  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    const std::size_t row_length = shape_.n, at_a_time = std::max<std::size_t>(1, elements_at_a_time / b_.lines());
    for (std::size_t done = 0; done < elements.size();) {
      emu::stop_if_asked();
      const auto at = static_cast<std::size_t>(first) + done;
      const std::size_t row = at / row_length, column = at % row_length;
      const std::size_t matrix_end = (row / shape_.m + 1) * shape_.m;
      const std::size_t wanted = (column + elements.size() - done + row_length - 1) / row_length;
      const std::size_t rows = std::min({wanted, matrix_end - row, at_a_time});
      const std::size_t count = std::min(elements.size() - done, rows * row_length - column);
      expect_rows(row, rows, column, elements.subspan(done, count));
      done += count;
    }
  }

  Precise precise(std::uint64_t index) const override {
    const Precise exact = precise_in(1, index);
    return std::isfinite(exact.high) || !leaves_float64(index) ? exact : precise_in(unit_beyond, index);
  }

  bool admits(std::uint64_t index, double output) const override {
    // Wrong elements are many where anything is wrong: what cannot be admitted is left alone.
    if (std::isnan(output)) return may_leave_range(index) && may_be_nan(index);
    return allowance_.certain > allowance_.relative && is_rounded_alike(index, output);
  }

  std::optional<double> of_engine(std::uint64_t index) const override {
    if (!allowance_.engine || !may_leave_range(index)) return std::nullopt;
    std::call_once(loading_, [&] { loaded_.emplace(unrounded_); });
    const auto row = static_cast<std::size_t>(index / shape_.n);
    const std::size_t first = row - row % shape_.m % loaded_->rows_at_a_time();
    const auto rows = rows_of_engine_.of(first, [&] { return loaded_->rows(*allowance_.engine, first); });
    return rows->at((row - first) * shape_.n + index % shape_.n);
  }

 private:
  /// In units of it neither sums nor what joins them leave the range of float64, unless a product does by itself.
  static constexpr double unit_beyond = 0x1p64;

  /// The element by way of sums in this unit.
  Precise precise_in(double unit, std::uint64_t index) const {
    const Place at = place(static_cast<std::size_t>(index));
    emu::ExactSum sum;
    for (std::size_t k = 0; k < k_; ++k)
      sum.add_product(static_cast<double>(at.a.at(at.row, k)) / unit * scale_at(at.scale_a, a_.lines(), k_, at.row, k),
                      static_cast<double>(at.b.at(k, at.column)) * scale_at(at.scale_b, k_, b_.lines(), k, at.column));
    const double c = c_at(index) / unit;
    const double whole = static_cast<double>(at.scale_a.whole) * static_cast<double>(at.scale_b.whole);
    if (unit == 1 && whole == 1 && epilogue_.alpha() == 1 && epilogue_.beta() == 1) {
      sum.add(c);
      return {sum.value(), rest(sum), emu::fits_float(out_) ? sum.rounded(out_).value : sum.value()};
    }
    DoubleDouble value = DoubleDouble{sum.value(), rest(sum)} * whole;
    if (!epilogue_.c_is_last()) value = value + c;
    value = value * epilogue_.alpha();
    if (epilogue_.c_is_last()) value = value + DoubleDouble{c, 0} * epilogue_.beta();
    value = value * unit;
    return {value.high, value.low, rounded_once(value, out_)};
  }

  /// Whether float32 inputs rounded to a narrower format, the sums being exact, leave all of D within the bound: by the root
  /// mean square of (change / allowed) of some elements, where the largest of n normal numbers is about sqrt(2 ln 2n) of them.
  bool hides_rounding_to(emu::Format narrow, emu::Format out) const {
    // A rounding changes an element by more than 2^-13 sqrt(sum of (ab)^2), mostly, which is 2^-13 / sqrt(K) of the sum of |ab|
    // or more: short sums are not looked at.
    if (!(allowance_.relative * std::sqrt(static_cast<double>(k_)) > 0x1p-13)) return false;
    constexpr std::uint64_t least_samples = 8, most_samples = 64;  // few beside the elements of D
    std::uint64_t count = 1;
    for (const std::uint64_t extent : shape_.d) count *= extent;
    const std::uint64_t samples = std::min(count, std::clamp(count / 16, least_samples, most_samples));
    const auto rounded = [narrow](double x, emu::Format format) {
      return format == emu::float32 ? emu::round_to(narrow, x).value : x;
    };
    double squares = 0;
    std::uint64_t finite = 0;
    for (std::uint64_t i = 0; i < samples; ++i) {
      const auto index = static_cast<std::size_t>(i * 0x9e3779b97f4a7c15U % count);  // rows and columns of all places
      const Place at = place(index);
      double sum = 0, magnitude = 0, change = 0;
      for (std::size_t k = 0; k < k_; ++k) {
        const auto a = static_cast<double>(at.a.at(at.row, k)), b = static_cast<double>(at.b.at(k, at.column));
        const double product = product_at(at, at.row, at.column, k), scale = a * b == 0 ? 0 : product / (a * b);
        sum += product, magnitude += std::fabs(product);
        change += (rounded(a, a_format_) * rounded(b, b_format_) - a * b) * scale;
      }
      const Expected element = epilogue_.finish(sum, magnitude, c_at(index));
      const double allowed = element.allowed + emu::power_of_two(emu::spacing_exponent(out, element.value) - 1);
      const double share = epilogue_.alpha() * change / allowed;
      if (!std::isfinite(share)) continue;  // which tells nothing of numbers
      squares += share * share, ++finite;
    }
    const double share = finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite));
    return share > 0 && share * std::sqrt(2 * emu::log(2 * static_cast<double>(count))) < 1;  // not where inputs are so narrow
  }

  /// Where an element of D comes from.
  struct Place {
    emu::EngineOperand<Float> a, b;
    emu::ScaleGrid scale_a, scale_b;
    std::size_t row, column;
  };

  /// Ends of K that kernels lose: the last product, what is beyond whole tiles, the last tile.
  std::vector<std::size_t> tails() const {
    std::vector<std::size_t> tails{1};
    for (std::size_t tile = 8; tile <= 256; tile *= 2) {
      tails.push_back(shape_.k % tile);
      tails.push_back(tile);
    }
    std::erase_if(tails, [this](std::size_t t) { return t == 0 || t >= shape_.k; });
    std::sort(tails.begin(), tails.end());
    tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
    return tails;
  }

  /// Whether most of them are right where subnormal operands are zeros, or products, sums and results are, or all of these.
  bool are_flushed(std::span<const std::uint64_t> indices, std::span<const double> outputs, LastRounding last) const {
    last.options.flush_subnormals = true;
    const double least_a = emu::min_normal(a_format_), least_b = emu::min_normal(b_format_);
    std::size_t right = 0, right_without_operands = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto index = static_cast<std::size_t>(indices[i]);
      const double lost = lost_to_flushing(place(index));
      right += is_right(index, outputs[i], last, lost, [](std::size_t, double, double) { return true; }) ? 1 : 0;
      right_without_operands += is_right(index, outputs[i], last, lost, [&](std::size_t, double a, double b) {
        return std::fabs(a) >= least_a && std::fabs(b) >= least_b;
      });
    }
    return std::max(right, right_without_operands) * 10 >= indices.size() * 9;
  }
  /// The least normal number for each product and each sum.
  double lost_to_flushing(const Place& at) const {
    double largest_scale = 0;
    for (std::size_t k = 0; k < k_; ++k)
      largest_scale = std::max(largest_scale, std::fabs(scale_at(at.scale_a, a_.lines(), k_, at.row, k) *
                                                        scale_at(at.scale_b, k_, b_.lines(), k, at.column)));
    const double whole =
        std::fabs(static_cast<double>(at.scale_a.whole) * static_cast<double>(at.scale_b.whole) * epilogue_.alpha());
    return (2 * static_cast<double>(k_) + 1) * emu::min_normal(acc_) * largest_scale * whole;
  }

  bool is_right_without(std::size_t tail, std::size_t index, double output, const LastRounding& last) const {
    const std::size_t end = shape_.k - tail;
    return is_right(index, output, last, 0, [end](std::size_t k, double, double) { return k < end; });
  }

  /// Whether an output is right if those products alone are summed that `keep` names, and `lost` more may be off.
  template <class Keep>
  bool is_right(std::size_t index, double output, const LastRounding& last, double lost, const Keep& keep) const {
    const Place at = place(index);
    double sum = 0, magnitude = 0;
    for (std::size_t k = 0; k < shape_.k; ++k) {
      const auto a = static_cast<double>(at.a.at(at.row, k)), b = static_cast<double>(at.b.at(k, at.column));
      if (!keep(k, a, b)) continue;
      const double product =
          a * b * scale_at(at.scale_a, a_.lines(), k_, at.row, k) * scale_at(at.scale_b, k_, b_.lines(), k, at.column);
      sum += product, magnitude += std::fabs(product);
    }
    const double whole = static_cast<double>(at.scale_a.whole) * static_cast<double>(at.scale_b.whole);
    Expected kept = epilogue_.finish(sum * whole, magnitude * whole, c_at(index));
    kept.allowed += kept.radius + lost, kept.radius = 0;
    const Standing standing = judge(*this, index, kept, output, last);
    return standing == Standing::equal || standing == Standing::within;
  }

  void load_c(const tensors::Tensor& c) {
    products::RoundedElements counts;
    const auto values = products::rounded_elements<Float>(c, {acc_}, counts);
    for (const std::size_t i : products::broadcast_indices("C " + c.label, c.shape, shape_.d)) c_.push_back(values[i]);
  }

  /// What the exact sum is beyond its nearest double.
  static double rest(emu::ExactSum sum) {
    if (!sum.is_finite()) return 0;
    sum.subtract(sum.value());
    return sum.value();
  }

  Place place(std::size_t index) const {
    const std::size_t row = index / shape_.n, matrix = row / shape_.m;
    const std::size_t of_a = shape_.a_of[matrix], of_b = shape_.b_of[matrix];
    return {a_.matrix(of_a, 0, a_.lines()),
            b_.matrix(of_b, 0, b_.lines()),
            a_.scales(of_a, 0, a_.lines()),
            b_.scales(of_b, 0, b_.lines()),
            row % shape_.m,
            index % shape_.n};
  }

  /// Rows [row, row + rows) of one product, counted over all of D, from `column` of the first.
  void expect_rows(std::size_t row, std::size_t rows, std::size_t column, std::span<Expected> elements) const {
    const std::size_t columns = (b_.lines() + ColumnPanels::width - 1) / ColumnPanels::width * ColumnPanels::width;
    std::vector<double> sums(rows * columns), magnitudes(rows * columns);
    const Place at = place(row * shape_.n);
    add_scaled(at, shape_.b_of[row / shape_.m], rows, columns, sums, magnitudes);
    const double whole = static_cast<double>(at.scale_a.whole) * static_cast<double>(at.scale_b.whole);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::size_t of_row = (column + i) / shape_.n, of_column = (column + i) % shape_.n;
      const std::size_t from = of_row * columns + of_column;
      const std::uint64_t index = (row + of_row) * shape_.n + of_column;
      const double sum = sums[from] * whole, magnitude = magnitudes[from] * std::fabs(whole), c = c_at(index);
      Expected& element = elements[i] = epilogue_.finish(sum, magnitude, c);
      if (!(std::isfinite(element.value) && std::isfinite(element.magnitude)) && leaves_float64(index))
        element = finish_beyond(index);
      else if (std::isfinite(element.value) && epilogue_.hides_overflow(magnitude, element.magnitude) &&
               epilogue_.overflow_of_sums(sum, magnitude, c, -1) != element.may_overflow)
        element.may_overflow = epilogue_.overflow_of_terms(products_of(index), c_at(index), element.value);
    }
  }

  /// One product of an element, with its scales.
  double product_at(const Place& at, std::size_t row, std::size_t column, std::size_t k) const {
    const double whole = static_cast<double>(at.scale_a.whole) * static_cast<double>(at.scale_b.whole);
    const double product = static_cast<double>(at.a.at(row, k)) * static_cast<double>(at.b.at(k, column)) * whole;
    if (at.scale_a.empty() && at.scale_b.empty()) return product;
    return product * scale_at(at.scale_a, a_.lines(), k_, row, k) * scale_at(at.scale_b, k_, b_.lines(), k, column);
  }

  std::vector<double> products_of(std::uint64_t index) const {
    const Place at = place(static_cast<std::size_t>(index));
    std::vector<double> products(k_);
    for (std::size_t k = 0; k < k_; ++k) products[k] = product_at(at, at.row, at.column, k);
    return products;
  }
  double c_at(std::uint64_t index) const { return c_.empty() ? 0 : static_cast<double>(c_[static_cast<std::size_t>(index)]); }

  /// Whether it has operands that are infinite, NaN or too large for the engine, or sums that may be greater than the
  /// accumulator holds, be they scaled already or not.
  bool may_leave_range(std::uint64_t index) const {
    std::call_once(sized_, [&] { sizes_.emplace(problem_, a_, b_, allowance_.largest_operand); });
    const double of_c = std::max(std::fabs(epilogue_.beta()), 1.0) * std::fabs(c_at(index));
    const double most = std::max(std::fabs(epilogue_.alpha()), 1.0) * (sizes_->most(index) + of_c);
    constexpr double missing = 0x1p-20;  // of `most`, with the roundings here: less than (K + 16) 2^-53, K being below 2^32
    return !((most * (1 + allowance_.relative) + allowance_.absolute) * (1 + missing) <= epilogue_.largest());
  }

  /// Whether the exact result is infinite, and terms of both signs are or overflow. Where it is beyond float64 alone,
  /// `may_overflow` says so.
  bool may_be_nan(std::uint64_t index) const {
    double sum = 0, magnitude = 0;
    if constexpr (std::is_same_v<Float, float>) {
      for (const double x : products_of(index)) sum += x;
    } else {
      const Place at = place(static_cast<std::size_t>(index));
      add_exactly(1, at, at.row, at.column, sum, magnitude);
    }
    const double value = epilogue_.value_of(sum, c_at(index));
    return std::isinf(value) && epilogue_.overflow_of_terms(products_of(index), c_at(index), value) == Overflow::undefined;
  }

  /// An element within the certain bound whose products are rounded alike is beyond no bound.
  bool is_rounded_alike(std::uint64_t index, double output) const {
    if (!std::isfinite(output)) return false;
    const std::vector<double> products = products_of(index);
    double sum = 0, magnitude = 0;
    for (const double x : products) sum += x, magnitude += std::fabs(x);
    const Expected expected = epilogue_.finish(sum, magnitude, c_at(index));
    const double more = (allowance_.certain - allowance_.relative) * expected.magnitude;
    const double spacing = emu::power_of_two(emu::spacing_exponent(out_, output));
    if (!(std::fabs(output - expected.value) <= expected.allowed + more + expected.radius + spacing)) return false;
    return roundings_agree(std::vector<float>(products.begin(), products.end()), unit(acc_));
  }

  void add_scaled(const Place& at, std::size_t of_b, std::size_t rows, std::size_t columns, std::span<double> sums,
                  std::span<double> magnitudes) const {
    if constexpr (std::is_same_v<Float, float>) {
      const std::span<const float> a = at.a.values.subspan(at.row * k_);
      const std::size_t stretch = constant_along_k(at.scale_a, at.scale_b, k_);
      if (at.scale_a.empty() && at.scale_b.empty())
        return add_float64_sums(a, rows, k_, panels_[of_b], 0, k_, sums, magnitudes);
      std::vector<double> part(sums.size()), part_magnitudes(sums.size());
      for (std::size_t k = 0; k < k_; k += stretch) {
        std::fill(part.begin(), part.end(), 0.0), std::fill(part_magnitudes.begin(), part_magnitudes.end(), 0.0);
        add_float64_sums(a, rows, k_, panels_[of_b], k, std::min(k + stretch, k_), part, part_magnitudes);
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < b_.lines(); ++j) {
            const double scale =
                scale_at(at.scale_a, a_.lines(), k_, at.row + i, k) * scale_at(at.scale_b, k_, b_.lines(), k, j);
            sums[i * columns + j] += part[i * columns + j] * scale;
            magnitudes[i * columns + j] += part_magnitudes[i * columns + j] * std::fabs(scale);
          }
      }
    } else {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < b_.lines(); ++j)
          add_exactly(1, at, at.row + i, j, sums[i * columns + j], magnitudes[i * columns + j]);
    }
  }

  /// Float64 operands: the nearest double of the exact sum, in this unit.
  void add_exactly(double unit, const Place& at, std::size_t row, std::size_t j, double& sum, double& magnitude) const {
    emu::ExactSum exact, sizes;
    for (std::size_t k = 0; k < k_; ++k) {
      const double x = static_cast<double>(at.a.at(row, k)) / unit, y = static_cast<double>(at.b.at(k, j));
      exact.add_product(x, y);
      sizes.add_product(std::fabs(x), std::fabs(y));
    }
    sum = exact.value(), magnitude = sizes.value();
  }

  /// Float64 operands: whether all that an element is made of is finite, so that only float64 makes it infinite.
  bool leaves_float64(std::uint64_t index) const {
    if constexpr (std::is_same_v<Float, float>) return false;
    if (!std::isfinite(epilogue_.alpha()) || !std::isfinite(epilogue_.beta()) || !std::isfinite(c_at(index))) return false;
    const Place at = place(static_cast<std::size_t>(index));
    for (std::size_t k = 0; k < k_; ++k)
      if (!std::isfinite(at.a.at(at.row, k)) || !std::isfinite(at.b.at(k, at.column))) return false;
    return true;
  }

  /// An element that leaves_float64(), or sums of whose terms do. Where it is beyond float64 for certain it is infinite, and
  /// what its terms overflow to is right.
  Expected finish_beyond(std::uint64_t index) const {
    constexpr double most = std::numeric_limits<double>::max() / unit_beyond;
    const Place at = place(static_cast<std::size_t>(index));
    double sum = 0, magnitude = 0;
    add_exactly(unit_beyond, at, at.row, at.column, sum, magnitude);
    Expected e = epilogue_.finish(sum, magnitude, c_at(index) / unit_beyond);
    if (const double size = std::fabs(e.value); size > most && size - e.allowed - e.radius <= most) {
      e.radius += size - most;
      e.value = std::copysign(most, e.value);
    }
    for (double* const x : {&e.value, &e.radius, &e.allowed, &e.magnitude}) *x *= unit_beyond;
    e.may_overflow = epilogue_.overflow_of_terms(products_of(index), c_at(index), 0);
    if (std::isfinite(e.value)) return e;
    return {.value = e.value, .magnitude = e.magnitude, .may_overflow = e.may_overflow | Overflow::doubted};
  }

  products::MatmulShape shape_;
  std::size_t k_;
  products::LoadedOperand<Float> a_, b_;
  std::vector<Float> c_;
  SumEpilogue epilogue_;
  mutable std::once_flag sized_, loading_;
  mutable std::optional<LineSizes> sizes_;
  mutable std::optional<products::LoadedProduct> loaded_;
  KeptRows<std::vector<double>> rows_of_engine_;
  emu::Format a_format_, b_format_, acc_, out_;
  Allowance allowance_;
  products::Product problem_;    ///< as declared, to be declared otherwise
  products::Product unrounded_;  ///< its results are those of problem_ before the last rounding
  std::vector<ColumnPanels> panels_;
};

}  // namespace

std::unique_ptr<Expectation> expect_matmul(const products::Product& problem, const Allowance& allowance) {
  const auto narrow = [](emu::Format format) { return emu::fits_float(format); };
  if (narrow(problem.a.rounding.format) && narrow(problem.b.rounding.format) && narrow(problem.acc))
    return std::make_unique<Matmul<float>>(problem, allowance);
  return std::make_unique<Matmul<double>>(problem, allowance);
}

}  // namespace ulpscope::verify
