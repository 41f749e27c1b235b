// SPDX-License-Identifier: Apache-2.0
// What a model is trained on: samples and what is wanted of them, in batches.
#pragma once

#include <cstddef>
#include <cstdint>
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
  std::vector<std::size_t> classes;  ///< where it asks for a class
  std::size_t count = 0;             ///< how many

  /// What a batch has of them.
  ///@{
  template <class Real>
  Array<Real> inputs_of(const std::vector<std::size_t>& batch) const;
  template <class Real>
  Array<Real> targets_of(const std::vector<std::size_t>& batch) const;
  std::vector<std::size_t> classes_of(const std::vector<std::size_t>& batch) const;
  ///@}
};

/// Reads what a study is trained on. @throws ulpscope::Error
Samples read_samples(const DataSpec& data, const std::string& loss);

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
