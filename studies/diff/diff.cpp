// SPDX-License-Identifier: Apache-2.0
// Compares elements in chunks, merges sums in their order and keeps the worst.
#include "studies/diff/diff.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/info/integer_cells.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::size_t most_worst = 10;
constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// A sum of products that neither overflows nor underflows, as SquareSum is one of squares.
class ProductSum {
 public:
  void add(double x, double y) {
    const double product = x * y, magnitude = std::fabs(product);
    if (magnitude > 0x1p1000)
      large_ += (x * 0x1p-600) * (y * 0x1p-600);
    else if (magnitude < 0x1p-900)  // where one is subnormal it has lost bits
      small_ += (x * 0x1p600) * (y * 0x1p600);
    else
      ordinary_ += product;
  }
  void merge(const ProductSum& other) { large_ += other.large_, ordinary_ += other.ordinary_, small_ += other.small_; }
  SquareSum::Value value() const {
    if (large_ != 0) return {large_ + ordinary_ * 0x1p-600 * 0x1p-600, 1200};
    if (ordinary_ != 0) return {ordinary_ + small_ * 0x1p-600 * 0x1p-600, 0};
    return {small_, -1200};
  }

 private:
  double large_ = 0, ordinary_ = 0, small_ = 0;
};

/// Of the angle between tensors that have these sums; NaN where one is zero.
double cosine_of(const ProductSum& products, const SquareSum& of_x, const SquareSum& of_y) {
  const SquareSum::Value sum = products.value(), x = of_x.value(), y = of_y.value();
  int exponent_x = 0, exponent_y = 0;
  const double size = std::frexp(std::sqrt(x.significand), &exponent_x) * std::frexp(std::sqrt(y.significand), &exponent_y);
  return std::ldexp(sum.significand / size, sum.exponent - (x.exponent + y.exponent) / 2 - exponent_x - exponent_y);
}

/// Sums of one tensor pair, in element order within a chunk and chunk by chunk.
struct Sums {
  double abs = 0, rel = 0, signed_ulp = 0;
  LargeSum large_abs;
  std::uint64_t finite = 0, nonzero = 0;
  SquareSum reference, output, error;
  ProductSum product;

  void merge(const Sums& next) {
    abs += next.abs, rel += next.rel, signed_ulp += next.signed_ulp;
    large_abs.merge(next.large_abs);
    product.merge(next.product);
    finite += next.finite, nonzero += next.nonzero;
    reference.merge(next.reference), output.merge(next.output), error.merge(next.error);
  }
};

/// sqrt(a / b), of roots that may exceed the range of double.
double ratio_of_roots(const SquareSum& a, const SquareSum& b) {
  const SquareSum::Value of_a = a.value(), of_b = b.value();
  return std::ldexp(std::sqrt(of_a.significand) / std::sqrt(of_b.significand), (of_a.exponent - of_b.exponent) / 2);
}

class Comparison {
 public:
  Comparison(DiffResult& result, const Tolerance& tolerance) : result_(result), tolerance_(tolerance) {}

  /// `is_same`: the elements are the same, as doubles at least. `error`: value - reference, where the doubles have lost it.
  void add(Sums& sums, std::uint64_t index, double reference, double value, bool is_same, std::optional<double> exact_error) {
    ++result_.count;
    const bool equal = is_same && is_equal(reference, value);
    if (equal) ++result_.equal;
    if (!std::isfinite(reference) || !std::isfinite(value)) {
      if (std::isfinite(reference) != std::isfinite(value)) ++result_.nonfinite_one_side;
      if (!equal) {
        ++result_.nonfinite_unlike;
        ++result_.intolerable;
        keep({index, reference, value, infinity});
        count_ulps(infinity);
      }
      return;
    }
    const double error = exact_error.value_or(value - reference), size = std::fabs(error), magnitude = std::fabs(reference);
    const double ulps = result_.are_integers ? error : std::ldexp(error, -emu::spacing_exponent(result_.format, reference));
    ++sums.finite;
    if (size <= LargeSum::most_ordinary)
      sums.abs += size;
    else
      sums.large_abs.add(size);
    sums.signed_ulp += ulps;
    sums.reference.add(reference);
    sums.output.add(value);
    sums.error.add(error);
    sums.product.add(reference, value);
    result_.max_abs_error = std::max(result_.max_abs_error, size);
    const double relative = size / magnitude;
    if (magnitude != 0) {
      ++sums.nonzero;
      sums.rel += relative;
      result_.max_rel_error = std::max(result_.max_rel_error, relative);
    }
    if (equal) return;
    count_ulps(std::fabs(ulps));
    if (!is_within(std::fabs(ulps), size, relative)) ++result_.intolerable;
    keep({index, reference, value, ulps});
  }

