// SPDX-License-Identifier: Apache-2.0
// Finds memory of a fitting size, and engines that were chosen before.
#include "training/tape/workspace.hpp"

#include <optional>
#include <string>
#include <utility>

#include "products/scales.hpp"

namespace ulpscope::training {

template <class Real>
std::vector<Real> ArrayPool<Real>::take_values(std::size_t count) {
  if (count < least) return std::vector<Real>(count);
  auto best = kept_.end();
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    const bool fits = one->capacity() >= count && one->capacity() / 2 <= count;
    if (fits && (best == kept_.end() || one->capacity() < best->capacity())) best = one;
  }
  if (best == kept_.end()) return std::vector<Real>(count);
  std::swap(*best, kept_.back());
  std::vector<Real> values = std::move(kept_.back());
  kept_.pop_back();
  values.resize(count);
  return values;
}

template class ArrayPool<float>;
template class ArrayPool<double>;

MoveTable::Places MoveTable::of(std::vector<std::size_t> key, const std::function<std::vector<std::uint32_t>()>& make) {
  constexpr std::size_t most = 256;  // shapes that change from step to step are not kept for ever
  if (known_.size() >= most && !known_.contains(key)) known_.clear();
  const auto [found, is_new] = known_.try_emplace(std::move(key));
  if (is_new) found->second = std::make_shared<const std::vector<std::uint32_t>>(make());
  return found->second;
}

struct EngineTable::Known {
  std::string word;
  Kind kind;  // but for its word, which is the asker's
  products::ChosenEngine engine;
};

namespace {

std::optional<products::MatmulScales> scales_of(const ScaleLayout& layout) {
  if (layout.products == 0) return std::nullopt;
  products::MatmulScales scales;
  scales.format = layout.format;
  scales.for_lines = layout.lines, scales.for_k = layout.products;
  scales.line_block = layout.line_block, scales.k_block = layout.product_block;
  return scales;
}

}  // namespace

const products::ChosenEngine& EngineTable::of(const Kind& kind) {
  for (const auto& known : known_) {
    const Kind& other = known->kind;
    if (known->word == kind.word && other.a == kind.a && other.b == kind.b && other.accumulate == kind.accumulate &&
        other.products == kind.products && other.scales_of_a == kind.scales_of_a && other.scales_of_b == kind.scales_of_b)
      return known->engine;
  }
  const std::string word(kind.word);
  known_.push_back(
      std::make_shared<const Known>(Known{word, kind,
                                          products::choose_engine(word, {kind.a, kind.b, kind.accumulate}, kind.products,
                                                                  scales_of(kind.scales_of_a), scales_of(kind.scales_of_b))}));
  return known_.back()->engine;
}

}  // namespace ulpscope::training
