// SPDX-License-Identifier: Apache-2.0
// One function for each feature: the inner product, and what its answer means.
#include "studies/probe/probe_direct.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code;
using emu::Format;

class Direct {
 public:
  Direct(const ProbeBench& bench, std::size_t step)
      : bench_(bench), a_(bench.operation().a), b_(bench.operation().b), acc_(bench.operation().accumulator), step_(step) {}

  std::vector<Finding> all() {
    exact_products();
    product_normalisation();
    carries();
    monotonicity();
    zeros();
    specials();
    return std::move(findings_);
  }

 private:
  void note(std::string feature, std::string result, std::string evidence = "") {
    findings_.push_back({std::move(feature), std::move(result), std::move(evidence)});
  }
  std::string gives(const ProbeCase& probe) const {
    return bench_.words(probe) + " gives " + bench_.words(bench_.answer(probe));
  }
  double value(const ProbeCase& probe) const { return emu::decode(acc_, bench_.answer(probe)); }

  /// (1 + u)(1 + v) - (1 + u + v) = u v, u and v being the last places of the operands' formats.
  void exact_products() {
    ProbeCase probe = bench_.blank();
    probe.a[0] = number_code(a_, 0, 1, false);
    probe.b[0] = number_code(b_, 0, 1, false);
    const double u = emu::decode(a_, probe.a[0]) - 1, v = emu::decode(b_, probe.b[0]) - 1;
    probe.c = emu::encode(acc_, -(1 + u + v));
    const bool expressible = emu::decode(acc_, probe.c) == -(1 + u + v) && u * v >= emu::min_positive(acc_);
    // A unit that keeps too few bits of a sum loses that one of c as well.
    ProbeCase plain = bench_.blank();
    plain.a[0] = number_code(a_, 0, 0, false), plain.b[0] = number_code(b_, 0, 0, false);
    plain.c = emu::encode(acc_, -(1 - u * v));
    const bool tells = emu::decode(acc_, plain.c) != -(1 - u * v) || value(plain) == u * v;
    if (!expressible || !tells) return note("exact_products", not_observable);
    note("exact_products", value(probe) == u * v ? "yes" : "no", gives(probe));
  }

  /// The greatest distance below `exponent` at which a product beside two that cancel still counts; -1: there is no end to it.
  int reach(int exponent, Code significands) const {
    int reach = -1, least = 0;
    for (int d = 0; d <= 80; ++d) {
      ProbeCase probe = bench_.blank();
      if (!bench_.put(probe, 0, exponent) || !bench_.put(probe, 1, exponent, true) || !bench_.put(probe, 2, exponent - d))
        break;
      for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
        probe.a[k] |= significands == 0 ? 0 : (a_.fraction_mask() + 1) / 2;
        probe.b[k] |= significands == 0 ? 0 : (b_.fraction_mask() + 1) / 2;
      }
      least = d;
      if (value(probe) != 0) reach = d;
    }
    return reach == least ? -1 : reach;
  }

  /// 1.5 * 1.5 = 2.25: aligned by its own leading bit it would reach one binade less far down.
  void product_normalisation() {
    const int exponent = std::min(bench_.greatest_product() - 2, acc_.max_exponent() - 3);
    const int plain = step_ < 3 ? -1 : reach(exponent, 0), wide = step_ < 3 ? -1 : reach(exponent, 1);
    if (plain < 0 || wide < 0) return note("products_normalised", not_observable);
    note("products_normalised", wide == plain ? "no" : "yes",
         filled("beside p[0] = -p[1] = 2^{} a product counts down to 2^{}, beside 2.25 * 2^{} down to 2^{}", exponent,
                exponent - plain, exponent, exponent - wide));
  }

  /// A step of products 2.25 and c = 1.5.
  void carries() {
    ProbeCase probe = bench_.blank();
    for (std::size_t k = 0; k < step_; ++k) {
      probe.a[k] = number_code(a_, 0, (a_.fraction_mask() + 1) / 2, false);
      probe.b[k] = number_code(b_, 0, (b_.fraction_mask() + 1) / 2, false);
    }
    probe.c = emu::encode(acc_, 1.5);
    const double sum = 2.25 * static_cast<double>(step_) + 1.5;
    const int bits = static_cast<int>(std::bit_width(static_cast<std::size_t>(sum))) - 1;
    note("carry_bits", value(probe) == sum ? filled("at least {}", bits) : "lost", gives(probe));
  }

  /// Raising c to the next power of two may coarsen the alignment of everything else.
  void monotonicity() {
    for (int d = 1; d <= acc_.fraction_bits + 12; ++d) {
      const int exponent = std::max(bench_.least_product(), acc_.min_exponent()) + d;
      ProbeCase low = bench_.blank();
      bool possible = bench_.put_addend(low, exponent);
      for (std::size_t k = 0; k < step_; ++k) possible &= bench_.put(low, k, exponent - d);
      if (!possible) continue;
      const ProbeCase high = low;
      --low.c;
      if (value(low) > value(high)) return note("monotonic", "no", gives(low) + ", but " + gives(high));
    }
    note("monotonic", "no violation found", "c below and at powers of two beside a step of equal products at every distance");
  }

  void zeros() {
    ProbeCase probe = bench_.blank();
    bench_.put(probe, 0, std::clamp(0, bench_.least_product(), bench_.greatest_product()));
    probe.a[1] = probe.a[0] ^ a_.sign_mask();
    probe.b[1] = probe.b[0];
    const bool chain = step_ < 2;
    if (chain) {
      probe.a[1] = probe.b[1] = 0;
      probe.c = emu::encode(acc_, -emu::decode(a_, probe.a[0]) * emu::decode(b_, probe.b[0]));
    }
    note("zero_sum", bench_.words(bench_.answer(probe)), gives(probe));
    ProbeCase negative = bench_.blank();
    negative.c = acc_.sign_mask();
    note("negative_zero_addend", bench_.words(bench_.answer(negative)), "c = -0 and products of +0");
    if (!a_.has_negative_zero()) return;
    for (Code& code : negative.a) code = a_.sign_mask();
    note("negative_zeros", bench_.words(bench_.answer(negative)), "c = -0 and products of -0");
  }

  void specials() {
    note("nan_code", hexadecimal(nan_result(bench_), static_cast<std::size_t>(acc_.bits() + 3) / 4), "c = NaN");
    ProbeCase probe = bench_.blank();
    probe.c = acc_.infinity_code();
    note("infinite_addend", bench_.words(bench_.answer(probe)), "c = inf and products of 0");
    if (!a_.has_infinity()) return note("opposed_infinities", not_observable, "the operands have no infinity");
    probe.a[0] = a_.infinity_code() | a_.sign_mask();
    probe.b[0] = number_code(b_, 0, 0, false);
    note("opposed_infinities", bench_.words(bench_.answer(probe)), bench_.words(probe));
    probe.c = 0;
    probe.b[0] = 0;
    note("zero_times_infinity", bench_.words(bench_.answer(probe)), "a[0] = -inf, b[0] = 0");
  }

  const ProbeBench& bench_;
  Format a_, b_, acc_;
  std::size_t step_;
  std::vector<Finding> findings_;
};

}  // namespace

