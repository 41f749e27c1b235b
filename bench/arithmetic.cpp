// SPDX-License-Identifier: Apache-2.0
// Operations per second of scalar arithmetic: of emu, with some formats known at compile time and all at run time, of Number,
// of Boost.Multiprecision's mpfr_float with as many digits as float16 has, and of the processor on float.
#include <benchmark/benchmark.h>

#include <array>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/elementary.hpp"
#include "emu/number.hpp"

namespace {
using namespace ulpscope;
/// mpfr_float, whose operators give numbers and no expressions of them: those refer to temporary objects.
using Big = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

constexpr std::size_t operand_count = 1024;

/// Numbers around 1, exact in float and of few bits.
std::vector<float> operands(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(operand_count);
  for (float& x : out) {
    const int exponent = static_cast<int>(random() % 8) - 4;
    x = std::ldexp(1.0F + static_cast<float>(random() % 8) / 8, exponent);
  }
  return out;
}

template <class T, class From, class Operation>
void measure(benchmark::State& state, From from, Operation operation) {
  std::vector<T> a, b;
  for (const float x : operands(1)) a.push_back(from(x));
  for (const float x : operands(2)) b.push_back(from(x));
  for ([[maybe_unused]] auto _ : state)
    for (std::size_t i = 0; i < operand_count; ++i) benchmark::DoNotOptimize(operation(a[i], b[i]));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(operand_count));
}

template <emu::Format format, class Operation>
void at_compile_time(benchmark::State& state, Operation operation) {
  measure<emu::Code>(
      state, [](float x) { return emu::encode(format, x); }, [&](emu::Code a, emu::Code b) { return operation(format, a, b); });
}
template <class Operation>
void at_run_time(benchmark::State& state, emu::Format format, Operation operation) {
  benchmark::DoNotOptimize(format);
  measure<emu::Code>(
      state, [&](float x) { return emu::encode(format, x); },
      [&](emu::Code a, emu::Code b) { return operation(format, a, b); });
}
/// T of the result: of some types it is another.
template <class T, class Operation>
void on_type(benchmark::State& state, Operation operation) {
  measure<T>(
      state, [](float x) { return T(x); }, [&](const T& a, const T& b) { return T(operation(a, b)); });
}

template <class Codes, class Values>
void add_operation(const std::string& name, Codes codes, Values values) {
  const auto add = [&](const std::string& what, auto function) {
    benchmark::RegisterBenchmark((name + "/" + what).c_str(), function);
  };
  add("float", [=](benchmark::State& s) { on_type<float>(s, values); });
  add("mpfr_float", [=](benchmark::State& s) { on_type<Big>(s, values); });
  add("e4m3", [=](benchmark::State& s) { at_compile_time<emu::e4m3>(s, codes); });
  add("e5m2", [=](benchmark::State& s) { at_compile_time<emu::e5m2>(s, codes); });
  add("fp16", [=](benchmark::State& s) { at_compile_time<emu::fp16>(s, codes); });
  add("bf16", [=](benchmark::State& s) { at_compile_time<emu::bf16>(s, codes); });
  add("fp32", [=](benchmark::State& s) { at_compile_time<emu::fp32>(s, codes); });
  add("fp64", [=](benchmark::State& s) { at_compile_time<emu::fp64>(s, codes); });
  for (const emu::NamedFormat& named : emu::catalogue)
    add("run_time/" + std::string(named.name), [=, &named](benchmark::State& s) { at_run_time(s, named.format, codes); });
  add("Number<fp16>", [=](benchmark::State& s) { on_type<emu::Number<emu::fp16>>(s, values); });
}

using emu::Code, emu::Format;

const bool registered = [] {
  Big::default_precision(3);  // decimal digits: 11 bits
  add_operation(
      "add", [](Format f, Code a, Code b) { return emu::add(f, a, b); }, [](const auto& a, const auto& b) { return a + b; });
  add_operation(
      "mul", [](Format f, Code a, Code b) { return emu::mul(f, a, b); }, [](const auto& a, const auto& b) { return a * b; });
  add_operation(
      "div", [](Format f, Code a, Code b) { return emu::div(f, a, b); }, [](const auto& a, const auto& b) { return a / b; });
  add_operation(
      "fma", [](Format f, Code a, Code b) { return emu::fma(f, a, b, a); },
      []<class T>(const T& a, const T& b) -> T {
        using std::fma;
        return fma(a, b, a);
      });
  add_operation(
      "sqrt", [](Format f, Code a, Code) { return emu::sqrt(f, a); },
      []<class T>(const T& a, const T&) -> T {
        using std::sqrt;
        return sqrt(a);
      });
  add_operation(
      "exp", [](Format f, Code a, Code) { return emu::exp(f, a); },
      []<class T>(const T& a, const T&) -> T {
        using std::exp;
        return exp(a);
      });
  return true;
}();

}  // namespace
