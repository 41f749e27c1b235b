// SPDX-License-Identifier: Apache-2.0
// Tries models on samples of outputs first, and on whole products those that are left.
#include "studies/devices/product_explanation.hpp"

#include <algorithm>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/philox.hpp"
#include "studies/devices/product_device.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;

// Neighbours that a library computes in one tile: tiles have multiples of 8 rows and columns.
constexpr std::size_t block_extent = 4, most_blocks = 12;
// The other models that fit the samples are taken to fit the rest too.
constexpr std::size_t most_alternatives_compared = 8;

}  // namespace

ProductExplainer::ProductExplainer(const gpu::LibraryCall& call, std::vector<ProductModel> models,
                                   std::vector<ProductOperands> products, const ExplanationLimits& limits)
    : call_(call), models_(std::move(models)), products_(std::move(products)), limits_(limits), predicted_(models_.size()) {
  choose_samples();
  for (auto& codes : predicted_) codes.resize(samples_.size() * products_.size());
}

void ProductExplainer::choose_samples() {
  const std::size_t m = products_.front().a.rows, n = products_.front().b.columns;
  const std::size_t block_rows = (m + block_extent - 1) / block_extent, block_columns = (n + block_extent - 1) / block_extent;
  const std::size_t all = block_rows * block_columns;
  std::vector<std::size_t> chosen;
  for (std::uint64_t i = 0; chosen.size() < std::min(all, most_blocks); ++i) {
    const std::size_t block = all <= most_blocks ? i : emu::philox4x32(0, i, 3).word[0] % all;
    if (std::find(chosen.begin(), chosen.end(), block) == chosen.end()) chosen.push_back(block);
  }
  blocks_ = chosen.size();
  for (std::size_t b = 0; b < blocks_; ++b) {
    const std::size_t row = chosen[b] / block_columns * block_extent, column = chosen[b] % block_columns * block_extent;
    for (std::size_t i = row; i < std::min(m, row + block_extent); ++i)
      for (std::size_t j = column; j < std::min(n, column + block_extent); ++j) {
        Sample sample{i, j, b, {}};
        for (const ProductOperands& product : products_)
          sample.predictors.emplace_back(call_, output_operands(call_, product, i, j));
        samples_.push_back(std::move(sample));
      }
  }
}

Code ProductExplainer::at(const Results& results, std::size_t product, std::size_t i, std::size_t j) const {
  return gpu::load_code(call_.d, results[product].data(), i * products_.front().b.columns + j);
}

Code ProductExplainer::predicted(std::size_t model, std::size_t sample, std::size_t product) {
  std::optional<Code>& code = predicted_[model][sample * products_.size() + product];
  if (!code) code = samples_[sample].predictors[product].predict(models_[model]);
  return *code;
}

/// Counted up to `most`.
std::size_t ProductExplainer::sample_mismatches(std::size_t model, const Results& results, std::size_t most) {
  std::size_t mismatches = 0;
  limits_.deadline.check();
  for (std::size_t product = 0; product < products_.size(); ++product)
    for (std::size_t s = 0; s < samples_.size() && mismatches < most; ++s)
      mismatches += predicted(model, s, product) != at(results, product, samples_[s].row, samples_[s].column) ? 1 : 0;
  return mismatches;
}

const std::optional<ProductExplainer::Codes>& ProductExplainer::whole(std::size_t model) {
  if (const auto found = whole_.find(model); found != whole_.end()) return found->second;
  std::optional<Codes>& codes = whole_[model];
  const gpu::MatrixProduct first = products_.front().view();
  if (limits_.emulator != nullptr) codes = whole_on_device(models_[model]);
  if (codes || first.m() * first.n() * first.k() * products_.size() > limits_.most_on_host) return codes;
  codes.emplace();
  for (const ProductOperands& product : products_)
    for (std::size_t i = 0; i < first.m(); ++i, limits_.deadline.check())
      for (std::size_t j = 0; j < first.n(); ++j)
        codes->push_back(OutputPredictor(call_, output_operands(call_, product, i, j)).predict(models_[model]));
  return codes;
}

std::optional<ProductExplainer::Codes> ProductExplainer::whole_on_device(const ProductModel& model) const {
  Codes codes;
  for (const ProductOperands& product : products_) {
    const auto some = predict_on_device(*limits_.emulator, call_, model, product.view());
    if (!some) return std::nullopt;
    codes.insert(codes.end(), some->begin(), some->end());
  }
  return codes;
}

