// SPDX-License-Identifier: Apache-2.0
// From syntax to nodes: names, shapes by NumPy's rules of broadcasting, constants of indices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "verify/expressions/formula_builder.hpp"
#include "verify/expressions/known_formulas.hpp"
#include "verify/expressions/syntax.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {
namespace {

const Function* function_of(std::string_view name) {
  const auto all = functions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
  return found == all.end() ? nullptr : &*found;
}

struct Word {
  std::string_view name;
  std::size_t least, most;  ///< operands
};
constexpr std::size_t any = 1000;
/// Functions that are no elementwise_words() and no formats.
constexpr std::array known_words{
    Word{"abs", 1, 1},       Word{"clip", 3, 3},      Word{"concat", 2, any}, Word{"cumsum", 1, 1}, Word{"einsum", 2, 3},
    Word{"floor", 1, 1},     Word{"ceil", 1, 1},      Word{"trunc", 1, 1},    Word{"round", 1, 1},  Word{"gather", 2, 2},
    Word{"max", 1, 2},       Word{"maximum", 2, 2},   Word{"mean", 1, 1},     Word{"min", 1, 2},    Word{"minimum", 2, 2},
    Word{"positions", 1, 1}, Word{"reshape", 2, any}, Word{"square", 1, 1},   Word{"sum", 1, 1},    Word{"transpose", 1, any},
    Word{"where", 3, 3},     Word{"extent", 1, 1},    Word{"sign", 1, 1},     Word{"take", 2, 2}};

/// Whether every number of `some` is one of `format`.
bool holds(emu::Format format, emu::Format some) {
  return format.fraction_bits >= some.fraction_bits && format.min_spacing_exponent() <= some.min_spacing_exponent() &&
         format.max_exponent() >= some.max_exponent();
}

/// Whether a node does something in the format that is computed in: others hand elements on, or are rounding points.
bool rounds(const Node& node) {
  const bool reduces = node.op >= Op::sum && node.op <= Op::contract;
  return (node.is_pointwise() && node.op != Op::entered && node.op != Op::rounded) || (reduces && !node.order);
}

}  // namespace

FormulaBuilder::FormulaBuilder(const std::vector<FormulaInput>& inputs, const std::vector<FormulaNumber>& numbers,
                               const KernelArithmetic& arithmetic)
    : arithmetic_(arithmetic) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    define("--input", inputs[i].name, add({.op = Op::input, .shape = inputs[i].shape, .index = i}));
  for (const FormulaNumber& number : numbers) {
    define("--let", number.name, constant(number.decimal));
    numbers_.insert(number.name);
  }
  inputs_ = inputs.size();
}

Formula FormulaBuilder::formula(const Lines& lines) {
  std::size_t value = 0;
  for (const auto& [name, syntax] : lines) {
    const bool is_default = syntax.kind == Syntax::Kind::number && numbers_.count(name) != 0;
    if (is_default) continue;  // --let says another number
    value = build(syntax);
    if (name.empty()) continue;
    if (names_.count(name) != 0) throw formula_error(syntax.column, "'" + name + "' is defined already");
    if (is_known(name)) throw formula_error(syntax.column, "'" + name + "' is the name of a function");
    names_.emplace(name, value);
  }
  for (std::size_t i = 0; i < inputs_ + numbers_.size(); ++i)
    if (!used_[i]) throw Error((i < inputs_ ? "--input " : "--let ") + name_of(i) + ": is not in the formula");
  // The value is the last node, whatever was computed behind it.
  if (value + 1 != formula_.nodes.size()) formula_.nodes.push_back(same_as(value));
  return std::move(formula_);
}

Node FormulaBuilder::same_as(std::size_t value) const {
  const Extents shape = formula_.nodes[value].shape;
  return {.op = Op::reshape, .shape = shape, .operands = {value}, .arithmetic = arithmetic_};
}

bool FormulaBuilder::is_known(const std::string& name) {
  return function_of(name) != nullptr || emu::parse_format(name) ||
         std::any_of(known_words.begin(), known_words.end(), [&](const Word& word) { return word.name == name; });
}

std::string FormulaBuilder::name_of(std::size_t node) const {
  return std::ranges::find(names_, node, &decltype(names_)::value_type::second)->first;
}

