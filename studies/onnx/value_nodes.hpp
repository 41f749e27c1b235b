// SPDX-License-Identifier: Apache-2.0
// Which node of a model gives which value, and what it takes for it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ulpscope::studies {

/// What gives a value: a node, or the file, of an initializer.
struct ValueNode {
  std::string op = {};                  ///< `MatMul`, of another domain `com.example.Fast`; empty: an initializer
  std::string name = {};                ///< of the node; where it has none that of its first output
  std::vector<std::string> takes = {};  ///< labels of values of the model, not all of which are counted

  /// Whether no node gives it.
  bool is_initializer() const { return op.empty(); }
};

/// By the labels of tensors.
using ValueNodes = std::map<std::string, ValueNode>;

}  // namespace ulpscope::studies
