// SPDX-License-Identifier: Apache-2.0
// Why a format breaks what a node of a model gives: by the node's own numbers, and by what breaks before it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "studies/census/census.hpp"
#include "studies/onnx/value_nodes.hpp"

namespace ulpscope::studies {

/// Follows the values of models in the order in which they are counted.
class NodeCauses {
 public:
  /// Of these nodes, or of none where that is null, under one scale and rounding.
  NodeCauses(std::shared_ptr<const ValueNodes> nodes, const Scaling& scaling, const emu::RoundingOptions& options)
      : nodes_(std::move(nodes)), has_scale_(scaling.rule != ScaleRule::none), options_(options) {}

  /// Sentences that follow that of the next row: what gives the value, how far its magnitudes are outside the format's, and
  /// where what it takes, or is made of, overflows, or is infinite or NaN, first. Of what it takes only rows before this one
  /// are known. Empty where the row is of no value of a model.
  std::string of(const CensusRow& row);
  /// The same of one row after the other.
  std::vector<std::string> of(const std::vector<CensusRow>& rows);

 private:
  /// Where numbers that are no longer finite come from.
  struct Source {
    std::string what;        ///< the node or initializer
    bool overflows = false;  ///< there, in the format; else it is infinite or NaN in float32
    std::shared_ptr<const Source> behind = nullptr;  ///< the first that it is made of, by values that fit; null: none
  };
  /// What is known of a value in a format.
  struct Followed {
    std::shared_ptr<const Source> source = nullptr;  ///< of what breaks it, or where it fits the first that it is made of
    bool breaks = false;                             ///< whether it overflows, or is infinite or NaN
  };

  Followed before(const ValueNode& made, const std::string& format) const;
  std::string magnitudes(const CensusRow& row, const std::string& format) const;

  std::shared_ptr<const ValueNodes> nodes_;
  bool has_scale_;
  emu::RoundingOptions options_;
  std::map<std::pair<std::string, std::string>, Followed> followed_;  ///< those with a source, by label and format
};

/// A node in a sentence: `node '/norm/Pow' (Pow)`, or `an initializer`.
std::string node_words(const ValueNode& node);

}  // namespace ulpscope::studies
