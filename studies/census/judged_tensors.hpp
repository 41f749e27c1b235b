// SPDX-License-Identifier: Apache-2.0
// The tensors of a page, each judged once, and what is said of them in all parts of the page.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "studies/census/census_page.hpp"

namespace ulpscope::studies {

/// How many tensors have which fate, by format.
struct FateCounts {
  /// Of one format.
  struct OfFormat {
    emu::Format format;                       ///< itself
    std::array<std::size_t, 4> of_fate = {};  ///< by TensorFate
  };
  std::size_t tensors = 0;        ///< all
  std::vector<OfFormat> formats;  ///< in the order of the census

  /// One tensor more.
  void add(const std::vector<Judged>& judged);
  /// Pairs of a tensor and a format that have this fate.
  std::size_t of(TensorFate fate) const;
};

/// Of results and a configuration that outlive it.
class JudgedTensors {
 public:
  /// Keeps references.
  JudgedTensors(const std::vector<TensorResults>& results, const CensusPageConfig& config);

  /// What is judged.
  const std::vector<TensorResults>& results() const { return results_; }
  /// How the census was taken.
  const CensusPageConfig& config() const { return config_; }
  const std::vector<std::vector<Judged>>& judged() const { return judged_; }  ///< by tensor, then format
  /// Those of a tensor's name.
  const NameParts& parts(std::size_t tensor) const { return parts_[tensor]; }
  bool swept() const { return swept_; }  ///< whether scales were tried

  /// `scale 1`, or the scale that was given.
  std::string scale_words() const;
  /// A verdict in words.
  std::string words_of(TensorFate fate) const;
  /// What the format does as given, and what the best scale changes.
  std::string sentence(std::size_t tensor, const Judged& judged) const;

 private:
  const std::vector<TensorResults>& results_;
  const CensusPageConfig& config_;
  std::vector<std::vector<Judged>> judged_;
  std::vector<NameParts> parts_;
  bool swept_ = false;
};

/// Of the section that a tensor has.
std::string id_of_section(std::size_t tensor);

/// `2^19`.
std::string power_of_two_words(int exponent);

/// The page of these tensors, which are all that `counts` counts, or of more those that lose most; and of groups of all of
/// them.
reports::Page census_page(const JudgedTensors& shown, const FateCounts& counts, const JudgedTensors& groups);

/// `description`: the figure in words.
reports::Figure heat_map_of(const JudgedTensors& tensors, const std::string& description);

}  // namespace ulpscope::studies
