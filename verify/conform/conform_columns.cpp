// SPDX-License-Identifier: Apache-2.0
// Classifies wrong results one by one: plain ones by which hypotheses give them, counted in words at a time; the others by all
// that is known of each.
#include "verify/conform/conform_columns.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "verify/conform/conform_faults.hpp"
#include "verify/conform/conform_plain.hpp"

namespace ulpscope::verify {
namespace {

/// Results that are compared at once, and whose hypotheses are computed together, in a core's cache.
constexpr std::size_t results_at_once = 1024;

template <class In, class Word>
class Columns {
 public:
  Columns(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared, Tally& tally)
      : config_(config),
        compared_(compared),
        inputs_(std::get<std::vector<In>>(compared.inputs.array())),
        expected_(std::get<std::vector<Word>>(compared.expected.array())),
        results_(std::get<std::vector<Word>>(compared.results.array())),
        tally_(tally),
        classes_(config, tried),
        plain_results_(config),
        asked_(config.right.from, 0) {
    for (std::size_t h = 0; h < tried.size(); ++h) {
      computations_.push_back(&tried[h].computation);
      if (tried[h].fault == Fault::overflow || tried[h].fault == Fault::flush) continue;
      of_plain_.push_back(computations_.back());
      bits_.push_back(h);
      round_once_ = round_once_ && !tried[h].computation.through;
    }
  }

  void add_all() {
    for (std::size_t begin = 0; begin < results_.size(); begin += results_at_once) {
      const std::size_t size = std::min(results_.size() - begin, results_at_once);
      if (std::memcmp(&results_[begin], &expected_[begin], size * sizeof(Word)) == 0) continue;
      const auto part = [=](const auto& words) { return std::span(words).subspan(begin, size); };
      const auto counts = plain_results_.count(part(inputs_), part(expected_), part(results_));
      const std::uint32_t asked = of_plain_.empty() ? 0 : round_once_ ? counts.near : counts.wrong;
      if (asked != 0) add_plain({begin, begin + size}, asked);
      if (asked != counts.wrong)
        add_alike({0, counts.wrong - asked}, begin, [&](std::size_t i) { return is_plain_and_wrong(i) && !is_asked(i); });
      if (counts.nan != 0) add_alike({0, counts.nan}, begin, [&](std::size_t i) { return is_special(i) && !is_infinite(i); });
      const bool asks_infinite = counts.infinite != 0 && !round_once_;
      if (counts.infinite != 0 && !asks_infinite)
        add_alike({0, counts.infinite}, begin, [&](std::size_t i) { return is_special(i) && is_infinite(i); });
      if (counts.others != 0 || asks_infinite) add_others({begin, begin + size});
    }
  }

 private:
  /// Plain results that the same hypotheses give.
  struct Alike {
    Mask explained;
    std::uint32_t count;
  };

  emu::Code input(std::size_t i) const { return inputs_[i] & config_.right.from.code_mask(); }
  Mismatch mismatch(std::size_t i) const { return {compared_.first + i, input(i), expected_[i], results_[i]}; }

  bool is_plain(std::size_t i) const { return plain_results_.are_plain(inputs_[i], expected_[i], results_[i]); }
  bool is_special(std::size_t i) const { return plain_results_.are_special(inputs_[i], expected_[i], results_[i]); }
  bool is_infinite(std::size_t i) const { return plain_results_.is_infinite(results_[i]); }
  bool is_asked(std::size_t i) const {
    return !of_plain_.empty() && (!round_once_ || plain_results_.are_near(expected_[i], results_[i]));
  }
  bool is_plain_and_wrong(std::size_t i) const { return is_plain(i) && plain_results_.is_wrong(expected_[i], results_[i]); }

  /// Calls act(c, results) for what each of the computations gives of the inputs at these places.
  template <class Act>
  void ask(const std::vector<const Computation*>& computations, const std::vector<std::size_t>& places, Act act) {
    asked_.resize(places.size());
    asked_.visit([&](auto& words) {
      using Asked = typename std::remove_cvref_t<decltype(words)>::value_type;
      for (std::size_t i = 0; i < places.size(); ++i) words[i] = static_cast<Asked>(input(places[i]));
    });
    compute_each(computations, asked_,
                 [&](std::size_t c, const Words& computed) { act(c, std::get<std::vector<Word>>(computed.array())); });
    tally_.computed += places.size();
  }

