// SPDX-License-Identifier: Apache-2.0
// Operators whose outputs depend on the elements at one place alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/math.hpp"
#include "emu/names.hpp"
#include "emu/quick_functions.hpp"
#include "emu/special_functions.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// function(x) of each element, in float64, as float32.
template <class Function>
std::vector<Value> each(const Call& call, Function function) {
  const Value& x = call.in(0);
  x.as_real();
  Value out = make_like(x, x.shape);
  std::ranges::transform(x.reals, out.reals.begin(),
                         [&](float one) { return static_cast<float>(function(static_cast<double>(one))); });
  return {out};
}

template <double (*function)(double)>
std::vector<Value> unary(const Call& call) {
  return each(call, function);
}

/// The same of integers, too: function(x) of either kind.
template <class Function>
std::vector<Value> each_number(const Call& call, Function function) {
  const Value& x = call.in(0);
  Value out = make_like(x, x.shape);
  std::ranges::transform(x.reals, out.reals.begin(), [&](float one) { return static_cast<float>(function(one)); });
  std::ranges::transform(x.wholes, out.wholes.begin(),
                         [&](std::int64_t one) { return static_cast<std::int64_t>(function(one)); });
  return {out};
}

/// Of two values, stretched to each other: of reals in float64 as float32, of integers in int64.
template <class Real, class Whole>
Value pairwise(const Value& a, const Value& b, Real real, Whole whole) {
  if (a.is_real() != b.is_real()) throw Error("of " + a.dtype + " and " + b.dtype);
  const Shape shape = broadcast(a.shape, b.shape);
  const Value x = stretched(a, shape), y = stretched(b, shape);
  Value out = make_like(a, shape);
  for (std::size_t i = 0; i < out.reals.size(); ++i)
    out.reals[i] = static_cast<float>(real(static_cast<double>(x.reals[i]), static_cast<double>(y.reals[i])));
  for (std::size_t i = 0; i < out.wholes.size(); ++i) out.wholes[i] = whole(x.wholes[i], y.wholes[i]);
  return out;
}

/// The same of all inputs, one after the other.
template <class Real, class Whole>
std::vector<Value> all_pairwise(const Call& call, Real real, Whole whole) {
  Value out = call.in(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) out = pairwise(out, call.in(i), real, whole);
  return {out};
}

/// Integers wrap around; as unsigned ones they may.
std::int64_t wrapped(std::uint64_t x) { return static_cast<std::int64_t>(x); }
std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }

