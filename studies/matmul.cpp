// SPDX-License-Identifier: Apache-2.0
#include "studies/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/exact_product.hpp"

namespace ulpscope::studies {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Where progress is told, an engine gets no fewer lines at a time: B is made ready for each.
constexpr std::size_t least_lines = 256;

template <class Float>
class Multiplication {
 public:
  Multiplication(const MatmulConfig& config, const MatmulShape& shape)
      : config_(config),
        shape_(shape),
        k_(padded_k(shape.k, config.a.scales, config.b.scales)),
        a_(config.a, MatmulSide::a, k_),
        b_(config.b, MatmulSide::b, k_) {
    if (!config.c) return;
    const auto c = rounded_elements<Float>(*config.c, {config.acc}, rounded_c_);
    const auto of_c = broadcast_indices("C " + config.c->label, config.c->shape, shape.d);
    c_.resize(of_c.size());
    std::transform(of_c.begin(), of_c.end(), c_.begin(), [&](std::size_t i) { return c[i]; });
  }

  void report(MatmulResult& result) const {
    result.a = a_.rounded();
    result.b = b_.rounded();
    result.c = rounded_c_;
  }

  tensors::Tensor on(const ChosenEngine& engine, const std::function<void(std::uint64_t)>& progress) const {
    std::vector<Float> d(shape_.batch() * shape_.m * shape_.n);
    const std::size_t at_a_time = progress ? lines_at_a_time() : a_.lines();
    for (std::size_t i = 0; i < shape_.batch(); ++i)
      for (std::size_t first = 0; first < a_.lines(); first += at_a_time) {
        const std::size_t count = std::min(at_a_time, a_.lines() - first);
        multiply(engine, i, first, count, std::span(d).subspan(i * shape_.m * shape_.n, shape_.m * shape_.n));
        if (progress) progress(std::min(count, shape_.m - std::min(first, shape_.m)) * shape_.n);
      }
    return tensors::from_values(engine.word, shape_.d, std::move(d));
  }

 private:
  std::size_t lines_at_a_time() const {
    const std::size_t of_a_line = std::max<std::size_t>(b_.lines() * k_, 1);
    const std::size_t lines = std::max(least_lines, config_.products_between_progress / of_a_line), block = a_.line_block();
    return (lines + block - 1) / block * block;
  }

  /// Lines [first, first + count) of the i-th product; zeros that fill up blocks of scales are left out of d.
  void multiply(const ChosenEngine& engine, std::size_t i, std::size_t first, std::size_t count, std::span<Float> d) const {
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
                                     .promote = config_.promote,
                                     .split_k = config_.split_k,
                                     .alpha = static_cast<Float>(config_.alpha),
                                     .beta = {},
                                     .out = config_.out,
                                     .threads = config_.threads};
    if (config_.beta) problem.beta = static_cast<Float>(*config_.beta);
    if (engine.device)
      device_matmul(*engine.device, problem, std::span(filled));
    else if (engine.exact)
      exact_product(problem, filled);
    else
      emu::engine_matmul(problem, filled);
    for (std::size_t row = 0; row < wanted; ++row)
      std::copy_n(filled.begin() + static_cast<std::ptrdiff_t>(row * columns), n,
                  d.begin() + static_cast<std::ptrdiff_t>((first + row) * n));
  }

  const MatmulConfig& config_;
  const MatmulShape& shape_;
  std::size_t k_;
  LoadedOperand<Float> a_, b_;
  std::vector<Float> c_;
  RoundedElements rounded_c_;
};

/// Calls act(values) for pieces of one or two tensors of the same shape, in order.
template <class Act>
void for_each_piece(const tensors::Tensor& x, const tensors::Tensor& y, Act act) {
  std::vector<double> of_x(1 << 16), of_y(of_x.size());
  for (std::uint64_t first = 0, count = x.count(); first < count; first += of_x.size()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(of_x.size(), count - first));
    x.source->read(first, std::span(of_x).first(size));
    y.source->read(first, std::span(of_y).first(size));
    for (std::size_t i = 0; i < size; ++i) act(of_x[i], of_y[i]);
  }
}

