// SPDX-License-Identifier: Apache-2.0
// Classifies wrong results and counts them in their groups.
#include "verify/conform/conform_tally.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "emu/encode.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t compared_at_once = 1024;  // words; most blocks are equal and are told by memcmp

/// Calls act(i) for every word in which the arrays differ.
template <class Act>
void for_each_difference(const Words& a, const Words& b, Act act) {
  a.visit([&](const auto& x) {
    b.visit([&](const auto& y) {
      const std::size_t size = x.size();
      for (std::size_t block = 0; block < size; block += compared_at_once) {
        const std::size_t end = std::min(size, block + compared_at_once);
        if constexpr (sizeof(x[0]) == sizeof(y[0])) {
          if (std::memcmp(x.data() + block, y.data() + block, (end - block) * sizeof(x[0])) == 0) continue;
        }
        for (std::size_t i = block; i < end; ++i)
          if (emu::Code{x[i]} != emu::Code{y[i]}) act(i);
      }
    });
  });
}

/// One wrong result, and what can be said of it at once.
struct Scene {
  const Computation& right;
  emu::Code input, expected, got;

  emu::Format to() const { return right.to; }
  bool got_nan() const { return to().is_nan(got); }
  bool is_beyond(emu::Code code) const { return to().is_infinite(code) || is_largest(code); }
  bool is_largest(emu::Code code) const { return (code & to().magnitude_mask()) == to().max_finite_code(); }
};

/// The class of a wrong result where a NaN has a part.
Fault fault_about_nan(const Scene& s) {
  const bool expected_nan = s.to().is_nan(s.expected), input_nan = s.right.from.is_nan(s.input);
  if (expected_nan && s.got_nan())
    return s.to().is_negative(s.expected) != s.to().is_negative(s.got) ? Fault::nan_sign : Fault::nan;
  if (input_nan || (expected_nan && s.right.operation)) return Fault::nan;
  if (expected_nan) return Fault::overflow;
  if (s.to().is_zero(s.expected) && s.got == s.to().sign_mask()) return Fault::negative_zero;
  return s.is_beyond(s.expected) ? Fault::overflow : Fault::nan;
}

/// `neighbour` and `tie`: whether the result is that of a directed mode, and that of nearest with other ties.
Fault fault_of(const Scene& s, bool neighbour, bool tie) {
  if (s.got > s.to().code_mask()) return Fault::other;
  if (s.right.from.is_nan(s.input) || s.to().is_nan(s.expected) || s.got_nan()) return fault_about_nan(s);
  if (s.to().is_zero(s.expected) && s.to().is_zero(s.got)) return Fault::negative_zero;
  if (s.to().is_infinite(s.expected) || s.to().is_infinite(s.got)) return Fault::overflow;
  if (is_saturated(s.right, s.input, s.expected)) return Fault::overflow;
  const bool small = s.to().is_subnormal(s.expected);
  if (small && s.to().is_zero(s.got) && !neighbour) return Fault::flush;
  if (tie) return Fault::tie;
  if (neighbour) return small || s.to().is_zero(s.expected) ? Fault::subnormal : Fault::off_by_one;
  return Fault::other;
}

bool same(emu::Format to, emu::Code a, emu::Code b) { return a == b || (to.is_nan(a) && to.is_nan(b)); }

bool is_directed(const ConformHypothesis& h) {
  const emu::Rounding rounding = h.computation.rules.options.rounding;
  return h.fault == Fault::rounding_mode && (rounding == emu::Rounding::upward || rounding == emu::Rounding::downward);
}

/// What is common to the comparisons of one kind of word.
class Comparison {
 public:
  Comparison(const ConformConfig& config, const std::vector<ConformHypothesis>& tried) : config_(config) {
    for (std::size_t h = 0; h < tried.size(); ++h) {
      if (is_directed(tried[h])) directed_ |= Mask{1} << h;
      if (tried[h].fault == Fault::tie) ties_ |= Mask{1} << h;
    }
  }

  /// `codes`: what is right, and what each hypothesis gives.
  Group group_of(const Mismatch& mismatch, std::span<const emu::Code> codes) const {
    const Computation& right = config_.right;
    Mask explained = 0;
    for (std::size_t h = 1; h < codes.size(); ++h)
      explained |= static_cast<Mask>(same(right.to, codes[h], mismatch.got) ? 1 : 0) << (h - 1);
    const Scene scene{right, mismatch.input, mismatch.expected, mismatch.got};
    const Fault fault = fault_of(scene, (explained & directed_) != 0, (explained & ties_) != 0);
    const InputRegion region = region_of(right.from, right.to, mismatch.input, mismatch.expected);
    return {region, fault, may_be_explained(region, fault) ? explained : 0};
  }

 private:
  const ConformConfig& config_;
  Mask directed_ = 0, ties_ = 0;
};