std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw Error("divides an integer by 0");
  return b == -1 ? wrapped(-bits(a)) : a / b;
}
std::int64_t remainder(std::int64_t a, std::int64_t b) {  // of Python: with the sign of b
  if (b == 0) throw Error("divides an integer by 0");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double greatest(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
}
double least(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
}

std::vector<Value> add(const Call& call) {
  return {pairwise(
      call.in(0), call.in(1), [](double a, double b) { return a + b; },
      [](auto a, auto b) { return wrapped(bits(a) + bits(b)); })};
}
std::vector<Value> subtract(const Call& call) {
  return {pairwise(
      call.in(0), call.in(1), [](double a, double b) { return a - b; },
      [](auto a, auto b) { return wrapped(bits(a) - bits(b)); })};
}
std::vector<Value> multiply_each(const Call& call) {
  return {pairwise(
      call.in(0), call.in(1), [](double a, double b) { return a * b; },
      [](auto a, auto b) { return wrapped(bits(a) * bits(b)); })};
}
std::vector<Value> divide(const Call& call) {
  return {pairwise(
      call.in(0), call.in(1), [](double a, double b) { return a / b; }, quotient)};
}
std::vector<Value> modulo(const Call& call) {
  const bool of_c = call.whole("fmod", 0) != 0;
  const auto real = [of_c](double a, double b) {
    const double rest = std::fmod(a, b);
    if (!of_c && rest == 0) return std::copysign(rest, b);
    return of_c || (rest < 0) == (b < 0) ? rest : rest + b;
  };
  const auto whole = [of_c](std::int64_t a, std::int64_t b) { return of_c && b != 0 && b != -1 ? a % b : remainder(a, b); };
  return {pairwise(call.in(0), call.in(1), real, whole)};
}

/// In float64, whatever the two are; of integers what is before the point.
std::vector<Value> raise(const Call& call) {
  const Value &base = call.in(0), &exponent = call.in(1);
  const Shape shape = broadcast(base.shape, exponent.shape);
  const Value x = stretched(base, shape), y = stretched(exponent, shape);
  Value out = make_like(base, shape);
  for (std::size_t i = 0; i < out.count(); ++i) {
    const double result = power(x.at(i), y.at(i));
    if (out.is_real()) {
      out.reals[i] = static_cast<float>(result);
    } else {
      if (!(std::fabs(result) <= 0x1p53)) throw NotComputed("integers whose result is beyond 2^53");
      out.wholes[i] = static_cast<std::int64_t>(result);
    }
  }
  return {out};
}

std::vector<Value> maximum(const Call& call) {
  return all_pairwise(call, greatest, [](auto a, auto b) { return std::max(a, b); });
}
std::vector<Value> minimum(const Call& call) {
  return all_pairwise(call, least, [](auto a, auto b) { return std::min(a, b); });
}
std::vector<Value> sum(const Call& call) {
  return all_pairwise(
      call, [](double a, double b) { return a + b; }, [](auto a, auto b) { return wrapped(bits(a) + bits(b)); });
}
std::vector<Value> mean(const Call& call) {
  call.in(0).as_real();
  Value out = sum(call).front();
  for (float& one : out.reals) one = static_cast<float>(static_cast<double>(one) / static_cast<double>(call.inputs.size()));
  return {out};
}

/// Whether a pair compares so.
template <class Compare>
std::vector<Value> compared(const Call& call, Compare compare) {
  const Value &a = call.in(0), &b = call.in(1);
  if (a.is_real() != b.is_real()) throw Error("of " + a.dtype + " and " + b.dtype);
  const Shape shape = broadcast(a.shape, b.shape);
  const Value x = stretched(a, shape), y = stretched(b, shape);
  Value out = make(Kind::truth, shape);
  for (std::size_t i = 0; i < out.wholes.size(); ++i)
    out.wholes[i] = (x.is_real() ? compare(x.reals[i], y.reals[i]) : compare(x.wholes[i], y.wholes[i])) ? 1 : 0;
  return {out};
}
std::vector<Value> equal(const Call& call) {
  return compared(call, [](auto a, auto b) { return a == b; });
}
std::vector<Value> greater(const Call& call) {
  return compared(call, [](auto a, auto b) { return a > b; });
}
std::vector<Value> greater_or_equal(const Call& call) {
  return compared(call, [](auto a, auto b) { return a >= b; });
}
std::vector<Value> less(const Call& call) {
  return compared(call, [](auto a, auto b) { return a < b; });
}
std::vector<Value> less_or_equal(const Call& call) {
  return compared(call, [](auto a, auto b) { return a <= b; });
}
std::vector<Value> both(const Call& call) {
  return compared(call, [](auto a, auto b) { return a != 0 && b != 0; });
}
std::vector<Value> either(const Call& call) {
  return compared(call, [](auto a, auto b) { return a != 0 || b != 0; });
}
std::vector<Value> one_of(const Call& call) {
  return compared(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

std::vector<Value> negated_truth(const Call& call) {
  Value out = call.in(0).as_integers();
  for (std::int64_t& one : out.wholes) one = one == 0 ? 1 : 0;
  return {out};
}

/// Truth values of reals.
template <class Test>
std::vector<Value> tested(const Call& call, Test test) {
  const Value& x = call.in(0);
  Value out = make(Kind::truth, x.shape);
  for (std::size_t i = 0; i < x.reals.size(); ++i) out.wholes[i] = test(x.reals[i]) ? 1 : 0;
  return {out};
}
std::vector<Value> is_nan(const Call& call) {
  return tested(call, [](float x) { return std::isnan(x); });
}
std::vector<Value> is_infinite(const Call& call) {
  const bool negative = call.whole("detect_negative", 1) != 0, positive = call.whole("detect_positive", 1) != 0;
  return tested(call, [&](float x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

std::vector<Value> where(const Call& call) {
  const Value &condition = call.in(0).as_integers(), &a = call.in(1), &b = call.in(2);
  if (a.kind != b.kind) throw Error("of " + a.dtype + " and " + b.dtype);
  const Shape shape = broadcast(condition.shape, broadcast(a.shape, b.shape));
  const Value holds = stretched(condition, shape), x = stretched(a, shape), y = stretched(b, shape);
  Value out = make_like(a, shape);
  for (std::size_t i = 0; i < out.reals.size(); ++i) out.reals[i] = holds.wholes[i] != 0 ? x.reals[i] : y.reals[i];
  for (std::size_t i = 0; i < out.wholes.size(); ++i) out.wholes[i] = holds.wholes[i] != 0 ? x.wholes[i] : y.wholes[i];
  return {out};
}

/// The value in another type: integers wrap around at its width, floats lose what is behind the point. Types of 8 bits and
/// fewer are a quantization, which is part of the model; to wider floating types nothing is rounded.
Value cast_to(const Value& x, const std::string& dtype, const Call& call) {
  Value out = make(kind_of(dtype), x.shape, dtype);
  if (out.is_real()) {
    for (std::size_t i = 0; i < out.reals.size(); ++i)
      out.reals[i] = x.is_real() ? x.reals[i] : static_cast<float>(x.wholes[i]);
    const emu::Format format = emu::parse_format(dtype).value_or(emu::float32);
    const bool saturates = call.whole("saturate", 1) != 0;
    emu::RoundingOptions options{.policy = saturates ? emu::Policy::saturating : emu::Policy::nonsaturating};
    const std::string rounding = call.text("round_mode", "up");
    if (format == emu::float8_e8m0fnu && rounding != "nearest")
      options.rounding = rounding == "down" ? emu::Rounding::downward : emu::Rounding::upward;
    if (format.bits() <= 8) emu::round_to<float>(format, out.reals, out.reals, options);
    return out;
  }
  for (std::size_t i = 0; i < out.wholes.size(); ++i) {
    const double real = x.is_real() ? static_cast<double>(x.reals[i]) : 0;
    if (out.kind == Kind::truth) {
      out.wholes[i] = x.is_real() ? real != 0 : x.wholes[i] != 0;
      continue;
    }
    // What no int64 holds is its least, as processors have it.
    const bool fits = std::fabs(real) < 0x1p63;
    const std::int64_t whole = !x.is_real() ? x.wholes[i]
                               : fits       ? static_cast<std::int64_t>(real)
                                            : std::numeric_limits<std::int64_t>::min();
    const tensors::DType type{dtype, {}};
    const int above = 64 - type.integer_bits();
    const std::uint64_t left = bits(whole) << above;
    out.wholes[i] = dtype.starts_with("int") ? wrapped(left) >> above : wrapped(left >> above);
  }
  return out;
}
std::vector<Value> cast(const Call& call) {
  const auto dtype = tensors::onnx_dtype(call.whole("to", 0));
  if (!dtype) throw NotComputed("to type " + std::to_string(call.whole("to", 0)));
  return {cast_to(call.in(0), *dtype, call)};
}
std::vector<Value> cast_like(const Call& call) { return {cast_to(call.in(0), call.in(1).dtype, call)}; }

std::vector<Value> clip(const Call& call) {
  const Value& x = call.in(0);
  const auto limit = [&](const char* name, std::size_t i, double otherwise) {
    const std::optional<double> given = call.number(i);
    return given ? *given : call.real(name, otherwise);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double low = limit("min", 1, -infinity), high = limit("max", 2, infinity);
  for (const double one : {low, high})
    if (!x.is_real() && std::isfinite(one) && std::fabs(one) > 0x1p53) throw NotComputed("of integers beyond 2^53");
  return each_number(call, [&](auto one) {
    const auto wide = static_cast<double>(one);
    if (std::isnan(wide)) return one;
    const double inside = std::min(std::max(wide, low), high);
    return inside == wide ? one : static_cast<decltype(one)>(inside);
  });
}

float opposite(float x) { return -x; }
std::int64_t opposite(std::int64_t x) { return wrapped(-bits(x)); }
std::vector<Value> absolute(const Call& call) {
  return each_number(call, [](auto x) { return std::signbit(static_cast<double>(x)) ? opposite(x) : x; });
}
std::vector<Value> negated(const Call& call) {
  return each_number(call, [](auto x) { return opposite(x); });
}
std::vector<Value> sign(const Call& call) {
  return each_number(call, [](auto x) {
    return x > 0 ? static_cast<decltype(x)>(1) : x < 0 ? static_cast<decltype(x)>(-1) : x;
  });
}
std::vector<Value> same(const Call& call) { return {call.in(0)}; }
std::vector<Value> dropout(const Call& call) {
  if (call.number(2).value_or(0) != 0) throw NotComputed("in training, where it draws random numbers");
  Value mask = make(call.opset < 10 ? Kind::real : Kind::truth, call.in(0).shape);
  std::ranges::fill(mask.wholes, 1);
  std::ranges::fill(mask.reals, 1.0F);
  return {call.in(0), mask};
}

double square_root(double x) { return std::sqrt(x); }
double reciprocal(double x) { return 1 / x; }
double exponential(double x) { return emu::exp(x); }
double logarithm(double x) { return emu::log(x); }
double floored(double x) { return std::floor(x); }
double ceiled(double x) { return std::ceil(x); }
double rounded(double x) { return std::nearbyint(x); }
double softsign(double x) { return x / (1 + std::fabs(x)); }
double mish(double x) { return x * emu::tanh(emu::softplus(x)); }
double hard_swish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }

std::vector<Value> relu(const Call& call) {
  return each_number(call, [](auto x) { return x < 0 ? static_cast<decltype(x)>(0) : x; });
}
std::vector<Value> leaky_relu(const Call& call) {
  return each(call, [alpha = call.real("alpha", 0.01)](double x) { return x < 0 ? alpha * x : x; });
}
std::vector<Value> elu(const Call& call) {
  return each(call, [alpha = call.real("alpha", 1)](double x) { return x < 0 ? alpha * emu::expm1(x) : x; });
}
std::vector<Value> celu(const Call& call) {
  return each(call, [alpha = call.real("alpha", 1)](double x) { return x < 0 ? alpha * emu::expm1(x / alpha) : x; });
}
std::vector<Value> selu(const Call& call) {
  const double alpha = call.real("alpha", 1.6732632423543772848170429916717),
               gamma = call.real("gamma", 1.0507009873554804934193349852946);
  return each(call, [=](double x) { return gamma * (x > 0 ? x : alpha * emu::expm1(x)); });
}
std::vector<Value> thresholded_relu(const Call& call) {
  return each(call, [alpha = call.real("alpha", 1)](double x) { return x > alpha ? x : 0; });
}
std::vector<Value> shrink(const Call& call) {
  const double bias = call.real("bias", 0), lambda = call.real("lambd", 0.5);
  return each(call, [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; });
}
std::vector<Value> hard_sigmoid(const Call& call) {
  const double alpha = call.real("alpha", 0.2), beta = call.real("beta", 0.5);
  return each(call, [=](double x) { return std::isnan(x) ? x : std::clamp(alpha * x + beta, 0.0, 1.0); });
}
std::vector<Value> swish(const Call& call) {
  return each(call, [alpha = call.real("alpha", 1)](double x) { return x * emu::sigmoid(alpha * x); });
}
std::vector<Value> gelu(const Call& call) {
  const std::string form = call.text("approximate", "none");
  if (form != "none" && form != "tanh") throw Error("approximate '" + form + "'");
  return each(call, form == "tanh" ? emu::gelu_tanh : emu::gelu);
}
std::vector<Value> prelu(const Call& call) {
  return {pairwise(
      call.in(0), call.in(1), [](double x, double slope) { return x < 0 ? slope * x : x; },
      [](auto x, auto slope) { return x < 0 ? wrapped(bits(slope) * bits(x)) : x; })};
}

constexpr Operator elementwise_table[] = {{"Abs", absolute},
                                          {"Add", add},
                                          {"And", both},
                                          {"Cast", cast},
                                          {"CastLike", cast_like},
                                          {"Ceil", unary<ceiled>},
                                          {"Celu", celu},
                                          {"Clip", clip},
                                          {"Cos", unary<emu::cos>},
                                          {"Cosh", unary<emu::cosh>},
                                          {"Div", divide},
                                          {"Dropout", dropout},
                                          {"Elu", elu},
                                          {"Equal", equal},
                                          {"Erf", unary<emu::erf>},
                                          {"Exp", unary<exponential>},
                                          {"Floor", unary<floored>},
                                          {"Gelu", gelu},
                                          {"Greater", greater},
                                          {"GreaterOrEqual", greater_or_equal},
                                          {"HardSigmoid", hard_sigmoid},
                                          {"HardSwish", unary<hard_swish>},
                                          {"Identity", same, true},
                                          {"IsInf", is_infinite},
                                          {"IsNaN", is_nan},
                                          {"LeakyRelu", leaky_relu},
                                          {"Less", less},
                                          {"LessOrEqual", less_or_equal},
                                          {"Log", unary<logarithm>},
                                          {"Max", maximum},
                                          {"Mean", mean},
                                          {"Min", minimum},
                                          {"Mish", unary<mish>},
                                          {"Mod", modulo},
                                          {"Mul", multiply_each},
                                          {"Neg", negated},
                                          {"Not", negated_truth},
                                          {"Or", either},
                                          {"PRelu", prelu},
                                          {"Pow", raise},
                                          {"Reciprocal", unary<reciprocal>},
                                          {"Relu", relu},
                                          {"Round", unary<rounded>},
                                          {"Selu", selu},
                                          {"Shrink", shrink},
                                          {"Sigmoid", unary<emu::sigmoid>},
                                          {"Sign", sign},
                                          {"Sin", unary<emu::sin>},
                                          {"Sinh", unary<emu::sinh>},
                                          {"Softplus", unary<emu::softplus>},
                                          {"Softsign", unary<softsign>},
                                          {"Sqrt", unary<square_root>},
                                          {"Sub", subtract},
                                          {"Sum", sum},
                                          {"Swish", swish},
                                          {"Tan", unary<emu::tan>},
                                          {"Tanh", unary<emu::tanh>},
                                          {"ThresholdedRelu", thresholded_relu},
                                          {"Where", where},
                                          {"Xor", one_of}};

}  // namespace

/// x^y within some ulp of float64: by products for small integers, else by the logarithm.
double power(double x, double y) {
  if (y == 0 || x == 1 || (x == -1 && std::isinf(y))) return 1;
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  const bool is_whole = std::floor(y) == y, is_odd = is_whole && std::fabs(y) < 0x1p53 && std::fmod(y, 2) != 0;
  if (is_whole && std::fabs(y) <= 64) {
    double result = 1, factor = x;
    for (auto n = static_cast<unsigned>(std::fabs(y)); n != 0; n >>= 1, factor *= factor)
      if ((n & 1) != 0) result *= factor;
    return y < 0 ? 1 / result : result;
  }
  if (x < 0 && !is_whole && !std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
  const double size = std::fabs(x) == 0 || std::isinf(x)
                          ? ((std::fabs(x) == 0) == (y > 0) ? 0.0 : std::numeric_limits<double>::infinity())
                          : (y == 0.5 ? std::sqrt(std::fabs(x)) : emu::exp(y * emu::log(std::fabs(x))));
  return std::signbit(x) && is_odd ? -size : size;
}
std::span<const Operator> elementwise_operators() { return elementwise_table; }

}  // namespace ulpscope::studies::onnx
