// SPDX-License-Identifier: Apache-2.0
// `ulpscope eval` as its users run it, line by line against MPFR. Formats, operands and lines are made here, without emu.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/oracle/arithmetic_oracle.hpp"
#include "tests/reports/shell.hpp"
#include "tests/reports/temporary_directory.hpp"

namespace {
using namespace ulpscope;
using Code = std::uint64_t;
using Operands = std::array<Code, 3>;

struct Format {
  const char* name;
  oracle::Format facts;
  int digits;
};
constexpr Format float16{"float16", {5, 10, 15, oracle::ieee}, 4};
constexpr Format bfloat16{"bfloat16", {8, 7, 127, oracle::ieee}, 4};
constexpr Format float32{"float32", {8, 23, 127, oracle::ieee}, 8};
constexpr Format float64{"float64", {11, 52, 1023, oracle::ieee}, 16};
constexpr Format tf32{"tf32", {8, 10, 127, oracle::ieee}, 5};
constexpr Format e5m2{"e5m2", {5, 2, 15, oracle::ieee}, 2};
constexpr Format e4m3{"e4m3", {4, 3, 7, oracle::fn}, 2};
constexpr Format e4m3fnuz{"float8_e4m3fnuz", {4, 3, 8, oracle::fnuz}, 2};
constexpr Format e2m3{"e2m3", {2, 3, 1, oracle::finite}, 2};
constexpr Format e2m1{"e2m1", {2, 1, 1, oracle::finite}, 1};
constexpr Format e3m5{"e3m5b9fn", {3, 5, 9, oracle::fn}, 3};

Code code_mask(const Format& f) { return ~Code{0} >> (64 - oracle::bits(f.facts)); }
Code fraction_mask(const Format& f) { return (Code{1} << f.facts.fraction_bits) - 1; }
Code magnitude_mask(const Format& f) { return f.facts.style == oracle::fnu ? code_mask(f) : code_mask(f) >> 1; }

bool is_signaling(const Format& f, Code code) {
  const bool quiet_bit = (code >> (f.facts.fraction_bits - 1) & 1) != 0;
  return f.facts.style == oracle::ieee && oracle::is_nan(f.facts, code) && !quiet_bit;
}

/// The zero in whose place a subnormal operand stands.
Code flushed(const Format& f, Code code) {
  const Code magnitude = code & magnitude_mask(f);
  if (magnitude > fraction_mask(f) || oracle::is_nan(f.facts, code)) return code;
  return f.facts.style == oracle::fnuz ? 0 : code - magnitude;
}

struct Variant {
  const char* words;
  oracle::Mode mode = oracle::nearest_even;
  oracle::Options options = {};
  bool subnormals_are_zero = false;
};
constexpr oracle::Options saturating{.saturating = true}, tiny_before{.tiny_before = true}, flush{.flush_subnormals = true};
constexpr Variant variants[] = {
    {""},
    {"--rounding nearest_away --tininess after", oracle::nearest_away},
    {"--rounding toward_zero", oracle::toward_zero},
    {"--rounding upward", oracle::upward},
    {"--rounding downward", oracle::downward},
    {"--rounding to_odd", oracle::to_odd},
    {"--tininess before", oracle::nearest_even, tiny_before},
    {"--tininess before --rounding nearest_away", oracle::nearest_away, tiny_before},
    {"--tininess before --rounding rz", oracle::toward_zero, tiny_before},
    {"--tininess before --rounding rp", oracle::upward, tiny_before},
    {"--tininess before --rounding rm", oracle::downward, tiny_before},
    {"--tininess before --rounding to-odd", oracle::to_odd, tiny_before},
    {"--policy saturating", oracle::nearest_even, saturating},
    {"--policy saturating --rounding upward", oracle::upward, saturating},
    {"--flush-subnormals", oracle::nearest_even, flush},
    {"--subnormals-are-zero", oracle::nearest_even, {}, true},
};

struct Op {
  const char* name;
  std::size_t operands;
  std::optional<oracle::Op> arithmetic;  ///< what the oracle calls it; the others are answered below
};
constexpr Op add{"add", 2, oracle::Op::add}, sub{"sub", 2, oracle::Op::sub}, mul{"mul", 2, oracle::Op::mul},
    div_{"div", 2, oracle::Op::div}, rem{"rem", 2, oracle::Op::rem}, sqrt_{"sqrt", 1, oracle::Op::sqrt},
    fma_{"fma", 3, oracle::Op::fma}, round_to_int{"round_to_int", 1, {}}, eq{"eq", 2, {}}, le{"le", 2, {}}, lt{"lt", 2, {}},
    convert{"convert", 1, {}};
constexpr Op unary[] = {sqrt_, round_to_int}, binary[] = {add, sub, mul, div_, rem, eq, le, lt};

std::string hex(Code code, int digits) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "%0*llX", digits, static_cast<unsigned long long>(code));
  return text.data();
}

