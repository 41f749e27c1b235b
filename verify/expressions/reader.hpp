// SPDX-License-Identifier: Apache-2.0
// Reads neighbouring elements of a node that is not kept: the pointwise operations between it and what is kept, one after the
// other, for a few hundred elements at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "verify/expressions/evaluation.hpp"

namespace ulpscope::verify {

/// Of one thread.
class Reader {
 public:
  /// Of a node of an evaluation, which must outlive it and have kept all that the node needs.
  Reader(const Evaluation& evaluation, std::size_t node);
  /// Elements [first, first + count), at most Lanes::size of them. What is returned is there until the next call.
  const Lanes& read(std::uint64_t first, std::size_t count);

 private:
  struct Step {
    std::size_t node;
    std::vector<std::size_t> from = {};  ///< steps whose lanes it reads
    std::vector<std::uint64_t> steps =
        {};                  ///< of what is kept: its step in each dimension of the shape that is read; 0: broadcast
    bool is_whole = false;   ///< what is kept has that very shape
    bool is_filled = false;  ///< a number: its lanes never change
  };

  std::size_t step_of(std::size_t node);
  void load(const Step& step, std::uint64_t first, std::size_t count, Lanes& out) const;

  const Evaluation& evaluation_;
  Extents shape_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Lanes>> lanes_;
};

}  // namespace ulpscope::verify
