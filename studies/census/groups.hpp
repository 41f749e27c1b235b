// SPDX-License-Identifier: Apache-2.0
// Several tensors as one: groups by their names, and all of them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Which names belong together: those of the same first capture, or of the same match where the expression has no capture.
class NamePattern {
 public:
  /// A regular expression, as Perl has them (Boost.Regex), searched in names; empty: nothing belongs together. @throws
  /// ulpscope::Error
  explicit NamePattern(const std::string& expression);
  /// Nothing where it is not found. @throws ulpscope::Error where that is too much work
  std::optional<std::string> group_of(const std::string& name) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

/// Tensors that are counted as one.
struct Group {
  std::string label;                 ///< `group:NAME`, `all`
  std::vector<std::size_t> members;  ///< their places among the tensors
};

/// Which groups are asked for. The members mean what their fields' help says.
struct GroupsRequest {
  std::string group;         ///< a regular expression; empty: none
  bool all_tensors = false;  ///< whether all are one as well

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
  /// In the order of their first members; `all` last. @throws ulpscope::Error
  std::vector<Group> of(const std::vector<tensors::Tensor>& tensors) const;
};

/// The tensors, and each group as one more, which has no elements to be read but their number and, where all members have the
/// same, their dtype.
std::vector<tensors::Tensor> with_groups(std::vector<tensors::Tensor> tensors, const std::vector<Group>& groups);
/// Rows of groups: sums over the rows of their members, in the order of these.
class GroupRows {
 public:
  /// Of these groups.
  explicit GroupRows(const std::vector<Group>& groups);
  /// The rows of the next tensor, whose place is `tensor`; of those before it are the rows so far.
  void add(std::size_t tensor, const std::vector<CensusRow>& rows);
  void add(std::size_t tensor, const std::vector<SweepRow>& rows);  ///< they say in which tensors the extremes of a group lie
  /// Where the elements of the next tensor are.
  void add(std::size_t tensor, const ExponentCounts& exponents);

  /// A row for each format of one group after the other.
  const std::vector<std::vector<CensusRow>>& census() const noexcept { return census_; }
  /// A row for each format and scale of one group after the other.
  const std::vector<std::vector<SweepRow>>& sweep() const noexcept { return sweep_; }
  /// Where the elements of one group after the other are.
  const std::vector<ExponentCounts>& exponents() const noexcept { return exponents_; }

 private:
  std::vector<std::string> labels_;
  std::vector<std::vector<std::size_t>> groups_of_;  ///< by tensor
  std::vector<std::vector<CensusRow>> census_;
  std::vector<std::vector<SweepRow>> sweep_;
  std::vector<ExponentCounts> exponents_;
};

/// The rows of census_all(), and those of the groups.
std::vector<CensusRow> with_groups(std::vector<CensusRow> rows, const std::vector<Group>& groups, std::size_t tensors);

}  // namespace ulpscope::studies