void summarise(MatmulProduct& product) {
  product.min = product.max = nan;
  for_each_piece(product.d, product.d, [&](double x, double) {
    product.nan += std::isnan(x);
    product.infinite += std::isinf(x);
    if (!std::isfinite(x)) return;
    product.min = std::fmin(x, product.min);
    product.max = std::fmax(x, product.max);
  });
}

MatmulComparison compare(const std::vector<MatmulProduct>& products, std::size_t engine, std::size_t against, emu::Format out) {
  const tensors::Tensor &d = products[engine].d, &reference = products[against].d;
  MatmulComparison comparison{engine, against, diff(reference, d, out, {}), 0, 0, 0};
  DiffResult& result = comparison.diff;
  result.reference_format = result.output_format = out;
  if (!result.worst.empty()) comparison.max_ulp_error = std::fabs(result.worst.front().error_ulp);
  std::uint64_t nonzero = 0;
  for_each_piece(reference, d, [&](double x, double y) {
    comparison.differing_codes += x != y ? !(std::isnan(x) && std::isnan(y)) : std::signbit(x) != std::signbit(y);
    if (!std::isfinite(x) || !std::isfinite(y) || x == 0) return;
    comparison.mean_signed_rel_error += (y - x) / x;
    ++nonzero;
  });
  comparison.mean_signed_rel_error = nonzero == 0 ? nan : comparison.mean_signed_rel_error / static_cast<double>(nonzero);
  return comparison;
}

std::size_t index_of(std::vector<std::string>& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  words.push_back(word);
  return words.size() - 1;
}

template <class Float>
void multiply_all(const MatmulConfig& config, const std::vector<ChosenEngine>& engines, MatmulResult& result) {
  const Multiplication<Float> multiplication(config, result.shape);
  multiplication.report(result);
  std::uint64_t done = 0;
  const std::uint64_t total = result.shape.batch() * result.shape.m * result.shape.n * engines.size();
  std::function<void(std::uint64_t)> progress;
  if (config.progress) progress = [&](std::uint64_t more) { config.progress(done += more, total); };
  for (const ChosenEngine& engine : engines) {
    result.products.push_back({engine, multiplication.on(engine, progress)});
    summarise(result.products.back());
  }
}

}  // namespace

