// SPDX-License-Identifier: Apache-2.0
#include "verify/check.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/info.hpp"
#include "studies/matmul.hpp"
#include "verify/engine_output.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::verify {
namespace {

using Shape = std::vector<std::uint64_t>;

tensors::Tensor tensor_of(const std::string& name, std::span<const float> values, const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  if (count != values.size())
    throw Error(name + ": " + std::to_string(values.size()) + " elements; " + studies::shape_text(shape) + " are " +
                std::to_string(count));
  return tensors::from_values(name, shape, std::vector<float>(values.begin(), values.end()));
}

/// Row-major matrices, one for each product of the batch.
tensors::Tensor matrices(const std::string& name, std::span<const float> values, const MatmulCheck& check, std::size_t rows,
                         std::size_t columns) {
  return tensor_of(name, values, check.batch == 1 ? Shape{rows, columns} : Shape{check.batch, rows, columns});
}

studies::InputRounding rounding_of(emu::Format format) {
  if (format != emu::tf32) return {.format = format};
  return {.format = format, .options = {.rounding = emu::Rounding::toward_zero}, .of_float32 = true};
}

std::optional<studies::MatmulScales> scales_of(const std::string& name, const CheckScales& scales,
                                               const studies::MatmulInput& operand, studies::MatmulSide side) {
  if (scales.values.empty()) return std::nullopt;
  const bool one = scales.values.size() == 1;
  tensors::Tensor tensor = tensor_of(name, scales.values, one ? Shape{} : Shape{scales.rows, scales.columns});
  for (const float scale : scales.values)
    if (!std::isnan(scale) && emu::round_to(scales.format, static_cast<double>(scale)).value != static_cast<double>(scale))
      throw Error(name + ": " + std::to_string(scale) + " is no number of " + emu::format_name(scales.format));
  tensor.dtype.format = scales.format;
  return studies::fit_scales(tensor, operand, side);
}

studies::MatmulOperand operand_of(const MatmulCheck& check, studies::MatmulSide side) {
  const bool is_a = side == studies::MatmulSide::a;
  const bool transposed = (is_a ? check.transpose_a : check.transpose_b) == Transpose::yes;
  const std::size_t rows = is_a ? check.m : check.k, columns = is_a ? check.k : check.n;
  const studies::MatmulInput input{
      matrices(is_a ? "a" : "b", is_a ? check.a : check.b, check, transposed ? columns : rows, transposed ? rows : columns),
      transposed};
  return {input, rounding_of(is_a ? check.in : check.in_b.value_or(check.in)),
          scales_of(is_a ? "scale_a" : "scale_b", is_a ? check.scale_a : check.scale_b, input, side)};
}

/// The product that the check is about.
studies::MatmulConfig problem_of(const MatmulCheck& check, const CheckOptions& options) {
  if (check.batch == 0 || check.m == 0 || check.n == 0 || check.k == 0)
    throw Error("m, n, k and batch are " + std::to_string(check.m) + ", " + std::to_string(check.n) + ", " +
                std::to_string(check.k) + " and " + std::to_string(check.batch) + "; each is 1 or more");
  if (check.split_k == 0) throw Error("split_k 0: give 1 or more");
  if (check.beta && check.c.empty()) throw Error("beta: is the factor of c, which is not there");
  studies::MatmulConfig problem{.engines = {},
                                .against = {},
                                .a = operand_of(check, studies::MatmulSide::a),
                                .b = operand_of(check, studies::MatmulSide::b),
                                .c = {},
                                .acc = check.acc,
                                .out = check.out,
                                .alpha = check.alpha,
                                .beta = check.beta,
                                .promote = check.promote,
                                .split_k = check.split_k,
                                .threads = options.threads};
  if (!check.engine.empty()) problem.engines = {check.engine};
  if (!check.c.empty())
    problem.c =
        check.c.size() == check.n ? tensor_of("c", check.c, {check.n}) : matrices("c", check.c, check, check.m, check.n);
  return problem;
}

Arithmetic arithmetic_of(const MatmulCheck& check, const studies::MatmulConfig& problem) {
  if (check.false_alarm && !(*check.false_alarm > 0 && *check.false_alarm < 1))
    throw Error("false_alarm: a probability between 0 and 1, e.g. 1e-6");
  if (check.acc_rounding != emu::Rounding::nearest_even && check.acc_rounding != emu::Rounding::toward_zero)
    throw Error("acc_rounding: give nearest_even or toward_zero");
  Arithmetic arithmetic{.engine = {}, .rounding = check.acc_rounding, .false_alarm = check.false_alarm};
  if (!check.engine.empty())
    arithmetic.engine =
        studies::choose_engine(check.engine, {problem.a.rounding.format, problem.b.rounding.format, problem.acc}, check.k,
                               problem.a.scales, problem.b.scales);
  return arithmetic;
}

std::unique_ptr<Expectation> expectation_of(const MatmulCheck& check, const studies::MatmulConfig& problem) {
  if (check.against == Against::exact || check.against == Against::baseline)
    return expect_matmul(problem, matmul_allowance(problem, arithmetic_of(check, problem)));
  if (check.engine.empty()) throw Error("against an engine: say which; `ulpscope engines` lists them");
  if (check.false_alarm) throw Error("false_alarm: against an engine every bit must be right");
  return expect_engine(problem, check.against == Against::engine ? ReductionOrder::ascending : ReductionOrder::any);
}

}  // namespace

CheckReport check_output(const MatmulCheck& check, std::span<const float> output, const CheckOptions& options) {
  const studies::MatmulConfig problem = problem_of(check, options);
  const tensors::Tensor d = matrices("output", output, check, check.m, check.n);
  const std::unique_ptr<Expectation> expectation = expectation_of(check, problem);
  const VerdictOptions how{.last = {check.out, check.out_options}, .threads = options.threads};
  const std::string heading = heading_of(problem);
  if (check.against != Against::baseline) {
    const Verdict verdict = verify(*expectation, d, how);
    return {verdict.outcome(), verdict_text(heading, verdict, options.width)};
  }
  if (!(check.at_most > 0)) throw Error("at_most: a factor above 0, e.g. 1.1");
  const tensors::Tensor baseline = matrices("baseline", check.baseline, check, check.m, check.n);
  const BaselineVerdict verdict = verify_against_baseline(*expectation, d, baseline, how, check.at_most);
  return {verdict.outcome(), verdict_text(heading, verdict, baseline_table(verdict), options.width)};
}

}  // namespace ulpscope::verify
