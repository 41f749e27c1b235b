// SPDX-License-Identifier: Apache-2.0
// A check of values in memory: the request of `verify matmul` with tensors in the place of files.
#include "verify/check.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/request.hpp"
#include "tensors/tensor.hpp"
#include "verify/check_tensors.hpp"
#include "verify/matmul_request.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::verify {
namespace {

using Shape = std::vector<std::uint64_t>;

/// Row-major matrices, one for each product of the batch.
tensors::Tensor matrices(const std::string& name, std::span<const float> values, const MatmulCheck& check, std::size_t rows,
                         std::size_t columns) {
  return check_tensor(name, values, check.batch == 1 ? Shape{rows, columns} : Shape{check.batch, rows, columns}, emu::float32);
}

std::vector<tensors::Tensor> scales_of(const std::string& name, const CheckScales& scales) {
  if (scales.values.empty()) return {};
  const bool one = scales.values.size() == 1;
  return {check_tensor(name, scales.values, one ? Shape{} : Shape{scales.rows, scales.columns}, scales.format)};
}

void check_extents(const MatmulCheck& check) {
  if (check.batch == 0 || check.m == 0 || check.n == 0 || check.k == 0)
    throw Error("m, n, k and batch are " + std::to_string(check.m) + ", " + std::to_string(check.n) + ", " +
                std::to_string(check.k) + " and " + std::to_string(check.batch) + "; each is 1 or more");
  if (check.split_k == 0) throw Error("split_k 0: give 1 or more");
  if (check.beta && check.c.empty()) throw Error("beta: is the factor of c, which is not there");
}

products::ProductInputs inputs_of(const MatmulCheck& check) {
  const auto operand = [&](const char* name, std::span<const float> values, Transpose transpose, std::size_t rows,
                           std::size_t columns) {
    if (transpose == Transpose::yes) std::swap(rows, columns);
    return matrices(name, values, check, rows, columns);
  };
  products::ProductInputs inputs{.a = operand("a", check.a, check.transpose_a, check.m, check.k),
                                 .b = operand("b", check.b, check.transpose_b, check.k, check.n),
                                 .c = {},
                                 .scale_a = scales_of("scale_a", check.scale_a),
                                 .scale_b = scales_of("scale_b", check.scale_b)};
  if (!check.c.empty())
    inputs.c = check.c.size() == check.n ? check_tensor("c", check.c, {check.n}, emu::float32)
                                         : matrices("c", check.c, check, check.m, check.n);
  return inputs;
}

/// The product that the check is about.
products::Product product_of(const MatmulCheck& check, const CheckOptions& options) {
  check_extents(check);
  products::ProductRequest request;
  request.in = {emu::format_name(check.in), emu::format_name(check.in_b.value_or(check.in))};
  request.acc = emu::format_name(check.acc);
  request.out = emu::format_name(check.out);
  request.alpha = check.alpha;
  request.beta = check.beta;
  request.promote = check.promote;
  request.split_k = check.split_k;
  request.transpose_a = check.transpose_a == Transpose::yes;
  request.transpose_b = check.transpose_b == Transpose::yes;
  request.threads = options.threads;
  return products::resolve(request, inputs_of(check), check.engine);
}

Declaration declaration_of(const MatmulCheck& check) {
  if (check.acc_rounding != emu::Rounding::nearest_even && check.acc_rounding != emu::Rounding::toward_zero)
    throw Error("acc_rounding: give nearest_even or toward_zero");
  return {.bitwise = check.against == Against::engine || check.against == Against::engine_any_order,
          .order = check.against == Against::engine_any_order ? ReductionOrder::any : ReductionOrder::ascending,
          .sums = check.acc_rounding,
          .false_alarm = check.false_alarm,
          .overflow = check.out_options.policy,
          .flushes_results = check.out_options.flush_subnormals};
}

CheckReport judge(const MatmulCheck& check, std::span<const float> output, const CheckOptions& options) {
  const products::Product problem = product_of(check, options);
  const tensors::Tensor d = matrices("output", output, check, check.m, check.n);
  const std::unique_ptr<Expectation> expectation = expectation_of(problem, declaration_of(check));
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

}  // namespace

CheckReport check_output(const MatmulCheck& check, std::span<const float> output, const CheckOptions& options) {
  try {
    return judge(check, output, options);
  } catch (const Error& error) {
    throw Error(with_member_names(error.what()));
  }
}

}  // namespace ulpscope::verify
