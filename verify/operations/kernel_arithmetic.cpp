// SPDX-License-Identifier: Apache-2.0
// Units and sums of roundings, from formats.
#include "verify/operations/kernel_arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/names.hpp"

namespace ulpscope::verify {
namespace {

bool to_nearest(emu::Rounding rounding) {
  return rounding == emu::Rounding::nearest_even || rounding == emu::Rounding::nearest_away;
}

double roundings(const KernelArithmetic& arithmetic, std::uint64_t terms) {
  const std::uint64_t most = arithmetic.depth == 0 ? terms : std::min(terms, arithmetic.depth + 1);
  return static_cast<double>(most);
}

}  // namespace

double sum_unit(const KernelArithmetic& arithmetic) {
  return to_nearest(arithmetic.sums) ? unit(arithmetic.format) : 2 * unit(arithmetic.format);
}

double gamma(double n, double u) { return n * u < 1 ? n * u / (1 - n * u) : std::numeric_limits<double>::infinity(); }

double sum_relative(const KernelArithmetic& arithmetic, std::uint64_t terms) {
  return gamma(roundings(arithmetic, terms), sum_unit(arithmetic));
}

double function_relative(const KernelArithmetic& arithmetic) {
  return arithmetic.function_ulp == 0 ? unit(arithmetic.format) : 2 * unit(arithmetic.format) * arithmetic.function_ulp;
}

double function_error(const KernelArithmetic& arithmetic, double y) {
  return function_relative(arithmetic) * std::abs(y) + arithmetic.function_abs;
}

std::string words_of_sum(const KernelArithmetic& arithmetic, std::uint64_t terms) {
  const double u = sum_unit(arithmetic);
  const std::string order =
      arithmetic.depth == 0 ? "in any order" : fmt::format("of which none meets more than {} additions", arithmetic.depth);
  return fmt::format("{} sums of {} terms {}, u = 2^{}, gamma = {:.3g}", emu::format_name(arithmetic.format), terms, order,
                     std::ilogb(u), sum_relative(arithmetic, terms));
}

std::string words_of_functions(const KernelArithmetic& arithmetic) {
  if (arithmetic.function_ulp == 0) return "functions and divisions correctly rounded";
  return fmt::format("functions and divisions to {:g} ulp", arithmetic.function_ulp);
}

}  // namespace ulpscope::verify
