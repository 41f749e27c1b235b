// SPDX-License-Identifier: Apache-2.0
// Puts roundings and orders into the syntax of a formula, takes roundings out, and evaluates what comes of it.
#include "verify/expressions/rounding_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/overflows.hpp"
#include "verify/expressions/syntax.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::uint64_t most_elements = std::uint64_t{1} << 16;
/// Of roundings of results; of all places.
constexpr double most_combinations = 256, few_combinations = 64;

bool is_cast(const Syntax& s) { return s.kind == Syntax::Kind::call && emu::parse_format(s.word).has_value(); }

/// Whether a kernel may round the value of a part: results of arithmetic, no truth values, and nothing that only moves
/// elements.
bool is_computed(const Syntax& s) {
  static const std::set<std::string> moved{"neg",     "abs",     "not",       "and",       "or",      "<",
                                           "<=",      ">",       ">=",        "==",        "!=",      "where",
                                           "max",     "min",     "concat",    "clip",      "reshape", "gather",
                                           "maximum", "minimum", "transpose", "positions", "round",   "floor",
                                           "ceil",    "trunc",   "extent",    "sign",      "take"};
  return s.kind == Syntax::Kind::call && !is_cast(s) && moved.count(s.word) == 0;
}

/// Whether anything is computed in a part, beside what its names stand for.
bool computes(const Syntax& s) { return is_computed(s) || std::any_of(s.operands.begin(), s.operands.end(), computes); }

/// A place of a formula: the line, and the operands that lead to it.
struct Place {
  std::size_t line;
  std::vector<std::size_t> path;
  bool is_cast;
  std::optional<std::size_t> used = {};  ///< the line whose value is read here, and elsewhere: it may be rounded here alone
  bool is_scan = false;                  ///< a running sum of which no order is said
};

/// How a kernel may make running sums.
struct ScanWords {
  std::string order, sums;  ///< arguments of cumsum; no sums: in the arithmetic around it
};

/// Finds places, and how often the value of each line is read.
class PlaceFinder {
 public:
  explicit PlaceFinder(const Lines& lines) : lines_(lines), uses_(lines.size(), 0) {
    for (std::size_t line = 0; line < lines.size(); ++line) find(lines[line].second, line, line + 1 == lines.size());
    std::erase_if(places_, [&](const Place& place) { return place.used && uses_[*place.used] < 2; });
  }
  const std::vector<Place>& places() const noexcept { return places_; }
  const std::vector<std::size_t>& uses() const noexcept { return uses_; }

 private:
  void find(const Syntax& s, std::size_t line, bool is_value) {
    // The value of the formula is rounded to the output's format anyway, and so is what it casts.
    if (is_cast(s) || (is_computed(s) && !is_value)) places_.push_back({line, path_, is_cast(s)});
    const bool is_scan = s.kind == Syntax::Kind::call && s.word == "cumsum";
    if (is_scan && std::ranges::find(s.named, "order", &Syntax::name) == s.named.end())
      places_.push_back({line, path_, false, {}, true});
    if (s.kind == Syntax::Kind::name) {
      if (const auto used = line_of(s.word, line)) {
        ++uses_[*used];
        if (!is_value) places_.push_back({line, path_, false, used});
      }
    }
    // Extents are no values that a kernel has.
    if (s.word == "extent" || s.word == "positions") return;
    const bool first_alone = s.kind == Syntax::Kind::call && (s.word == "reshape" || s.word == "transpose");
    for (std::size_t i = 0; i < (first_alone ? 1 : s.operands.size()); ++i) {
      path_.push_back(i);
      find(s.operands[i], line, (is_value && s.kind == Syntax::Kind::precision) || is_cast(s));
      path_.pop_back();
    }
  }
  /// The line before this one that computes what the name stands for.
  std::optional<std::size_t> line_of(const std::string& name, std::size_t before) const {
    for (std::size_t line = 0; line < before; ++line)
      if (lines_[line].first == name && computes(lines_[line].second)) return line;
    return std::nullopt;
  }

  const Lines& lines_;
  std::vector<Place> places_;
  std::vector<std::size_t> uses_, path_;
};

