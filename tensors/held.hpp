// SPDX-License-Identifier: Apache-2.0
// Tensors of a program that calls the rooms as a library: for as long as it holds them, open() finds them by a word of their
// own, so that every request that names files takes them too.
#pragma once

#include <optional>
#include <string>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// A tensor in memory under a word that no other has. Safe to make and to end in several threads at once.
class Held {
 public:
  /// The tensor keeps its label, by which results name it, and which is its name where it has none.
  explicit Held(Tensor tensor);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();

  /// What open() takes, as long as this lives: `memory:7`.
  const std::string& word() const noexcept { return word_; }

 private:
  std::string word_;
};

/// The tensor that is held under a word; nothing where there is none.
std::optional<Tensor> held(const std::string& word);

}  // namespace ulpscope::tensors
