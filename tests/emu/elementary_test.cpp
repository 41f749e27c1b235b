// SPDX-License-Identifier: Apache-2.0
// Elementary functions against MPFR: every code of every format of 16 bits or fewer, codes and flags.
#include "emu/elementary.hpp"

#include <mpfr.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/arithmetic_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::every_direction, laws::every_option, laws::oracle_format, laws::oracle_mode;
using oracle::Op;
using Function = emu::Result (*)(emu::Format, emu::Code, const emu::RoundingOptions&, std::uint32_t);

struct Case {
  const char* name;
  Op op;
  Function function;
};

std::optional<std::string> disagreement(const Case& c, emu::Format f, emu::Code code,
                                        const std::vector<emu::RoundingOptions>& options) {
  const oracle::Operation plain(oracle_format(f), c.op, {.a = code});
  std::optional<oracle::Operation> flushed;
  for (const emu::RoundingOptions& o : options) {
    if (o.subnormals_are_zero && !flushed)
      flushed.emplace(oracle_format(f), c.op, oracle::Operation::Operands{.a = code}, true);
    const oracle::Answer expected =
        (o.subnormals_are_zero ? *flushed : plain)
            .round(oracle_mode(o.rounding),
                   {o.policy == emu::Policy::saturating, o.tininess == emu::Tininess::before_rounding, o.flush_subnormals});
    const emu::Result got = c.function(f, code, o, 0);
    if (got.code == expected.code && got.flags == expected.flags) continue;
    std::ostringstream out;
    out << emu::format_name(f) << ' ' << c.name << ' ' << emu::name_of(o.rounding) << ' ' << emu::name_of(o.policy) << std::hex
        << " of " << code << ": got " << got.code << " flags " << int{got.flags} << ", expected " << expected.code << " flags "
        << expected.flags;
    return out.str();
  }
  return std::nullopt;
}

/// Every code: of the 16-bit formats in every direction, of the smaller ones with every policy and switch as well.
void require_correct(const Case& c) {
  for (const emu::NamedFormat& named : emu::catalogue) {
    const emu::Format f = named.format;
    if (f.bits() > 16) continue;
    const auto options = f.bits() > 8 ? every_direction() : every_option();
    for (emu::Code code = 0; code <= f.code_mask(); ++code)
      if (const auto wrong = disagreement(c, f, code, options)) FAIL(*wrong);
  }
  SUCCEED();
}

constexpr Case all_cases[] = {{"exp", Op::exp, emu::exp},
                              {"exp2", Op::exp2, emu::exp2},
                              {"exp10", Op::exp10, emu::exp10},
                              {"expm1", Op::expm1, emu::expm1},
                              {"log", Op::log, emu::log},
                              {"log2", Op::log2, emu::log2},
                              {"log10", Op::log10, emu::log10},
                              {"log1p", Op::log1p, emu::log1p},
                              {"sin", Op::sin, emu::sin},
                              {"cos", Op::cos, emu::cos},
                              {"tan", Op::tan, emu::tan},
                              {"sinh", Op::sinh, emu::sinh},
                              {"cosh", Op::cosh, emu::cosh},
                              {"tanh", Op::tanh, emu::tanh},
                              {"atan", Op::atan, emu::atan},
                              {"asin", Op::asin, emu::asin},
                              {"acos", Op::acos, emu::acos},
                              {"asinh", Op::asinh, emu::asinh},
                              {"acosh", Op::acosh, emu::acosh},
                              {"atanh", Op::atanh, emu::atanh},
                              {"sinpi", Op::sinpi, emu::sinpi},
                              {"cospi", Op::cospi, emu::cospi},
                              {"tanpi", Op::tanpi, emu::tanpi},
                              {"erfc", Op::erfc, emu::erfc},
                              {"erf", Op::erf, emu::erf},
                              {"rsqrt", Op::rsqrt, emu::rsqrt},
                              {"cbrt", Op::cbrt, emu::cbrt},
                              {"sigmoid", Op::sigmoid, emu::sigmoid},
                              {"softplus", Op::softplus, emu::softplus},
                              {"gelu", Op::gelu, emu::gelu},
                              {"gelu_tanh", Op::gelu_tanh, emu::gelu_tanh},
                              {"silu", Op::silu, emu::silu}};