void FormulaBuilder::define(const std::string& option, const std::string& name, std::size_t node) {
  if (!names_.emplace(name, node).second) throw Error(option + " " + name + ": is given twice");
}

std::size_t FormulaBuilder::add(Node node) {
  constexpr std::size_t most = 4096;
  if (formula_.nodes.size() == most) throw Error(fmt::format("formula: more than {} operations", most));
  if (entered_ && rounds(node))
    for (std::size_t& operand : node.operands) operand = entered(operand);
  node.arithmetic = arithmetic_;
  element_count(node.shape);
  formula_.nodes.push_back(std::move(node));
  used_.push_back(false);
  for (const std::size_t operand : formula_.nodes.back().operands) used_[operand] = true;
  return formula_.nodes.size() - 1;
}

std::size_t FormulaBuilder::entered(std::size_t operand) {
  if (holds(arithmetic_.format, format_of(operand))) return operand;
  const auto known = entered_->find(operand);
  if (known != entered_->end()) return known->second;
  const std::size_t node = add({.op = Op::entered, .shape = shape(operand), .operands = {operand}});
  return entered_->emplace(operand, node).first->second;
}

emu::Format FormulaBuilder::format_of(std::size_t node) const {
  const Node& n = formula_.nodes[node];
  switch (n.op) {
    case Op::input:
    case Op::position: return emu::float32;
    case Op::rounded: return n.format;
    case Op::sign:
    case Op::less:
    case Op::equal:
    case Op::both:
    case Op::opposite: return arithmetic_.format;  // 0 and 1, or -1
    case Op::gather:
    case Op::view:
    case Op::reshape: return format_of(n.operands.front());
    case Op::join:
      for (const std::size_t operand : n.operands)
        if (const emu::Format format = format_of(operand); !holds(arithmetic_.format, format)) return format;
      return arithmetic_.format;
    default: return n.arithmetic.format;
  }
}

std::size_t FormulaBuilder::build(const Syntax& s) {
  switch (s.kind) {
    case Syntax::Kind::number: return constant(s.word);
    case Syntax::Kind::name: return name(s);
    case Syntax::Kind::call: return call(s);
    case Syntax::Kind::index: return indexed(s);
    case Syntax::Kind::precision: return in_precision(s);
    case Syntax::Kind::list:
    case Syntax::Kind::text: break;
  }
  throw formula_error(s.column, "a text stands only in einsum(\"...\", ...)");
}

std::size_t FormulaBuilder::name(const Syntax& s) {
  const auto found = names_.find(s.word);
  if (found != names_.end()) {
    used_[found->second] = true;
    return found->second;
  }
  if (s.word == "inf" || s.word == "nan") return constant(s.word);
  // Fifty digits, more than any comparison with a float32 asks for (DLMF 3.12).
  if (s.word == "pi") return constant("3.14159265358979323846264338327950288419716939937510582");
  std::vector<std::string> known;
  for (const auto& [word, node] : names_) known.push_back(word);
  throw formula_error(s.column, fmt::format("'{}' is no input; there are {}", s.word, fmt::join(known, ", ")));
}

std::size_t FormulaBuilder::in_precision(const Syntax& s) {
  const auto format = emu::parse_format(s.word);
  if (!format) throw formula_error(s.column, "'" + s.word + "' is no format; ulpscope formats lists them");
  const KernelArithmetic outer = arithmetic_;
  arithmetic_.format = *format;
  auto entered_outside = std::exchange(entered_, std::map<std::size_t, std::size_t>());
  const std::size_t value = build(s.operands.front());
  arithmetic_ = outer;
  entered_ = std::move(entered_outside);
  return value;
}

namespace {

/// A word that is called, and cannot be.
Error no_function(const Syntax& s) {
  if (std::ranges::find(known_formulas(), s.word, &KnownFormula::name) != known_formulas().end())
    return formula_error(s.column,
                         fmt::format("'{0}' is no function but a formula of that name, which stands alone: put in what "
                                     "verify/expressions/library/{0}.toml has",
                                     s.word));
  return formula_error(s.column, fmt::format("'{}' is no function and no format; nearest: {}", s.word,
                                             fmt::join(emu::closest_words(s.word, formula_words()), ", ")));
}

}  // namespace

