// SPDX-License-Identifier: Apache-2.0
// Operator precedence as in Python: `or`, `and`, `not`, comparisons, `|`, `&`, sums, products, signs and `~`, powers, brackets
// behind a value.
#include "verify/expressions/syntax.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace ulpscope::verify {
namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

struct Token {
  enum class Kind : std::uint8_t { number, text, name, sign, end };
  Kind kind = Kind::end;
  std::string_view word;
  std::size_t column = 0;
};

/// The longest first.
constexpr std::array<std::string_view, 26> signs{"...", "**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "@", "<", ">",
                                                 "=",   "(",  ")",  "[",  "]",  ",",  ":", ";", "&", "|", "~", "{", "}"};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { advance(); }

  const Token& next() const { return next_; }
  Token take() {
    Token taken = next_;
    advance();
    return taken;
  }
  bool is(std::string_view word) const {
    return (next_.kind == Token::Kind::sign || next_.kind == Token::Kind::name) && next_.word == word;
  }
  bool accept(std::string_view word) {
    if (!is(word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) throw unexpected("'" + std::string(word) + "' is missing");
  }
  Error unexpected(const std::string& what) const {
    const std::string found = next_.kind == Token::Kind::end ? "the end" : "'" + std::string(next_.word) + "'";
    return formula_error(next_.column, what + " before " + found);
  }

 private:
  void advance() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '#')) skip();
    next_ = {.kind = Token::Kind::end, .word = {}, .column = at_ + 1};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    if (begins_name(c)) return emit(Token::Kind::name, length_of(continues_name));
    if (c == '"' || c == '\'') return text(c);
    for (const std::string_view sign : signs)
      if (text_.substr(at_).starts_with(sign)) return emit(Token::Kind::sign, sign.size());
    throw formula_error(at_ + 1, "no formula has a character such as this");
  }
  /// A blank, or a comment up to the end of its line.
  void skip() {
    if (text_[at_] != '#') {
      ++at_;
      return;
    }
    at_ = std::min(text_.find('\n', at_), text_.size());
  }
  void emit(Token::Kind kind, std::size_t length) {
    next_ = {kind, text_.substr(at_, length), at_ + 1};
    at_ += length;
  }
  template <class Belongs>
  std::size_t length_of(Belongs belongs, std::size_t from = 0) const {
    std::size_t length = from;
    while (at_ + length < text_.size() && belongs(text_[at_ + length])) ++length;
    return length;
  }
  void number() {
    const auto at = [&](std::size_t length) { return at_ + length < text_.size() ? text_[at_ + length] : '\0'; };
    std::size_t length = length_of(is_digit);
    if (at(length) == '.' && at(length + 1) != '.') length = length_of(is_digit, length + 1);
    if (at(length) == 'e' || at(length) == 'E') {
      const std::size_t digits = length + (at(length + 1) == '-' || at(length + 1) == '+' ? 2 : 1);
      if (is_digit(at(digits))) length = length_of(is_digit, digits);
    }
    if (begins_name(at(length))) throw formula_error(at_ + 1 + length, "a number does not go on so");
    emit(Token::Kind::number, length);
  }
  void text(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw formula_error(at_ + 1, "these quotes have no end");
    next_ = {Token::Kind::text, text_.substr(at_ + 1, end - at_ - 1), at_ + 1};
    at_ = end + 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token next_;
};

