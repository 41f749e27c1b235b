// SPDX-License-Identifier: Apache-2.0
// The study's functions against MPFR: every operation of the rounded ones, and the float64 references as a whole. Both are
// written a second time here, from the formulas.
#include <mpfr.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "studies/breaks/scaled_functions.hpp"
#include "tests/oracle/arithmetic_oracle.hpp"

using namespace ulpscope;
using oracle::Op;

namespace {

using Codes = std::vector<std::uint64_t>;
using Values = std::vector<double>;

/// The oracle's operations, on codes.
struct Machine {
  oracle::Format format;
  oracle::Mode mode;

  std::uint64_t round(double x) const { return oracle::round(format, x, mode).code; }
  std::uint64_t operator()(Op op, std::uint64_t a, std::uint64_t b = 0) const {
    return oracle::Operation(format, op, {.a = a, .b = b}).round(mode).code;
  }
  double value(std::uint64_t code) const {
    oracle::Number number;
    oracle::set_value(number, format, code);
    return mpfr_get_d(number, MPFR_RNDN);
  }
  std::uint64_t greatest(const Codes& x) const {
    return *std::max_element(x.begin(), x.end(), [&](auto a, auto b) { return value(a) < value(b); });
  }
  std::uint64_t sum(const Codes& x) const {
    std::uint64_t total = round(0);
    for (const auto term : x) total = (*this)(Op::add, total, term);
    return total;
  }
  template <class Act>
  Codes each(Codes x, Act act) const {
    for (auto& one : x) one = act(one);
    return x;
  }
};

Codes softmax(const Machine& m, Codes x, bool shifted) {
  const auto most = m.greatest(x);
  if (shifted) x = m.each(x, [&](auto v) { return m(Op::sub, v, most); });
  x = m.each(x, [&](auto v) { return m(Op::exp, v); });
  const auto total = m.sum(x);
  return m.each(x, [&](auto v) { return m(Op::div, v, total); });
}

Codes cross_entropy(const Machine& m, const Codes& x) {
  const auto most = m.greatest(x);
  const Codes shifted = m.each(x, [&](auto v) { return m(Op::sub, v, most); });
  const auto total = m.sum(m.each(shifted, [&](auto v) { return m(Op::exp, v); }));
  return {m(Op::sub, m(Op::log, total), shifted[0])};
}

Codes layer_norm(const Machine& m, const Codes& x) {
  const auto n = m.round(static_cast<double>(x.size()));
  const auto mean = m(Op::div, m.sum(x), n);
  const Codes centred = m.each(x, [&](auto v) { return m(Op::sub, v, mean); });
  const auto variance = m(Op::div, m.sum(m.each(centred, [&](auto v) { return m(Op::mul, v, v); })), n);
  const auto deviation = m(Op::sqrt, m(Op::add, variance, m.round(1e-5)));
  return m.each(centred, [&](auto v) { return m(Op::div, v, deviation); });
}

std::uint64_t gelu(const Machine& m, std::uint64_t v) {
  const auto gate = m(Op::erf, m(Op::mul, v, m.round(std::sqrt(0.5))));
  return m(Op::mul, m(Op::mul, m.round(0.5), v), m(Op::add, m.round(1), gate));
}

std::uint64_t gelu_tanh(const Machine& m, std::uint64_t v) {
  const auto cube = m(Op::mul, m(Op::mul, v, v), v);
  const auto inner = m(Op::add, v, m(Op::mul, m.round(0.044715), cube));
  const auto gate = m(Op::tanh, m(Op::mul, m.round(0.7978845608028654), inner));
  return m(Op::mul, m(Op::mul, m.round(0.5), v), m(Op::add, m.round(1), gate));
}

std::uint64_t adam(const Machine& m, std::uint64_t g) {
  const auto rest1 = m.round(1 - 0.9), rest2 = m.round(1 - 0.999);
  const auto mean = m(Op::div, m(Op::mul, rest1, g), rest1);
  const auto variance = m(Op::div, m(Op::mul, rest2, m(Op::mul, g, g)), rest2);
  return m(Op::div, mean, m(Op::add, m(Op::sqrt, variance), m.round(1e-8)));
}

Codes by_oracle(const std::string& function, const Machine& m, const Codes& x) {
  if (function == "softmax") return softmax(m, x, true);
  if (function == "softmax_unshifted") return softmax(m, x, false);
  if (function == "layer_norm") return layer_norm(m, x);
  if (function == "gelu") return m.each(x, [&](auto v) { return gelu(m, v); });
  if (function == "gelu_tanh") return m.each(x, [&](auto v) { return gelu_tanh(m, v); });
  if (function == "cross_entropy") return cross_entropy(m, x);
  if (function == "cross_entropy_of_softmax") {
    const double value = -m.value(m(Op::log, softmax(m, x, true)[0]));
    return {std::isfinite(value) ? m.round(value) : m(Op::sub, m.round(0), m(Op::log, softmax(m, x, true)[0]))};
  }
  if (function == "sum_of_squares") return {m.sum(m.each(x, [&](auto v) { return m(Op::mul, v, v); }))};
  REQUIRE(function == "adam");
  return m.each(x, [&](auto v) { return adam(m, v); });
}

/// 4096 bits, of which cancellation may take any number that a double's exponents can ask for.
class Wide {
 public:
  Wide() { mpfr_init2(x_, 4096); }
  explicit Wide(double x) : Wide() { mpfr_set_d(x_, x, MPFR_RNDN); }
  Wide(const Wide& other) : Wide() { mpfr_set(x_, other.x_, MPFR_RNDN); }
  Wide& operator=(const Wide& other) {
    if (this != &other) mpfr_set(x_, other.x_, MPFR_RNDN);
    return *this;
  }
  ~Wide() { mpfr_clear(x_); }
  template <class Function, class... More>
  Wide with(Function function, More... more) const {
    Wide out;
    function(out.x_, x_, more..., MPFR_RNDN);
    return out;
  }
  friend Wide operator+(const Wide& a, const Wide& b) { return a.with(mpfr_add, b.x_); }
  friend Wide operator-(const Wide& a, const Wide& b) { return a.with(mpfr_sub, b.x_); }
  friend Wide operator*(const Wide& a, const Wide& b) { return a.with(mpfr_mul, b.x_); }
  friend Wide operator/(const Wide& a, const Wide& b) { return a.with(mpfr_div, b.x_); }
  double value() const { return mpfr_get_d(x_, MPFR_RNDN); }

