// SPDX-License-Identifier: Apache-2.0
// Multiplies: operands are laid out once, engines and devices take them in portions, scales and the epilogue come with them.
#include "products/product.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/split_matmul.hpp"
#include "products/exact_product.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::products {

/// Where progress is told, an engine gets no fewer lines at a time: B is made ready for each.
constexpr std::size_t least_lines = 256;
/// What rows() computes at a time: no more rows and elements, as far as blocks of scales allow.
constexpr std::size_t most_rows = 64, most_elements_of_rows = std::size_t{1} << 20;

template <class Float>
class Multiplication {
 public:
  Multiplication(const Product& product, const MatmulShape& shape)
      : product_(product), shape_(shape), k_(shape.k), a_(product.a, MatmulSide::a, k_), b_(product.b, MatmulSide::b, k_) {
    if (!product.c) return;
    const auto c = rounded_elements<Float>(*product.c, {product.acc}, rounded_c_);
    const auto of_c = broadcast_indices("C " + product.c->label, product.c->shape, shape.d);
    c_.resize(of_c.size());
    std::transform(of_c.begin(), of_c.end(), c_.begin(), [&](std::size_t i) { return c[i]; });
  }

  const RoundedElements& a() const { return a_.rounded(); }
  const RoundedElements& b() const { return b_.rounded(); }
  const RoundedElements& c() const { return rounded_c_; }

  tensors::Tensor on(const ChosenEngine& engine, const Portions& portions) const {
    std::vector<Float> d(shape_.batch() * shape_.m * shape_.n);
    const std::size_t at_a_time = portions.progress ? lines_at_a_time(portions) : a_.lines();
    for (std::size_t i = 0; i < shape_.batch(); ++i)
      for (std::size_t first = 0; first < a_.lines(); first += at_a_time) {
        const std::size_t count = std::min(at_a_time, a_.lines() - first);
        multiply(engine, i, first, count, product_.threads, std::span(d).subspan((i * shape_.m + first) * shape_.n));
        if (portions.progress) portions.progress(std::min(count, shape_.m - std::min(first, shape_.m)) * shape_.n);
      }
    return tensors::from_values(engine.word, shape_.d, std::move(d));
  }

  std::size_t rows_at_a_time() const {
    return whole_blocks(std::clamp<std::size_t>(most_elements_of_rows / std::max<std::size_t>(b_.lines(), 1), 1, most_rows));
  }

  std::vector<double> rows(const ChosenEngine& engine, std::size_t first) const {
    const std::size_t line = first % shape_.m, count = std::min(rows_at_a_time(), a_.lines() - line);
    std::vector<Float> d(std::min(count, shape_.m - line) * shape_.n);
    multiply(engine, first / shape_.m, line, count, 1, d);
    return {d.begin(), d.end()};
  }

  double largest_partial_sum() const {
    const std::size_t m = shape_.m, n = shape_.n;
    std::vector<double> of_line(shape_.batch() * m);
    tensors::for_each_index(of_line.size(), product_.threads, [&](std::size_t line) {
      const std::size_t i = line / m;
      const auto a = a_.matrix(shape_.a_of[i], line % m, 1), b = b_.matrix(shape_.b_of[i], 0, b_.lines());
      const bool from_c = !c_.empty() && !product_.beta;
      std::vector<double> sums(n), largest(n);
      for (std::size_t j = 0; j < n && from_c; ++j) {
        sums[j] = static_cast<double>(c_[line * n + j]);
        largest[j] = std::max(largest[j], std::fabs(sums[j]));
      }
      for (std::size_t k = 0; k < k_; ++k) {
        if (product_.promote != 0 && k != 0 && k % product_.promote == 0) std::fill(sums.begin(), sums.end(), 0.0);
        const auto x = static_cast<double>(a.at(0, k));
        for (std::size_t j = 0; j < n; ++j) {
          sums[j] += x * static_cast<double>(b.at(k, j));
          largest[j] = std::max(largest[j], std::fabs(sums[j]));
        }
      }
      for (const double x : largest) of_line[line] = std::max(of_line[line], x);
    });
    return of_line.empty() ? 0 : *std::max_element(of_line.begin(), of_line.end());
  }

 private:
  std::size_t lines_at_a_time(const Portions& portions) const {
    const std::size_t of_a_line = std::max<std::size_t>(b_.lines() * k_, 1);
    return whole_blocks(std::max(least_lines, portions.products_between_progress / of_a_line));
  }
  std::size_t whole_blocks(std::size_t lines) const {
    const std::size_t block = a_.line_block();
    return (lines + block - 1) / block * block;
  }