CodeDifference ProductExplainer::difference(std::size_t model, const Results& results) {
  CodeDifference difference(call_.d);
  if (const std::optional<Codes>& codes = whole(model)) {
    const std::size_t each = codes->size() / products_.size();
    for (std::size_t at = 0; at < codes->size(); ++at)
      difference.add(gpu::load_code(call_.d, results[at / each].data(), at % each), (*codes)[at]);
    return difference;
  }
  for (std::size_t product = 0; product < products_.size(); ++product)
    for (std::size_t s = 0; s < samples_.size(); ++s)
      difference.add(at(results, product, samples_[s].row, samples_[s].column), predicted(model, s, product));
  return difference;
}

ProductExplanation ProductExplainer::explain(const Results& results, std::size_t parts) {
  std::vector<std::size_t> fitting;
  for (std::size_t model = 0; model < models_.size(); ++model)
    if (sample_mismatches(model, results, 1) == 0) fitting.push_back(model);
  std::stable_partition(fitting.begin(), fitting.end(), [&](std::size_t model) { return has_parts(models_[model], parts); });

  std::optional<ProductExplanation> found;
  std::size_t compared_wholly = 0;
  for (const std::size_t model : fitting) {
    if (!found || compared_wholly++ < most_alternatives_compared) {
      const CodeDifference difference = this->difference(model, results);
      if (difference.mismatches() > 0) continue;
      if (!found) {
        found = ProductExplanation{true, words_of(models_[model], parts), 0, "", difference};
        continue;
      }
    }
    if (++found->alternatives == 1) found->also = words_of(models_[model], parts);
  }
  if (!found) found = streamed(results);
  if (found) return *found;
  const std::size_t model = nearest(results);
  return {false, words_of(models_[model]), 0, "", difference(model, results)};
}

std::size_t ProductExplainer::nearest(const Results& results) {
  std::size_t best = 0, least = samples_.size() * products_.size() + 1;
  for (std::size_t model = 0; model < models_.size(); ++model) {
    if (models_[model].cut->parts.size() > 1 || !(models_[model].engine.engine == models_.front().engine.engine)) continue;
    const std::size_t mismatches = sample_mismatches(model, results, least);
    if (mismatches >= least) continue;
    least = mismatches;
    best = model;
  }
  return best;
}

std::optional<ProductExplanation> ProductExplainer::streamed(const Results& results) {
  std::optional<ProductExplanation> found;
  const NamedEngine& engine = models_.front().engine;
  for (const ProductModel& model : models_) {
    if (model.cut->parts.size() > 1 || !(model.engine.engine == engine.engine)) continue;
    const emu::Format part = model.promote > 0 ? emu::float32 : engine.engine.accumulator;
    for (const PartJoin& join : part_joins(call_, part, 2)) {
      ProductModel cut_once = model;
      cut_once.join = join;
      const auto words = cuts_of_blocks(cut_once, results);
      if (!words) continue;
      if (found) {
        if (++found->alternatives == 1) found->also = words_of(model) + "; " + *words;
        continue;
      }
      CodeDifference difference(call_.d);
      for (std::size_t product = 0; product < products_.size(); ++product)
        for (const Sample& sample : samples_) {
          const Code code = at(results, product, sample.row, sample.column);
          difference.add(code, code);
        }
      found = ProductExplanation{true, words_of(model) + "; " + *words, 0, "", difference};
    }
  }
  return found;
}

std::optional<std::string> ProductExplainer::cuts_of_blocks(const ProductModel& model, const Results& results) {
  // Tiles of K are at least 32 products; longer K is searched more coarsely, as the kernels for it cut it.
  const std::size_t k = products_.front().a.columns, unit = k <= 2048 ? 32 : 64;
  if (unit % static_cast<std::size_t>(std::max(model.engine.engine.products, 1)) != 0) return std::nullopt;
  std::string cuts_found;
  bool cut_somewhere = false;
  for (std::size_t block = 0; block < blocks_; ++block) {
    limits_.deadline.check();
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < k; cut += unit) cuts.push_back(cut);  // 0: not cut
    for (std::size_t product = 0; product < products_.size(); ++product)
      for (Sample& sample : samples_) {
        if (sample.block != block) continue;
        const Code code = at(results, product, sample.row, sample.column);
        std::erase_if(cuts, [&](std::size_t cut) {
          OutputPredictor& predictor = sample.predictors[product];
          return (cut == 0 ? predictor.predict(model) : predictor.predict_cut(model, cut)) != code;
        });
        if (cuts.empty()) return std::nullopt;
      }
    cut_somewhere |= cuts.front() != 0;
    cuts_found += (cuts_found.empty() ? "" : ", ") + (cuts.front() == 0 ? "nowhere" : std::to_string(cuts.front()));
  }
  if (!cut_somewhere) return std::nullopt;
  return "each tile cut in K where it pleases, " + model.join.words + "; in " + std::to_string(blocks_) +
         " blocks of outputs at " + cuts_found;
}

}  // namespace ulpscope::studies
