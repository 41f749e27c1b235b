// SPDX-License-Identifier: Apache-2.0
// Words for what became of tensors, and the parts of their names.
#include "studies/census/judged_tensors.hpp"

#include <string_view>

#include "emu/visible.hpp"

namespace ulpscope::studies {

using emu::Outcome;

void FateCounts::add(const std::vector<Judged>& judged) {
  ++tensors;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (formats.size() == i) formats.push_back({.format = judged[i].row->format});
    ++formats[i].of_fate[static_cast<std::size_t>(judged[i].fate)];
  }
}

std::size_t FateCounts::of(TensorFate fate) const {
  std::size_t sum = 0;
  for (const OfFormat& format : formats) sum += format.of_fate[static_cast<std::size_t>(fate)];
  return sum;
}

JudgedTensors::JudgedTensors(const std::vector<TensorResults>& results, const CensusPageConfig& config)
    : results_(results), config_(config) {
  for (const TensorResults& each : results) {
    judged_.push_back(judge(each.census, each.sweep));
    parts_.push_back(parts_of(each.tensor));
    swept_ |= !each.sweep.empty();
  }
}

std::string JudgedTensors::scale_words() const {
  return config_.scaling.rule == ScaleRule::none ? "scale 1" : "scale " + config_.scaling.word;
}

std::string JudgedTensors::words_of(TensorFate fate) const {
  switch (fate) {
    case TensorFate::fits: return "fits at " + scale_words();
    case TensorFate::mended: return "bad at scale 1, mended by a scale 2^k";
    case TensorFate::few_bits: return "nothing is lost, but much is subnormal";
    case TensorFate::lossy: break;
  }
  return swept_ ? "stays lossy at every scale tried" : "lossy at " + scale_words();
}

std::string JudgedTensors::sentence(std::size_t tensor, const Judged& judged) const {
  std::string text =
      finding_of(*judged.row, config_.scaling, parts_[tensor].leaf, results_[tensor].cause_of(*judged.row)).sentence;
  if (judged.fate == TensorFate::fits || judged.best == nullptr) return text;
  if (not_held(judged.row->sums, judged.row->format) != 0) return text + " No scale mends that.";
  const ErrorSums& sums = judged.best->sums;
  if (judged.best->log2_scale == 0)
    return text + (sums.of(Outcome::overflow) == 0 ? " No scale tried without overflow loses less."
                                                   : " No scale tried overflows less.");
  text += " At the best scale, " + power_of_two_words(judged.best->log2_scale) + ", ";
  if (judged.lost() != 0) return text + lost_words(sums, judged.row->format) + " is lost.";
  text += "nothing is lost";
  return text + (sums.of(Outcome::subnormal) == 0
                     ? "."
                     : ", " + percent(sums.of(Outcome::subnormal), sums.count()) + " is subnormal.");
}

std::string id_of_section(std::size_t tensor) { return "tensor-" + std::to_string(tensor + 1); }

std::string power_of_two_words(int exponent) { return "2^" + std::to_string(exponent); }

NameParts parts_of(const tensors::Tensor& tensor) {
  const std::string ending = ":" + emu::visible(tensor.name);
  if (tensor.name.empty() || !tensor.label.ends_with(ending)) return {"Other inputs", "", tensor.label};
  NameParts parts{.file = tensor.label.substr(0, tensor.label.size() - ending.size()), .layer = {}, .leaf = tensor.name};
  constexpr std::string_view separators = "./", digits = "0123456789";
  for (auto at = tensor.name.find_first_of(separators); at != std::string::npos;
       at = tensor.name.find_first_of(separators, at + 1)) {
    if (at == 0 || digits.find(tensor.name[at - 1]) == std::string_view::npos || at + 1 == tensor.name.size()) continue;
    parts.layer = tensor.name.substr(0, at);
    parts.leaf = tensor.name.substr(at + 1);
    break;
  }
  return parts;
}

}  // namespace ulpscope::studies