 private:
  void count_ulps(double ulps) {
    if (!(ulps <= 1)) ++result_.beyond_1_ulp;
    if (!(ulps <= 2)) ++result_.beyond_2_ulp;
    if (!(ulps <= 10)) ++result_.beyond_10_ulp;
    if (!(ulps <= 100)) ++result_.beyond_100_ulp;
  }
  bool is_within(double ulps, double size, double relative) const {
    return (tolerance_.ulp && ulps <= *tolerance_.ulp) || (tolerance_.abs && size <= *tolerance_.abs) ||
           (tolerance_.rel && relative <= *tolerance_.rel);
  }
  /// Nonfinite on one side first, then by ulps, then by index.
  void keep(DiffElement element) {
    const auto worse = [](const DiffElement& a, const DiffElement& b) {
      return std::fabs(a.error_ulp) > std::fabs(b.error_ulp);
    };
    std::vector<DiffElement>& worst = result_.worst;
    if (worst.size() == most_worst && !worse(element, worst.back())) return;
    worst.insert(std::upper_bound(worst.begin(), worst.end(), element, worse), element);
    if (worst.size() > most_worst) worst.pop_back();
  }

  DiffResult& result_;
  const Tolerance& tolerance_;
};

/// b - a of integers of 64 bits, rounded once.
double wide_difference(const tensors::DType& dtype, emu::Code a, emu::Code b) {
  return flip_order(dtype, b) >= flip_order(dtype, a) ? static_cast<double>(b - a) : -static_cast<double>(a - b);
}

/// The own bits of one element.
emu::Code bits_at(const tensors::Tensor& tensor, std::uint64_t index) {
  emu::Code bits = 0;
  tensor.source->read_codes(index, std::span(&bits, 1));
  return bits;
}

/// An element's code, which of a NaN has its sign and payload, and its value.
std::pair<std::string, reports::Cell> shown(const tensors::DType& dtype, double value, emu::Code bits) {
  if (dtype.format) return {emu::hex_code(*dtype.format, bits), value};
  const reports::Cell cell =
      is_wide_integer(dtype) ? wide_integer_cell(dtype, bits) : reports::Cell{static_cast<std::int64_t>(value)};
  return {emu::hex_digits(bits, dtype.integer_bits()), cell};
}

}  // namespace

std::string place_text(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::string out;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    out = std::to_string(index % *extent) + (out.empty() ? "" : ";") + out;
    index /= *extent;
  }
  return out.empty() ? "0" : out;
}

emu::Format format_of_ulps(const tensors::Tensor& reference, const tensors::Tensor& output) {
  const std::optional<emu::Format>&x = reference.dtype.format, &y = output.dtype.format;
  if (!x || !y) return y.value_or(x.value_or(emu::float32));
  return x->bits() < y->bits() ? *x : *y;
}

Tolerance parse_tolerance(std::string_view word) {
  Tolerance tolerance;
  for (std::string_view rest = word; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view number = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    std::optional<double>* const slot = key == "ulp"         ? &tolerance.ulp
                                        : key == "abs"       ? &tolerance.abs
                                        : key == "rel"       ? &tolerance.rel
                                        : key == "frobenius" ? &tolerance.frobenius
                                                             : nullptr;
    if (slot == nullptr || error != std::errc{} || end != number.data() + number.size() || !(value >= 0) || std::isinf(value))
      throw Error("--tolerance '" + std::string(part) + "': write ulp=N, abs=X, rel=X or frobenius=X, separated by commas");
    *slot = value;
  }
  return tolerance;
}

bool DiffResult::fails(const Tolerance& tolerance) const {
  if (!tolerance.is_set() || equal == count) return equal != count;
  const bool elementwise = tolerance.ulp || tolerance.abs || tolerance.rel;
  const bool whole = !tolerance.frobenius || rel_frobenius_error <= *tolerance.frobenius;
  return !whole || nonfinite_unlike != 0 || (elementwise && intolerable != 0);
}

DiffResult unmeasured(const tensors::Tensor& reference, const tensors::Tensor& output, emu::Format format) {
  if (reference.shape != output.shape)
    throw Error(reference.label + " " + tensors::shape_text(reference.shape) + ", " + output.label + " " +
                tensors::shape_text(output.shape) + ": shapes differ");
  DiffResult result;
  result.reference = reference.label;
  result.output = output.label;
  result.format = format;
  result.reference_dtype = reference.dtype;
  result.output_dtype = output.dtype;
  result.shape = reference.shape;
  result.are_integers = reference.is_integer() && output.is_integer();
  return result;
}

