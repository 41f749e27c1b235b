// SPDX-License-Identifier: Apache-2.0
// Sorts tensors into groups by regular expressions, and adds up the rows of their members.
#include "studies/census/groups.hpp"

#include <algorithm>
#include <boost/regex.hpp>
#include <numeric>

#include "emu/error.hpp"
#include "emu/visible.hpp"

namespace ulpscope::studies {

struct NamePattern::Compiled {
  boost::regex expression;
};

NamePattern::NamePattern(const std::string& expression) {
  if (expression.empty()) return;
  try {
    compiled_ = std::make_shared<const Compiled>(Compiled{boost::regex(expression, boost::regex::perl)});
  } catch (const std::exception& error) {
    throw Error("--group '" + expression + "': is no regular expression: " + error.what());
  }
}

std::optional<std::string> NamePattern::group_of(const std::string& name) const {
  if (!compiled_) return std::nullopt;
  boost::smatch match;
  try {
    if (!boost::regex_search(name, match, compiled_->expression)) return std::nullopt;
  } catch (const std::exception& error) {
    throw Error("--group: is too much work on '" + emu::visible(name) + "': " + error.what());
  }
  return match.size() > 1 ? match[1].str() : match[0].str();
}

void GroupsRequest::describe(requests::Fields& fields) {
  fields
      .add("group", group,
           "a regular expression (Perl's): a row also for the tensors whose names have the same first capture, counted as one")
      .as_value("REGEX");
  fields.add("all_tensors", all_tensors, "a row also for all tensors, counted as one");
}

std::vector<Group> GroupsRequest::of(const std::vector<tensors::Tensor>& tensors) const {
  const NamePattern pattern(group);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::optional<std::string> name = pattern.group_of(tensors::written_name(tensors[i]));
    if (!name) continue;
    const std::string label = emu::visible("group:" + *name);
    auto found = std::ranges::find(groups, label, &Group::label);
    if (found == groups.end()) found = groups.insert(groups.end(), {label, {}});
    found->members.push_back(i);
  }
  if (!group.empty() && groups.empty()) throw Error("--group '" + group + "': matches the name of no tensor");
  if (!all_tensors) return groups;
  groups.push_back({"all", std::vector<std::size_t>(tensors.size())});
  std::iota(groups.back().members.begin(), groups.back().members.end(), std::size_t{0});
  return groups;
}

std::vector<tensors::Tensor> with_groups(std::vector<tensors::Tensor> tensors, const std::vector<Group>& groups) {
  std::vector<tensors::Tensor> made;
  for (const Group& group : groups) {
    const auto of_member = [&](std::size_t member) -> const tensors::Tensor& { return tensors[member]; };
    tensors::Tensor whole{
        .label = group.label, .name = {}, .dtype = of_member(group.members.front()).dtype, .shape = {0}, .source = nullptr};
    for (const std::size_t member : group.members) {
      whole.shape.front() += of_member(member).count();
      if (of_member(member).dtype.name != whole.dtype.name) whole.dtype = {"mixed", std::nullopt};
    }
    made.push_back(std::move(whole));
  }
  tensors.insert(tensors.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return tensors;
}

GroupRows::GroupRows(const std::vector<Group>& groups)
    : census_(groups.size()), sweep_(groups.size()), exponents_(groups.size()) {
  for (const Group& group : groups) {
    for (const std::size_t member : group.members) {
      if (groups_of_.size() <= member) groups_of_.resize(member + 1);
      groups_of_[member].push_back(labels_.size());
    }
    labels_.push_back(group.label);
  }
}

void GroupRows::add(std::size_t tensor, const std::vector<CensusRow>& rows) {
  if (tensor >= groups_of_.size()) return;
  for (const std::size_t group : groups_of_[tensor]) {
    std::vector<CensusRow>& whole = census_[group];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (whole.size() == i) whole.push_back({labels_[group], rows[i].format, {}});
      whole[i].sums.merge(rows[i].sums);
    }
  }
}

void GroupRows::add(std::size_t tensor, const ExponentCounts& exponents) {
  if (tensor >= groups_of_.size()) return;
  for (const std::size_t group : groups_of_[tensor]) exponents_[group].merge(exponents);
}

void GroupRows::add(std::size_t tensor, const std::vector<SweepRow>& rows) {
  if (tensor >= groups_of_.size()) return;
  for (const std::size_t group : groups_of_[tensor]) {
    std::vector<SweepRow>& whole = sweep_[group];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (whole.size() == i) whole.push_back({labels_[group], rows[i].format, rows[i].log2_scale, {}});
      const ErrorSums before = whole[i].sums;
      whole[i].sums.merge(rows[i].sums);
      if (whole[i].sums.largest.magnitude > before.largest.magnitude) whole[i].largest_in = rows[i].tensor;
      if (whole[i].sums.smallest.magnitude < before.smallest.magnitude) whole[i].smallest_in = rows[i].tensor;
    }
  }
}

std::vector<CensusRow> with_groups(std::vector<CensusRow> rows, const std::vector<Group>& groups, std::size_t tensors) {
  if (groups.empty() || tensors == 0) return rows;
  const auto formats = static_cast<std::ptrdiff_t>(rows.size() / tensors);
  GroupRows of_groups(groups);
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(i) * formats;
    of_groups.add(i, std::vector<CensusRow>(first, first + formats));
  }
  for (const std::vector<CensusRow>& group : of_groups.census()) rows.insert(rows.end(), group.begin(), group.end());
  return rows;
}

}  // namespace ulpscope::studies
