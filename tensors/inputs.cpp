// SPDX-License-Identifier: Apache-2.0
// Sorts the tensors of inputs into those to work on and those left out.
#include "tensors/inputs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/hadamard.hpp"
#include "tensors/held.hpp"
#include "tensors/only_dtypes.hpp"

namespace ulpscope::tensors {
namespace {

/// Whether the input has the tensor's name in it, which no glob does, or means no other.
bool is_named(const std::string& input, const Tensor& tensor, const std::vector<Tensor>& opened) {
  if (held(input)) return false;  // its word names none
  const std::string word = emu::visible(input), name = emu::visible(tensor.name);
  if (!name.empty() && word.ends_with(":" + name)) return true;
  return opened.size() == 1 && (tensor.label == word || tensor.label == word + ":" + name);
}

/// Rotates what is kept.
void rotate(Inputs& inputs, const Hadamard& hadamard) {
  for (Tensor& tensor : inputs.kept) {
    if (hadamard.fits(tensor))
      tensor = rotated(tensor, hadamard);
    else
      inputs.unrotated.push_back(tensor);
  }
  if (inputs.unrotated.size() == inputs.kept.size() && !inputs.kept.empty())
    throw Error("--hadamard " + hadamard.word + ": no tensor has rows of floating-point numbers that are a multiple of " +
                std::to_string(hadamard.size()));
}

}  // namespace

std::string inputs_words(const std::vector<std::string>& inputs) {
  return inputs.size() == 1 ? inputs.front() : std::to_string(inputs.size()) + " inputs";
}

std::string named_words(const std::vector<Tensor>& tensors, const std::string& what) {
  constexpr std::size_t most_named = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), most_named); ++i) names += (i == 0 ? "" : ", ") + tensors[i].label;
  if (tensors.size() > most_named) names += ", ...";
  return std::to_string(tensors.size()) + " " + what + (tensors.size() == 1 ? "" : "s") + " (" + names + ")";
}

std::string unknown_words(const std::vector<Tensor>& tensors) {
  std::string words;
  for (std::vector<Tensor> left = tensors, some; !left.empty(); some.clear()) {
    const std::string why = left.front().opaque->why;
    const auto has = [&](const Tensor& tensor) { return tensor.opaque->why == why; };
    std::ranges::copy_if(left, std::back_inserter(some), has);
    std::erase_if(left, has);
    words += (words.empty() ? "" : "; ") + named_words(some, "tensor") + ": " + why;
  }
  return words;
}

std::string unlisted_words(const std::vector<Tensor>& unlisted) {
  return "left out: " + named_words(unlisted, "tensor") + ", which the index does not list";
}

std::string unrotated_words(const std::vector<Tensor>& tensors) {
  return "not rotated: " + named_words(tensors, "tensor") +
         ": integers, without scales or elements, or of rows that are no multiple of SIZE";
}

Inputs sort_inputs(const std::vector<std::string>& inputs, const OpenOptions& options, Integers integers,
                   const std::string& advice) {
  if (inputs.empty()) throw Error("no tensors are given");
  Inputs sorted;
  OnlyDtypes only(options.only_dtype);
  const bool is_given_alone =
      inputs.size() == 1 && held(inputs.front());  // and not beside weights, as the buffers of a model are
  for (const std::string& input : inputs) {
    Opened all = open_listed(input, options);
    if (!all.unlisted.empty()) sorted.remarks.push_back(unlisted_words(all.unlisted));
    std::vector<Tensor>& opened = all.tensors;
    for (Tensor& tensor : opened) {
      const bool keeps_integers =
          integers == Integers::include || only.chooses() || is_named(input, tensor, opened) || is_given_alone;
      std::vector<Tensor>& group = !only.takes(tensor)                      ? sorted.others
                                   : tensor.opaque                          ? sorted.opaque
                                   : tensor.is_integer() && !keeps_integers ? sorted.integers
                                                                            : sorted.kept;
      group.push_back(std::move(tensor));
    }
  }
  only.check();
  if (!options.hadamard.empty()) rotate(sorted, parse_hadamard(options.hadamard));
  if (!sorted.kept.empty()) return sorted;
  if (sorted.integers.empty() && sorted.opaque.empty()) throw Error(inputs.front() + ": holds no tensors");
  if (sorted.integers.empty()) throw Error(sorted.opaque.front().label + ": " + sorted.opaque.front().opaque->why);
  throw Error(inputs_words(inputs) + ": nothing but " + named_words(sorted.integers, "integer tensor") + "; " + advice);
}

Inputs open_numbers(const std::vector<std::string>& inputs, const OpenOptions& options, Integers integers) {
  return sort_inputs(inputs, options, integers, "--integers includes them, and FILE:NAME names one");
}

std::vector<std::string> left_out(const Inputs& inputs, const std::string& advice) {
  std::vector<std::string> lines = inputs.remarks;
  if (!inputs.integers.empty()) lines.push_back("left out: " + named_words(inputs.integers, "integer tensor") + advice);
  if (!inputs.opaque.empty()) lines.push_back("left out: " + unknown_words(inputs.opaque));
  if (!inputs.unrotated.empty()) lines.push_back(unrotated_words(inputs.unrotated));
  return lines;
}

}  // namespace ulpscope::tensors