/// Binary operators by how tightly they bind, those of one row from left to right.
struct Precedence {
  std::vector<std::string_view> signs;
};
const std::array<Precedence, 7>& precedences() {
  static const std::array<Precedence, 7> all{
      Precedence{{"or"}},         Precedence{{"and"}}, Precedence{{"<=", ">=", "==", "!=", "<", ">"}},
      Precedence{{"|"}},          Precedence{{"&"}},   Precedence{{"+", "-"}},
      Precedence{{"*", "/", "@"}}};
  return all;
}
constexpr std::size_t comparisons = 2;

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}

  Lines lines() {
    Lines lines;
    while (true) {
      Syntax value = expression();
      std::string name;
      if (value.kind == Syntax::Kind::name && tokens_.accept("=")) {
        name = value.word;
        value = expression();
      }
      lines.emplace_back(std::move(name), std::move(value));
      const bool more = tokens_.accept(";");
      if (tokens_.next().kind == Token::Kind::end) break;
      if (!more) throw tokens_.unexpected("an operator or ';' is missing");
    }
    check_names(lines);
    return lines;
  }

 private:
  static void check_names(Lines& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool is_last = i + 1 == lines.size();
      if (lines[i].first.empty() != is_last)
        throw formula_error(lines[i].second.column, is_last ? "the last line is the formula's value: it has no name"
                                                            : "a line before the last one has a name: name = ...;");
    }
  }

  /// Calls itself for each level of brackets.
  class Level {
   public:
    Level(std::size_t& depth, std::size_t column) : depth_(depth) {
      constexpr std::size_t deepest = 64;
      if (++depth_ > deepest) throw formula_error(column, "more than 64 levels of brackets");
    }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    std::size_t& depth_;
  };

  Syntax expression() {
    const Level level(depth_, tokens_.next().column);
    const Token& first = tokens_.next();
    const Token begin = first;
    if (begin.kind == Token::Kind::name) {
      // `fp32: ...` computes all that follows in that format.
      Tokens ahead = tokens_;
      ahead.take();
      if (ahead.is(":") && allows_precision_) {
        tokens_ = ahead;
        tokens_.take();
        return {.kind = Syntax::Kind::precision,
                .word = std::string(begin.word),
                .operands = {expression()},
                .column = begin.column};
      }
    }
    return binary(0);
  }

  Syntax binary(std::size_t row) {
    if (row == precedences().size()) return negated();
    if (row == comparisons && tokens_.is("not")) return unary("not", row);
    Syntax left = binary(row + 1);
    while (const auto sign = operator_of(row)) {
      const std::size_t column = tokens_.take().column;
      Syntax right = row == comparisons && tokens_.is("not") ? unary("not", row) : binary(row + 1);
      left = call(*sign == "|" ? "or" : *sign == "&" ? "and" : *sign, column, std::move(left), std::move(right));
      if (row == comparisons && operator_of(row)) throw tokens_.unexpected("comparisons do not follow each other: use 'and'");
    }
    return left;
  }
  std::optional<std::string> operator_of(std::size_t row) const {
    for (const std::string_view sign : precedences()[row].signs)
      if (tokens_.is(sign)) return std::string(sign);
    return std::nullopt;
  }
  Syntax unary(const char* word, std::size_t row) {
    const Level level(depth_, tokens_.next().column);
    const std::size_t column = tokens_.take().column;
    return call(word, column, binary(row));
  }

  Syntax negated() {
    const Level level(depth_, tokens_.next().column);
    const std::size_t column = tokens_.next().column;
    if (tokens_.accept("-")) return call("neg", column, negated());
    if (tokens_.accept("+")) return negated();
    if (tokens_.accept("~")) return call("not", column, negated());
    Syntax base = behind(primary());
    if (!tokens_.is("**")) return base;
    const std::size_t sign = tokens_.take().column;
    return call("**", sign, std::move(base), negated());
  }

  Syntax primary() {
    const Token token = tokens_.next();
    switch (token.kind) {
      case Token::Kind::number: return word_of(Syntax::Kind::number);
      case Token::Kind::text: return word_of(Syntax::Kind::text);
      case Token::Kind::name: {
        if (token.word == "not" || token.word == "and" || token.word == "or") throw tokens_.unexpected("a value is missing");
        Syntax name = word_of(Syntax::Kind::name);
        return tokens_.is("(") ? arguments(std::move(name)) : name;
      }
      default: break;
    }
    if (!tokens_.accept("(")) throw tokens_.unexpected("a value is missing");
    const bool may_be_list = std::exchange(allows_list_, false), outer = std::exchange(allows_precision_, true);
    Syntax inner = expression();
    if (may_be_list && tokens_.is(",")) inner = list(token.column, std::move(inner));
    allows_precision_ = outer;
    tokens_.expect(")");
    return inner;
  }
  Syntax list(std::size_t column, Syntax first) {
    Syntax list{.kind = Syntax::Kind::list, .word = {}, .operands = {}, .column = column};
    list.operands.push_back(std::move(first));
    while (tokens_.accept(",") && !tokens_.is(")")) list.operands.push_back(expression());
    return list;
  }
  Syntax word_of(Syntax::Kind kind) {
    const Token token = tokens_.take();
    return {.kind = kind, .word = std::string(token.word), .column = token.column};
  }

  Syntax arguments(Syntax name) {
    name.kind = Syntax::Kind::call;
    count(name.column);
    tokens_.expect("(");
    const bool outer = std::exchange(allows_precision_, true);
    while (!tokens_.is(")")) {
      Syntax argument = expression();
      if (argument.kind == Syntax::Kind::name && tokens_.accept("=")) {
        if (std::ranges::find(name.named, argument.word, &Syntax::name) != name.named.end())
          throw formula_error(argument.column, name.word + ": " + argument.word + " is given twice");
        allows_list_ = tokens_.is("(");
        Syntax value = expression();
        value.name = argument.word;
        name.named.push_back(std::move(value));
      } else if (!name.named.empty()) {
        throw formula_error(argument.column, "an argument without a name stands behind one with a name");
      } else {
        name.operands.push_back(std::move(argument));
      }
      if (!tokens_.accept(",")) break;
    }
    allows_precision_ = outer;
    tokens_.expect(")");
    if (name.word == "neg" && (name.operands.size() != 1 || !name.named.empty()))  // what `-` before a value makes has one
      throw formula_error(name.column, "neg takes one operand");
    return name;
  }

  /// Brackets behind a value.
  Syntax behind(Syntax value) {
    while (tokens_.is("[")) {
      Syntax index{.kind = Syntax::Kind::index, .word = {}, .operands = {}, .column = tokens_.take().column};
      count(index.column);
      index.operands.push_back(std::move(value));
      const bool outer = std::exchange(allows_precision_, false);
      do index.ranges.push_back(range());
      while (tokens_.accept(","));
      allows_precision_ = outer;
      tokens_.expect("]");
      value = std::move(index);
    }
    return value;
  }
  SyntaxRange range() {
    SyntaxRange range;
    if (tokens_.accept("...")) {
      range.kind = SyntaxRange::Kind::rest;
      return range;
    }
    const auto end = [&] { return tokens_.is(":") || tokens_.is(",") || tokens_.is("]"); };
    if (!end()) range.first.push_back(expression());
    if (!tokens_.accept(":")) {
      if (range.first.empty()) throw tokens_.unexpected("an index is missing");
      range.kind = SyntaxRange::Kind::index;
      return range;
    }
    if (!end()) range.last.push_back(expression());
    if (tokens_.accept(":") && !end()) range.step.push_back(expression());
    return range;
  }

  void count(std::size_t column) {
    constexpr std::size_t most = 1000;  // what evaluates a formula calls itself as often
    if (++operations_ > most) throw formula_error(column, "more than " + std::to_string(most) + " operations");
  }
  template <class... Operands>
  Syntax call(std::string word, std::size_t column, Operands... operands) {
    count(column);
    Syntax call{.kind = Syntax::Kind::call, .word = std::move(word)};
    call.column = column;
    call.operands.reserve(sizeof...(operands));
    (call.operands.push_back(std::move(operands)), ...);
    return call;
  }

  Tokens tokens_;
  std::size_t depth_ = 0, operations_ = 0;
  bool allows_precision_ = true;  ///< not between brackets behind a value, where a colon is a range's
  bool allows_list_ = false;      ///< in the brackets that come next
};

}  // namespace

Lines parse_formula(std::string_view text) { return Parser(text).lines(); }

Error formula_error(std::size_t column, const std::string& what) {
  return Error("formula, column " + std::to_string(column) + ": " + what);
}

}  // namespace ulpscope::verify
