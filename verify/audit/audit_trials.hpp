// SPDX-License-Identifier: Apache-2.0
// Correct computations of one product: other engines, other cuts of K, other orders of the products.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "verify/audit/mutants.hpp"

namespace ulpscope::verify {

/// One more way to compute the product rightly.
struct Trial {
  std::string engine;                    ///< a name of emu::engine_names()
  std::size_t split_k = 1, promote = 0;  ///< chains of equal length; products of a part, 0: all
  bool permuted = false;                 ///< the products of every element in another order, the same for all
  /// The same in words, for reports.
  std::string word() const;
};

/// The source's own engine, and those that take its formats, keep no fewer bits of a sum and flush no subnormals that it keeps.
std::vector<std::string> trial_engines(const MutationSource& source);

/// Trial `index`, drawn with the source's seed.
Trial draw_trial(const MutationSource& source, const std::vector<std::string>& engines, std::size_t index);

/// D as the trial computes it.
std::vector<double> output_of_trial(const MutationSource& source, const Trial& trial, std::size_t index);

}  // namespace ulpscope::verify
