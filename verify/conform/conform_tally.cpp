// SPDX-License-Identifier: Apache-2.0
// Finds wrong results and counts them in their groups.
#include "verify/conform/conform_tally.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "verify/conform/conform_columns.hpp"
#include "verify/conform/conform_faults.hpp"
#include "verify/conform/word_counts.hpp"

namespace ulpscope::verify {
namespace {

/// Results of one kind of word beside the right ones.
template <class Word>
class Wrong {
 public:
  Wrong(const ConformConfig& config, const Compared& compared)
      : config_(config),
        compared_(compared),
        expected_(std::get<std::vector<Word>>(compared.expected.array())),
        results_(std::get<std::vector<Word>>(compared.results.array())) {}

  std::span<const Word> results(Stretch s) const { return {results_.data() + s.begin, s.size()}; }
  bool is_wrong(std::uint64_t i) const {
    if (results_[i] == expected_[i]) return false;
    const Computation& right = config_.right;
    return is_judged(right.rules, right.from, right.to, input(i)) && !accepts(expected_[i], results_[i]);
  }
  bool accepts(emu::Code expected, emu::Code got) const {
    return verify::accepts(config_.right.rules, config_.right.to, expected, got, config_.ulp);
  }
  /// The first wrong result of the stretch, or its end.
  std::uint64_t first(Stretch s) const {
    while (s.begin < s.end) {
      for (const std::uint64_t block : {std::uint64_t{1024}, few})
        while (s.size() >= block && is_equal({s.begin, s.begin + block})) s.begin += block;
      for (const std::uint64_t end = std::min(s.begin + few, s.end); s.begin < end; ++s.begin)
        if (is_wrong(s.begin)) return s.begin;
    }
    return s.end;
  }
  std::uint64_t index(std::uint64_t i) const { return compared_.first + i; }
  Mismatch mismatch(std::uint64_t i) const { return {index(i), input(i), expected_[i], results_[i]}; }

 private:
  static constexpr std::uint64_t few = 64;

  emu::Code input(std::uint64_t i) const { return compared_.inputs.code(i) & config_.right.from.code_mask(); }
  bool is_equal(Stretch s) const {
    return std::memcmp(results_.data() + s.begin, expected_.data() + s.begin, s.size() * sizeof(Word)) == 0;
  }

  const ConformConfig& config_;
  const Compared& compared_;
  const std::vector<Word>&expected_, &results_;
};

/// Calls act with the Wrong of the words that the results are.
template <class Act>
void with_words(const ConformConfig& config, const Compared& compared, Act act) {
  compared.results.visit([&](const auto& results) {
    using Word = typename std::remove_cvref_t<decltype(results)>::value_type;
    act(Wrong<Word>(config, compared));
  });
}

/// Counts the mismatches of pieces.
template <class Word>
class PieceTally {
 public:
  PieceTally(const Classification& classes, const Wrong<Word>& wrong, Tally& tally)
      : classes_(classes), wrong_(wrong), tally_(tally) {}

  /// Mismatches whose words lie in one range are counted together, few one by one.
  void add(Stretch s, std::span<const emu::Code> codes) {
    constexpr std::uint64_t few = 16;
    if (s.size() > few) return add_ranges(s, codes);
    for (std::uint64_t i = s.begin; i < s.end; ++i)
      if (wrong_.is_wrong(i)) add({i, i + 1}, wrong_.mismatch(i), wrong_.mismatch(i).got, 1, codes);
  }

 private:
  void add_ranges(Stretch s, std::span<const emu::Code> codes) {
    classes_.word_bounds(codes, bounds_);
    count_in_ranges(wrong_.results(s), std::span<const std::uint64_t>(bounds_), counts_);
    Mismatch mismatch = wrong_.mismatch(s.begin);
    for (std::size_t r = 0; r < bounds_.size(); ++r) {
      mismatch.got = bounds_[r];
      if (counts_[r] == 0 || wrong_.accepts(mismatch.expected, mismatch.got)) continue;
      constexpr emu::Code all_ones = std::numeric_limits<Word>::max();
      add(s, mismatch, r + 1 == bounds_.size() ? all_ones : std::min(bounds_[r + 1] - 1, all_ones), counts_[r], codes);
    }
  }

