// SPDX-License-Identifier: Apache-2.0
// One rule for each kind of case whose results are known beyond a bound.
#include "verify/generate/generated_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/exact_sum.hpp"
#include "emu/hypotenuse.hpp"
#include "emu/names.hpp"
#include "verify/operations/random_sums.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {
namespace {

double fact(const MatmulCase& made, std::string_view name) {
  for (const CaseFact& known : made.facts)
    if (known.name == name) return known.value;
  throw Error("case without " + std::string(name));
}

/// Elements that are the expected ones, or what the kind admits beside them.
class GeneratedExpectation : public Expectation {
 public:
  GeneratedExpectation(const CaseRequest& request, MatmulCase made) : request_(request), made_(std::move(made)) {}

  std::vector<std::uint64_t> shape() const final { return {request_.m, request_.n}; }
  emu::Format out() const final { return request_.out; }
  std::string refusal() const override { return {}; }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      const double value = expected(first++);
      element = {.value = value, .magnitude = std::abs(value)};
    }
  }
  Precise precise(std::uint64_t index) const override { return {expected(index), 0, expected(index)}; }

 protected:
  double expected(std::uint64_t index) const { return static_cast<double>(made_.expected[static_cast<std::size_t>(index)]); }
  std::uint64_t row_of(std::uint64_t index) const { return index / request_.n; }
  std::uint64_t column_of(std::uint64_t index) const { return index % request_.n; }
  const CaseRequest& request() const { return request_; }
  const MatmulCase& made() const { return made_; }

 private:
  CaseRequest request_;
  MatmulCase made_;
};

class SignedZeros final : public GeneratedExpectation {
 public:
  using GeneratedExpectation::GeneratedExpectation;
  std::string bound() const override { return "expected.npy to the bit, the signs of zeros included: the sum starts from C"; }
  bool is_bitwise() const override { return true; }
};

/// L, small terms s each a quarter of its last bit, -L. What is added to L becomes a multiple of its last bit or is lost, and
/// what is added beside it is exact: a sum of K - 3 terms s is a multiple of s, rounds up to twice itself at most, and has
/// their sign. Some orders lose all of them: one chain where L comes first, K/2 lanes where it is in the middle. One row of
/// four has no L, and no order loses its terms.
class AnyOrder final : public GeneratedExpectation {
 public:
  AnyOrder(const CaseRequest& request, MatmulCase made)
      : GeneratedExpectation(request, std::move(made)),
        small_(std::ldexp(1.0, static_cast<int>(fact(this->made(), "small_log2")))),
        terms_(fact(this->made(), "small_terms")) {}
  std::string bound() const override {
    return fmt::format(
        "a multiple of the small term {:g}, of its sign, up to twice the sum of {:g} of them; 0 in rows with a large term only",
        small_, terms_);
  }
  bool admits(std::uint64_t index, double output) const override {
    if (output == 0) return row_of(index) % 4 != 3;
    const double sign = std::copysign(1.0, static_cast<double>(made().b[static_cast<std::size_t>(column_of(index))]));
    const double multiple = output * sign / small_;
    const double rounded = emu::round_to(out(), 2 * terms_ * small_).value / small_;
    const bool is_whole = multiple == std::floor(multiple) || emu::spacing_exponent(out(), output) > std::ilogb(small_);
    return multiple > 0 && multiple <= rounded && is_whole;
  }

 private:
  double small_, terms_;
};

/// Large products L, their negatives and a small one, s. A sum of some is m L + s, or m L and what is left of s beside that;
/// one that leaves the accumulator's range is infinite, and NaN where both infinities meet. Orders in which neither happens, as
/// trees that pair each product with its negative, have 0 or what is left of s in the end. One row of four is s alone.
/// Of so many rows those with large products: all but every fourth.
std::size_t rows_with_large_products(std::size_t rows) { return rows - rows / 4; }