  /// Lines [first, first + count) of the i-th product, the first of which d begins with; zeros that fill up blocks of scales
  /// are left out of it.
  void multiply(const ChosenEngine& engine, std::size_t i, std::size_t first, std::size_t count, int threads,
                std::span<Float> d) const {
    const std::size_t columns = b_.lines(), m = shape_.m, n = shape_.n;
    const std::size_t wanted = std::min(count, m - std::min(first, m));
    std::vector<Float> c(c_.empty() ? 0 : count * columns), filled(count * columns);
    for (std::size_t row = 0; row < wanted && !c.empty(); ++row)
      std::copy_n(c_.begin() + static_cast<std::ptrdiff_t>((i * m + first + row) * n), n,
                  c.begin() + static_cast<std::ptrdiff_t>(row * columns));
    emu::EngineMatmul<Float> problem{.engine = engine.model,
                                     .a = a_.matrix(shape_.a_of[i], first, count),
                                     .b = b_.matrix(shape_.b_of[i], 0, columns),
                                     .c = c,
                                     .scale_a = a_.scales(shape_.a_of[i], first, count),
                                     .scale_b = b_.scales(shape_.b_of[i], 0, columns),
                                     .promote = product_.promote,
                                     .split_k = product_.split_k,
                                     .alpha = static_cast<Float>(product_.alpha),
                                     .beta = {},
                                     .out = product_.out,
                                     .threads = threads};
    if (product_.beta) problem.beta = static_cast<Float>(*product_.beta);
    if (engine.device)
      device_matmul(*engine.device, problem, std::span(filled));
    else if (engine.exact)
      exact_product(problem, filled);
    else if (engine.split)
      emu::split_matmul(*engine.split, problem, filled);
    else
      emu::engine_matmul(problem, filled);
    for (std::size_t row = 0; row < wanted; ++row)
      std::copy_n(filled.begin() + static_cast<std::ptrdiff_t>(row * columns), n,
                  d.begin() + static_cast<std::ptrdiff_t>(row * n));
  }

  const Product& product_;
  const MatmulShape& shape_;
  std::size_t k_;
  LoadedOperand<Float> a_, b_;
  std::vector<Float> c_;
  RoundedElements rounded_c_;
};

namespace {

bool is_wide(emu::Format format) { return !emu::fits_float(format); }

/// Whether operands and sums take doubles.
bool has_wide_sums(const Product& product) {
  return is_wide(product.a.rounding.format) || is_wide(product.b.rounding.format) || is_wide(product.acc);
}

/// The same. @throws ulpscope::Error where D takes doubles and they do not
bool is_wide(const Product& product) {
  const bool wide = has_wide_sums(product);
  if (!wide && is_wide(product.out))
    throw Error("out " + emu::format_name(product.out) + ": a sum in " + emu::format_name(product.acc) +
                " is rounded to a format that float32 holds");
  return wide;
}

}  // namespace

Product unrounded(Product product) {
  product.out = has_wide_sums(product) ? emu::float64 : emu::float32;
  return product;
}

LoadedProduct::LoadedProduct(const Product& product) : shape_(matmul_shape(product.a.input, product.b.input)) {
  if (is_wide(product))
    multiplication_ = std::make_unique<Multiplication<double>>(product, shape_);
  else
    multiplication_ = std::make_unique<Multiplication<float>>(product, shape_);
}

LoadedProduct::~LoadedProduct() = default;

const RoundedElements& LoadedProduct::a() const {
  return std::visit([](const auto& m) -> const RoundedElements& { return m->a(); }, multiplication_);
}
const RoundedElements& LoadedProduct::b() const {
  return std::visit([](const auto& m) -> const RoundedElements& { return m->b(); }, multiplication_);
}
const RoundedElements& LoadedProduct::c() const {
  return std::visit([](const auto& m) -> const RoundedElements& { return m->c(); }, multiplication_);
}

tensors::Tensor LoadedProduct::on(const ChosenEngine& engine, const Portions& portions) const {
  return std::visit([&](const auto& m) { return m->on(engine, portions); }, multiplication_);
}

std::size_t LoadedProduct::rows_at_a_time() const {
  return std::visit([](const auto& m) { return m->rows_at_a_time(); }, multiplication_);
}

std::vector<double> LoadedProduct::rows(const ChosenEngine& engine, std::size_t first) const {
  return std::visit([&](const auto& m) { return m->rows(engine, first); }, multiplication_);
}

double LoadedProduct::largest_partial_sum() const {
  return std::visit([](const auto& m) { return m->largest_partial_sum(); }, multiplication_);
}

ChosenEngine engine_of(const Product& product, const std::string& engine) {
  if (emu::is_split(engine)) {
    if (product.a.scales || product.b.scales || product.promote != 0 || product.split_k != 1)
      throw Error(engine +
                  ": takes no scales, --promote or --split-k; parts of floats have a key k that cuts K, as in bf16x9:k=64");
    return choose_split(engine, {product.a.rounding.format, product.b.rounding.format, product.acc});
  }
  return choose_engine(engine, {product.a.rounding.format, product.b.rounding.format, product.acc},
                       matmul_shape(product.a.input, product.b.input).k, product.a.scales, product.b.scales);
}

ChosenEngine engine_of(const Product& product) { return engine_of(product, product.engine); }

tensors::Tensor multiply(const Product& product) { return LoadedProduct(product).on(engine_of(product)); }

}  // namespace ulpscope::products
