// SPDX-License-Identifier: Apache-2.0
// Asks each group's product about its rows, and other groups' matrices about wrong ones.
#include "verify/grouped/grouped_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "verify/diagnosis.hpp"

namespace ulpscope::verify {
namespace {

/// Wrong elements of one group.
struct WrongOfGroup {
  std::vector<std::uint64_t> rows, columns;
  std::vector<double> outputs;
};

class GroupedMatmul final : public Expectation {
 public:
  GroupedMatmul(GroupedInputs inputs, RowGroups groups, const GroupExpectation& expect)
      : inputs_(std::move(inputs)), groups_(std::move(groups)), expect_(expect) {
    // Of no rows: the formats, and whether the extents fit.
    const products::Product any = inputs_.product({}, 0);
    out_ = any.out;
    const products::MatmulShape shape = products::matmul_shape(any.a.input, any.b.input);
    columns_ = shape.n, k_ = shape.k;
    for (std::size_t group = 0; group < groups_.rows.size(); ++group) {
      const auto& rows = groups_.rows[group];
      parts_.push_back(rows.empty() ? nullptr : expect_(inputs_.product(rows, group), rows.size()));
      if (!first_ && parts_.back()) first_ = parts_.back().get();
    }
  }

  std::vector<std::uint64_t> shape() const override { return {groups_.group_of.size(), columns_}; }
  emu::Format out() const override { return out_; }
  std::string bound() const override { return first_ == nullptr ? "no row is in a group" : first_->bound(); }
  std::string refusal() const override { return first_ == nullptr ? std::string() : first_->refusal(); }
  bool is_bitwise() const override { return first_ != nullptr && first_->is_bitwise(); }

  void expect(std::uint64_t first, std::span<Expected> elements) const override {
    while (!elements.empty()) {
      const auto row = static_cast<std::size_t>(first / columns_);
      const std::size_t group = groups_.group_of[row];
      std::uint64_t count = columns_ - first % columns_;
      for (std::size_t next = row + 1; count < elements.size() && continues(next, group); ++next) count += columns_;
      const auto some = elements.first(static_cast<std::size_t>(std::min<std::uint64_t>(count, elements.size())));
      if (group == RowGroups::none)
        std::fill(some.begin(), some.end(), Expected{});
      else
        parts_[group]->expect(place(first), some);
      elements = elements.subspan(some.size());
      first += some.size();
    }
  }

  Precise precise(std::uint64_t index) const override {
    const Expectation* const part = part_of(index);
    return part == nullptr ? Precise{} : part->precise(place(index));
  }
  bool admits(std::uint64_t index, double output) const override {
    const Expectation* const part = part_of(index);
    return part != nullptr && part->admits(place(index), output);
  }
  std::optional<double> of_engine(std::uint64_t index) const override {
    const Expectation* const part = part_of(index);
    return part == nullptr ? std::nullopt : part->of_engine(place(index));
  }

  /// Whether they are right with the matrix of another group; else what the group with the most of them says.
  std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                        const LastRounding& last) const override {
    std::map<std::size_t, WrongOfGroup> wrong;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint64_t row = indices[i] / columns_;
      WrongOfGroup& of = wrong[groups_.group_of[static_cast<std::size_t>(row)]];
      of.rows.push_back(row), of.columns.push_back(indices[i] % columns_), of.outputs.push_back(outputs[i]);
    }
    wrong.erase(RowGroups::none);
    if (wrong.empty()) return {};
    if (std::string said = other_matrices(wrong, last); !said.empty()) return said;
    const auto& [group, most] = *std::max_element(
        wrong.begin(), wrong.end(), [](const auto& a, const auto& b) { return a.second.rows.size() < b.second.rows.size(); });
    std::vector<std::uint64_t> own;
    for (std::size_t i = 0; i < most.rows.size(); ++i) own.push_back(place(most.rows[i] * columns_ + most.columns[i]));
    return parts_[group]->diagnosis(own, most.outputs, last);
  }

