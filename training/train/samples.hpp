// SPDX-License-Identifier: Apache-2.0
// What a model is trained on: samples and what is wanted of them, in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "training/tape/array.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// Samples in memory.
struct Samples {
  Shape shape;                       ///< of one sample
  std::vector<double> inputs;        ///< one after the other
  Shape target_shape;                ///< of what is wanted of one, where that is numbers
  std::vector<double> targets;       ///< where the loss compares numbers
  std::vector<std::size_t> classes;  ///< where it asks for classes: one of a sample, of a sequence one of each token
  std::vector<std::size_t> tokens;   ///< of sequences, in place of inputs
  std::size_t count = 0;             ///< how many

  /// What a batch has of them.
  ///@{
  template <class Real>
  Array<Real> inputs_of(const std::vector<std::size_t>& batch) const;
  template <class Real>
  Array<Real> targets_of(const std::vector<std::size_t>& batch) const;
  std::vector<std::size_t> classes_of(const std::vector<std::size_t>& batch) const;
  std::vector<std::size_t> tokens_of(const std::vector<std::size_t>& batch) const;
  ///@}
};

/// Reads, or draws, what a study is trained on. @throws ulpscope::Error
Samples read_samples(const TrainStudy& study);

/// Sequences of tokens, each of which is a + d mod vocabulary, where a is the one two places before it and d is 0, 1, 2 or 3
/// with probability 1/2, 1/4, 1/8 and 1/8; the first two are drawn evenly. `vocabulary` is at least 4; every pair is as likely
/// at every place. The targets are the tokens one place on.
Samples markov_samples(std::size_t count, std::size_t context, std::size_t vocabulary);
/// Sequences of the bytes of a text, one behind the other, as many as it has whole ones; targets are the bytes one place on.
/// Tokens are numbered in ascending order of the bytes that occur. @throws ulpscope::Error where there are more of these than
/// tokens, or no sequence
Samples text_samples(std::string_view text, const std::string& name, std::size_t context, std::size_t vocabulary);
/// The least cross-entropy that any model has on them in the mean: log(vocabulary) for the first token of a sequence, of whose
/// predecessors one is not seen, and 7/4 log 2 for the others.
double markov_optimum(std::size_t context, std::size_t vocabulary);

/// Which samples the n-th batch has: in the order of the file, or one that is drawn anew for each epoch. The last batch of an
/// epoch may be smaller; of a shuffled one it is left out, as torch's drop_last does. `trained`: samples that are not held
/// back.
class Batches {
 public:
  /// @throws ulpscope::Error where there is no batch
  Batches(const DataSpec& data, std::size_t trained, std::uint64_t seed);
  /// In an epoch.
  std::size_t per_epoch() const noexcept { return per_epoch_; }
  std::vector<std::size_t> at(std::uint64_t index);

 private:
  std::size_t trained_, batch_, per_epoch_;
  bool shuffled_;
  std::uint64_t seed_, epoch_ = ~std::uint64_t{0};
  std::vector<std::size_t> order_;
};

}  // namespace ulpscope::training