  /// `count` plain results of these are wrong, and hypotheses may give them.
  void add_plain(Stretch s, std::uint32_t count) {
    plain_.clear();
    for (std::size_t i = s.begin; plain_.size() < count; ++i)
      if (is_plain_and_wrong(i) && is_asked(i)) plain_.push_back(i);
    got_.resize(count);
    for (std::size_t i = 0; i < count; ++i) got_[i] = results_[plain_[i]];
    explained_.assign(count, 0);
    ask(of_plain_, plain_, [&](std::size_t c, const std::vector<Word>& given) {
      for (std::size_t i = 0; i < count; ++i) explained_[i] |= static_cast<Mask>(given[i] == got_[i] ? 1 : 0) << bits_[c];
    });
    alike_.clear();
    for (const Mask explained : explained_) {
      auto found = std::find_if(alike_.begin(), alike_.end(), [=](const Alike& some) { return some.explained == explained; });
      if (found == alike_.end()) found = alike_.insert(found, {explained, 0});
      ++found->count;
    }
    for (const Alike& some : alike_) {
      std::size_t next = 0;  // of plain_, whose places ascend
      add_alike(some, plain_.front(), [&](std::size_t i) {
        if (plain_[next] != i) return false;
        const bool is_one = explained_[next] == some.explained;
        ++next;
        return is_one;
      });
    }
  }

  /// They are those from place i on for which is_one(i) holds.
  template <class IsOne>
  void add_alike(const Alike& some, std::size_t i, IsOne is_one) {
    Members* members = nullptr;
    for (std::uint32_t left = some.count; left != 0; ++i) {
      if (!is_one(i)) continue;
      if (members == nullptr) {
        members = &tally_.members(classes_.group_of(mismatch(i), some.explained));
        members->count += some.count;
      }
      if (!tally_.wants(*members, compared_.first + i)) return;
      tally_.keep(*members, mismatch(i));
      --left;
    }
  }

  void add_others(Stretch s) {
    others_.clear();
    const Computation& right = config_.right;
    for (std::size_t i = s.begin; i < s.end; ++i)
      if (results_[i] != expected_[i] && !is_plain(i) && !(is_special(i) && (round_once_ || !is_infinite(i))) &&
          is_judged(right.rules, right.from, right.to, input(i)) &&
          !accepts(right.rules, right.to, expected_[i], results_[i], config_.ulp))
        others_.push_back(i);
    if (others_.empty()) return;
    codes_.resize(others_.size() * computations_.size());
    ask(computations_, others_, [&](std::size_t c, const std::vector<Word>& given) {
      for (std::size_t i = 0; i < others_.size(); ++i) codes_[i * computations_.size() + c] = given[i];
    });
    for (std::size_t i = 0; i < others_.size(); ++i) {
      const Mismatch mismatch = this->mismatch(others_[i]);
      const std::span<const emu::Code> codes(codes_.data() + i * computations_.size(), computations_.size());
      Members& members = tally_.members(classes_.group_of(mismatch, classes_.explained_by(codes, mismatch.got)));
      ++members.count;
      if (tally_.wants(members, mismatch.index)) tally_.keep(members, mismatch);
    }
  }

  const ConformConfig& config_;
  const Compared& compared_;
  const std::vector<In>& inputs_;
  const std::vector<Word>&expected_, &results_;
  Tally& tally_;
  const Classification classes_;
  const PlainResults<In, Word> plain_results_;
  std::vector<const Computation*> computations_;  ///< of the hypotheses
  std::vector<const Computation*> of_plain_;      ///< those that may differ from what is right of plain results
  std::vector<std::size_t> bits_;                 ///< of those in a Mask
  bool round_once_ = true;                        ///< none of those rounds to another format first
  std::vector<std::size_t> plain_, others_;       ///< places of wrong results
  Words asked_;                                   ///< their inputs, in this order
  std::vector<Word> got_;                         ///< of plain_
  std::vector<Mask> explained_;                   ///< of plain_
  std::vector<emu::Code> codes_;                  ///< of each of others_ what each hypothesis gives
  std::vector<Alike> alike_;
};

}  // namespace

void tally_each(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared,
                Tally& tally) {
  compared.inputs.visit([&](const auto& inputs) {
    compared.results.visit([&](const auto& results) {
      using In = typename std::remove_cvref_t<decltype(inputs)>::value_type;
      using Word = typename std::remove_cvref_t<decltype(results)>::value_type;
      Columns<In, Word>(config, tried, compared, tally).add_all();
    });
  });
}

}  // namespace ulpscope::verify
