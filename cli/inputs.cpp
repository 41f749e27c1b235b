// SPDX-License-Identifier: Apache-2.0
#include "cli/inputs.hpp"

#include <algorithm>
#include <utility>

#include "cli/output.hpp"
#include "emu/error.hpp"
#include "reports/escape.hpp"

namespace ulpscope::cli {
namespace {

/// Whether the input can mean no other tensor.
bool is_named_alone(const std::string& input, const std::vector<tensors::Tensor>& opened) {
  const tensors::Tensor& first = opened.front();
  return opened.size() == 1 && (first.label == input || first.label == input + ":" + first.name);
}

}  // namespace

std::string named_words(const std::vector<tensors::Tensor>& tensors, const std::string& what) {
  constexpr std::size_t most_named = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), most_named); ++i) names += (i == 0 ? "" : ", ") + tensors[i].label;
  if (tensors.size() > most_named) names += ", ...";
  return reports::terminal_escaped(std::to_string(tensors.size()) + " " + what + (tensors.size() == 1 ? "" : "s") + " (" +
                                   names + ")");
}

std::string unknown_words(const std::vector<tensors::Tensor>& tensors) {
  return named_words(tensors, "tensor") + ": " + reports::terminal_escaped(tensors.front().opaque->why);
}

Inputs sort_inputs(const std::vector<std::string>& inputs, const tensors::OpenOptions& options, Integers integers,
                   const std::string& advice) {
  Inputs sorted;
  for (const std::string& input : inputs) {
    std::vector<tensors::Tensor> opened = tensors::open(input, options);
    const bool keeps_integers = integers == Integers::include || is_named_alone(input, opened);
    for (tensors::Tensor& tensor : opened) {
      std::vector<tensors::Tensor>& group = tensor.opaque                            ? sorted.opaque
                                            : tensor.is_integer() && !keeps_integers ? sorted.integers
                                                                                     : sorted.kept;
      group.push_back(std::move(tensor));
    }
  }
  if (!sorted.kept.empty()) return sorted;
  if (sorted.integers.empty()) throw Error(sorted.opaque.front().label + ": " + sorted.opaque.front().opaque->why);
  const std::string where = inputs.size() == 1 ? inputs.front() : std::to_string(inputs.size()) + " inputs";
  throw Error(where + ": nothing but " + named_words(sorted.integers, "integer tensor") + "; " + advice);
}

std::vector<tensors::Tensor> open_numbers(const std::vector<std::string>& inputs, const tensors::OpenOptions& options,
                                          Integers integers) {
  Inputs sorted = sort_inputs(inputs, options, integers, "--integers includes them, and FILE:NAME names one");
  if (!sorted.integers.empty())
    remark("left out: " + named_words(sorted.integers, "integer tensor") + "; --integers includes them");
  if (!sorted.opaque.empty()) remark("left out: " + unknown_words(sorted.opaque));
  return std::move(sorted.kept);
}

}  // namespace ulpscope::cli