std::string line_of(const Op& op, const Format& f, const Operands& x) {
  std::string out;
  for (std::size_t i = 0; i < op.operands; ++i) out += (i == 0 ? "" : " ") + hex(x[i], f.digits);
  return out;
}

/// A comparison of the exact values, as text; eq is quiet, le and lt signal (IEEE 754-2019, 5.11).
std::string compared(const Op& op, const Format& f, Code a, Code b) {
  const double x = oracle::value_of(f.facts, a), y = oracle::value_of(f.facts, b);
  const std::string name = op.name;
  const bool holds = name == "eq" ? x == y : (name == "le" ? x <= y : x < y);
  const bool nan = oracle::is_nan(f.facts, a) || oracle::is_nan(f.facts, b);
  const bool invalid = name == "eq" ? is_signaling(f, a) || is_signaling(f, b) : nan;
  return (holds ? "1" : "0") + std::string(invalid ? " 10" : " 00");
}

/// The result lines that MPFR gives, one variant after the other.
class Expected {
 public:
  Expected(const Op& op, const Format& from, const Format& to, const Operands& x)
      : op_(op), from_(from), to_(to), x_(x), line_(line_of(op, from, x) + " ") {
    if (!op.arithmetic) return;
    const oracle::Operation::Operands operands{.a = x[0], .b = x[1], .c = x[2]};
    plain_.emplace(from.facts, *op.arithmetic, operands);
    daz_.emplace(from.facts, *op.arithmetic, operands, true);
  }
  std::string line(const Variant& v) const {
    Operands x = x_;
    if (v.subnormals_are_zero)
      for (Code& code : x) code = flushed(from_, code);
    const std::string name = op_.name;
    if (name == "eq" || name == "le" || name == "lt") return line_ + compared(op_, from_, x[0], x[1]);
    oracle::Answer answer{};
    if (op_.arithmetic) answer = (v.subnormals_are_zero ? *daz_ : *plain_).round(v.mode, v.options);
    if (name == "round_to_int") answer = oracle::round_to_integral(from_.facts, x[0], v.mode, v.options, false);
    if (name == "convert") {
      answer = oracle::round(to_.facts, oracle::value_of(from_.facts, x[0]), v.mode, v.options);
      if (is_signaling(from_, x[0])) answer.flags |= oracle::flag_invalid;
    }
    return line_ + hex(answer.code, to_.digits) + " " + hex(static_cast<Code>(answer.flags), 2);
  }

 private:
  Op op_;
  Format from_, to_;
  Operands x_;
  std::string line_;
  std::optional<oracle::Operation> plain_, daz_;
};

/// In the manner of TestFloat's level 1: exponents at the ends, around one and where sums lose their last bit, each with the
/// first and last two fractions, of both signs; then the same beside random codes.
class Generator {
 public:
  explicit Generator(const Format& f) : format_(f) {
    const int top = (1 << f.facts.exponent_bits) - 1, bias = f.facts.bias, precision = f.facts.fraction_bits + 1;
    for (const int field :
         {0, 1, bias - precision, bias - 2, bias - 1, bias, bias + 1, bias + 2, bias + precision, top - 1, top})
      for (const Code fraction : {Code{0}, Code{1}, fraction_mask(f), fraction_mask(f) - 1})
        for (const Code sign : {Code{0}, magnitude_mask(f) + 1})
          if (field >= 0 && field <= top)
            edges_.push_back((static_cast<Code>(field) << f.facts.fraction_bits | (fraction & fraction_mask(f)) | sign) &
                             code_mask(f));
  }
  Code random() { return engine_() & code_mask(format_); }
  Code edge() { return edges_[engine_() % edges_.size()]; }

  std::vector<Operands> pairs() {
    std::vector<Operands> out;
    for (const Code a : edges_)
      for (const Code b : edges_) out.insert(out.end(), {{a, b, 0}, {a, random(), 0}, {random(), b, 0}});
    return out;
  }
  std::vector<Operands> triples(std::size_t count) {
    std::vector<Operands> out;
    while (out.size() < count) {
      const Code a = edge(), b = edge(), c = edge();
      out.insert(out.end(), {{a, b, c}, {a, b, random()}, {a, random(), c}, {random(), random(), random()}});
    }
    return out;
  }

