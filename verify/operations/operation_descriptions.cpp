// SPDX-License-Identifier: Apache-2.0
// The fields of each operation's request.
#include "emu/error.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::verify {
namespace {

void describe_axis(requests::Fields& fields, std::string& axis) {
  fields.add("axis", axis, "the elements summed: of the last axis, or all").as_value("last|all").shown();
}

void describe_block(requests::Fields& fields, std::uint64_t& block) {
  fields.add("block", block, "elements for which an online maximum changes at most once")
      .whole({1, requests::most_elements})
      .shown();
}

}  // namespace

void OperationRequest::describe_input(requests::Fields& fields) {
  fields.add("in", in, "the format that inputs are rounded to (default: their own); tf32 cuts").as_value("F");
  requests::describe_seed(fields, reading.seed,
                          "key of the first input, if it is a synthetic tensor; the next ones are drawn under the next");
  reading.describe(fields);
  requests::describe_threads(fields, threads);
}

void OperationRequest::describe_output(requests::Fields& fields) {
  fields.add("out", out, "the output's format (default: that of its file)").as_value("F");
  output.describe(fields);
  fields.at("against").as_value("exact|FILE").help = "exact: a bound derived from the inputs; FILE: no worse than that output";
  fields.at("false_alarm").help = "of softmax, layer_norm and rms_norm: " + fields.at("false_alarm").help;
}

void ArithmeticRequest::describe_sums(requests::Fields& fields) {
  fields.add("acc", acc, "the format of sums and intermediate results").as_value("F").shown();
  fields.add("acc_rounding", acc_rounding, "of additions: nearest_even or toward_zero").as_value("R").shown();
  fields.add("sum_depth", sum_depth, "additions that a term meets at most; without it any order of them")
      .whole({1, requests::most_elements});
}

void ArithmeticRequest::describe_functions(requests::Fields& fields) {
  fields.add("function_ulp", function_ulp, "error of exp, division, roots in ulp of --acc; 0: correctly rounded")
      .real({.least = 0})
      .shown();
}

KernelArithmetic ArithmeticRequest::arithmetic() const {
  return {.format = requests::parse_format(acc),
          .sums = parse_sum_rounding(acc_rounding),
          .depth = sum_depth.value_or(0),
          .function_ulp = function_ulp};
}

void SumRequest::describe(requests::Fields& fields) {
  fields.add("x", x, "the terms").as_input("X").needed();
  describe_axis(fields, axis);
  describe_input(fields), describe_sums(fields), describe_output(fields);
}

void DotRequest::describe(requests::Fields& fields) {
  fields.add("a", a, "one tensor").as_input("A").needed();
  fields.add("b", b, "the other").as_input("B").needed();
  describe_axis(fields, axis);
  describe_input(fields), describe_sums(fields), describe_output(fields);
}

void ConvRequest::describe(requests::Fields& fields) {
  constexpr std::uint64_t most = std::uint64_t{1} << 24;
  fields.add("x", x, "NxCx..., the input").as_input("X").needed();
  fields.add("w", w, "OxC/groupsx..., the weights").as_input("W").needed();
  fields.add("bias", bias, "O elements").as_value("FILE");
  fields.add("stride", stride, "one number, or one for each axis").whole({1, most}).as_commas().as_value("N,...");
  fields.add("padding", padding, "zeros on both sides, likewise").whole({0, most}).as_commas().as_value("N,...");
  fields.add("dilation", dilation, "likewise").whole({1, most}).as_commas().as_value("N,...");
  fields.add("groups", groups, "of channels").whole({1, most}).shown();
  describe_input(fields), describe_sums(fields), describe_output(fields);
}

void CastRequest::describe(requests::Fields& fields) {
  fields.add("x", x, "what was converted").as_input("X").needed();
  describe_input(fields), describe_output(fields);
}

void ElementwiseRequest::describe(requests::Fields& fields) {
  fields.add("function", function, "which").as_input("FUNCTION").needed();
  fields.add("x", x, "its arguments").as_input("X").needed();
  describe_input(fields), describe_sums(fields), describe_functions(fields);
  for (const char* const of_sums : {"acc_rounding", "sum_depth"}) fields.remove(of_sums);
  fields.at("acc").help = "the format of intermediate results";
  fields.add("function_abs", function_abs, "absolute error of it, or of the erf, tanh, exp in it, beside --function-ulp")
      .real({.least = 0});
  describe_output(fields);
}

void SoftmaxRequest::describe(requests::Fields& fields) {
  fields.add("x", x, "the rows").as_input("X").needed();
  describe_block(fields, block);
  fields.add("shifted", shifted, "the format x - max x is rounded to").as_value("F");
  fields.add("exponentials", exponentials, "the format exponentials are rounded to before they are added and divided")
      .as_value("F");
  fields.add("sums", sums, "the format their sum is kept in (default: --acc)").as_value("F");
  fields.add("fully_masked", fully_masked, "what a row of nothing but -inf is (default: nan)").as_value("nan|zero");
  describe_input(fields), describe_sums(fields), describe_functions(fields), describe_output(fields);
}