 private:
  mpfr_t x_;
};

/// The function by its definition.
std::vector<Wide> defined(const std::string& function, const Values& in) {
  std::vector<Wide> x, out;
  for (const double v : in) x.emplace_back(v);
  const auto sum = [](const std::vector<Wide>& terms) {
    Wide total(0.0);
    for (const Wide& term : terms) total = total + term;
    return total;
  };
  if (function.starts_with("softmax") || function.starts_with("cross_entropy")) {
    std::vector<Wide> terms;
    for (const Wide& v : x) terms.push_back(v.with(mpfr_exp));
    if (function.starts_with("cross_entropy")) return {sum(terms).with(mpfr_log) - x[0]};
    for (const Wide& term : terms) out.push_back(term / sum(terms));
    return out;
  }
  if (function == "layer_norm") {
    const Wide n(static_cast<double>(x.size())), mean = sum(x) / n;
    std::vector<Wide> squares;
    for (const Wide& v : x) squares.push_back((v - mean) * (v - mean));
    const Wide epsilon = Wide(1) / Wide(100000), deviation = (sum(squares) / n + epsilon).with(mpfr_sqrt);
    for (const Wide& v : x) out.push_back((v - mean) / deviation);
    return out;
  }
  if (function == "sum_of_squares") {
    for (const Wide& v : x) out.push_back(v * v);
    return {sum(out)};
  }
  for (const Wide& v : x) {
    const Wide half = v / Wide(2), one(1);
    if (function == "gelu") {  // x/2 erfc(-x/sqrt(2))
      out.push_back(half * (Wide(0) - v / Wide(2).with(mpfr_sqrt)).with(mpfr_erfc));
    } else if (function == "gelu_tanh") {
      const Wide pi = Wide(-1).with(mpfr_acos), cubed = v * v * v * Wide(44715) / Wide(1000000);
      out.push_back(half * (one + ((Wide(2) / pi).with(mpfr_sqrt) * (v + cubed)).with(mpfr_tanh)));
    } else {
      REQUIRE(function == "adam");
      out.push_back(v / (v.with(mpfr_abs) + one / Wide(1e8)));
    }
  }
  return out;
}

const Values numbers{0.84, -1.37, 0.22, 2.61, -0.075, 1.5, -0.61, 0.0031};

Values scaled(int k) {
  Values out;
  for (const double x : numbers) out.push_back(std::ldexp(x, k));
  return out;
}

struct Pair {
  emu::Format format;
  oracle::Format by_oracle;
};
struct Rounding {
  emu::Rounding rounding;
  oracle::Mode mode;
};

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

}  // namespace

