// SPDX-License-Identifier: Apache-2.0
// Mutants that compute the product again with other operands, engines or cuts.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "verify/audit/mutant_makers.hpp"

namespace ulpscope::verify {
namespace {

std::vector<double> output_of(const products::Product& config) {
  const tensors::Tensor d = products::multiply(config);
  std::vector<double> values(static_cast<std::size_t>(d.count()));
  d.source->read(0, std::span(values));
  return values;
}

tensors::Tensor tensor_of(const tensors::Tensor& like, const std::vector<double>& values) {
  return tensors::from_values(like.label, like.shape, values);
}

std::vector<double> with_c(const MutationSource& source, const std::vector<double>& c) {
  products::Product config = source.config;
  config.c = tensor_of(*config.c, c);
  return output_of(config);
}

/// The product on another engine, in one chain.
std::vector<double> on_engine(const MutationSource& source, const std::string& engine, emu::Format acc) {
  products::Product config = source.config;
  config.engine = engine;
  config.acc = acc;
  config.promote = 0;
  config.split_k = 1;
  return output_of(config);
}

/// Operands rounded to a narrower format on the way, saturating; then numbers of their own formats again.
std::vector<double> with_inputs_in(const MutationSource& source, emu::Format narrow) {
  const auto narrowed = [&](MutableOperand operand, emu::Format own) {
    const emu::RoundingOptions saturating{.policy = emu::Policy::saturating};
    for (double& x : operand.values) x = emu::round_to(own, emu::round_to(narrow, x, saturating).value, saturating).value;
    return operand;
  };
  return product_of(source, narrowed(source.a, source.config.a.rounding.format),
                    narrowed(source.b, source.config.b.rounding.format));
}

/// Both operands after a change of each line (a row of A, a column of B).
std::vector<double> with_lines(const MutationSource& source,
                               const std::function<void(MutableOperand&, std::size_t matrix, std::size_t line)>& change) {
  MutableOperand a = source.a, b = source.b;
  for (MutableOperand* operand : {&a, &b})
    for (std::size_t matrix = 0; matrix < operand->matrices; ++matrix)
      for (std::size_t line = 0; line < operand->lines; ++line) change(*operand, matrix, line);
  return product_of(source, a, b);
}

}  // namespace

std::vector<double> product_of(const MutationSource& source, const MutableOperand& a, const MutableOperand& b) {
  products::Product config = source.config;
  config.a.input.tensor = tensor_of(config.a.input.tensor, a.values);
  config.b.input.tensor = tensor_of(config.b.input.tensor, b.values);
  return output_of(config);
}

MutantOutput stale_output(const MutationSource& source, double) {
  MutableOperand b = source.b;
  if (b.values.size() < 2) return std::nullopt;
  const auto half = static_cast<std::ptrdiff_t>(b.values.size() / 2 + 1) % static_cast<std::ptrdiff_t>(b.values.size());
  std::rotate(b.values.begin(), b.values.begin() + (half == 0 ? 1 : half), b.values.end());
  return product_of(source, source.a, b);
}

MutantOutput k_dropped(const MutationSource& source, double products) {
  const auto tail = static_cast<std::size_t>(products);
  if (tail >= source.shape.k) return std::nullopt;
  return with_lines(source, [&](MutableOperand& operand, std::size_t matrix, std::size_t line) {
    for (std::size_t k = operand.k - tail; k < operand.k; ++k) operand.values[operand.at(matrix, line, k)] = 0;
  });
}

MutantOutput k_repeated(const MutationSource& source, double) {
  if (source.shape.k < 2) return std::nullopt;
  return with_lines(source, [](MutableOperand& operand, std::size_t matrix, std::size_t line) {
    operand.values[operand.at(matrix, line, operand.k - 1)] = operand.values[operand.at(matrix, line, operand.k - 2)];
  });
}

MutantOutput c_missing(const MutationSource& source, double) {
  if (!source.config.c) return std::nullopt;
  products::Product config = source.config;
  config.c.reset();
  config.beta.reset();
  return output_of(config);
}

MutantOutput c_twice(const MutationSource& source, double) {
  if (!source.config.c) return std::nullopt;
  std::vector<double> c = source.c;
  for (double& x : c) x *= 2;
  return with_c(source, c);
}

MutantOutput c_shifted(const MutationSource& source, double) {
  if (source.c.size() < 2) return std::nullopt;
  std::vector<double> c = source.c;
  std::rotate(c.begin(), c.begin() + 1, c.end());
  return with_c(source, c);
}

MutantOutput accumulated_in_float16(const MutationSource& source, double) {
  if (source.config.acc == emu::float16) return std::nullopt;
  return on_engine(source, "fp16_chain", emu::float16);
}

// Steps of 16 products, whose sums have the precision of bfloat16 or keep 13 fraction bits: what a kernel with such a running
// sum between its instructions returns, and what the fp8 units of sm_89 and sm_90 do (docs/engines.md).
MutantOutput accumulated_in_bfloat16(const MutationSource& source, double) {
  const std::string bits = std::to_string(emu::bfloat16.fraction_bits);
  return on_engine(source, "block:n=16,f=25,out=rn,bits=" + bits, emu::float32);
}
MutantOutput accumulated_in_13_bits(const MutationSource& source, double) {
  return on_engine(source, "block:n=32,f=13,out=rz,bits=13", emu::float32);
}

MutantOutput inputs_in_tf32(const MutationSource& source, double) { return with_inputs_in(source, emu::tf32); }
MutantOutput inputs_in_bfloat16(const MutationSource& source, double) { return with_inputs_in(source, emu::bfloat16); }
MutantOutput inputs_in_float8_e4m3fn(const MutationSource& source, double) {
  return with_inputs_in(source, emu::float8_e4m3fn);
}

MutantOutput subnormal_inputs_flushed(const MutationSource& source, double) {
  const auto flushed = [](MutableOperand operand, emu::Format own) {
    for (double& x : operand.values) x = emu::round_to(own, x, {.flush_subnormals = true}).value;
    return operand;
  };
  return product_of(source, flushed(source.a, source.config.a.rounding.format),
                    flushed(source.b, source.config.b.rounding.format));
}

MutantOutput out_truncated(const MutationSource& source, double) {
  if (source.config.out == source.config.acc) return std::nullopt;
  products::Product config = source.config;
  config.out = config.acc;
  std::vector<double> d = output_of(config);
  for (double& x : d) x = emu::round_to(source.config.out, x, {.rounding = emu::Rounding::toward_zero}).value;
  return d;
}

}  // namespace ulpscope::verify
