// SPDX-License-Identifier: Apache-2.0
// Engines a second time, from the publications, in exact arithmetic.
#include "tests/oracle/engine_oracle.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "tests/oracle/exact_value.hpp"

namespace ulpscope::oracle {
namespace {

using Values = std::vector<Value>;

/// Products `first` up to `first + count`; there are none beyond the last operand.
Values products_of(const InnerProduct& x, std::size_t first, std::size_t count) {
  const std::size_t end = std::min(first + count, x.a.size());
  Values products;
  products.reserve(std::min(count, x.a.size()) + 1);  // c may follow
  for (std::size_t k = first; k < end; ++k) {
    products.push_back(product(decode(x.a_format, x.a[k]), decode(x.b_format, x.b[k])));
  }
  return products;
}

/// Every term is cut to a multiple of 2^(greatest exponent - F), the multiples are added, the sum is rounded once.
std::uint64_t aligned_step(const Values& terms, const BlockFma& block) {
  const Format result{block.accumulator.exponent_bits, block.result_fraction_bits, block.accumulator.bias, ieee};
  const int zeros_behind = block.accumulator.fraction_bits - block.result_fraction_bits;
  const auto finish = [&](const Value& value) {
    if (value.kind == Kind::nan) return round_value(block.accumulator, value, block.rounding);
    const std::uint64_t code = round_value(result, value, block.rounding) << zeros_behind;
    const std::uint64_t sign = std::uint64_t{1} << (block.accumulator.exponent_bits + block.accumulator.fraction_bits);
    return code == sign ? 0 : code;  // an H200 gave no -0 in 10^9 products and more
  };
  if (const auto special = sum_of_specials(terms)) return finish(*special);

  const auto greatest = greatest_exponent(terms);
  if (!greatest) return 0;
  const long last = std::max(*greatest, block.least_exponent) - block.fraction_bits;
  mpz_class total = 0;
  for (const Value& term : terms) total += cut_toward_zero(term, last);
  return finish(finite_value(total, last));
}

/// A scale; there is none beyond the last block, and a sign means nothing.
Value scale_of(const InnerProduct& x, std::span<const std::uint64_t> scales, std::size_t block) {
  if (block >= scales.size()) return finite_value(1, 0);
  Value scale = decode(x.scale_format, scales[block]);
  scale.negative = false;
  return scale;
}

/// To nearest in float32; a result that is tiny after rounding becomes a zero of its sign. Tiny: with the exponent unbounded,
/// rounded to 24 bits, below 2^-126, that is below 2^-126 - 2^-151 before.
Value rounded_and_flushed(const Value& x) {
  const bool tiny =
      x.kind == Kind::finite && cut_toward_zero(x, -151) < (1L << 25) - 1 && cut_toward_zero(x, -151) > -((1L << 25) - 1);
  Value result = decode(binary32, round_value(binary32, x, nearest_even));
  if (tiny) {
    result = finite_value(0, 0);
    result.negative = x.negative;
  }
  return result;
}

enum class Sign { kept, dropped };

/// BFRound: what is below 2^-126 becomes a zero of its sign; what is not representable gets an odd last bit, of 2^128 and
/// beyond it becomes infinite.
Value odd_and_flushed(const Value& x) {
  if (x.kind != Kind::finite || reaches(x, -126)) return decode(binary32, round_value(binary32, x, to_odd));
  Value zero = finite_value(0, 0);
  zero.negative = x.negative;
  return zero;
}

/// An operand whose subnormal numbers count as zeros. AMD's lose their sign and so does -0, others keep it.
Value flushed_operand(Format format, std::uint64_t code, Sign sign) {
  Value value = decode(format, code);
  if (value.kind == Kind::finite && !reaches(value, 1L - format.bias)) {
    value.magnitude = 0;
    if (sign == Sign::dropped) value.negative = false;
  }
  return value;
}

/// Zeros stand where operands are missing.
Value flushed_product(const InnerProduct& x, std::size_t k, Sign sign) {
  if (k >= x.a.size()) return finite_value(0, 0);
  return product(flushed_operand(x.a_format, x.a[k], sign), flushed_operand(x.b_format, x.b[k], sign));
}

/// Zeros stand where operands are missing; subnormal operands are not zeros.
Value padded_product(const InnerProduct& x, std::size_t k) {
  if (k >= x.a.size()) return finite_value(0, 0);
  return product(decode(x.a_format, x.a[k]), decode(x.b_format, x.b[k]));
}

/// `count` products from `first` on, those of missing operands included.
Values padded_products(const InnerProduct& x, std::size_t first, std::size_t count) {
  Values products;
  products.reserve(count + 1);  // c may follow
  for (std::size_t k = first; k < first + count; ++k) products.push_back(padded_product(x, k));
  return products;
}

/// The exact sum, or the special one. A sum of negative zeros is negative, other exact zeros are positive.
Value fused_sum(const Values& terms) {
  const auto special = sum_of_specials(terms);
  Value total = special ? *special : exact_sum(terms);
  if (std::ranges::all_of(terms, [](const Value& term) { return term.is_zero() && term.negative; })) total.negative = true;
  return total;
}

/// x * 2^power.
Value scaled(Value x, long power) {
  x.unit += power;
  x.exponent += power;
  return x;
}

/// Four products and c, or two products and c: every operation rounds and flushes.
std::uint64_t cdna2_steps(const InnerProduct& x, std::size_t products) {
  Value c = flushed_operand(binary32, x.c, Sign::dropped);
  const auto product_at = [&](std::size_t k) { return rounded_and_flushed(flushed_product(x, k, Sign::dropped)); };
  const auto pair_at = [&](std::size_t k) { return rounded_and_flushed(sum(product_at(k), product_at(k + 1))); };
  for (std::size_t k = 0; k < x.a.size(); k += products) {
    Value total = pair_at(k);
    if (products == 4) total = rounded_and_flushed(sum(total, pair_at(k + 2)));
    c = rounded_and_flushed(sum(c, total));
  }
  return round_value(binary32, c, nearest_even);
}

enum class Subnormals { kept, flushed };

/// From +0, fma after fma over every `stride`th of the products from `first` up to `end`.
Value amx_chain(const InnerProduct& x, std::size_t first, std::size_t end, std::size_t stride, Subnormals operands) {
  Value total = finite_value(0, 0);
  for (std::size_t k = first; k < end; k += stride) {
    const Value term = operands == Subnormals::flushed ? flushed_product(x, k, Sign::kept) : padded_product(x, k);
    total = rounded_and_flushed(sum(term, total));
  }
  return total;
}

/// A chain for the even products, one for the odd ones, their sum, and that plus c.
std::uint64_t amx_pairs(const InnerProduct& x, Subnormals operands) {
  Value c = flushed_operand(binary32, x.c, Sign::kept);
  for (std::size_t step = 0; step < x.a.size(); step += 32) {
    const Value even = amx_chain(x, step, step + 32, 2, operands);
    const Value odd = amx_chain(x, step + 1, step + 32, 2, operands);
    c = rounded_and_flushed(sum(c, rounded_and_flushed(sum(even, odd))));
  }
  return round_value(binary32, c, nearest_even);
}

}  // namespace

std::uint64_t block_fma(const InnerProduct& x, const BlockFma& block) {
  std::uint64_t c = x.c;
  for (std::size_t k = 0; k < x.a.size(); k += static_cast<std::size_t>(block.products)) {
    Values terms = products_of(x, k, static_cast<std::size_t>(block.products));
    terms.push_back(decode(block.accumulator, c));
    c = aligned_step(terms, block);
  }
  return c;
}

std::uint64_t block_fma_scaled_products(const InnerProduct& x, const BlockFma& block) {
  std::uint64_t c = x.c;
  const auto length = static_cast<std::size_t>(block.products);
  for (std::size_t k = 0; k < x.a.size(); k += length) {
    const Value scale = product(scale_of(x, x.a_scales, k / length), scale_of(x, x.b_scales, k / length));
    Values terms;
    for (const Value& unscaled : products_of(x, k, length)) terms.push_back(product(unscaled, scale));
    terms.push_back(decode(block.accumulator, c));
    c = aligned_step(terms, block);
  }
  return c;
}

std::uint64_t block_fma_scaled_groups(const InnerProduct& x, int scale_products, long least_exponent) {
  const std::size_t length = 64, group = 16;
  const BlockFma block{static_cast<int>(length), 35, binary32, 23, toward_zero, least_exponent};
  std::uint64_t c = x.c;
  for (std::size_t step = 0; step < x.a.size(); step += length) {
    Values terms;
    for (std::size_t k = step; k < step + length; k += group) {
      const std::size_t scales = k / static_cast<std::size_t>(scale_products);
      const Value scale = product(scale_of(x, x.a_scales, scales), scale_of(x, x.b_scales, scales));
      Value group_sum = exact_sum(products_of(x, k, group));  // e2m1 has neither infinities nor NaNs
      group_sum.exponent = 0;
      terms.push_back(product(group_sum, scale));
    }
    terms.push_back(decode(binary32, c));
    c = aligned_step(terms, block);
  }
  return c;
}

/// The products of numbers that were converted to float16: an exponent is the one that float16 has for the number.
Values products_of_halves(const InnerProduct& x, std::size_t first, std::size_t count) {
  const auto half = [](Value value) {
    constexpr long least = -14;
    if (value.kind != Kind::finite || value.magnitude == 0) return value;
    const long leading = static_cast<long>(mpz_sizeinbase(value.magnitude.get_mpz_t(), 2)) - 1 + value.unit;
    value.exponent = std::max(leading, least);
    return value;
  };
  Values products;
  for (std::size_t k = first; k < std::min(first + count, x.a.size()); ++k)
    products.push_back(product(half(decode(x.a_format, x.a[k])), half(decode(x.b_format, x.b[k]))));
  return products;
}

std::uint64_t two_half_blocks(const InnerProduct& x, Format accumulator, long least_exponent) {
  const Mode rounding = accumulator.fraction_bits == binary32.fraction_bits ? toward_zero : nearest_even;
  const BlockFma half{16, 25, accumulator, accumulator.fraction_bits, rounding, least_exponent};
  std::uint64_t c = x.c;
  for (std::size_t step = 0; step < x.a.size(); step += 32) {
    const Values products = products_of_halves(x, step, 32);
    Values first, second;
    for (std::size_t k = 0; k < products.size(); ++k) (k % 4 < 2 ? first : second).push_back(products[k]);

    second.push_back(decode(accumulator, aligned_step(first, half)));
    const Value both = decode(accumulator, aligned_step(second, half));
    c = round_value(accumulator, sum(both, decode(accumulator, c)), nearest_even);
  }
  return c;
}

std::uint64_t cdna1(const InnerProduct& x, int products) {
  std::uint64_t c = x.c;
  for (std::size_t k = 0; k < x.a.size(); k += static_cast<std::size_t>(products)) {
    Values terms = products_of(x, k, static_cast<std::size_t>(products));
    terms.push_back(decode(binary32, c));
    const auto special = sum_of_specials(terms);
    c = round_value(binary32, special ? *special : exact_sum(terms), nearest_even);
  }
  return c;
}

std::uint64_t cdna2(const InnerProduct& x) { return cdna2_steps(x, 4); }

std::uint64_t cdna2_pairs(const InnerProduct& x) { return cdna2_steps(x, 2); }

std::uint64_t cdna3(const InnerProduct& x, int products) {
  std::uint64_t code = x.c;
  for (std::size_t k = 0; k < x.a.size(); k += static_cast<std::size_t>(products)) {
    const Value c = decode(binary32, code);
    Values terms = products_of(x, k, static_cast<std::size_t>(products));
    for (Value& term : terms) {
      if (term.kind == Kind::finite && reaches(term, 128)) term = infinity(term.negative);  // beyond float32
    }
    Values all = terms;
    all.push_back(c);
    if (const auto special = sum_of_specials(all)) {
      code = round_value(binary32, *special, nearest_even);
      continue;
    }

    // Zeros of c too have the exponent -126, zero products have none.
    const auto greatest = greatest_exponent(terms);
    const long joint = std::max({greatest.value_or(-126), c.exponent, -126L});
    mpz_class product_sum = 0;
    long last = 0;
    if (greatest) {
      last = *greatest - 24;
      for (const Value& term : terms) product_sum += cut_toward_zero(term, last);
    }
    const Value joined[] = {finite_value(cut_downward(finite_value(product_sum, last), joint - 31), joint - 31),
                            finite_value(cut_downward(c, joint - 24), joint - 24)};
    code = round_value(binary32, exact_sum(joined), nearest_even);
  }
  return code;
}

std::uint64_t cdna3_fp8(const InnerProduct& x) {
  std::uint64_t code = x.c;
  for (std::size_t step = 0; step < x.a.size(); step += 16) {
    const Value c = decode(binary32, code);
    const Values products = products_of(x, step, 16);
    Values all = products;
    all.push_back(c);
    if (const auto special = sum_of_specials(all)) {
      code = round_value(binary32, *special, nearest_even);
      continue;
    }

    Values halves[2];
    for (std::size_t k = 0; k < products.size(); ++k) halves[k % 2].push_back(products[k]);
    const auto greatest = greatest_exponent(products);
    const long joint = std::max({greatest.value_or(-126), c.exponent, -126L});
    mpz_class product_sum = 0;
    long last = 0;
    if (greatest) {
      last = *greatest - 24;
      for (const Values& half : halves) {
        const auto own_greatest = greatest_exponent(half);
        if (!own_greatest) continue;
        mpz_class half_sum = 0;
        for (const Value& term : half) half_sum += cut_toward_zero(term, *own_greatest - 24);
        product_sum += cut_downward(finite_value(half_sum, *own_greatest - 24), last);
      }
    }
    const mpz_class c_part = c.exponent < joint - 25 ? mpz_class(0) : cut_downward(c, joint - 24);
    const Value joined[] = {finite_value(cut_downward(finite_value(product_sum, last), joint - 31), joint - 31),
                            finite_value(c_part, joint - 24)};
    code = round_value(binary32, exact_sum(joined), nearest_even);
  }
  return code;
}

std::uint64_t amx_bf16(const InnerProduct& x) { return amx_pairs(x, Subnormals::flushed); }

std::uint64_t amx_fp16(const InnerProduct& x) { return amx_pairs(x, Subnormals::kept); }

std::uint64_t amx_tf32(const InnerProduct& x) {
  Value c = decode(binary32, x.c);
  for (std::size_t step = 0; step < x.a.size(); step += 16) {
    c = rounded_and_flushed(sum(c, amx_chain(x, step, step + 16, 1, Subnormals::kept)));
  }
  return round_value(binary32, c, nearest_even);
}

std::uint64_t amx_fp8(const InnerProduct& x) {
  Value c = flushed_operand(binary32, x.c, Sign::kept);
  for (std::size_t step = 0; step < x.a.size(); step += 64) {
    const Values products = padded_products(x, step, 64);
    const auto special = sum_of_specials(products);
    const Value total = rounded_and_flushed(special ? *special : exact_sum(products));
    c = rounded_and_flushed(sum(c, total));
  }
  return round_value(binary32, c, nearest_even);
}

std::uint64_t avx512_bf16(const InnerProduct& x) {
  Value c = flushed_operand(binary32, x.c, Sign::kept);
  for (std::size_t k = 0; k < x.a.size(); k += 2) {
    const Value after_odd = rounded_and_flushed(sum(flushed_product(x, k + 1, Sign::kept), c));
    c = rounded_and_flushed(sum(flushed_product(x, k, Sign::kept), after_odd));
  }
  return round_value(binary32, c, nearest_even);
}

std::uint64_t arm_bf16(const InnerProduct& x) {
  Value c = flushed_operand(binary32, x.c, Sign::kept);
  for (std::size_t k = 0; k < x.a.size(); k += 2) {
    const Value first = odd_and_flushed(flushed_product(x, k, Sign::kept));
    const Value second = odd_and_flushed(flushed_product(x, k + 1, Sign::kept));
    c = odd_and_flushed(sum(c, odd_and_flushed(sum(first, second))));
  }
  return round_value(binary32, c, to_odd);
}

std::uint64_t arm_fused_pairs(const InnerProduct& x) {
  std::uint64_t c = x.c;
  for (std::size_t k = 0; k < x.a.size(); k += 2) {
    const Value exact = sum(padded_product(x, k), padded_product(x, k + 1));
    const Value dot = decode(binary32, round_value(binary32, exact, nearest_even));
    c = round_value(binary32, sum(decode(binary32, c), dot), nearest_even);
  }
  return c;
}

std::uint64_t arm_fmmla(const InnerProduct& x, Format accumulator) {
  const auto nearest = [&](const Value& v) { return decode(accumulator, round_value(accumulator, v, nearest_even)); };
  Value c = decode(accumulator, x.c);
  for (std::size_t k = 0; k < x.a.size(); k += 2)
    c = nearest(sum(c, nearest(sum(nearest(padded_product(x, k)), nearest(padded_product(x, k + 1))))));
  return round_value(accumulator, c, nearest_even);
}

std::uint64_t arm_fmmla_of_halves(const InnerProduct& x) {
  const auto nearest = [](const Value& v) { return decode(binary32, round_value(binary32, v, nearest_even)); };
  Value c = decode(binary32, x.c);
  for (std::size_t k = 0; k < x.a.size(); k += 4) {
    const Value low = nearest(sum(padded_product(x, k), padded_product(x, k + 1)));
    const Value high = nearest(sum(padded_product(x, k + 2), padded_product(x, k + 3)));
    c = nearest(sum(c, nearest(sum(low, high))));
  }
  return round_value(binary32, c, nearest_even);
}

std::uint64_t arm_fp8(const InnerProduct& x, Format accumulator, int products, int lscale) {
  const auto length = static_cast<std::size_t>(products);
  std::uint64_t c = x.c;
  for (std::size_t k = 0; k < x.a.size(); k += length) {
    Values terms;
    for (const Value& term : padded_products(x, k, length)) terms.push_back(scaled(term, -lscale));
    terms.push_back(decode(accumulator, c));
    c = round_value(accumulator, fused_sum(terms), nearest_even);
  }
  return c;
}

std::uint64_t fma_chain(const InnerProduct& x, Format accumulator) {
  std::uint64_t c = x.c;
  for (const Value& term : products_of(x, 0, x.a.size())) {
    c = round_value(accumulator, sum(term, decode(accumulator, c)), nearest_even);
  }
  return c;
}

// docs/numerics.md, "Sums and products of many terms": the first ceil(n/2) terms, the rest, and the sum of the two.
std::uint64_t pairwise(const InnerProduct& x, Format accumulator) {
  const auto rounded = [&](const Value& value) { return decode(accumulator, round_value(accumulator, value, nearest_even)); };
  const Values products = products_of(x, 0, x.a.size());
  const auto total = [&](const auto& self, std::size_t first, std::size_t count) -> Value {
    if (count == 1) return rounded(products.at(first));
    const std::size_t half = (count + 1) / 2;
    return rounded(sum(self(self, first, half), self(self, first + half, count - half)));
  };
  return round_value(accumulator, sum(decode(accumulator, x.c), total(total, 0, products.size())), nearest_even);
}

std::uint64_t exactly_rounded(const InnerProduct& x, Format accumulator) {
  Values terms = products_of(x, 0, x.a.size());
  terms.push_back(decode(accumulator, x.c));
  return round_value(accumulator, fused_sum(terms), nearest_even);
}

}  // namespace ulpscope::oracle
