// SPDX-License-Identifier: Apache-2.0
// Draws the operands of a check, and makes its product.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "tensors/synthetic.hpp"
#include "verify/evidence/public_checks.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t unstated_k = 1024;

/// Elements of a matrix, row-major, before they are rounded.
std::vector<double> elements_of(const std::string& words, emu::Format format, std::size_t rows, std::size_t columns,
                                std::uint64_t seed) {
  constexpr std::string_view codes = "codes", identity = "identity";
  std::vector<double> values(rows * columns);
  if (words == identity) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i / columns == i % columns ? 1 : 0;
    return values;
  }
  const bool are_codes = words.starts_with(codes);
  const std::string drawn = are_codes ? "integers" + words.substr(codes.size()) : words;
  tensors::synthetic(drawn + ":" + std::to_string(values.size()), seed).source->read(0, std::span(values));
  if (are_codes)
    for (double& x : values) x = emu::decode(format, static_cast<emu::Code>(x));
  return values;
}

/// A scale that is a number of float32, by which the largest magnitude is the largest number of the format; 1 for zeros.
float tensor_scale(const std::vector<double>& values, emu::Format format) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  const auto scale = static_cast<float>(largest / emu::decode(format, format.max_finite_code()));
  return scale > 0 ? scale : 1;
}

/// Formats of which an engine takes one for A and another for B.
bool is_small(emu::Format format) { return format.bits() <= 8; }

products::MatmulOperand operand_of(const PublicCheck& check, products::MatmulSide side, emu::Format own, emu::Format multiplied,
                                   std::size_t rows, std::size_t columns, std::uint64_t seed) {
  const bool is_a = side == products::MatmulSide::a;
  std::vector<double> values = elements_of(is_a ? check.a : check.b, own, rows, columns, seed);
  const bool scaled = check.scales == "tensor" && is_small(own);
  const float scale = scaled ? tensor_scale(values, own) : 1;
  const emu::RoundingOptions saturating{.policy = emu::Policy::saturating};
  for (double& x : values) x = emu::round_to(own, x / static_cast<double>(scale), saturating).value;
  products::MatmulOperand operand{
      {tensors::from_values(is_a ? check.a : check.b, {rows, columns}, std::move(values))}, {multiplied}, {}};
  if (scaled)
    operand.scales = products::fit_scales(tensors::from_values("scale", {}, std::vector<float>{scale}), operand.input, side);
  return operand;
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
  const emu::Format a = requests::parse_format(check.a_format), b = requests::parse_format(check.b_format);
  // An operand of few bits beside one of more is multiplied in the other's format, which holds its numbers.
  const bool alike = is_small(a) == is_small(b);
  const emu::Format wider = a.bits() >= b.bits() ? a : b;
  const bool differ = !alike || (!is_small(a) && !(a == b));
  products::Product product{.engine = engine_for(differ ? wider : a),
                            .a = operand_of(check, products::MatmulSide::a, a, differ ? wider : a, m, k, 2 * sample.seed),
                            .b = operand_of(check, products::MatmulSide::b, b, differ ? wider : b, k, n, 2 * sample.seed + 1),
                            .c = {},
                            .acc = requests::parse_format(check.acc),
                            .out = requests::parse_format(check.out),
                            .beta = {},
                            .threads = 1};
  if (check.c.empty()) return product;
  std::vector<double> c = elements_of(check.c, product.acc, 1, n, ~sample.seed);
  for (double& x : c) x = emu::round_to(product.out, x).value;
  std::vector<double> rows;
  for (std::size_t i = 0; i < m; ++i) rows.insert(rows.end(), c.begin(), c.end());
  product.c = tensors::from_values(check.c, {m, n}, std::move(rows));
  return product;
}

}  // namespace ulpscope::verify
