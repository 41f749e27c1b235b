// SPDX-License-Identifier: Apache-2.0
// A run on its way, as a .safetensors file: from it the run goes on with the same bits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// Everything by name: float64 tensors, which hold every number of a run exactly, and words.
struct SavedRun {
  std::map<std::string, std::vector<double>> numbers = {};  ///< of one dimension
  std::map<std::string, std::string> words = {};            ///< the file's metadata

  /// @throws ulpscope::Error where there is no such entry
  const std::vector<double>& at(const std::string& name) const;
};

/// The file appears whole or not at all. @throws ulpscope::Error
void write_saved_run(const std::string& path, const SavedRun& run);
/// What the metadata and tensors of a file hold; the digest among the words is not compared. @throws ulpscope::Error
SavedRun saved_run_of(const std::string& metadata, const std::vector<tensors::Tensor>& tensors, const std::string& path);
/// @throws ulpscope::Error where the file is no saved run, or does not hold what was saved
SavedRun read_saved_run(const std::string& path);

/// A whole number of a run, which is below 2^53. @throws ulpscope::Error
std::uint64_t whole_of(double number);

/// What a run has come to so far, into and out of a saved one.
///@{
void save_result(const RunResult& result, SavedRun& run);
void restore_result(const SavedRun& run, RunResult& result);
///@}

}  // namespace ulpscope::training
