// SPDX-License-Identifier: Apache-2.0
// Results of which no rule of special values says anything: what is wrong with them is told in a few comparisons of words,
// which compilers make vectors of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "verify/conform/conform.hpp"

namespace ulpscope::verify {

/// Tells plain results: the input is a normal number, the right result one between the least and the largest, and the subject's
/// finite; it is special where the subject's is not finite. All are judged, and lie in the region `normal`; another policy and
/// flushing change nothing of what is right. `In` and `Word` are the words of inputs and results.
template <class In, class Word>
class PlainResults {
 public:
  /// Of what is checked. Where the formats have no plain results, none are.
  explicit PlainResults(const ConformConfig& config) {
    const emu::Format from = config.right.from, to = config.right.to;
    from_magnitude_ = static_cast<In>(from.magnitude_mask());
    magnitude_ = static_cast<Word>(to.magnitude_mask());
    sign_ = static_cast<Word>(to.sign_mask());
    ulp_ = static_cast<Word>(std::min<std::uint64_t>(config.ulp, std::numeric_limits<Word>::max()));
    infinity_ = static_cast<Word>(to.has_infinity() ? to.infinity_code() : 0);
    fills_word_ = to.bits() == std::numeric_limits<Word>::digits;
    // Elsewhere a zero of the other sign is NaN, or results of negative numbers may not be judged: nothing is plain.
    if (!to.is_signed() || to.negative_zero_is_nan() || from.negative_zero_is_nan()) return;
    least_input_ = static_cast<In>(from.min_normal_code());
    inputs_ = static_cast<In>(from.max_finite_code() + 1 - from.min_normal_code());
    least_ = static_cast<Word>(to.min_normal_code() + 1);
    greatest_ = static_cast<Word>(to.max_finite_code());
    between_ = static_cast<Word>(greatest_ > least_ ? greatest_ - least_ : 0);
  }

  /// Whether the results of this input are plain.
  bool are_plain(In input, Word expected, Word got) const {
    const bool plain = is_plain(input, expected), finite = without_sign(got) <= greatest_;
    return plain & finite;
  }
  /// Whether they are but for the subject's, which is infinite or NaN.
  bool are_special(In input, Word expected, Word got) const {
    const bool plain = is_plain(input, expected), beyond = without_sign(got) > greatest_;
    return plain & fills_word_ & beyond;
  }
  /// Of a special result.
  bool is_infinite(Word got) const { return without_sign(got) == infinity_; }
  /// How many results there are.
  struct Counts {
    std::uint32_t wrong = 0;   ///< plain ones that are wrong
    std::uint32_t near = 0;    ///< of these: the neighbours of what is right
    std::uint32_t infinite = 0, nan = 0;  ///< special ones
    std::uint32_t others = 0;             ///< that are neither, and are not what is right
  };
  /// Of as many inputs, right results and results of the subject.
  Counts count(std::span<const In> inputs, std::span<const Word> expected, std::span<const Word> got) const {
    Counts counts;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool plain = are_plain(inputs[i], expected[i], got[i]), wrong = is_wrong(expected[i], got[i]);
      const bool near = are_near(expected[i], got[i]), differ = expected[i] != got[i];
      counts.wrong += static_cast<std::uint32_t>(plain & wrong);
      counts.near += static_cast<std::uint32_t>(plain & wrong & near);
      const bool special = are_special(inputs[i], expected[i], got[i]), infinite = is_infinite(got[i]);
      counts.infinite += static_cast<std::uint32_t>(special & infinite);
      counts.nan += static_cast<std::uint32_t>(special & !infinite);
      counts.others += static_cast<std::uint32_t>(!plain & !special & differ);
    }
    return counts;
  }
  /// Whether plain results are neighbours or alike: every rounding gives one of the two numbers about the exact one.
  bool are_near(Word expected, Word got) const { return static_cast<Word>(got - expected + 1) <= 2; }
  /// Whether a plain result is too far from the right one.
  bool is_wrong(Word expected, Word got) const {
    const auto x = static_cast<Word>(expected & magnitude_), y = static_cast<Word>(got & magnitude_);
    const auto apart = static_cast<Word>(x + y), near = static_cast<Word>(x > y ? x - y : y - x);
    return (((expected ^ got) & sign_) != 0 ? apart : near) > ulp_;
  }

 private:
  Word without_sign(Word code) const { return static_cast<Word>(code & static_cast<Word>(~sign_)); }
  bool is_plain(In input, Word expected) const {
    const bool is_input = static_cast<In>((input & from_magnitude_) - least_input_) < inputs_;
    return is_input & (static_cast<Word>((expected & magnitude_) - least_) < between_);
  }

  In from_magnitude_, least_input_ = 0, inputs_ = 0;  ///< the least that is normal, and how many are
  Word magnitude_, sign_, ulp_;
  Word least_ = 0, between_ = 0, greatest_ = 0;  ///< of results: the least, how many are plain, the greatest of the subject's
  Word infinity_;                                ///< 0, which is no special result, where there is none
  bool fills_word_;                              ///< no word has bits beyond a code
};

}  // namespace ulpscope::verify
