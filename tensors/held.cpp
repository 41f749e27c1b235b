// SPDX-License-Identifier: Apache-2.0
// The table of all tensors that are held.
#include "tensors/held.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace ulpscope::tensors {
namespace {

struct HeldTensors {
  std::mutex mutex;
  std::uint64_t next = 1;
  std::map<std::string, Tensor> by_word;
};

HeldTensors& all() {
  static HeldTensors tensors;
  return tensors;
}

}  // namespace

Held::Held(Tensor tensor) {
  if (tensor.name.empty()) tensor.name = tensor.label;
  const std::scoped_lock lock(all().mutex);
  word_ = "memory:" + std::to_string(all().next++);
  all().by_word.emplace(word_, std::move(tensor));
}

Held::~Held() {
  std::optional<Tensor> last;  // whose elements may take their time to go
  const std::scoped_lock lock(all().mutex);
  const auto found = all().by_word.find(word_);
  last = std::move(found->second);
  all().by_word.erase(found);
}

std::optional<Tensor> held(const std::string& word) {
  if (!word.starts_with("memory:")) return {};
  const std::scoped_lock lock(all().mutex);
  const auto found = all().by_word.find(word);
  return found == all().by_word.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ulpscope::tensors