namespace {

/// a[0] b[0] = 2^great * 0 beside x * x for p[1] or, where x is zero, beside c.
struct ZeroOperand {
  Format format;
  int great, x_exponent;
  Code x_fraction, c, dropped, counted;  ///< what comes out as c or the sum where the zero has no exponent, and where it has
  /// The product with the exponent that MMA-Sim gives to the zero is p[0] = 2^greatest = -p[2], c moved up by as much.
  int greatest, raised;
};

// docs/engines.md, "Where the sources disagree or are silent".
constexpr ZeroOperand zero_operands[] = {
    {emu::bfloat16, 127, -6, 1, 0, 0x39820200, 0x39820000, 1, 0},
    {emu::tf32, 127, -6, 1, 0, 0x39804008, 0x39804000, 1, 0},
    {emu::float16, 15, 0, 0, 0x02800001, 0x02800001, 0x02800000, 0, 121},
};

/// The same with two products that cancel in the place of the zero: does the unit cut at all where it would tell?
bool zero_operand_tells(const ProbeBench& bench, const ZeroOperand& question, const ProbeCase& probe) {
  ProbeCase pair = probe;
  const Format acc = bench.operation().accumulator;
  const Code raised = static_cast<Code>(question.raised) << acc.fraction_bits;
  ProbeCase alone = probe;  // nor does a unit tell that loses the bit without any zero
  alone.a[0] = bench.blank().a[0];
  if (bench.answer(alone) != question.dropped) return false;
  if (question.c != 0) pair.c += raised;
  if (!bench.put(pair, 0, question.greatest) || !bench.put(pair, 2, question.greatest, true)) return false;
  return bench.answer(pair) == question.counted + raised;
}

}  // namespace

std::optional<Finding> zero_operand_finding(const ProbeBench& bench) {
  const gpu::Operation& operation = bench.operation();
  if (operation.accumulator != emu::float32 || operation.a != operation.b || bench.scaled()) return std::nullopt;
  for (const ZeroOperand& question : zero_operands) {
    if (question.format != operation.a) continue;
    ProbeCase probe = bench.blank();
    probe.c = question.c;
    probe.a[0] = number_code(operation.a, question.great, 0, false);
    if (question.c == 0) probe.a[1] = probe.b[1] = number_code(operation.a, question.x_exponent, question.x_fraction, false);
    const Code answer = bench.answer(probe);
    std::string evidence =
        filled("{}, p[0] = 2^{} * 0 gives {}; without an exponent {}, with one {} (MMA-Sim)", bench.words(probe),
               question.great, hexadecimal(answer, 8), hexadecimal(question.dropped, 8), hexadecimal(question.counted, 8));
    if (!zero_operand_tells(bench, question, probe)) return Finding{"zero_operand", not_observable, std::move(evidence)};
    const std::string result = answer == question.dropped   ? "no exponent"
                               : answer == question.counted ? "the other operand's exponent"
                                                            : "neither";
    return Finding{"zero_operand", result, std::move(evidence)};
  }
  return std::nullopt;
}

Code nan_result(const ProbeBench& bench) {
  ProbeCase probe = bench.blank();
  probe.c = bench.operation().accumulator.nan_code();
  return bench.answer(probe);
}

std::vector<Finding> direct_findings(const ProbeBench& bench, std::size_t step) { return Direct(bench, step).all(); }

}  // namespace ulpscope::studies
