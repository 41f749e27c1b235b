// SPDX-License-Identifier: Apache-2.0
// Tensors chosen by what their elements are.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// The dtypes of `--only-dtype`: words that `info` prints, or those of formats.
class OnlyDtypes {
 public:
  /// No words: all tensors.
  explicit OnlyDtypes(const std::vector<std::string>& words);

  /// Whether any are left out.
  bool chooses() const { return !words_.empty(); }
  /// Whether a tensor is of one of them. It is counted, for check().
  bool takes(const Tensor& tensor);
  /// After all tensors. @throws ulpscope::Error where a word has taken none of some tensors, with their dtypes
  void check() const;

 private:
  /// A dtype, and what has been seen of it.
  struct Word {
    std::string typed, name;
    bool has_taken = false;
  };
  std::vector<Word> words_;
  std::map<std::string, std::size_t> seen_;  ///< tensors by dtype
};

/// The tensors of these dtypes. @throws ulpscope::Error as check()
std::vector<Tensor> of_dtypes(std::vector<Tensor> tensors, const std::vector<std::string>& words);

}  // namespace ulpscope::tensors
