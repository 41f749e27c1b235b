// SPDX-License-Identifier: Apache-2.0
// Does the result of a row depend on what is computed around it? Outputs of one operation on the same inputs under several
// conditions (in another batch, with another number of splits or threads, in another run) are compared row by row, and each is
// judged by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/finding.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"
#include "verify/expected.hpp"
#include "verify/outcome.hpp"

namespace ulpscope::verify {

/// One output. A row is what one line of the last axis holds; of sums along that axis a single element.
struct Condition {
  std::string name;             ///< what was different
  tensors::Tensor output;       ///< all rows of the operation's result, or some that follow one another
  std::uint64_t first_row = 0;  ///< which of the result its first one is
  bool has_row = false;         ///< whether that was said
};

/// What is compared.
struct InvarianceConfig {
  const Expectation& expectation;                                              ///< of all rows
  LastRounding last;                                                           ///< of the kernels
  std::uint64_t row_length = 1;                                                ///< elements of a row
  std::vector<Condition> conditions;                                           ///< at least two
  int threads = 0;                                                             ///< 0: all; no figure depends on it
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of elements done and of all
};

/// What is to be said of one output.
struct ConditionResult {
  std::string name;                       ///< as given
  std::uint64_t first_row = 0, rows = 0;  ///< that it has
  std::uint64_t elements = 0, wrong = 0;  ///< of these the expectation refuses
  Outcome outcome = Outcome::vacuous;     ///< as `ulpscope verify` says it
  std::string hint = {};                  ///< what the wrong ones are, where that is known
};

/// What is to be said of two.
struct PairResult {
  std::size_t condition = 0, other = 0;    ///< places among the conditions
  std::uint64_t rows = 0, rows_moved = 0;  ///< that both have, and those with an element that is not the same to the bit
  std::uint64_t elements = 0, elements_moved = 0;  ///< of these rows, and those whose bits differ
  double max_ulp = 0;                              ///< the furthest apart, in ulps of the output format at the greater one
  std::vector<std::uint64_t> moved_in = {};        ///< elements by stretch of rows
  std::string cause = {};                          ///< what either does, where that was found
  bool is_undeclared = false;                      ///< whether a cause is not what is declared, as inputs of another format
};

/// All of it.
struct InvarianceResult {
  std::string bound;                        ///< what each was held to
  emu::Format out;                          ///< of the outputs
  std::uint64_t rows = 0, row_length = 0;   ///< of the whole result
  std::uint64_t stretch = 1;                ///< rows of an entry of PairResult::moved_in
  std::vector<ConditionResult> conditions;  ///< as given
  std::vector<PairResult> pairs;            ///< each condition with those after it, where they have rows in common

  /// Fails where an element moved or is wrong; is vacuous where no two conditions have a row in common.
  Outcome outcome() const;
};

/// Elements are the same where their bits are; all NaNs are one. @throws ulpscope::Error where a shape does not fit, a name is
/// there twice, or an element is no number of the output format
InvarianceResult invariance(const InvarianceConfig& config);

/// invariance.csv: a row for each pair.
reports::Table invariance_table(const InvarianceResult& result);
/// invariance_rows.csv: the map of the page, a row for each pair and stretch of rows.
reports::Table invariance_rows_table(const InvarianceResult& result);
/// A sentence for each pair that moved and each output that is wrong, or one that says that none is.
std::vector<reports::Finding> invariance_findings(const InvarianceResult& result);
/// The same with a map of the rows.
reports::Page invariance_page(const InvarianceResult& result);

}  // namespace ulpscope::verify