/// The part of a formula, to be changed or not, that is at a place.
template <class LinesOrConst>
auto& at(LinesOrConst& lines, const Place& place) {
  auto* s = &lines[place.line].second;
  for (const std::size_t operand : place.path) s = &s->operands[operand];
  return *s;
}

/// A cast of a formula that has been read.
RoundingPoint point_of(const Syntax& cast) {
  RoundingPoint point{.format = *emu::parse_format(cast.word)};
  for (const Syntax& value : cast.named) {
    if (value.name == "rounding") point.options.rounding = *emu::parse_rounding(value.word);
    if (value.name == "policy") point.options.policy = *emu::parse_policy(value.word);
  }
  return point;
}
/// Rounds a part.
void cast_to(Syntax& s, const RoundingPoint& point) {
  Syntax cast{.kind = Syntax::Kind::call, .word = emu::format_name(point.format)};
  cast.column = s.column;
  const auto say = [&](const char* key, std::string_view word) {
    cast.named.push_back({.kind = Syntax::Kind::text, .word = std::string(word), .name = key, .column = s.column});
  };
  if (point.options.policy != emu::Policy::nonsaturating) say("policy", name_of(point.options.policy));
  if (point.options.rounding != emu::Rounding::nearest_even) say("rounding", name_of(point.options.rounding));
  cast.operands.push_back(std::move(s));
  s = std::move(cast);
}

/// What may stand at places.
struct Choices {
  std::vector<RoundingPoint> points;
  std::vector<ScanWords> scans;

  /// How many there are beside leaving the place as it is. A rounding may be left out, or be another one.
  std::size_t count(const Lines& lines, const Place& place) const {
    return place.is_cast ? 1 + others_than(at(lines, place)).size() : place.is_scan ? scans.size() : points.size();
  }
  /// What may stand in the place of a rounding of the formula.
  std::vector<RoundingPoint> others_than(const Syntax& cast) const {
    std::vector<RoundingPoint> others = points;
    std::erase(others, point_of(cast));
    return others;
  }
};

/// The orders that GPU and CPU libraries have, with sums in the arithmetic around them or in one of the formats.
std::vector<ScanWords> scans_of(const std::vector<emu::Format>& formats, emu::Format arithmetic) {
  std::vector<ScanWords> scans;
  for (const char* const order : {"in_turn", "sklansky:16", "sklansky:32", "sklansky:64", "sklansky:128", "sklansky:256",
                                  "sklansky:512", "sklansky:1024", "sklansky:2048"}) {
    if (emu::fits_float(arithmetic)) scans.push_back({order, {}});
    for (const emu::Format format : formats) scans.push_back({order, emu::format_name(format)});
  }
  return scans;
}

void say_order(Syntax& s, const ScanWords& words) {
  const auto say = [&](const char* key, const std::string& word) {
    if (!word.empty()) s.named.push_back({.kind = Syntax::Kind::text, .word = word, .name = key, .column = s.column});
  };
  say("order", words.order), say("sums", words.sums);
}

/// The formula with a choice at each place: 0 as it is, else a rounding (of a rounding, 1 none, else another one; of a running
/// sum, an order).
Lines changed(Lines lines, const std::vector<Place>& places, const std::vector<std::size_t>& chosen, const Choices& choices) {
  // Inner places first: their paths are those of the tree that is there.
  for (std::size_t i = places.size(); i-- > 0;) {
    if (chosen[i] == 0) continue;
    Syntax& s = at(lines, places[i]);
    if (places[i].is_scan) {
      say_order(s, choices.scans[chosen[i] - 1]);
      continue;
    }
    if (places[i].is_cast) {
      const std::vector<RoundingPoint> others = choices.others_than(s);
      Syntax inner = std::move(s.operands.front());
      s = std::move(inner);
      if (chosen[i] > 1) cast_to(s, others[chosen[i] - 2]);
      continue;
    }
    cast_to(s, choices.points[chosen[i] - 1]);
  }
  return lines;
}

