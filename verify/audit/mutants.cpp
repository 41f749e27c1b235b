// SPDX-License-Identifier: Apache-2.0
// The table of kinds, with the severities and from which of them a check must reject.
#include "verify/audit/mutants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/audit/mutant_makers.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

/// 128 products, or half of a K that is not longer than that, by powers of two.
double k_required_from(const MutationSource& source) {
  double products = 128;
  while (products > 1 && 2 * products > static_cast<double>(source.shape.k)) products /= 2;
  return products;
}

/// Five percent, where that is at least four spacings of out; else twice the value.
double scale_required_from(const CorrectOutput& source) {
  const double spacing_percent = 100 * std::ldexp(1.0, -source.out.fraction_bits);
  return 4 * spacing_percent <= 5 ? 5 : 100;
}

const std::vector<MutantOf<CorrectOutput>>& kinds_of_output() {
  static const std::vector<double> once = ungraded(), powers = doubling(), percents{0.1, 0.2, 0.5, 1, 2, 5, 10, 100},
                                   steps{1, 2, 4, 16, 64, 256, 1024, 16384, 1048576};
  static const std::vector<MutantOf<CorrectOutput>> kinds{
      {{"zeros", "nothing is written to a cleared output", once, ""}, always, zeros},
      {{"constant_mean", "every element is the mean of the output", once, ""}, always, constant_mean},
      {{"nan_everywhere", "every element is NaN", once, ""}, always, nan_everywhere},
      {{"nan_element", "one element is NaN", once, ""}, always, nan_element},
      {{"infinite_element", "one element is infinite", once, ""}, always, infinite_element},
      {{"rows_swapped", "two neighbouring rows have changed places", once, ""}, always, rows_swapped},
      {{"tile_transposed", "one tile of 16 by 16 is transposed", once, ""}, always, tile_transposed},
      {{"scale_off", "every element is larger by so much", percents, "%"}, scale_required_from, scale_off},
      {{"element_off", "one element is off by this many codes", steps, "ulp"}, never, element_off},
      {{"noise", "every element is off by up to this many codes", powers, "ulp"}, never, noise},
      {{"overflow_saturated", "what overflows is the largest finite number", once, ""}, never, overflow_saturated},
      {{"saturation_missing", "the largest finite number is an overflow", once, ""}, never, saturation_missing},
      {{"subnormal_outputs_flushed", "subnormal results are zero", once, ""}, never, subnormal_outputs_flushed},
  };
  return kinds;
}

MutantKind of_output(std::string_view name) {
  const MutantOf<CorrectOutput>& kind = output_mutant(name);
  return {kind, kind.required_from, kind.make};
}

const std::vector<MutantKind>& all_kinds() {
  static const std::vector<double> once = ungraded(), powers = doubling();
  static const std::vector<MutantKind> kinds{
      of_output("zeros"),
      of_output("constant_mean"),
      of_output("nan_everywhere"),
      of_output("nan_element"),
      of_output("infinite_element"),
      {{"stale_output", "the output is that of another B of the same numbers", once, ""}, always, stale_output},
      of_output("rows_swapped"),
      of_output("tile_transposed"),
      {{"c_missing", "C is not added", once, ""}, always, c_missing},
      {{"c_twice", "C is added twice", once, ""}, always, c_twice},
      of_output("scale_off"),
      {{"k_dropped", "the last products of K are left out", powers, "products"}, k_required_from, k_dropped},
      {{"k_repeated", "the last product is the one before it", once, ""}, never, k_repeated},
      {{"c_shifted", "C is read one element too far", once, ""}, never, c_shifted},
      of_output("element_off"),
      of_output("noise"),
      {{"accumulated_in_float16", "sums are held in float16", once, ""}, never, accumulated_in_float16},
      {{"accumulated_in_bfloat16", "sums are held in bfloat16", once, ""}, never, accumulated_in_bfloat16},
      {{"accumulated_in_13_bits", "sums are held in 13 fraction bits", once, ""}, never, accumulated_in_13_bits},
      {{"inputs_in_tf32", "A and B are rounded to tf32", once, ""}, never, inputs_in_tf32},
      {{"inputs_in_bfloat16", "A and B are rounded to bfloat16", once, ""}, never, inputs_in_bfloat16},
      {{"inputs_in_float8_e4m3fn", "A and B are rounded to float8_e4m3fn", once, ""}, never, inputs_in_float8_e4m3fn},
      {{"out_truncated", "the last rounding is toward zero", once, ""}, never, out_truncated},
      of_output("overflow_saturated"),
      of_output("saturation_missing"),
      {{"subnormal_inputs_flushed", "subnormal numbers of A and B are zero", once, ""}, never, subnormal_inputs_flushed},
      of_output("subnormal_outputs_flushed"),
  };
  return kinds;
}