 private:
  Format format_;
  std::vector<Code> edges_;
  std::mt19937_64 engine_{20};
};

std::vector<Operands> every_code(const Format& f) {
  std::vector<Operands> out;
  for (Code a = 0; a <= code_mask(f); ++a) out.push_back({a, 0, 0});
  return out;
}

std::vector<Operands> every_pair(const Format& f) {
  std::vector<Operands> out;
  for (Code a = 0; a <= code_mask(f); ++a)
    for (Code b = 0; b <= code_mask(f); ++b) out.push_back({a, b, 0});
  return out;
}

std::string words_of(const Op& op, const Format& from, const Format& to, const Variant& variant) {
  const std::string from_words = &from == &to ? "" : std::string(" --from ") + from.name;
  return std::string("eval --op ") + op.name + from_words + " --format " + to.name + " " + variant.words;
}

/// Runs the program once for each variant, and compares every line.
void require_lines(const Op& op, const Format& from, const Format& to, const std::vector<Operands>& operands) {
  const TemporaryDirectory folder;
  {
    std::ofstream in(folder.file("in"));
    for (const Operands& x : operands) in << line_of(op, from, x) << '\n';
  }
  std::vector<std::ifstream> results;
  for (const Variant& variant : variants) {
    const std::string out = folder.file("out" + std::to_string(results.size()));
    const std::string words = words_of(op, from, to, variant);
    INFO(words);
    REQUIRE(exit_code_of("'" ULPSCOPE_PROGRAM "' " + words + " < '" + folder.file("in") + "' > '" + out + "'") == 0);
    results.emplace_back(out);
  }
  std::string line;
  for (const Operands& x : operands) {
    const Expected expected(op, from, to, x);
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::getline(results[i], line);
      if (const std::string wanted = expected.line(variants[i]); line != wanted)
        FAIL(words_of(op, from, to, variants[i]) << "\ngot      " << line << "\nexpected " << wanted);
    }
  }
  for (std::ifstream& result : results) REQUIRE_FALSE(std::getline(result, line));
}

}  // namespace

TEST_CASE("float16: each line of every binary operation is MPFR's, in every direction and switch", "[eval]") {
  const auto operands = Generator(float16).pairs();
  for (const Op& op : binary) require_lines(op, float16, float16, operands);
}

TEST_CASE("float16: each line of fma is MPFR's, in every direction and switch", "[eval]") {
  require_lines(fma_, float16, float16, Generator(float16).triples(30'000));
}

TEST_CASE("float16: each line of 10^6 of fma is MPFR's", "[eval][exhaustive]") {
  require_lines(fma_, float16, float16, Generator(float16).triples(1'000'000));
}

TEST_CASE("float16: each line of sqrt and round_to_int is MPFR's, for every code", "[eval]") {
  for (const Op& op : unary) require_lines(op, float16, float16, every_code(float16));
}

TEST_CASE("convert: each line is MPFR's, for every code of 16 bits or fewer", "[eval][long]") {
  for (const Format* to : {&e5m2, &e4m3, &e2m1, &tf32, &float64}) require_lines(convert, float16, *to, every_code(float16));
  for (const Format* from : {&e5m2, &e2m3, &e3m5, &e4m3fnuz}) require_lines(convert, *from, bfloat16, every_code(*from));
}

TEST_CASE("formats of 4 to 9 bits: each line of every operation is MPFR's", "[eval][long]") {
  for (const Format* f : {&e2m1, &e2m3})
    for (const Op& op : binary) require_lines(op, *f, *f, every_pair(*f));
  for (const Format* f : {&e4m3, &e3m5, &e4m3fnuz}) {
    const auto triples = Generator(*f).triples(4'000);
    for (const Op& op : binary) require_lines(op, *f, *f, triples);
    for (const Op& op : unary) require_lines(op, *f, *f, every_code(*f));
    require_lines(fma_, *f, *f, triples);
  }
}

TEST_CASE("bfloat16, tf32, float32 and float64: each line of every operation is MPFR's, on few operands", "[eval][long]") {
  for (const Format* f : {&bfloat16, &tf32, &float32, &float64}) {
    const auto triples = Generator(*f).triples(1'000);
    for (const Op& op : binary) require_lines(op, *f, *f, triples);
    for (const Op& op : unary) require_lines(op, *f, *f, triples);
    require_lines(fma_, *f, *f, triples);
  }
}