class PointSearch {
 public:
  PointSearch(const Expression& expression, const tensors::Tensor& output, const std::vector<RoundingPoint>& points)
      : expression_(expression), lines_(parse_formula(expression.formula)), total_(output.count()) {
    std::vector<emu::Format> of_sums;
    for (const RoundingPoint& point : points) {
      if (std::ranges::find(choices_.points, point) == choices_.points.end()) choices_.points.push_back(point);
      add_narrower(of_sums, point.format);
    }
    add_narrower(of_sums, expression.last.out);
    choices_.scans = scans_of(of_sums, expression.arithmetic.format);
    const PlaceFinder finder(lines_);
    places_ = finder.places(), uses_ = finder.uses();
    outputs_.resize(static_cast<std::size_t>(std::min(total_, most_elements)));
    output.source->read(0, std::span(outputs_));
  }

  RoundingSearch run() {
    const auto nans = std::ranges::count_if(outputs_, [](double x) { return std::isnan(x); });
    RoundingSearch search{
        .count = outputs_.size(), .total = total_, .undefined = static_cast<std::uint64_t>(nans), .points = {}};
    const std::vector<std::size_t> none(places_.size(), 0);
    tried_[none] = measured(none);
    const bool few = combinations(Kinds::definitions) <= most_combinations;
    if (few) combine(none, 0, Kinds::definitions);
    if (!few || (has_more() && !has_all_bits()))
      combinations(Kinds::all) <= few_combinations ? combine(none, 0, Kinds::all) : climb_from(none);
    const RoundingPoints first = tried_[none];
    tried_.erase(none);
    for (auto& [choices, points] : tried_) search.points.push_back(std::move(points));
    std::stable_sort(search.points.begin(), search.points.end(), [](const RoundingPoints& a, const RoundingPoints& b) {
      if ((a.beyond == 0) != (b.beyond == 0)) return a.beyond == 0;
      if (a.equal != b.equal) return a.equal > b.equal;
      return a.added + a.removed < b.added + b.removed;
    });
    search.points.insert(search.points.begin(), first);
    return search;
  }

 private:
  /// Adds a format that is narrower than the arithmetic, once.
  void add_narrower(std::vector<emu::Format>& formats, emu::Format format) const {
    const bool is_there = std::find(formats.begin(), formats.end(), format) != formats.end();
    if (!is_there && format.precision() < expression_.arithmetic.format.precision()) formats.push_back(format);
  }
  std::size_t choices_at(std::size_t place) const { return choices_.count(lines_, places_[place]); }