TEST_CASE("functions round every operation as MPFR rounds it", "[studies][breaks]") {
  const auto& function = GENERATE(from_range(studies::scaled_functions()));
  CAPTURE(function.name);
  for (const Pair& of : {Pair{emu::fp16, {5, 10, 15, oracle::ieee}}, Pair{emu::bf16, {8, 7, 127, oracle::ieee}},
                         Pair{emu::e4m3, {4, 3, 7, oracle::fn}}, Pair{emu::e5m2, {5, 2, 15, oracle::ieee}},
                         Pair{emu::fp32, {8, 23, 127, oracle::ieee}}})
    for (const Rounding& r :
         {Rounding{emu::Rounding::nearest_even, oracle::nearest_even},
          Rounding{emu::Rounding::nearest_away, oracle::nearest_away},
          Rounding{emu::Rounding::toward_zero, oracle::toward_zero}, Rounding{emu::Rounding::upward, oracle::upward},
          Rounding{emu::Rounding::downward, oracle::downward}, Rounding{emu::Rounding::to_odd, oracle::to_odd}})
      for (const int k : {-20, -9, -3, 0, 2, 5, 9, 16}) {
        CAPTURE(of.format.exponent_bits, of.format.fraction_bits, static_cast<int>(r.mode), k);
        const Machine machine{of.by_oracle, r.mode};
        Codes codes;
        Values stored;
        for (const double x : scaled(k)) {
          codes.push_back(machine.round(x));
          stored.push_back(machine.value(codes.back()));
        }
        studies::RoundedArithmetic in(of.format, {.rounding = r.rounding});

        const Values computed = function.rounded(in, stored);

        const Codes wanted = by_oracle(std::string(function.name), machine, codes);
        REQUIRE(computed.size() == wanted.size());
        for (std::size_t i = 0; i < computed.size(); ++i) {
          CAPTURE(i, computed[i], machine.value(wanted[i]));
          REQUIRE(same(computed[i], machine.value(wanted[i])));
        }
      }
}

TEST_CASE("references err by less than the formats that they judge can show", "[studies][breaks]") {
  const auto& function = GENERATE(from_range(studies::scaled_functions()));
  CAPTURE(function.name);
  for (const int k : {-40, -24, -9, -3, 0, 2, 5, 9}) {
    CAPTURE(k);
    const Values x = scaled(k), computed = function.exact(x);

    const std::vector<Wide> wanted = defined(std::string(function.name), x);

    REQUIRE(computed.size() == wanted.size());
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      error = std::hypot(error, (wanted[i] - Wide(computed[i])).value());
      norm = std::hypot(norm, wanted[i].value());
    }
    // A shift of at most 2^11 is rounded in the exponent of e: 2^11 2^-53, and half as much again for all else.
    CHECK(error < norm * 0x1.8p-42);
  }
}