class PartialOverflow final : public GeneratedExpectation {
 public:
  PartialOverflow(const CaseRequest& request, MatmulCase made, emu::Format promised)
      : GeneratedExpectation(request, std::move(made)),
        promised_(promised),
        largest_log2_(fact(this->made(), "largest_partial_sum_log2")),
        every_row_(fact(this->made(), "overflowing_rows") == static_cast<double>(rows_with_large_products(request.m))) {
    for (std::size_t row = 0; row < request.m; ++row) left_.try_emplace(terms_of(row), left_of(terms_of(row)));
  }
  std::string bound() const override {
    const std::string name = emu::format_name(promised_), lost = "what is left of the small product beside large ones";
    if (!overflows()) return fmt::format("expected.npy: no partial sum leaves the range of {}; or {}", name, lost);
    return fmt::format("expected.npy, or {}; or infinity or NaN in rows whose sums may leave the range of {}", lost, name);
  }
  bool admits(std::uint64_t index, double output) const override {
    if (!std::isfinite(output)) return overflows() && leaves(row_of(index));
    const std::vector<double>& left = left_.at(terms_of(row_of(index)));
    const double sign = std::copysign(1.0, expected(index));
    return std::any_of(left.begin(), left.end(), [&](double x) { return output * sign == emu::round_to(out(), x).value; });
  }

 private:
  /// Magnitudes of a row's large products and of its small one.
  using Terms = std::pair<double, double>;

  bool leaves(std::uint64_t row) const { return row % 2 == 0 || (every_row_ && row % 4 == 1); }
  /// The sums of 1.5 times the large products, as many as there are, may be a binade beyond.
  bool overflows() const { return largest_log2_ + 1 >= static_cast<double>(promised_.max_exponent() + 1); }
  Terms terms_of(std::uint64_t row) const {
    const auto product = [&](std::size_t k) {
      return std::abs(static_cast<double>(made().a[static_cast<std::size_t>(row) * request().k + k]) *
                      static_cast<double>(made().b[k * request().n]));
    };
    return {product(0), product(request().k - 1)};
  }
  /// What is left of the small product wherever it joins sums of large ones, all of which are numbers of the accumulator, and
  /// of what is left of it where that joins others.
  std::vector<double> left_of(const Terms& terms) const {
    const auto [large, small] = terms;
    std::vector<double> left{small};
    for (std::size_t at = 0; at < left.size(); ++at)
      for (std::size_t m = 1; m <= (request().k - 1) / 2; ++m) {
        const double others = static_cast<double>(m) * large;
        if (others > emu::max_finite(promised_)) break;
        for (const double sum : {others, -others}) {
          emu::ExactSum exact;
          exact.add(sum), exact.add(left[at]);
          const double rest = exact.rounded(promised_).value - sum;
          if (std::find(left.begin(), left.end(), rest) == left.end()) left.push_back(rest);
        }
      }
    return left;
  }

  emu::Format promised_;
  double largest_log2_;
  bool every_row_;
  std::map<Terms, std::vector<double>> left_;
};

/// What only the exact sum of the products tells.
class ExactProducts : public GeneratedExpectation {
 public:
  using GeneratedExpectation::GeneratedExpectation;
  Precise precise(std::uint64_t index) const final {
    emu::ExactSum sum = sum_of(terms(index));
    const double high = sum.value(), rounded = sum.rounded(out()).value;
    if (std::isfinite(high)) sum.subtract(high);
    return {high, std::isfinite(high) ? sum.value() : 0, rounded};
  }

 protected:
  /// Products of two float32 are doubles.
  std::vector<double> terms(std::uint64_t index) const {
    const auto row = static_cast<std::size_t>(row_of(index)), column = static_cast<std::size_t>(column_of(index));
    std::vector<double> products(request().k);
    for (std::size_t k = 0; k < products.size(); ++k)
      products[k] =
          static_cast<double>(made().a[row * request().k + k]) * static_cast<double>(made().b[k * request().n + column]);
    return products;
  }
  static emu::ExactSum sum_of(std::span<const double> products) {
    emu::ExactSum sum;
    for (const double product : products) sum.add(product);
    return sum;
  }
};