/// Codes to each side of what is right that may be told one by one.
constexpr std::uint64_t most_accepted = 64;

/// Results of one kind of word beside the right ones.
template <class Word>
class Wrong {
 public:
  Wrong(const ConformConfig& config, const Compared& compared)
      : config_(config),
        compared_(compared),
        expected_(std::get<std::vector<Word>>(compared.expected.array())),
        results_(std::get<std::vector<Word>>(compared.results.array())) {}

  Word result(std::uint64_t i) const { return results_[i]; }
  bool is_wrong(std::uint64_t i) const {
    if (results_[i] == expected_[i]) return false;
    const Computation& right = config_.right;
    return is_judged(right.rules, right.from, right.to, input(i)) &&
           !accepts(right.rules, right.to, expected_[i], results_[i], config_.ulp);
  }
  /// From the first wrong result on; false where there is none.
  bool trim_begin(Stretch& s) const {
    while (s.begin < s.end && !is_wrong(s.begin)) s.begin += is_equal_block(s, s.begin) ? compared_at_once : 1;
    return s.begin < s.end;
  }
  /// From the first wrong result to the last; false where there is none.
  bool trim(Stretch& s) const {
    if (!trim_begin(s)) return false;
    while (!is_wrong(s.end - 1)) s.end -= is_equal_block(s, s.end - compared_at_once) ? compared_at_once : 1;
    return true;
  }
  std::uint64_t count(Word word, Stretch s) const {
    return static_cast<std::uint64_t>(std::count(at(s.begin), at(s.end), word));
  }
  /// Whether a result is wrong whatever is right, unless it is one of for_each_accepted(): a finite number that is no zero.
  bool is_plain(emu::Code got) const {
    const emu::Format to = config_.right.to;
    const emu::Code magnitude = got & to.magnitude_mask();
    return config_.ulp <= most_accepted && got <= to.code_mask() && magnitude != 0 && magnitude <= to.max_finite_code() &&
           !to.is_nan(got);
  }
  /// Writes `value` for all words that are plain: finite numbers follow each other.
  template <class Value>
  void mark_plain(std::vector<Value>& of_words, Value value) const {
    if (config_.ulp > most_accepted) return;
    const emu::Format to = config_.right.to;
    const auto count = static_cast<std::ptrdiff_t>(to.max_finite_code());
    std::fill_n(of_words.begin() + 1, count, value);
    if (to.is_signed()) std::fill_n(of_words.begin() + static_cast<std::ptrdiff_t>(to.sign_mask()) + 1, count, value);
  }
  /// Calls act(code) for the expected code and all finite numbers that stand for it.
  template <class Act>
  void for_each_accepted(emu::Code expected, Act act) const {
    const emu::Code sign = expected & config_.right.to.sign_mask(), magnitude = expected & config_.right.to.magnitude_mask();
    act(expected);
    for (emu::Code ulp = 1; ulp <= std::min(config_.ulp, most_accepted); ++ulp) {
      act(sign | (magnitude + ulp));
      act(magnitude >= ulp ? sign | (magnitude - ulp) : (sign ^ config_.right.to.sign_mask()) | (ulp - magnitude));
    }
  }
  std::uint64_t index(std::uint64_t i) const { return compared_.first + i; }
  Mismatch mismatch(std::uint64_t i) const { return {index(i), input(i), expected_[i], results_[i]}; }