void RmsNormRequest::describe_own(requests::Fields& fields) {
  fields.add("x", x, "the rows").as_input("X").needed();
  fields.add("weight", weight, "a factor for each column").as_value("FILE");
  fields.add("bias", bias, "a summand for each column").as_value("FILE");
  fields.add("eps", eps, "added to the variance").real({.least = 0}).shown();
  fields.add("normalized", normalized, "the format the quotient is rounded to before the weight").as_value("F");
}

void RmsNormRequest::describe_rest(requests::Fields& fields) {
  describe_input(fields), describe_sums(fields), describe_functions(fields), describe_output(fields);
}

void RmsNormRequest::describe(requests::Fields& fields) { describe_own(fields), describe_rest(fields); }

void LayerNormRequest::describe(requests::Fields& fields) {
  describe_own(fields);
  fields.add("variance", variance, "centred: two passes, Welford; two_pass: the mean first")
      .as_value("centred|two_pass|one_pass")
      .shown();
  describe_rest(fields);
}

void ExprRequest::describe(requests::Fields& fields) {
  fields.add("formula", formula, "what was computed, or the name of a formula that is known").as_input("FORMULA").needed();
  fields.add("input", input, "a tensor by the name that the formula has for it").as_repeated().as_value("NAME=FILE").needed();
  fields.add("let", let, "a number by its name").as_repeated().as_value("NAME=NUMBER");
  describe_input(fields), describe_sums(fields), describe_functions(fields), describe_output(fields);
}

void ExplainExprRequest::describe(requests::Fields& fields) {
  claim.describe(fields);
  fields
      .add("points", points,
           "formats that the kernel may round intermediate results to, such as bf16:toward_zero and e4m3:saturating")
      .as_commas()
      .as_value("F,...")
      .shown();
  for (const char* const name : {"against", "at_most", "false_alarm"}) fields.remove(name);
}

void AttentionRequest::describe(requests::Fields& fields) {
  fields.add("q", q, "LxD, BxLxD or BxHxLxD").as_input("Q").needed();
  fields.add("k", k, "the same, of perhaps fewer heads").as_input("K").needed();
  fields.add("v", v, "as K").as_input("V").needed();
  fields.add("layout", layout, "blhd: Q, K, V and the output of four dimensions are BxLxHxD").as_value("bhld|blhd").shown();
  fields.add("mask", mask, "added to the scores, LxL, BxLxL or what broadcasts to BxHxLxL; -inf, or false, hides")
      .as_value("FILE");
  fields.add("scale", scale, "instead of 1/sqrt(D)").real();
  fields.add("softcap", softcap, "C: scores s are C tanh(s/C) before the mask").as_value("C").real();
  fields.add("causal", causal, "where the diagonal begins behind which queries see nothing")
      .as_value("none|top_left|bottom_right")
      .shown();
  fields.add("window", window, "keys before and behind the diagonal that queries see; -1: all").as_value("LEFT,RIGHT");
  fields.add("sinks", sinks, "a score for each head that joins the denominator alone").as_value("FILE");
  fields.add("fully_masked", fully_masked, "what a query without keys returns; without it none may be there")
      .as_value("nan|zero");
  const auto descale = [&fields](const char* name, std::string& of, const char* what) {
    fields.add(name, of, what).as_value("FILE|NUMBER");
  };
  descale("q_descale", q_descale, "what codes of Q are multiplied by: one number, H, BxH, or BxHx(blocks of rows)");
  descale("k_descale", k_descale, "the same of K");
  descale("v_descale", v_descale, "the same of V");
  fields.add("block_table", block_table, "Bxblocks: which blocks of K and V, BLOCKSxROWSxHxD, hold a sequence")
      .as_value("FILE");
  fields.add("key_lengths", key_lengths, "B: keys that each sequence has; the rest of K and V is ignored").as_value("FILE");
  fields.add("query_starts", query_starts, "B+1: where sequences begin in a Q of ROWSxHxD, and its end").as_value("FILE");
  fields.add("key_starts", key_starts, "the same of K and V").as_value("FILE");
  fields.add("lse", lse, "the kernel's log-sum-exp of scores, natural: BxHxL, or HxROWS; judged too").as_value("FILE");
  fields.add("scores", scores, "the format Q K^T is rounded to").as_value("F");
  fields.add("probabilities", probabilities, "the format probabilities are rounded to").as_value("F");
  describe_block(fields, block);
  describe_input(fields), describe_sums(fields), describe_functions(fields);
  fields.add("function_abs", function_abs, "absolute error of the tanh of --softcap, beside --function-ulp").real({.least = 0});
  describe_output(fields);
}

}  // namespace ulpscope::verify