std::size_t FormulaBuilder::call(const Syntax& s) {
  if (const auto node = operation(s)) return *node;
  if (const Function* function = function_of(s.word)) {
    expect_operands(s, 1, 1);
    expect_named(s, {});
    const std::size_t x = build(s.operands.front());
    return add({.op = Op::function, .shape = shape(x), .operands = {x}, .function = function});
  }
  if (const auto format = emu::parse_format(s.word)) return cast(s, *format);
  const auto word = std::find_if(known_words.begin(), known_words.end(), [&](const Word& w) { return w.name == s.word; });
  if (word == known_words.end()) throw no_function(s);
  expect_operands(s, word->least, word->most);
  return named_operation(s);
}

std::optional<std::size_t> FormulaBuilder::operation(const Syntax& s) {
  if (s.word == "**") return power(s);
  if (s.word == "@") return product(s);
  struct Sign {
    std::string_view word;
    Op op;
    bool swapped = false;
  };
  constexpr std::array signs{Sign{"+", Op::add},      Sign{"-", Op::subtract},   Sign{"*", Op::multiply}, Sign{"/", Op::divide},
                             Sign{"<", Op::less},     Sign{">", Op::less, true}, Sign{"==", Op::equal},   Sign{"and", Op::both},
                             Sign{"neg", Op::negate}, Sign{"not", Op::opposite}};
  for (const Sign& sign : signs)
    if (sign.word == s.word) {
      Operands operands = build_all(s);
      if (sign.swapped) std::reverse(operands.begin(), operands.end());
      const std::size_t node = pointwise(sign.op, operands, s.column);
      if (sign.op == Op::divide) formula_.nodes[node].divides_by_number = formula_.nodes[operands[1]].op == Op::number;
      return node;
    }
  // Written by the others, as no comparison with NaN is true.
  if (s.word == "or") {
    const Operands x = build_all(s);
    return opposite(pointwise(Op::both, {opposite(x[0], s.column), opposite(x[1], s.column)}, s.column), s.column);
  }
  if (s.word == "!=") return opposite(pointwise(Op::equal, build_all(s), s.column), s.column);
  if (s.word == "<=" || s.word == ">=") {
    Operands x = build_all(s);
    const std::size_t equal = pointwise(Op::equal, x, s.column);
    if (s.word == ">=") std::swap(x[0], x[1]);
    const std::size_t less = pointwise(Op::less, x, s.column);
    return opposite(pointwise(Op::both, {opposite(less, s.column), opposite(equal, s.column)}, s.column), s.column);
  }
  return std::nullopt;
}

FormulaBuilder::Operands FormulaBuilder::build_all(const Syntax& s) {
  Operands operands;
  for (const Syntax& operand : s.operands) operands.push_back(build(operand));
  return operands;
}

std::size_t FormulaBuilder::power(const Syntax& s) {
  const std::size_t base = build(s.operands[0]);
  const Syntax& exponent = s.operands[1];
  if (exponent.kind == Syntax::Kind::number && exponent.word == "0.5") return root(base, "sqrt");
  const bool negative = exponent.kind == Syntax::Kind::call && exponent.word == "neg";
  const Syntax& size = negative ? exponent.operands.front() : exponent;
  if (negative && size.kind == Syntax::Kind::number && size.word == "0.5") return root(base, "rsqrt");
  const std::int64_t n = whole(exponent);
  constexpr std::int64_t most = 16;
  if (n == 0 || std::abs(n) > most)
    throw formula_error(exponent.column,
                        fmt::format("an exponent is a whole number from -{0} to {0} but 0, 0.5 or -0.5", most));
  std::size_t result = base;
  for (std::int64_t i = 1; i < std::abs(n); ++i) result = pointwise(Op::multiply, {result, base}, s.column);
  return n < 0 ? root(result, "rcp") : result;
}

std::size_t FormulaBuilder::root(std::size_t x, std::string_view name) {
  return add({.op = Op::function, .shape = shape(x), .operands = {x}, .function = function_of(name)});
}

