// SPDX-License-Identifier: Apache-2.0
// What several kinds of cases need.
#include <algorithm>
#include <cmath>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify::detail {

MatmulCase blank_case(const CaseRequest& request) {
  return {.a = std::vector<float>(request.m * request.k), .b = std::vector<float>(request.k * request.n)};
}

double power(int e) { return std::ldexp(1.0, e); }

bool holds(emu::Format format, double x) { return emu::round_to(format, x).value == x; }

Exponents normal_powers(emu::Format format) { return {format.min_exponent(), format.max_exponent()}; }

Split split_exponent(int e, Exponents a, Exponents b, int wanted_b) {
  const int least = std::max(b.least, e - a.greatest), greatest = std::min(b.greatest, e - a.least);
  if (least > greatest) return {{}, false};
  const int of_b = std::clamp(wanted_b, least, greatest);
  return {{e - of_b, of_b}, true};
}

void need_k(std::string_view kind, const CaseRequest& request, std::size_t least, std::string_view why) {
  if (request.k < least)
    throw Error(std::string(kind) + ": --k " + std::to_string(request.k) + " is too small: " + std::string(why) + "; give " +
                std::to_string(least) + " or more");
}

}  // namespace ulpscope::verify::detail