  /// Places that are combined: all, or those where a value is made or rounded and no order is left open.
  enum class Kinds : std::uint8_t { all, definitions };
  bool is_left_out(std::size_t place, Kinds kinds) const {
    return kinds == Kinds::definitions && (places_[place].used || places_[place].is_scan);
  }
  bool has_more() const {
    return std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.used || place.is_scan; });
  }
  /// Whether a formula has every bit of the output.
  bool has_all_bits() const {
    return std::any_of(tried_.begin(), tried_.end(), [&](const auto& tried) { return tried.second.equal == outputs_.size(); });
  }
  double combinations(Kinds kinds) const {
    double count = 1;
    for (std::size_t place = 0; place < places_.size(); ++place)
      if (!is_left_out(place, kinds)) count *= static_cast<double>(choices_at(place) + 1);
    return count;
  }

  void combine(std::vector<std::size_t> choices, std::size_t place, Kinds kinds) {
    if (place == places_.size()) {
      if (tried_.count(choices) == 0 && !says_it_otherwise(choices)) tried_[choices] = measured(choices);
      return;
    }
    const std::size_t most = is_left_out(place, kinds) ? 0 : choices_at(place);
    for (std::size_t choice = 0; choice <= most; ++choice) {
      choices[place] = choice;
      combine(choices, place + 1, kinds);
    }
  }

  /// From there, and from the best that was tried before.
  void climb_from(const std::vector<std::size_t>& start) {
    const auto best = std::max_element(tried_.begin(), tried_.end(), [](const auto& a, const auto& b) {
                        return a.second.equal < b.second.equal;
                      })->first;
    climb(start);
    if (best != start) climb(best);
  }

  /// One change after the other, the best each time.
  void climb(std::vector<std::size_t> choices) {
    while (true) {
      std::vector<std::size_t> best = choices;
      for (std::size_t place = 0; place < places_.size(); ++place)
        for (std::size_t choice = 0; choice <= choices_at(place); ++choice) {
          std::vector<std::size_t> next = choices;
          next[place] = choice;
          if (says_it_otherwise(next)) continue;
          if (tried_.count(next) == 0) tried_[next] = measured(next);
          if (tried_[next].equal > tried_[best].equal) best = next;
        }
      if (best == choices) return;
      choices = best;
    }
  }

  /// Whether uses of a name are rounded whose definition is, or all of them are in the place of the definition.
  bool says_it_otherwise(const std::vector<std::size_t>& choices) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& definition = places_[i];
      if (!definition.path.empty() || definition.is_cast || definition.used || definition.is_scan) continue;
      std::map<std::size_t, std::size_t> rounded;  // uses by choice
      for (std::size_t j = 0; j < places_.size(); ++j)
        if (places_[j].used == definition.line && choices[j] != 0) ++rounded[choices[j]];
      if (choices[i] != 0 && !rounded.empty()) return true;
      if (rounded.size() == 1 && rounded.begin()->second == uses_[definition.line]) return true;
    }
    return false;
  }

  /// The formula as it was given before all others.
  RoundingPoints measured(const std::vector<std::size_t>& choices) {
    emu::stop_if_asked();
    Expression expression = expression_;
    RoundingPoints points{.formula = text_of(changed(lines_, places_, choices, choices_))};
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (choices[i] == 0) continue;
      if (places_[i].is_cast) ++points.removed;
      if (!places_[i].is_cast || choices[i] > 1) ++points.added;
    }
    expression.formula = points.formula;
    const Evaluation evaluation = evaluation_of(expression);
    std::array<Approximate, Lanes::size> some;
    for (std::size_t first = 0; first < outputs_.size(); first += some.size()) {
      const std::size_t count = std::min(some.size(), outputs_.size() - first);
      evaluation.values(first, std::span(some).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        const bool is_equal = judge(some[i], outputs_[first + i], points);
        if (tried_.empty()) given_equal_.push_back(is_equal);
        points.gained += is_equal && !given_equal_[first + i] ? 1 : 0;
        points.lost += !is_equal && given_equal_[first + i] ? 1 : 0;
      }
    }
    return points;
  }

  /// Counts an element; whether it is equal.
  bool judge(const Approximate& x, double output, RoundingPoints& points) const {
    const auto last = [&](double value) { return emu::round_to(expression_.last.out, value, expression_.last.options).value; };
    const auto inside = [&](double reach) { return last(x.value - reach) <= output && output <= last(x.value + reach); };
    bool is_equal = false, is_within = false;
    if (std::isfinite(x.value)) {
      is_equal = inside(x.radius), is_within = inside(x.radius + x.error);
    } else {
      const double wanted = last(x.value);
      is_equal = wanted == output || (std::isnan(wanted) && std::isnan(output));
      is_within = x.error > 0 && std::fabs(output) <= last(x.error);
    }
    if (is_equal) ++points.equal;
    if (!is_equal && !is_within && !includes(x.overflow, overflow_of(output))) ++points.beyond;
    return is_equal;
  }

  const Expression& expression_;
  Choices choices_;
  Lines lines_;
  std::vector<Place> places_;
  std::vector<std::size_t> uses_;  ///< of the value of each line
  std::uint64_t total_;            ///< elements of the output
  std::vector<double> outputs_;
  std::vector<bool> given_equal_;  ///< elements that are the value of the formula as it was given
  std::map<std::vector<std::size_t>, RoundingPoints> tried_;
};

}  // namespace

RoundingSearch search_rounding_points(const Expression& expression, const tensors::Tensor& output,
                                      const std::vector<RoundingPoint>& formats) {
  const Formula formula = formula_of(expression);
  if (formula.value().shape != output.shape)
    throw Error(output.label + " " + tensors::shape_words(output.shape) + ": the result of these inputs is " +
                tensors::shape_words(formula.value().shape));
  return PointSearch(expression, output, formats).run();
}

}  // namespace ulpscope::verify
