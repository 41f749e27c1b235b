// SPDX-License-Identifier: Apache-2.0
// Makes the product of a check.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "requests/parts.hpp"
#include "verify/evidence/public_checks.hpp"
#include "verify/evidence/public_operands.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t unstated_k = 1024;

/// Formats of which an engine takes one for A and another for B.
bool is_small(emu::Format format) { return format.bits() <= 8; }

/// The word for A or for B of `A B`, or the one for both.
std::string scales_of(const PublicCheck& check, products::MatmulSide side) {
  const std::size_t blank = check.scales.find(' ');
  if (blank == std::string::npos) return check.scales;
  return side == products::MatmulSide::a ? check.scales.substr(0, blank) : check.scales.substr(blank + 1);
}

const char* engine_for(emu::Format format) {
  if (format == emu::float32) return "x86_fma";
  if (format == emu::float8_e4m3fnuz || format == emu::float8_e5m2fnuz) return "cdna3";
  return is_small(format) ? "sm_100" : "sm_90";
}

}  // namespace

products::Product product_of(const PublicCheck& check, const Sample& sample) {
  const auto sampled = [&](std::size_t extent) { return extent == 0 ? sample.lines : std::min(extent, sample.lines); };
  const std::size_t m = sampled(check.m), n = sampled(check.n), k = check.k == 0 ? unstated_k : check.k;
  const emu::Format a = format_of_operand(check.a_format), b = format_of_operand(check.b_format);
  // An operand of few bits beside one of more is multiplied in the other's format, which holds its numbers.
  const bool alike = is_small(a) == is_small(b);
  const emu::Format wider = a.bits() >= b.bits() ? a : b;
  const bool differ = !alike || (!is_small(a) && !(a == b));
  const auto drawn = [&](products::MatmulSide side) {
    const bool is_a = side == products::MatmulSide::a;
    return operand_of({.elements = is_a ? check.a : check.b,
                       .scales = scales_of(check, side),
                       .format = is_a ? check.a_format : check.b_format,
                       .lines = is_a ? m : n,
                       .k = k,
                       .all_lines = is_a ? check.m : check.n,
                       .side = side,
                       .seed = 2 * sample.seed + (is_a ? 0 : 1)},
                      differ ? wider
                      : is_a ? a
                             : b);
  };
  products::Product product{.engine = engine_for(differ ? wider : a),
                            .a = drawn(products::MatmulSide::a),
                            .b = drawn(products::MatmulSide::b),
                            .c = {},
                            .acc = requests::parse_format(check.acc),
                            .out = requests::parse_format(check.out),
                            .beta = {},
                            .threads = 1};
  if (check.c.empty()) return product;
  constexpr std::string_view whole = "matrix:";
  const bool is_whole = check.c.starts_with(whole);
  const std::string words = is_whole ? check.c.substr(whole.size()) : check.c;
  std::vector<double> c = elements_of(words, product.acc, is_whole ? m : 1, n, ~sample.seed);
  for (double& x : c) x = emu::round_to(product.out, x).value;
  std::vector<double> rows;
  for (std::size_t i = 0; i < (is_whole ? 1 : m); ++i) rows.insert(rows.end(), c.begin(), c.end());
  product.c = tensors::from_values(check.c, {m, n}, std::move(rows));
  return product;
}

}  // namespace ulpscope::verify