MutableOperand load(const products::MatmulOperand& operand, std::size_t matrices, std::size_t k, products::MatmulSide side) {
  products::RoundedElements ignored;
  MutableOperand loaded{products::rounded_elements<double>(operand.input.tensor, operand.rounding, ignored), matrices, 0, k,
                        true};
  const std::size_t size = matrices * k;
  loaded.lines = size == 0 ? 0 : loaded.values.size() / size;
  loaded.k_is_last = operand.input.is_vector() || (side == products::MatmulSide::a) != operand.input.transposed;
  return loaded;
}

std::vector<double> values_of(const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

}  // namespace

MutationSource mutation_source(const products::Product& config, std::uint64_t seed) {
  MutationSource source;
  source.config = config, source.shape = products::matmul_shape(config.a.input, config.b.input), source.seed = seed;
  source.out = config.out, source.rows = source.shape.m, source.columns = source.shape.n;
  const products::LoadedProduct loaded(config);
  source.correct = values_of(loaded.on(products::engine_of(config)));
  source.reference = values_of(loaded.on(products::engine_of(config, "exact")));
  if (source.correct.empty() || source.shape.k == 0)
    throw Error("an empty product has no mutants: give M, N and K of 1 or more");

  source.a = load(config.a, source.shape.a_matrices, source.shape.k, products::MatmulSide::a);
  source.b = load(config.b, source.shape.b_matrices, source.shape.k, products::MatmulSide::b);
  if (config.c) source.c = values_of(*config.c);
  source.config.a.input.tensor =
      tensors::from_values(config.a.input.tensor.label, config.a.input.tensor.shape, source.a.values);
  source.config.b.input.tensor =
      tensors::from_values(config.b.input.tensor.label, config.b.input.tensor.shape, source.b.values);
  return source;
}

std::vector<double> ungraded() { return {0}; }
std::vector<double> doubling() { return {1, 2, 4, 8, 16, 32, 64, 128}; }
double always(const CorrectOutput&) { return 0; }
double never(const CorrectOutput&) { return std::numeric_limits<double>::infinity(); }

std::span<const MutantKind> mutant_kinds() { return all_kinds(); }

const MutantOf<CorrectOutput>& output_mutant(std::string_view name) {
  const auto found = std::ranges::find(kinds_of_output(), name, &MutantName::name);
  if (found == kinds_of_output().end()) throw std::out_of_range("no mutant " + std::string(name));
  return *found;
}

std::string Mutant::severity_word() const {
  if (!kind->is_graded()) return {};
  std::string number = std::to_string(severity);
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  if (kind->unit == "%") return number + "%";
  const bool is_one = severity == 1 && kind->unit.ends_with('s');  // 1 product, 2 products
  return number + " " + std::string(is_one ? kind->unit.substr(0, kind->unit.size() - 1) : kind->unit);
}

Mutant mutant_of(const CorrectOutput& source, const MutantName& kind, double severity, bool required,
                 std::optional<std::vector<double>> output) {
  Mutant mutant{.kind = &kind, .severity = severity, .required = required, .applicable = output.has_value()};
  if (!output) return mutant;
  mutant.output = std::move(*output);
  const emu::Format out = source.out;
  for (std::size_t i = 0; i < mutant.output.size(); ++i) {
    mutant.changed += emu::encode(out, source.correct[i]) != emu::encode(out, mutant.output[i]);
    if (!std::isnan(source.correct[i]) || !std::isnan(mutant.output[i]))
      mutant.max_error_ulp = std::max(mutant.max_error_ulp, ulps_between(out, source.correct[i], mutant.output[i]));
  }
  return mutant;
}

}  // namespace ulpscope::verify
