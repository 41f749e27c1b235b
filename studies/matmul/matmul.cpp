// SPDX-License-Identifier: Apache-2.0
// Multiplies on each engine and device, and compares all pairs that are asked for.
#include "studies/matmul/matmul.hpp"

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
#include "products/exact_product.hpp"

namespace ulpscope::studies {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

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
  result.reference_dtype = result.output_dtype = {emu::format_name(out), out};
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

/// Where every sum is 0, any power of two will do; where one is infinite, none.
AccumulatorRange partial_sums_of(const products::LoadedProduct& loaded, emu::Format accumulator) {
  const double largest = loaded.largest_partial_sum(), most = emu::max_finite(accumulator);
  if (!(largest > 0) || !std::isfinite(largest)) return {largest, nan};
  const int above = std::ilogb(most) - std::ilogb(largest);  // or one less
  return {largest, static_cast<double>(std::ldexp(largest, above) <= most ? above : above - 1)};
}

std::size_t index_of(std::vector<std::string>& words, const std::string& word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  words.push_back(word);
  return words.size() - 1;
}

}  // namespace

MatmulResult matmul(const MatmulConfig& config) {
  const products::Product& product = config.product;
  const auto word_of = [](const products::MatmulOperand& x) { return x.scales ? x.scales->word() : std::string("none"); };

  // Engines, then devices, then what is only compared with.
  std::vector<std::string> words;
  for (const std::string& engine : config.engines) index_of(words, engine);
  std::vector<products::ChosenEngine> engines;
  const auto choose_rest = [&] {
    while (engines.size() < words.size()) engines.push_back(products::engine_of(product, words[engines.size()]));
  };
  choose_rest();
  for (const products::MatmulDevice& device : config.devices) {
    words.push_back(device.word);
    engines.push_back(products::engine_of(device, product.a.scales || product.b.scales));
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const auto compare_with_all = [&](const std::string& word) {
    for (const std::string& against : config.against) pairs.emplace_back(index_of(words, word), index_of(words, against));
  };
  for (const std::string& engine : config.engines) {
    compare_with_all(engine);
    for (const products::MatmulDevice& device : config.devices)
      pairs.emplace_back(index_of(words, engine), index_of(words, device.word));
  }
  for (const products::MatmulDevice& device : config.devices) compare_with_all(device.word);
  choose_rest();

  const products::LoadedProduct loaded(product);
  MatmulResult result{.shape = loaded.shape(), .a = loaded.a(), .b = loaded.b(), .c = loaded.c()};
  if (config.partial_sums) result.partial_sums = partial_sums_of(loaded, product.acc);
  result.scale_a = word_of(product.a);
  result.scale_b = word_of(product.b);
  std::uint64_t done = 0;
  const std::uint64_t total = result.shape.batch() * result.shape.m * result.shape.n * engines.size();
  products::Portions portions{.products_between_progress = config.products_between_progress};
  if (config.progress) portions.progress = [&](std::uint64_t more) { config.progress(done += more, total); };
  for (const products::ChosenEngine& engine : engines) {
    result.products.push_back({engine, loaded.on(engine, portions)});
    summarise(result.products.back());
  }
  for (const auto& [engine, against] : pairs)
    result.comparisons.push_back(compare(result.products, engine, against, product.out));
  return result;
}

reports::Table matmul_table(const MatmulConfig& config, const MatmulResult& r) {
  using reports::whole;
  const auto evidence = [](const MatmulProduct& p) { return std::string(p.engine.evidence_word()); };
  const auto row_of = [&](const MatmulProduct& d, const MatmulProduct* against) -> std::vector<reports::NamedCell> {
    return {{"engine", d.engine.word},
            {"evidence", evidence(d)},
            {"against", against == nullptr ? "" : against->engine.word},
            {"against_evidence", against == nullptr ? "" : evidence(*against)},
            {"in_a", emu::format_name(config.product.a.rounding.format)},
            {"in_b", emu::format_name(config.product.b.rounding.format)},
            {"acc", emu::format_name(config.product.acc)},
            {"out", emu::format_name(config.product.out)},
            {"batch", whole(r.shape.batch())},
            {"m", whole(r.shape.m)},
            {"n", whole(r.shape.n)},
            {"k", whole(r.shape.k)},
            {"alpha", config.product.alpha},
            {"beta", config.product.beta.value_or(nan)},
            {"promote", whole(config.product.promote)},
            {"split_k", whole(config.product.split_k)},
            {"scale_a", r.scale_a},
            {"scale_b", r.scale_b},
            {"scaled_by", std::string(name_of(d.engine.scaled_by))},
            {"changed_a", whole(r.a.changed)},
            {"changed_b", whole(r.b.changed)},
            {"min", d.min},
            {"max", d.max},
            {"nan", whole(d.nan)},
            {"infinite", whole(d.infinite)},
            {"count", whole(d.d.count())}};
  };
  const auto add_difference = [&](std::vector<reports::NamedCell>& row, const MatmulComparison& c) {
    const DiffResult& d = c.diff;
    row.insert(row.end(), {{"equal", whole(d.equal)},
                           {"differing", whole(d.count - d.equal)},
                           {"differing_codes", whole(c.differing_codes)},
                           {"beyond_1_ulp", whole(d.beyond_1_ulp)},
                           {"beyond_2_ulp", whole(d.beyond_2_ulp)},
                           {"beyond_10_ulp", whole(d.beyond_10_ulp)},
                           {"beyond_100_ulp", whole(d.beyond_100_ulp)},
                           {"nonfinite_one_side", whole(d.nonfinite_one_side)},
                           {"max_ulp_error", c.max_ulp_error},
                           {"bias_ulp", d.bias_ulp},
                           {"max_abs_error", d.max_abs_error},
                           {"mean_abs_error", d.mean_abs_error},
                           {"max_rel_error", d.max_rel_error},
                           {"mean_rel_error", d.mean_rel_error},
                           {"mean_signed_rel_error", c.mean_signed_rel_error},
                           {"rel_frobenius_error", d.rel_frobenius_error},
                           {"cosine", d.cosine},
                           {"sqnr_db", d.sqnr_db}});
  };
  const auto add_partial_sums = [&](std::vector<reports::NamedCell>& row) {
    if (!r.partial_sums) return;
    row.insert(row.end(), {{"max_partial_sum", r.partial_sums->largest}, {"max_log2_scale", r.partial_sums->log2_scale}});
  };
  reports::Table table{"matmul", {}, {}};
  for (const MatmulComparison& c : r.comparisons) {
    std::vector<reports::NamedCell> row = row_of(r.products[c.engine], &r.products[c.against]);
    add_difference(row, c);
    add_partial_sums(row);
    table.add(row);
  }
  if (!r.comparisons.empty()) return table;
  std::vector<reports::NamedCell> differences;
  add_difference(differences, {});
  for (const MatmulProduct& product : r.products) {
    std::vector<reports::NamedCell> row = row_of(product, nullptr);
    for (const auto& [column, cell] : differences) row.emplace_back(column, nan);
    add_partial_sums(row);
    table.add(row);
  }
  return table;
}

}  // namespace ulpscope::studies