std::size_t FormulaBuilder::cast(const Syntax& s, emu::Format format) {
  expect_operands(s, 1, 1);
  if (!emu::fits_float(format)) throw formula_error(s.column, s.word + ": a rounding point is to a format of at most float32");
  emu::RoundingOptions rounding;
  for (const Syntax& value : s.named) {
    const std::string& key = value.name;
    if (key == "rounding" && emu::parse_rounding(value.word) && *emu::parse_rounding(value.word) != emu::Rounding::stochastic)
      rounding.rounding = *emu::parse_rounding(value.word);
    else if (key == "policy" && emu::parse_policy(value.word))
      rounding.policy = *emu::parse_policy(value.word);
    else
      throw formula_error(value.column, s.word +
                                            "(x, rounding=R, policy=P): R is a rounding such as toward_zero, P is "
                                            "saturating or nonsaturating");
  }
  const std::size_t x = build(s.operands.front());
  return add({.op = Op::rounded, .shape = shape(x), .operands = {x}, .format = format, .rounding = rounding});
}

std::size_t FormulaBuilder::named_operation(const Syntax& s) {
  const std::string& word = s.word;
  if (word == "sum" || word == "mean") return reduction(s, word == "sum" ? Op::sum : Op::mean);
  if (word == "max" || word == "min") return extreme(s, word == "max");
  if (word == "cumsum") return running(s);
  if (word == "einsum") return contraction(s);
  if (word == "gather" || word == "take") return gather(s);
  if (word == "concat") return join(s);
  if (word == "reshape") return reshape(s);
  if (word == "transpose") return transpose(s);
  if (word == "positions") return positions(s);
  if (word == "extent") throw formula_error(s.column, "extent(x, axis=-1) stands in an index or in reshape");
  expect_named(s, {});
  const Operands x = build_all(s);
  if (word == "abs") return pointwise(Op::absolute, x, s.column);
  if (word == "sign") return pointwise(Op::sign, x, s.column);
  if (word == "square") return pointwise(Op::multiply, {x[0], x[0]}, s.column);
  if (word == "maximum") return pointwise(Op::maximum, x, s.column);
  if (word == "minimum") return pointwise(Op::minimum, x, s.column);
  if (word == "clip") return pointwise(Op::minimum, {pointwise(Op::maximum, {x[0], x[1]}, s.column), x[2]}, s.column);
  if (word == "where") return pointwise(Op::choose, x, s.column);
  const WholePart part = word == "floor"   ? WholePart::down
                         : word == "ceil"  ? WholePart::up
                         : word == "trunc" ? WholePart::toward_zero
                                           : WholePart::nearest_even;
  return add({.op = Op::whole, .shape = shape(x[0]), .operands = x, .whole = part});
}

std::size_t FormulaBuilder::extreme(const Syntax& s, bool greatest) {
  if (s.operands.size() == 1) return reduction(s, greatest ? Op::greatest : Op::least);
  expect_named(s, {});
  return pointwise(greatest ? Op::maximum : Op::minimum, build_all(s), s.column);
}

void FormulaBuilder::expect_named(const Syntax& s, const std::vector<std::string_view>& known) {
  for (const Syntax& value : s.named)
    if (std::find(known.begin(), known.end(), value.name) == known.end())
      throw formula_error(value.column, s.word + " has no argument " + value.name);
}

void FormulaBuilder::expect_operands(const Syntax& s, std::size_t least, std::size_t most) {
  if (s.operands.size() >= least && s.operands.size() <= most) return;
  const std::string wanted = least == most ? fmt::format("{}", least)
                             : most == any ? fmt::format("{} or more", least)
                                           : fmt::format("{} to {}", least, most);
  throw formula_error(s.column, fmt::format("{} takes {} operands, not {}", s.word, wanted, s.operands.size()));
}

bool FormulaBuilder::has(const Syntax& s, std::string_view key) {
  return std::ranges::find(s.named, key, &Syntax::name) != s.named.end();
}

bool Node::is_pointwise() const noexcept { return op >= Op::add && op <= Op::choose; }

std::uint64_t element_count(const Extents& shape) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && count > most / extent) throw Error("formula: a tensor of more than 2^40 elements");
    count *= extent;
  }
  return count;
}

Formula read_formula(std::string_view text, const std::vector<FormulaInput>& inputs, const std::vector<FormulaNumber>& numbers,
                     const KernelArithmetic& arithmetic) {
  return FormulaBuilder(inputs, numbers, arithmetic).formula(parse_formula(text));
}

std::vector<std::string> formula_words() {
  std::vector<std::string> all;
  for (const Word& word : known_words) all.emplace_back(word.name);
  for (const Function& function : functions()) all.emplace_back(function.name);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace ulpscope::verify