#define FUNCTION_TEST(name)                                                                                       \
  TEST_CASE(#name " is correctly rounded for every number of every format of 16 bits or fewer", "[elementary]") { \
    require_correct({#name, Op::name, emu::name});                                                                \
  }
FUNCTION_TEST(exp)
FUNCTION_TEST(exp2)
FUNCTION_TEST(exp10)
FUNCTION_TEST(expm1)
FUNCTION_TEST(log)
FUNCTION_TEST(log2)
FUNCTION_TEST(log10)
FUNCTION_TEST(log1p)
FUNCTION_TEST(sin)
FUNCTION_TEST(cos)
FUNCTION_TEST(tan)
FUNCTION_TEST(sinh)
FUNCTION_TEST(cosh)
FUNCTION_TEST(tanh)
FUNCTION_TEST(atan)
FUNCTION_TEST(sinpi)
FUNCTION_TEST(cospi)
FUNCTION_TEST(tanpi)
FUNCTION_TEST(asin)
FUNCTION_TEST(acos)
FUNCTION_TEST(asinh)
FUNCTION_TEST(acosh)
FUNCTION_TEST(atanh)
FUNCTION_TEST(erf)
FUNCTION_TEST(erfc)
FUNCTION_TEST(rsqrt)
FUNCTION_TEST(cbrt)
FUNCTION_TEST(sigmoid)
FUNCTION_TEST(softplus)
FUNCTION_TEST(gelu)
FUNCTION_TEST(gelu_tanh)
FUNCTION_TEST(silu)
#undef FUNCTION_TEST

/// 16-bit formats that nobody ships: few exponents, many, no infinity, no -0.
TEST_CASE("every function is correctly rounded in custom formats of 16 bits", "[elementary][exhaustive]") {
  for (const emu::Format f : {emu::Format{2, 13, 1, emu::Specials::ieee}, emu::Format{8, 7, 250, emu::Specials::ieee},
                              emu::Format{6, 9, 31, emu::Specials::fn}, emu::Format{4, 11, 8, emu::Specials::fnuz},
                              emu::Format{3, 12, 3, emu::Specials::finite}})
    for (const Case& c : all_cases)
      for (emu::Code code = 0; code <= f.code_mask(); ++code)
        if (const auto wrong = disagreement(c, f, code, every_direction())) FAIL(*wrong);
  SUCCEED();
}

TEST_CASE("functions of float32 and float64 round as MPFR rounds them, at random numbers", "[elementary]") {
  std::mt19937_64 random(1);
  for (const emu::Format f : {emu::float32, emu::float64})
    for (const Case& c : all_cases)
      for (int i = 0; i < 500; ++i) {
        const auto unit = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
        const emu::Code codes[] = {random() & f.code_mask(), emu::encode(f, unit), emu::encode(f, 16 * unit)};
        for (const emu::Code code : codes)
          if (const auto wrong = disagreement(c, f, code, every_direction())) FAIL(*wrong);
      }
  SUCCEED();
}

void set(mpfr_ptr out, const emu::detail::Real128& x) {
  mpfr_set_prec(out, 200);
  mpfr_set_ui_2exp(out, static_cast<std::uint64_t>(x.significand >> 64), 64, MPFR_RNDN);
  mpfr_add_ui(out, out, static_cast<std::uint64_t>(x.significand), MPFR_RNDN);
  mpfr_mul_2si(out, out, x.exponent - emu::detail::Real128::leading_bit, MPFR_RNDN);
  if (x.negative) mpfr_neg(out, out, MPFR_RNDN);
}

struct Kernel {
  const char* name;
  emu::detail::Real128 (*computed)(const emu::detail::Real128&);
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  double low, high;
};

TEST_CASE("values of functions err by less than 2^-100 before they are rounded", "[elementary]") {
  namespace d = emu::detail;
  const Kernel kernels[] = {{"exp", d::exp_real, mpfr_exp, -700, 700},      {"expm1", d::expm1_real, mpfr_expm1, -50, 50},
                            {"log", d::log_real, mpfr_log, 0, 1e6},         {"log1p", d::log1p_real, mpfr_log1p, -1, 3},
                            {"sin", d::sin_real, mpfr_sin, -1e9, 1e9},      {"cos", d::cos_real, mpfr_cos, -1e9, 1e9},
                            {"tan", d::tan_real, mpfr_tan, -1e3, 1e3},      {"atan", d::atan_real, mpfr_atan, -50, 50},
                            {"sinh", d::sinh_real, mpfr_sinh, -50, 50},     {"cosh", d::cosh_real, mpfr_cosh, -50, 50},
                            {"tanh", d::tanh_real, mpfr_tanh, -20, 20},     {"erf", d::erf_real, mpfr_erf, -6, 6},
                            {"erfc", d::erfc_real, mpfr_erfc, -9, 27},      {"log2", d::log2_real, mpfr_log2, 0, 4},
                            {"exp2", d::exp2_real, mpfr_exp2, -1000, 1000}, {"log", d::log_real, mpfr_log, 1, 0.9},
                            {"log2", d::log2_real, mpfr_log2, 1, 0.9},  // just below 1, too
                            {"asin", d::asin_real, mpfr_asin, -1, 1},       {"acos", d::acos_real, mpfr_acos, -1, 1},
                            {"acos", d::acos_real, mpfr_acos, 1, -1},       {"asinh", d::asinh_real, mpfr_asinh, -1e9, 1e9},
                            {"acosh", d::acosh_real, mpfr_acosh, 1, 1e9},   {"atanh", d::atanh_real, mpfr_atanh, -1, 1}};
  std::mt19937_64 random(2);
  oracle::Number computed(200), exact(200), argument(200);
  for (const Kernel& kernel : kernels) {
    mpfr_exp_t worst = -1000;
    double at = 0;
    for (int i = 0; i < 2000; ++i) {
      // Uniform, and close to the low end or to zero.
      const double u = static_cast<double>(random() >> 11) * 0x1p-53, near = std::ldexp(u, -static_cast<int>(random() % 80));
      const double span = kernel.high - kernel.low;
      const double x =
          i % 2 == 0 ? kernel.low + span * u : (kernel.low <= 0 && i % 4 == 1 ? kernel.high * near : kernel.low + span * near);
      if (x == 0 || x == kernel.low || x == 1) continue;
      const auto real = d::real_of<d::Word128>(emu::float64, std::bit_cast<std::uint64_t>(x));
      set(computed, kernel.computed(real));
      mpfr_set_d(argument, x, MPFR_RNDN);
      kernel.exact(exact, argument, MPFR_RNDN);
      mpfr_sub(computed, computed, exact, MPFR_RNDN);
      if (mpfr_zero_p(computed)) continue;
      mpfr_div(computed, computed, exact, MPFR_RNDN);
      if (mpfr_get_exp(computed) > worst) {
        worst = mpfr_get_exp(computed);
        at = x;
      }
    }
    INFO(kernel.name << " errs by 2^" << worst << " at " << at);
    CHECK(worst <= -100);
    CHECK(worst > -126);  // some of the arguments are not easy
  }
}

}  // namespace