 private:
  /// Rows of a group are in order there: those that follow each other here do so there.
  bool continues(std::size_t row, std::size_t group) const {
    return row < groups_.group_of.size() && groups_.group_of[row] == group;
  }
  /// Of an element within its group's product.
  std::uint64_t place(std::uint64_t index) const {
    return groups_.place_of[static_cast<std::size_t>(index / columns_)] * columns_ + index % columns_;
  }
  const Expectation* part_of(std::uint64_t index) const {
    const std::size_t group = groups_.group_of[static_cast<std::size_t>(index / columns_)];
    return group == RowGroups::none ? nullptr : parts_[group].get();
  }

  /// How many of some wrong elements are right with the matrix of a group.
  std::size_t right_with(const WrongOfGroup& wrong, std::size_t group, const LastRounding& last) const {
    const std::set<std::uint64_t> distinct(wrong.rows.begin(), wrong.rows.end());
    const std::vector<std::uint64_t> rows(distinct.begin(), distinct.end());
    const auto expectation = expect_(inputs_.product(rows, group), rows.size());
    std::size_t right = 0;
    for (std::size_t i = 0; i < wrong.rows.size(); ++i) {
      const auto at = std::lower_bound(rows.begin(), rows.end(), wrong.rows[i]) - rows.begin();
      const std::uint64_t index = static_cast<std::uint64_t>(at) * columns_ + wrong.columns[i];
      Expected element;
      expectation->expect(index, std::span(&element, 1));
      right += is_right(judge(*expectation, index, element, wrong.outputs[i], last)) ? 1 : 0;
    }
    return right;
  }

  /// The other group whose matrix makes nine tenths of them right: neighbours are asked first.
  std::optional<std::size_t> matrix_for(const WrongOfGroup& wrong, std::size_t own, const LastRounding& last,
                                        std::size_t& right) const {
    constexpr std::uint64_t most_elements = std::uint64_t{1} << 28, most_groups = 64;
    const std::uint64_t size = std::max<std::uint64_t>(columns_ * k_, 1);
    std::uint64_t left = std::clamp<std::uint64_t>(most_elements / size, 2, most_groups);
    const std::size_t count = groups_.rows.size();
    for (std::size_t distance = 1; distance < count && left > 0; ++distance)
      for (const std::size_t other : {own + distance, own - distance}) {  // which wraps around below 0
        if (other >= count || left == 0) continue;
        --left;
        const std::size_t found = right_with(wrong, other, last);
        if (found * 10 < wrong.rows.size() * 9) continue;
        right += found;
        return other;
      }
    return std::nullopt;
  }

  std::string other_matrices(const std::map<std::size_t, WrongOfGroup>& wrong, const LastRounding& last) const {
    constexpr std::size_t least = 4, most_groups = 8;  // fewer may be right by chance
    std::size_t right = 0, all = 0;
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (const auto& [group, of] : wrong) {
      if (of.rows.size() < least || found.size() == most_groups) continue;
      all += of.rows.size();
      if (const auto other = matrix_for(of, group, last, right)) found.emplace_back(group, *other);
    }
    if (found.empty()) return {};
    const auto [group, other] = found.front();
    const bool next = std::all_of(found.begin(), found.end(), [](const auto& x) { return x.second == x.first + 1; });
    const bool before = std::all_of(found.begin(), found.end(), [](const auto& x) { return x.second + 1 == x.first; });
    std::string words = fmt::format("with the matrix of group {}, not {}", other, group);
    if (found.size() > 1 && (next || before))
      words = fmt::format("with the matrix of the group {} theirs", next ? "behind" : "before");
    return right_if(right, all, words);
  }

  GroupedInputs inputs_;
  RowGroups groups_;
  GroupExpectation expect_;
  emu::Format out_ = {};
  std::uint64_t columns_ = 0, k_ = 0;
  std::vector<std::unique_ptr<Expectation>> parts_;  ///< null where a group has no rows
  const Expectation* first_ = nullptr;
};

}  // namespace

std::unique_ptr<Expectation> expect_grouped_matmul(GroupedInputs inputs, RowGroups groups, const GroupExpectation& expect) {
  return std::make_unique<GroupedMatmul>(std::move(inputs), std::move(groups), expect);
}

}  // namespace ulpscope::verify
