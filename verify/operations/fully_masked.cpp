// SPDX-License-Identifier: Apache-2.0
// Its words.
#include "verify/operations/fully_masked.hpp"

#include "emu/error.hpp"

namespace ulpscope::verify {

FullyMasked parse_fully_masked(const std::string& word) {
  if (word.empty()) return FullyMasked::undeclared;
  if (word == "nan") return FullyMasked::nan;
  if (word == "zero") return FullyMasked::zero;
  throw Error("--fully-masked '" + word + "': give nan or zero");
}

}  // namespace ulpscope::verify
