// SPDX-License-Identifier: Apache-2.0
// What each tensor of a checkpoint is stored in: a file that a person can edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emu/format.hpp"
#include "requests/field.hpp"
#include "studies/census/scaling.hpp"

namespace ulpscope::studies {

/// What becomes of the tensors whose names match. The members mean what their fields' help says.
struct PlanRule {
  std::string match = {}, to = {}, scale = "none", reason = {};  ///< as the keys of these names

  /// The word of `to` for a tensor that stays as it is.
  static constexpr const char* copy = "copy";

  /// Names the members.
  void describe(requests::Fields& fields);
  /// Whether a tensor of this name is meant.
  bool matches(const std::string& name) const;
  /// Whether it stays as it is.
  bool copies() const { return to == copy; }
  /// @pre !copies(). @throws ulpscope::Error
  emu::Format format() const;
  /// @throws ulpscope::Error
  Scaling scaling() const { return parse_scaling(scale); }
};

/// Which rule each tensor follows, and how all of them are named. The members mean what their fields' help says.
struct CastPlan {
  std::string layout = "ulpscope";  ///< see layouts()
  std::vector<std::string> fused;   ///< sets of parts of names, with commas between them
  std::string hadamard = {};        ///< how what has scales is rotated before it is rounded; empty: not
  std::vector<PlanRule> rules;      ///< the first that matches decides; what none matches stays as it is

  /// Names the members but the rules.
  void describe(requests::Fields& fields);
  /// @throws ulpscope::Error where `layout`, `fused`, `hadamard` or the scales of a rule are not right
  void check() const;
};

/// The sets of tensors whose names differ in one part between dots, which is a part of an entry of CastPlan::fused: of the
/// first entry that has one of a name's.
class FusedSets {
 public:
  /// Of entries that CastPlan::check() takes.
  explicit FusedSets(const std::vector<std::string>& fused);
  /// The same for all tensors of a set, and another one for each set; empty where a name is of none.
  std::string key_of(const std::string& name) const;
  /// What the tensors of a set have in common, for people: the name with the whole entry in the place of its part.
  std::string words_of(const std::string& name) const;

 private:
  /// The name with what `shown` says of its entry in the place of its part.
  template <class Shown>
  std::string with_entry(const std::string& name, Shown shown) const;

  std::vector<std::string> entries_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> parts_;  ///< entry, and place in it, where one is there first
};

/// The rules of a plan, found without asking each of them where their patterns have no wildcards.
class RuleIndex {
 public:
  /// Refers to the plan.
  explicit RuleIndex(const CastPlan& plan);
  /// The rule of a name; null where it stays as it is.
  const PlanRule* rule_for(const std::string& name) const;
  /// Rules to ask for.
  enum class Rules : std::uint8_t { all, rounding };
  /// The first rule that matches none of these names; null where each matches one.
  const PlanRule* idle(const std::vector<std::string>& names, Rules rules = Rules::all) const;

 private:
  const CastPlan& plan_;
  std::map<std::string, std::size_t> literal_;  ///< the first rule of a name
  std::vector<std::size_t> patterns_;           ///< rules with wildcards, in order
};

/// The plan of a TOML file: `layout`, `fused`, and a table `[[tensors]]` for each rule. @throws ulpscope::Error with file and
/// line; also where more than 1000 rules have wildcards, each of which is asked of every name
CastPlan read_plan(const std::string& path);
/// The same of text; `name` stands for the file in what is said of errors.
CastPlan parse_plan(std::string_view text, const std::string& name);
/// The text that read_plan() turns into the same plan.
std::string plan_text(const CastPlan& plan);

/// The pattern that matches just this name.
std::string pattern_of(const std::string& name);

}  // namespace ulpscope::studies
