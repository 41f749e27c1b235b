// SPDX-License-Identifier: Apache-2.0
// Puts numbers into operands, asks the unit or an engine, and prints cases.
#include "studies/probe/probe_bench.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {

using emu::Code;
using emu::Format;

Code number_code(Format format, int exponent, Code fraction, bool negative) {
  const Code sign = negative ? format.sign_mask() : 0;
  const int least = format.min_exponent();
  if (exponent > format.max_exponent()) return format.max_finite_code() | sign;
  if (exponent >= least || !format.has_subnormals()) {
    const int biased = std::max(exponent, least) + format.bias;
    const auto field = static_cast<Code>(biased);
    const Code code = field << format.fraction_bits | (fraction & format.fraction_mask());
    return std::min(code, format.max_finite_code()) | sign;
  }
  const int dropped = std::min(least - exponent, format.fraction_bits);
  const Code implicit = Code{1} << format.fraction_bits;
  return std::max<Code>((implicit | (fraction & format.fraction_mask())) >> dropped, 1) | sign;
}

namespace {

std::string shortest(double number, std::chars_format format) {
  char text[64];
  return {std::begin(text), std::to_chars(std::begin(text), std::end(text), number, format).ptr};
}

}  // namespace

std::string number_words(double number) {
  if (std::isnan(number)) return "NaN";
  const std::string sign = std::signbit(number) ? "-" : "";
  const double magnitude = std::abs(number);
  if (magnitude == 0) return sign + "0";
  if (std::isinf(number)) return sign + "inf";
  int exponent = 0;
  const double significand = std::frexp(magnitude, &exponent);
  if (magnitude < 0x1p20 && magnitude >= 0x1p-4) {
    const std::string plain = shortest(number, std::chars_format::fixed);
    if (plain.size() <= 8) return plain;
  }
  if (significand == 0.5) return sign + "2^" + std::to_string(exponent - 1);
  return sign + "0x" + shortest(magnitude, std::chars_format::hex);
}

ProbeBench::ProbeBench(const gpu::Unit& unit, const gpu::Operation& operation, std::size_t products)
    : unit_(unit), operation_(operation), products_(products) {}

int ProbeBench::least_product() const noexcept { return operation_.a.min_exponent() + operation_.b.min_exponent(); }
int ProbeBench::greatest_product() const noexcept { return operation_.a.max_exponent() + operation_.b.max_exponent(); }

ProbeCase ProbeBench::blank() const {
  ProbeCase probe;
  probe.a.assign(products_, 0);
  probe.b.assign(products_, 0);
  if (scaled()) {
    const Code one = emu::encode(operation_.scale_format, 1.0);
    probe.a_scales.assign(products_ / operation_.scale_products, one);
    probe.b_scales = probe.a_scales;
  }
  return probe;
}

bool ProbeBench::put(ProbeCase& probe, std::size_t k, int exponent, bool negative) const {
  const Format a = operation_.a, b = operation_.b;
  const int least_a = a.min_spacing_exponent(), least_b = b.min_spacing_exponent();
  if (k >= products_ || exponent < least_a + least_b || exponent > greatest_product()) return false;
  const bool normal = exponent >= least_product();
  const int lowest = std::max(normal ? a.min_exponent() : least_a, exponent - b.max_exponent());
  const int of_a =
      std::clamp(exponent / 2, lowest, std::min(a.max_exponent(), exponent - (normal ? b.min_exponent() : least_b)));
  probe.a[k] = number_code(a, of_a, 0, negative);
  probe.b[k] = number_code(b, exponent - of_a, 0, false);
  return true;
}

bool ProbeBench::put_addend(ProbeCase& probe, int exponent, bool negative) const {
  const Format format = operation_.accumulator;
  if (exponent < format.min_spacing_exponent() || exponent > format.max_exponent()) return false;
  probe.c = number_code(format, exponent, 0, negative);
  return true;
}

Code ProbeBench::answer(const ProbeCase& probe) const { return answers(std::span(&probe, 1)).front(); }

std::vector<Code> ProbeBench::answers(std::span<const ProbeCase> probes) const {
  std::vector<Code> a, b, c, a_scales, b_scales, d(probes.size());
  for (const ProbeCase& probe : probes) {
    a.insert(a.end(), probe.a.begin(), probe.a.end());
    b.insert(b.end(), probe.b.begin(), probe.b.end());
    c.push_back(probe.c);
    a_scales.insert(a_scales.end(), probe.a_scales.begin(), probe.a_scales.end());
    b_scales.insert(b_scales.end(), probe.b_scales.begin(), probe.b_scales.end());
  }
  unit_.multiply(operation_, {.products = products_, .a = a, .b = b, .c = c, .a_scales = a_scales, .b_scales = b_scales}, d);
  return d;
}

Code ProbeBench::emulated(const emu::Engine& engine, const ProbeCase& probe) const {
  return emu::inner_product(engine, operation_.a, probe.a, operation_.b, probe.b, probe.c,
                            {.format = operation_.scale_format, .a = probe.a_scales, .b = probe.b_scales});
}

bool ProbeBench::same(Code x, Code y) const noexcept {
  const Format format = operation_.accumulator;
  return x == y || (format.is_zero(x) && format.is_zero(y)) || (format.is_nan(x) && format.is_nan(y));
}

std::size_t ProbeBench::terms(const ProbeCase& probe) const {
  const gpu::Operation& operation = operation_;
  std::size_t count = operation.accumulator.is_zero(probe.c) ? 0 : 1;
  for (std::size_t k = 0; k < probe.a.size(); ++k)
    count += operation.a.is_zero(probe.a[k]) || operation.b.is_zero(probe.b[k]) ? 0 : 1;
  return count;
}

std::string ProbeBench::words(const ProbeCase& probe) const {
  constexpr std::size_t most = 6;
  std::string text = "c = " + words(probe.c);
  std::size_t told = 0;
  std::vector<bool> used(probe.a_scales.size());
  const std::size_t count = terms(probe);
  for (std::size_t k = 0; k < products_; ++k) {
    const double a = emu::decode(operation_.a, probe.a[k]), b = emu::decode(operation_.b, probe.b[k]);
    if ((a == 0 && std::isfinite(b)) || (b == 0 && std::isfinite(a))) continue;
    if (scaled()) used[k / operation_.scale_products] = true;
    if (++told > most) continue;
    // The product of two short numbers is a double; that of two doubles need not be.
    const bool short_product = operation_.a.precision() + operation_.b.precision() <= 53 && std::abs(a * b) >= 0x1p-1000;
    text += short_product ? filled(", p[{}] = {}", k, number_words(a * b))
                          : filled(", p[{}] = {} * {}", k, number_words(a), number_words(b));
  }
  if (told > most) text += filled(" and {} more of {} terms", told - most, count);
  for (std::size_t i = 0; i < probe.a_scales.size(); ++i) {
    const double scale =
        emu::decode(operation_.scale_format, probe.a_scales[i]) * emu::decode(operation_.scale_format, probe.b_scales[i]);
    if (scale != 1 && used[i]) text += filled(", scales[{}] = {}", i, number_words(scale));
  }
  return text;
}

std::string ProbeBench::words(Code answer) const { return number_words(emu::decode(operation_.accumulator, answer)); }

}  // namespace ulpscope::studies