 private:
  emu::Code input(std::uint64_t i) const { return compared_.inputs.code(i) & config_.right.from.code_mask(); }
  auto at(std::uint64_t i) const { return results_.begin() + static_cast<std::ptrdiff_t>(i); }
  /// Whether a block begins there, lies in the stretch, and has no word that differs.
  bool is_equal_block(Stretch s, std::uint64_t begin) const {
    return begin % compared_at_once == 0 && begin >= s.begin && begin + compared_at_once <= s.end && begin < s.end &&
           std::memcmp(results_.data() + begin, expected_.data() + begin, compared_at_once * sizeof(Word)) == 0;
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
  PieceTally(const Comparison& comparison, const Wrong<Word>& wrong, Tally& tally)
      : comparison_(comparison), wrong_(wrong), tally_(tally) {}

  /// Mismatches of one result are counted together; of many results, such as those of no converter at all, one by one.
  void add(Stretch s, std::span<const emu::Code> codes) {
    if (s.size() == 1) return add(s, wrong_.mismatch(s.begin), 1, codes);
    constexpr std::size_t most_words = 4;
    std::array<Word, most_words> known{static_cast<Word>(codes[0])};
    if constexpr (has_table) {
      if (is_scattered(s, most_words)) return add_by_words(s, std::span(known).first(1), codes);
    }
    std::size_t words = 1;
    std::uint64_t left = s.size() - wrong_.count(known[0], s);
    std::uint64_t at = s.begin;
    const auto is_known = [&] {
      return std::find(known.begin(), known.begin() + words, wrong_.result(at)) != known.begin() + words;
    };
    for (; left != 0 && words < most_words; ++words) {
      while (is_known()) ++at;
      known[words] = wrong_.result(at);
      const std::uint64_t count = wrong_.count(known[words], {at, s.end});
      if (wrong_.is_wrong(at)) add({at, s.end}, wrong_.mismatch(at), count, codes);
      left -= count;
    }
    if (left == 0) return;
    if constexpr (has_table) {
      add_by_words({at, s.end}, std::span(known), codes);
    } else {
      add_each({at, s.end}, left, std::span(known), codes);
    }
  }

 private:
  /// Whether there is a table of all words.
  static constexpr bool has_table = sizeof(Word) <= 2;

  /// Whether a stretch begins with more than `few` words, all of which would be counted one after another.
  bool is_scattered(Stretch s, std::size_t few) const {
    constexpr std::uint64_t looked_at = 32;
    if (s.size() < looked_at) return false;
    std::array<Word, looked_at> words;
    for (std::uint64_t i = 0; i < looked_at; ++i) words[i] = wrong_.result(s.begin + i);
    std::sort(words.begin(), words.end());
    return std::unique(words.begin(), words.end()) - words.begin() > static_cast<std::ptrdiff_t>(few);
  }

  /// `count` results of the stretch are that of `mismatch`, which is the first.
  void add(Stretch s, const Mismatch& mismatch, std::uint64_t count, std::span<const emu::Code> codes) {
    Members& members = tally_.members(comparison_.group_of(mismatch, codes));
    members.count += count;
    for (std::uint64_t i = s.begin; i < s.end && tally_.wants(members, wrong_.index(i)); ++i)
      if (wrong_.result(i) == mismatch.got) tally_.keep(members, wrong_.mismatch(i));
  }

  /// What is to be done about a result.
  enum class Treatment : std::uint8_t { by_word, alike, none };

  /// Of the stretch the results that are not known are to be added. Most are numbers that no hypothesis gives, and so alike; of
  /// the others each word is looked at once.
  void add_by_words(Stretch s, std::span<const Word> known, std::span<const emu::Code> codes) {
    if (treatments_.empty()) {
      constexpr std::size_t words = std::numeric_limits<Word>::max() + std::size_t{1};
      counts_.resize(words);
      treatments_.resize(words, Treatment::by_word);
      wrong_.mark_plain(treatments_, Treatment::alike);
    }
    const std::vector<Word> special = special_words(codes);
    for (const Word word : special) treatments_[word] = Treatment::by_word;
    for (const Word word : known) treatments_[word] = Treatment::none;
    std::vector<std::uint64_t> first;  // of each word that is looked at
    std::uint64_t alike = s.size();
    for (std::uint64_t at = s.begin; at < s.end; ++at) {
      const Word word = wrong_.result(at);
      if (treatments_[word] == Treatment::alike) continue;
      --alike;
      if (treatments_[word] == Treatment::by_word && counts_[word]++ == 0) first.push_back(at);
    }
    if (alike != 0) {
      const auto is_alike = [&](std::uint64_t at) { return treatments_[wrong_.result(at)] == Treatment::alike; };
      std::uint64_t at = s.begin;
      while (!is_alike(at)) ++at;
      Members& members = tally_.members(comparison_.group_of(wrong_.mismatch(at), codes));
      members.count += alike;
      for (; at < s.end && tally_.wants(members, wrong_.index(at)); ++at)
        if (is_alike(at)) tally_.keep(members, wrong_.mismatch(at));
    }
    for (const std::uint64_t at : first) {
      std::uint32_t& count = counts_[wrong_.result(at)];
      if (wrong_.is_wrong(at)) add({at, s.end}, wrong_.mismatch(at), count, codes);
      count = 0;
    }
    for (const auto& words : {std::span<const Word>(special), known})
      for (const Word word : words) treatments_[word] = wrong_.is_plain(word) ? Treatment::alike : Treatment::by_word;
  }

  /// What hypotheses give, and what is accepted.
  std::vector<Word> special_words(std::span<const emu::Code> codes) const {
    std::vector<Word> out;
    wrong_.for_each_accepted(codes[0], [&](emu::Code code) { out.push_back(static_cast<Word>(code)); });
    for (const emu::Code code : codes.subspan(1)) out.push_back(static_cast<Word>(code));
    return out;
  }

  /// `left` results of the stretch are other than those known. Most are numbers that no hypothesis gives, and so alike.
  void add_each(Stretch s, std::uint64_t left, std::span<const Word> known, std::span<const emu::Code> codes) {
    std::vector<Word> special(known.begin(), known.end());
    for (const Word word : special_words(codes))
      if (std::find(special.begin(), special.end(), word) == special.end()) special.push_back(word);
    const std::size_t skipped = known.size();
    std::uint64_t alike = 0;
    Members* members = nullptr;
    for (std::uint64_t at = s.begin; left != 0; ++at) {
      const auto found =
          static_cast<std::size_t>(std::find(special.begin(), special.end(), wrong_.result(at)) - special.begin());
      if (found < skipped) continue;
      --left;
      if (found == special.size() && wrong_.is_plain(wrong_.result(at))) {
        if (members == nullptr) members = &tally_.members(comparison_.group_of(wrong_.mismatch(at), codes));
        ++alike;
        if (tally_.wants(*members, wrong_.index(at))) tally_.keep(*members, wrong_.mismatch(at));
      } else if (wrong_.is_wrong(at)) {
        add({at, at + 1}, wrong_.mismatch(at), 1, codes);
      }
    }
    if (members != nullptr) members->count += alike;
  }

  const Comparison& comparison_;
  const Wrong<Word>& wrong_;
  Tally& tally_;
  std::vector<Treatment> treatments_;  ///< of each word; empty until it is asked for
  std::vector<std::uint32_t> counts_;  ///< of each word that is looked at in a stretch, else 0
};

std::vector<const Computation*> computations(const Computation& right, const std::vector<ConformHypothesis>& tried,
                                             Mask which) {
  std::vector<const Computation*> out{&right};
  for (std::size_t h = 0; h < tried.size(); ++h)
    if ((which >> h & 1) != 0) out.push_back(&tried[h].computation);
  return out;
}

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

InputRegion region_of(emu::Format from, emu::Format to, emu::Code input, emu::Code expected) {
  if (from.is_nan(input)) return InputRegion::not_a_number;
  if (to.is_nan(expected) || to.is_infinite(expected) || (expected & to.magnitude_mask()) == to.max_finite_code())
    return InputRegion::large;
  if (to.is_zero(expected)) return InputRegion::zero;
  return to.is_subnormal(expected) ? InputRegion::small : InputRegion::normal;
}

std::vector<Mismatch> first_mismatches(const ConformConfig& config, const Compared& compared, std::size_t most) {
  std::vector<Mismatch> out;
  with_words(config, compared, [&](const auto& wrong) {
    for (Stretch rest{0, compared.results.size()}; out.size() < most && wrong.trim_begin(rest); ++rest.begin)
      out.push_back(wrong.mismatch(rest.begin));
  });
  return out;
}

void tally_mismatches(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared,
                      bool every_code, Tally& tally) {
  const Comparison comparison(config, tried);
  with_words(config, compared, [&](const auto& wrong) {
    const PieceQuestion question{
        .computations = computations(config.right, tried, ~Mask{0}),
        .code = [&](std::uint64_t i) { return compared.inputs.code(i) & config.right.from.code_mask(); },
        .ordered = every_code && !config.right.operation,
        .trim = [&](Stretch& stretch) { return wrong.trim(stretch); }};
    PieceTally pieces(comparison, wrong, tally);
    tally.computed += for_each_piece(question, {0, compared.results.size()},
                                     [&](Stretch s, std::span<const emu::Code> codes) { pieces.add(s, codes); });
  });
}

void count_differences(const ConformConfig& config, const Words& inputs, const Words& expected, const Words& other,
                       RegionCounts& counts) {
  const Computation& right = config.right;
  for_each_difference(expected, other, [&](std::size_t i) {
    const emu::Code input = inputs.code(i) & right.from.code_mask(), e = expected.code(i);
    if (!is_judged(right.rules, right.from, right.to, input) || accepts(right.rules, right.to, e, other.code(i), config.ulp))
      return;
    ++counts[static_cast<std::size_t>(region_of(right.from, right.to, input, e))];
  });
}

std::uint64_t count_differences(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, Mask useful,
                                Stretch codes, std::vector<RegionCounts>& counts) {
  const Computation& right = config.right;
  const PieceQuestion question{.computations = computations(right, tried, useful),
                               .code = [](std::uint64_t code) { return code; },
                               .ordered = true,
                               .trim = [](const Stretch&) { return true; }};
  return for_each_piece(question, codes, [&](Stretch piece, std::span<const emu::Code> results) {
    if (!is_judged(right.rules, right.from, right.to, piece.begin)) return;
    const auto region = static_cast<std::size_t>(region_of(right.from, right.to, piece.begin, results[0]));
    std::size_t c = 1;
    for (std::size_t h = 0; h < tried.size(); ++h) {
      if ((useful >> h & 1) == 0) continue;
      if (!accepts(right.rules, right.to, results[0], results[c++], config.ulp)) counts[h][region] += piece.size();
    }
  });
}

}  // namespace ulpscope::verify
