// SPDX-License-Identifier: Apache-2.0
// The nodes of a model that were not computed, and what is said of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ulpscope::studies::onnx {

/// Nodes and why they were not computed, by operator.
class LeftOut {
 public:
  static constexpr const char* follows = "follows from what is not computed";  ///< why: a node before it was left out
  static constexpr const char* unknown = "is not known";                       ///< why: the operator is not

  /// A node, as messages name it.
  void add(const std::string& op, const std::string& node, const std::string& why) { nodes_[op].push_back({node, why}); }
  /// One line for each operator, and one for all that follows from these; each begins with the name of the file.
  std::vector<std::string> remarks(const std::string& file) const;

 private:
  struct Node {
    std::string name, why;
  };

  std::map<std::string, std::vector<Node>> nodes_;
};

}  // namespace ulpscope::studies::onnx