DiffResult diff(const tensors::Tensor& reference, const tensors::Tensor& output, emu::Format format,
                const Tolerance& tolerance) {
  DiffResult result = unmeasured(reference, output, format);
  Comparison comparison(result, tolerance);
  Sums total;
  const std::uint64_t count = reference.count();
  std::vector<double> a(1 << 16), b(a.size());
  // Integers of 64 bits may differ where the nearest doubles do not.
  const bool is_wide = is_wide_integer(reference.dtype) || is_wide_integer(output.dtype);
  const bool are_alike = is_wide && reference.dtype.name == output.dtype.name;
  std::vector<emu::Code> x(is_wide ? a.size() : 0), y(x.size());
  const auto read_codes = [&](const tensors::Tensor& tensor, std::uint64_t first, std::span<emu::Code> codes) {
    if (is_wide_integer(tensor.dtype)) tensor.source->read_codes(first, codes);
  };
  const auto rest = [](const tensors::Tensor& tensor, emu::Code bits) {
    return is_wide_integer(tensor.dtype) ? wide_rest(tensor.dtype, bits) : 0;
  };
  for (std::uint64_t first = 0; first < count; first += a.size()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(a.size(), count - first));
    reference.source->read(first, std::span(a).first(size));
    output.source->read(first, std::span(b).first(size));
    if (is_wide) read_codes(reference, first, std::span(x).first(size)), read_codes(output, first, std::span(y).first(size));
    Sums sums;
    for (std::size_t i = 0; i < size; ++i) {
      if (!is_wide) {
        comparison.add(sums, first + i, a[i], b[i], true, std::nullopt);
        continue;
      }
      const double rest_of_a = rest(reference, x[i]), rest_of_b = rest(output, y[i]);
      const double error = are_alike ? wide_difference(reference.dtype, x[i], y[i]) : b[i] - a[i] + (rest_of_b - rest_of_a);
      comparison.add(sums, first + i, a[i], b[i], rest_of_a == rest_of_b, error);
    }
    total.merge(sums);
  }
  for (DiffElement& element : result.worst) {
    element.reference_bits = bits_at(reference, element.index);
    element.value_bits = bits_at(output, element.index);
  }
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double n = static_cast<double>(total.finite);
  const bool any = total.finite != 0;
  if (!any) result.max_abs_error = nan;
  if (total.nonzero == 0) result.max_rel_error = nan;
  result.mean_abs_error = any ? total.large_abs.mean(total.abs, total.finite) : nan;
  result.mean_rel_error = total.nonzero != 0 ? total.rel / static_cast<double>(total.nonzero) : nan;
  result.bias_ulp = any ? total.signed_ulp / n : nan;
  result.rel_frobenius_error = !any ? nan : total.error.is_zero() ? 0 : ratio_of_roots(total.error, total.reference);
  const double cosine = cosine_of(total.product, total.reference, total.output);
  result.cosine = !any ? nan : total.error.is_zero() && !total.reference.is_zero() ? 1 : std::clamp(cosine, -1.0, 1.0);
  result.sqnr_db = any ? decibels(total.reference, total.error) : nan;
  return result;
}

reports::Table diff_table(const DiffResult& r) {
  reports::Table table{"diff", {}, {}};
  table.add({{"ref", r.reference},
             {"out", r.output},
             {"dtype", r.are_integers ? r.output_dtype.name : emu::format_name(r.format)},
             {"count", reports::whole(r.count)},
             {"equal", reports::whole(r.equal)},
             {"differing", reports::whole(r.count - r.equal)},
             {"beyond_1_ulp", reports::whole(r.beyond_1_ulp)},
             {"beyond_2_ulp", reports::whole(r.beyond_2_ulp)},
             {"beyond_10_ulp", reports::whole(r.beyond_10_ulp)},
             {"beyond_100_ulp", reports::whole(r.beyond_100_ulp)},
             {"nonfinite_one_side", reports::whole(r.nonfinite_one_side)},
             {"nonfinite_unlike", reports::whole(r.nonfinite_unlike)},
             {"max_abs_error", r.max_abs_error},
             {"mean_abs_error", r.mean_abs_error},
             {"max_rel_error", r.max_rel_error},
             {"mean_rel_error", r.mean_rel_error},
             {"bias_ulp", r.bias_ulp},
             {"rel_frobenius_error", r.rel_frobenius_error},
             {"cosine", r.cosine},
             {"sqnr_db", r.sqnr_db}});
  return table;
}

reports::Table worst_elements(const DiffResult& r) {
  reports::Table table{"worst", {"index", "ref_code", "out_code", "ref", "out", "error_ulp"}, {}};
  for (const DiffElement& e : r.worst) {
    const auto [ref_code, ref] = shown(r.reference_dtype, e.reference, e.reference_bits);
    const auto [out_code, out] = shown(r.output_dtype, e.value, e.value_bits);
    table.rows.push_back({place_text(e.index, r.shape), ref_code, out_code, ref, out, e.error_ulp});
  }
  return table;
}

}  // namespace ulpscope::studies