  /// `count` results of the stretch are from `like.got` to `last`, and belong to the group of `like`.
  void add(Stretch s, const Mismatch& like, emu::Code last, std::uint64_t count, std::span<const emu::Code> codes) {
    Members& members = tally_.members(classes_.group_of(like, classes_.explained_by(codes.subspan(1), like.got)));
    members.count += count;
    for (; count != 0 && tally_.wants(members, wrong_.index(s.begin)); --count, ++s.begin) {
      s.begin += find_in_range(wrong_.results(s), like.got, last);
      if (!tally_.wants(members, wrong_.index(s.begin))) return;
      tally_.keep(members, wrong_.mismatch(s.begin));
    }
  }

  const Classification& classes_;
  const Wrong<Word>& wrong_;
  Tally& tally_;
  std::vector<emu::Code> bounds_;      ///< of ranges of words
  std::vector<std::uint64_t> counts_;  ///< of results in each
};

}  // namespace

Members& Tally::members(const Group& group) {
  if (last_ == groups_.end() || last_->first != group) last_ = groups_.try_emplace(group).first;
  return last_->second;
}

void Tally::keep(Members& members, const Mismatch& mismatch) const {
  std::vector<Mismatch>& kept = members.examples;
  const auto after = std::upper_bound(kept.begin(), kept.end(), mismatch,
                                      [](const Mismatch& a, const Mismatch& b) { return a.index < b.index; });
  kept.insert(after, mismatch);
  if (kept.size() > most_) kept.pop_back();
}

void Tally::merge(Members& to, const Members& from) const {
  to.count += from.count;
  to.examples.insert(to.examples.end(), from.examples.begin(), from.examples.end());
  std::sort(to.examples.begin(), to.examples.end(), [](const Mismatch& a, const Mismatch& b) { return a.index < b.index; });
  if (to.examples.size() > most_) to.examples.resize(most_);
}

void Tally::add(const Tally& other) {
  not_judged += other.not_judged;
  computed += other.computed;
  for (const auto& [group, members] : other.groups_) merge(groups_[group], members);
}

std::uint64_t Tally::mismatches() const {
  std::uint64_t sum = 0;
  for (const auto& [group, members] : groups_) sum += members.count;
  return sum;
}

std::vector<Mismatch> first_mismatches(const ConformConfig& config, const Compared& compared, std::size_t most) {
  std::vector<Mismatch> out;
  with_words(config, compared, [&](const auto& wrong) {
    const std::uint64_t end = compared.results.size();
    for (std::uint64_t i = 0; out.size() < most && (i = wrong.first({i, end})) != end; ++i) out.push_back(wrong.mismatch(i));
  });
  return out;
}

void tally_mismatches(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared,
                      bool every_code, Tally& tally) {
  const bool ordered = every_code && !config.right.operation && config.right.from.bits() > config.right.to.bits();
  if (!ordered) return tally_each(config, tried, compared, tally);
  const Classification classes(config, tried);
  std::vector<const Computation*> computations{&config.right};
  for (const ConformHypothesis& hypothesis : tried) computations.push_back(&hypothesis.computation);
  with_words(config, compared, [&](const auto& wrong) {
    const PieceQuestion question{
        .computations = computations,
        .code = [&](std::uint64_t i) { return compared.inputs.code(i) & config.right.from.code_mask(); },
        .first = [&](const Stretch& stretch) { return wrong.first(stretch); }};
    PieceTally pieces(classes, wrong, tally);
    tally.computed += for_each_piece(question, {0, compared.results.size()},
                                     [&](Stretch s, std::span<const emu::Code> codes) { pieces.add(s, codes); });
  });
}

}  // namespace ulpscope::verify
