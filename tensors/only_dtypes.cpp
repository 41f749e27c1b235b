// SPDX-License-Identifier: Apache-2.0
// Compares names without regard to case, formats by their catalogue names.
#include "tensors/only_dtypes.hpp"

#include <algorithm>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"

namespace ulpscope::tensors {
namespace {

std::string lower(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

}  // namespace

OnlyDtypes::OnlyDtypes(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto format = emu::parse_format(word);
    words_.push_back({word, lower(format ? emu::format_name(*format) : word)});
  }
}

bool OnlyDtypes::takes(const Tensor& tensor) {
  if (words_.empty()) return true;
  ++seen_[tensor.dtype.name];
  bool is_taken = false;
  for (Word& word : words_) {
    if (word.name != lower(tensor.dtype.name)) continue;
    is_taken = word.has_taken = true;
  }
  return is_taken;
}

void OnlyDtypes::check() const {
  const auto idle = std::ranges::find(words_, false, &Word::has_taken);
  if (idle == words_.end() || seen_.empty()) return;
  std::string there;
  for (const auto& [name, count] : seen_)
    there += (there.empty() ? "" : ", ") + name + " (" + std::to_string(count) + (count == 1 ? " tensor)" : " tensors)");
  throw Error(emu::visible("--only-dtype " + idle->typed + ": no tensor is of it; there are " + there));
}

std::vector<Tensor> of_dtypes(std::vector<Tensor> tensors, const std::vector<std::string>& words) {
  OnlyDtypes only(words);
  std::erase_if(tensors, [&](const Tensor& tensor) { return !only.takes(tensor); });
  only.check();
  return tensors;
}

}  // namespace ulpscope::tensors