/// Where no partial sum needs rounding, whatever the order, there is one rounding in a product: the last.
class RoundedOnce final : public ExactProducts {
 public:
  using ExactProducts::ExactProducts;
  std::string bound() const override {
    return "the exact product, rounded once: no partial sum needs rounding, whatever the order of additions";
  }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      const double value = sum_of(terms(first++)).value();
      element = {.value = value, .radius = std::isfinite(value) ? std::abs(value) * 0x1p-52 : 0, .magnitude = std::abs(value)};
    }
  }
};

/// Sums that cancel, with random roundings: half an ulp of each partial sum, none of which is greater than the sum of the terms
/// of one sign. That is worth something where the bound for any roundings allows zeros.
class Cancelling final : public ExactProducts {
 public:
  Cancelling(const CaseRequest& request, MatmulCase made, emu::Format promised, double false_alarm)
      : ExactProducts(request, std::move(made)),
        arithmetic_{.format = promised},
        lambda_(deviations(static_cast<double>(request.m * request.n), false_alarm)),
        false_alarm_(false_alarm) {}
  std::string bound() const override {
    return fmt::format("sums of {} products in {}, in any order{}", request().k, emu::format_name(arithmetic_.format),
                       words_of_false_alarm(false_alarm_));
  }
  /// All rows are the first one, times signs and powers of two.
  std::string refusal() const override {
    std::vector<Expected> row(request().n);
    expect(0, row);
    if (std::any_of(row.begin(), row.end(), [](const Expected& x) { return std::abs(x.value) > x.allowed + x.radius; }))
      return {};
    const emu::Format accumulator = request().accumulator;
    const double usual = usual_condition(request().k, accumulator);
    const std::size_t k = request().k, most = usual_products(accumulator);
    const bool is_wanted = request().condition > usual;
    return fmt::format("{} sums of {} products may be off by as much as the results are; give {} to both commands",
                       emu::format_name(arithmetic_.format), k,
                       is_wanted && k <= most
                           ? fmt::format("--condition {:.15g}", usual)
                           : fmt::format("--k {} or less{}", std::min(most, k / 2), is_wanted ? " without --condition" : ""));
  }
  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    for (Expected& element : elements) {
      std::vector<double> products = terms(first++);
      double size = 0, own = 0;
      for (const double term : products) {
        const double rounded = emu::round_to(arithmetic_.format, term).value - term;
        size += std::abs(term), own += rounded * rounded;
      }
      const double value = sum_of(products).value();
      const double off = lambda_ * emu::hypotenuse(random_sum_error(arithmetic_, products, TermScale::own), std::sqrt(own));
      element = within(value, std::abs(value) * 0x1p-52, off + static_cast<double>(request().k) * underflow(arithmetic_.format),
                       size);
    }
  }

 private:
  KernelArithmetic arithmetic_;
  double lambda_, false_alarm_;
};

}  // namespace

bool is_judged_by_kind(const CaseKind& kind, const MatmulCase& made) {
  return made.any_order_is_exact || kind.name == "signed_zero" || kind.name == "order" || kind.name == "overflow_partial" ||
         kind.name == "cancellation";
}

std::unique_ptr<Expectation> expect_generated(const CaseKind& kind, const CaseRequest& request, emu::Format promised,
                                              double false_alarm) {
  if (!(false_alarm > 0 && false_alarm < 1)) throw Error("--false-alarm: a probability between 0 and 1, e.g. 1e-6");
  MatmulCase made = generate_case(kind, request);
  if (kind.name == "signed_zero") return std::make_unique<SignedZeros>(request, std::move(made));
  if (kind.name == "order") return std::make_unique<AnyOrder>(request, std::move(made));
  if (kind.name == "overflow_partial") return std::make_unique<PartialOverflow>(request, std::move(made), promised);
  if (kind.name == "cancellation") return std::make_unique<Cancelling>(request, std::move(made), promised, false_alarm);
  if (made.any_order_is_exact) return std::make_unique<RoundedOnce>(request, std::move(made));
  throw Error(std::string(kind.name) +
              ": is judged by `ulpscope verify matmul`, which `ulpscope generate` prints, where partial sums need rounding");
}

}  // namespace ulpscope::verify
