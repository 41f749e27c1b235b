// SPDX-License-Identifier: Apache-2.0
// What stands after the colon of a rule: numbers, limits that grow with K, and words of a choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::verify {

/// What a number is multiplied by before a rule compares with it.
enum class LengthFactor : std::uint8_t {
  one,     ///< nothing: the number itself
  k,       ///< `NUMBER*K`: products in a sum
  root_k,  ///< `NUMBER*sqrt(K)`
};

/// A number that a rule takes, or one word of a list. Without a key it is what stands after the colon.
struct RuleParameter {
  std::string_view key;                          ///< what stands before `=`; empty: nothing does
  double value = 0;                              ///< unless the word says otherwise; of words, a place in the list
  bool shown = true;                             ///< whether the rule's form names it
  std::span<const std::string_view> words = {};  ///< the choice; empty: a number
  bool may_be_negative = false;                  ///< a level in dB, a correlation
};

/// What a rule's word says: a value for each parameter.
struct RuleArgument {
  double value = 0;                         ///< as typed, or the parameter's own
  LengthFactor factor = LengthFactor::one;  ///< what it is multiplied by

  /// The number for sums of `k` products.
  double at(double k) const;
};

/// `allclose:rtol=1e-05,atol=1e-08`: the rule with the parameters that are shown.
std::string rule_form(std::string_view name, std::span<const RuleParameter> parameters);

/// Reads `word`, which begins with the rule's name; parameters that it leaves out keep their values.
/// @throws ulpscope::Error in one line that says what the rule takes
std::vector<RuleArgument> read_rule_arguments(std::string_view name, std::span<const RuleParameter> parameters,
                                              std::string_view word);

}  // namespace ulpscope::verify