MatmulResult matmul(const MatmulConfig& config) {
  MatmulResult result{.shape = matmul_shape(config.a.input, config.b.input)};
  const auto word_of = [](const MatmulOperand& x) { return x.scales ? x.scales->word() : std::string("none"); };
  result.scale_a = word_of(config.a);
  result.scale_b = word_of(config.b);

  // Engines, then devices, then what is only compared with.
  std::vector<std::string> words;
  for (const std::string& engine : config.engines) index_of(words, engine);
  std::vector<ChosenEngine> engines;
  const auto choose_rest = [&] {
    while (engines.size() < words.size())
      engines.push_back(choose_engine(words[engines.size()], {config.a.rounding.format, config.b.rounding.format, config.acc},
                                      result.shape.k, config.a.scales, config.b.scales));
  };
  choose_rest();
  for (const MatmulDevice& device : config.devices) {
    words.push_back(device.word);
    engines.push_back(engine_of(device, config.a.scales || config.b.scales));
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const auto compare_with_all = [&](const std::string& word) {
    for (const std::string& against : config.against) pairs.emplace_back(index_of(words, word), index_of(words, against));
  };
  for (const std::string& engine : config.engines) {
    compare_with_all(engine);
    for (const MatmulDevice& device : config.devices) pairs.emplace_back(index_of(words, engine), index_of(words, device.word));
  }
  for (const MatmulDevice& device : config.devices) compare_with_all(device.word);
  choose_rest();

  const auto is_wide = [](emu::Format format) { return !emu::fits_float(format); };
  const bool wide = is_wide(config.a.rounding.format) || is_wide(config.b.rounding.format) || is_wide(config.acc);
  if (!wide && is_wide(config.out))
    throw Error("out " + emu::format_name(config.out) + ": a sum in " + emu::format_name(config.acc) +
                " is rounded to a format that float32 holds");
  wide ? multiply_all<double>(config, engines, result) : multiply_all<float>(config, engines, result);
  for (const auto& [engine, against] : pairs)
    result.comparisons.push_back(compare(result.products, engine, against, config.out));
  return result;
}

reports::Table matmul_table(const MatmulConfig& config, const MatmulResult& r) {
  const auto number = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  reports::Table table{"matmul",
                       {"engine",
                        "evidence",
                        "against",
                        "against_evidence",
                        "in_a",
                        "in_b",
                        "acc",
                        "out",
                        "batch",
                        "m",
                        "n",
                        "k",
                        "alpha",
                        "beta",
                        "promote",
                        "split_k",
                        "scale_a",
                        "scale_b",
                        "scaled_by",
                        "changed_a",
                        "changed_b",
                        "min",
                        "max",
                        "nan",
                        "infinite",
                        "count",
                        "equal",
                        "differing",
                        "differing_codes",
                        "beyond_1_ulp",
                        "beyond_2_ulp",
                        "beyond_10_ulp",
                        "beyond_100_ulp",
                        "nonfinite_one_side",
                        "max_ulp_error",
                        "bias_ulp",
                        "max_abs_error",
                        "mean_abs_error",
                        "max_rel_error",
                        "mean_rel_error",
                        "mean_signed_rel_error",
                        "rel_frobenius_error",
                        "cosine",
                        "sqnr_db"},
                       {}};
  const auto begin = [&](const MatmulProduct& d, const MatmulProduct* against) {
    const auto evidence = [](const MatmulProduct& p) { return std::string(p.engine.evidence_word()); };
    table.rows.push_back({d.engine.word,
                          evidence(d),
                          against == nullptr ? "" : against->engine.word,
                          against == nullptr ? "" : evidence(*against),
                          emu::format_name(config.a.rounding.format),
                          emu::format_name(config.b.rounding.format),
                          emu::format_name(config.acc),
                          emu::format_name(config.out),
                          number(r.shape.batch()),
                          number(r.shape.m),
                          number(r.shape.n),
                          number(r.shape.k),
                          config.alpha,
                          config.beta.value_or(nan),
                          number(config.promote),
                          number(config.split_k),
                          r.scale_a,
                          r.scale_b,
                          std::string(name_of(d.engine.scaled_by)),
                          number(r.a.changed),
                          number(r.b.changed),
                          d.min,
                          d.max,
                          number(d.nan),
                          number(d.infinite),
                          number(d.d.count())});
  };
  for (const MatmulComparison& c : r.comparisons) {
    begin(r.products[c.engine], &r.products[c.against]);
    const DiffResult& d = c.diff;
    for (reports::Cell cell : std::initializer_list<reports::Cell>{
             number(d.equal), number(d.count - d.equal), number(c.differing_codes), number(d.beyond_1_ulp),
             number(d.beyond_2_ulp), number(d.beyond_10_ulp), number(d.beyond_100_ulp), number(d.nonfinite_one_side),
             c.max_ulp_error, d.bias_ulp, d.max_abs_error, d.mean_abs_error, d.max_rel_error, d.mean_rel_error,
             c.mean_signed_rel_error, d.rel_frobenius_error, d.cosine, d.sqnr_db})
      table.rows.back().push_back(std::move(cell));
  }
  if (r.comparisons.empty())
    for (const MatmulProduct& product : r.products) {
      begin(product, nullptr);
      table.rows.back().resize(table.columns.size(), nan);
    }
  return table;
}

}  // namespace ulpscope::studies
