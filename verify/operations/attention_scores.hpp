// SPDX-License-Identifier: Apache-2.0
// The scores and weights of each query of an attention, with their errors: what the output and its log-sum-exp share.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "verify/operations/attention.hpp"
#include "verify/operations/attention_mask.hpp"
#include "verify/operations/attention_shape.hpp"
#include "verify/operations/ball.hpp"
#include "verify/operations/real.hpp"
#include "verify/operations/softmax_weights.hpp"

namespace ulpscope::verify {

/// What is declared of the scores: as asked, or otherwise, to see whether wrong elements are right then.
struct AttentionRules {
  std::optional<emu::Format> scores = {}, probabilities = {};    ///< what is rounded on the way, and to what
  Sight sight = {};                                              ///< which keys their place hides
  std::optional<double> softcap = {};                            ///< none: scores are not capped
  bool caps_masked = false;                                      ///< the mask is added before scores are capped
  bool masks = true, sinks = true;                               ///< whether the mask and the sinks take part
  bool descales_q = true, descales_k = true, descales_v = true;  ///< whether codes are multiplied
  std::uint64_t keys_left_out = 0;                               ///< of each sequence, from the last on
};

/// What a query makes of the keys it sees.
struct AttentionScores {
  bool undefined = false;  ///< one is NaN or +inf
  bool overflows = false;  ///< in the kernel's arithmetic, possibly, but for what the mask takes below its range
  /// The greatest score that the mask may take below the kernel's range, -inf there with a weight of 0; and of the others.
  double lowered = -std::numeric_limits<double>::infinity(), kept = lowered;
  std::vector<std::uint64_t> keys;  ///< those with a finite score
  std::vector<Ball> each;           ///< of the keys, then of the sink if there is one
  std::vector<double> errors;       ///< of a kernel's

  /// Whether a key that counts may be hidden: a weight that far below the greatest is 0, whether its score is -inf or not.
  bool may_hide_keys(double greatest) const { return lowered > greatest - 800; }
  /// Whether all may be -inf.
  bool may_hide_all() const { return std::isfinite(lowered) && !std::isfinite(kept); }
};

/// The numerators of a row's weights.
struct AttentionWeights {
  Ball greatest;             ///< score
  Exponentials<Ball> exact;  ///< in the order of the scores
  ExponentialErrors errors;  ///< of a kernel's
  double merged;             ///< error of each score where parts of the keys are put together
};

/// Q, K and what hides keys, laid out.
class AttentionRows {
 public:
  /// @throws Error where shapes do not fit
  explicit AttentionRows(Attention operation);

  const Attention& operation() const { return op_; }      ///< as given; K and V are laid out sequence by sequence
  const AttentionShape& shape() const { return shape_; }  ///< its extents
  AttentionRules declared() const;                        ///< what the operation says

  /// Of a row of the output.
  ///@{
  AttentionScores scores(std::uint64_t row, const AttentionRules& rules) const;
  bool has_sink(std::uint64_t row) const { return sinks_[static_cast<std::size_t>(shape_.place(row).head)].has_value(); }
  /// The row of V of its first key.
  std::uint64_t first_value(std::uint64_t row) const;
  /// What a row of V is multiplied by.
  double value_scale(std::uint64_t value_row, const AttentionRules& rules) const {
    return descales_.v.empty() || !rules.descales_v ? 1 : static_cast<double>(descales_.v[static_cast<std::size_t>(value_row)]);
  }
  bool scales_values() const { return !descales_.v.empty(); }      ///< whether there are such factors
  double most_value_scale() const { return most_value_scale_; }    ///< the greatest of their magnitudes
  double least_value_scale() const { return least_value_scale_; }  ///< the least of them that is not 0, at most 1
  /// Whether a key of its sequence takes no part.
  bool is_hidden(std::uint64_t row, std::uint64_t key) const;
  /// The scores of these keys, then that of the sink, in 200 digits.
  std::vector<Real> precise_scores(std::uint64_t row, const std::vector<std::uint64_t>& keys) const;
  ///@}
  /// Of scores of which there is at least one. Their errors grow by what it costs to put parts of the keys together.
  AttentionWeights weights(AttentionScores& scores) const;

  /// The first row of the output that sees no key and has no sink; none where there is no such row.
  std::optional<std::uint64_t> fully_masked() const;

 private:
  /// What a dot product of a key is multiplied by.
  struct Factor {
    Ball whole;              ///< scale and descales
    double scale = 1;        ///< the scale alone, upwards
    double descale = 1;      ///< |descales|
    double roundings = 0;    ///< that descales cost
    double of_elements = 0;  ///< what elements lose that underflow when they are multiplied, in scores
  };
  /// q . k of a key, the sum of |q||k|, and what the mask adds.
  struct KeySums {
    double dot, size, added;
  };
  Factor factor(std::uint64_t row, std::uint64_t key_row, const AttentionRules& rules) const;
  void dot_products(std::uint64_t row, std::uint64_t first_row, std::uint64_t keys, KeyRange range, std::vector<double>& dots,
                    std::vector<double>& sizes) const;
  void add_score(AttentionScores& out, std::uint64_t key, const KeySums& sums, const Factor& factor,
                 const AttentionRules& rules) const;
  Ball scale() const;
  MaskRow mask(const AttentionPlace& place) const { return mask_.row(op_.mask, place); }

  Attention op_;
  AttentionShape shape_;
  AttentionMask mask_;
  RowDescales descales_;
  std::vector<std::optional<double>> sinks_;
  std::vector<float> keys_by_depth_;  ///< K transposed
  double most_q_ = 0, most_k_ = 0;    ///< magnitudes, where there are descales
  double most_value_scale_ = 0, least_value_scale_ = 1;
  Factor plain_;  ///< without descales
};

}  // namespace ulpscope::verify
