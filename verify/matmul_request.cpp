// SPDX-License-Identifier: Apache-2.0
// From a request to a product and what is expected of it.
#include "verify/matmul_request.hpp"

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/integer_matmul.hpp"
#include "verify/matmul.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::verify {
namespace {

ReductionOrder parse_order(const std::string& word) {
  if (word == "ascending") return ReductionOrder::ascending;
  if (word == "any") return ReductionOrder::any;
  throw Error("--reduction-order '" + word + "': give ascending or any");
}

IntegerOverflow parse_overflow(const std::string& word) {
  if (word == "wrap") return IntegerOverflow::wrap;
  if (word == "saturate") return IntegerOverflow::saturate;
  throw Error("--acc-overflow '" + word + "': give wrap or saturate");
}

void refuse_idle(bool is_said, const char* option, const char* of) {
  if (is_said) throw Error(std::string(option) + ": is of " + of + ", and plays no part here");
}

void add_scales(std::vector<CheckInput>& inputs, const std::string& role, const std::vector<std::string>& words,
                const std::vector<tensors::Tensor>& scales) {
  for (std::size_t i = 0; i < scales.size(); ++i) inputs.push_back({i == 0 ? role : role + "_whole", words[i], scales[i]});
}

/// A line of what is multiplied, or added.
std::string line_of(const char* name, const tensors::Tensor& tensor) {
  return std::string(name) + "  " + tensor.label + " (" + tensors::shape_text(tensor.shape) + "), " + tensor.dtype.name + "\n";
}

ResolvedMatmul resolve_integers(const MatmulRequest& request) {
  const IntegerOverflow overflow = overflow_of_integers(request);
  const products::ProductRequest floats = integers_as_floats(request.product);
  const products::ProductInputs inputs = products::open(floats);
  ResolvedMatmul check;
  check.sums_integers = true;
  check.product = products::resolve(floats, inputs, "");
  products::Product& product = check.product;
  const bool out_is_stated = !floats.out.empty();
  check.output = request.output.open(request.output.output, out_is_stated ? std::optional(product.out) : std::nullopt);
  product.out = out_of_integers(request.product, product, check.output);
  check.expectation = expect_integer_matmul(product, overflow);
  const bool is_sums = product.out == int32_values;
  check.last = is_sums ? LastRounding{.out = int32_values} : request.output.last_rounding(product.out);
  check.operation = "matmul";
  check.inputs = inputs_of(request.product, inputs);
  check.heading = line_of("A", inputs.a) + line_of("B", inputs.b);
  if (inputs.c) check.heading += line_of("C", *inputs.c);
  const products::MatmulShape shape = products::matmul_shape(product.a.input, product.b.input);
  check.heading += "D  " + tensors::shape_text(shape.d) + ", K = " + std::to_string(shape.k) + ", accumulator int32" +
                   (is_sums ? "" : ", out " + emu::format_name(product.out)) + "\n";
  if (request.product.out.empty()) check.stated = {"--out", output_name(product.out)};
  return check;
}

}  // namespace

std::vector<CheckInput> inputs_of(const products::ProductRequest& request, const products::ProductInputs& inputs) {
  std::vector<CheckInput> all{{"A", request.a, inputs.a}, {"B", request.b, inputs.b}};
  if (inputs.c) all.push_back({"C", request.c, *inputs.c});
  add_scales(all, "scale_a", request.scale_a, inputs.scale_a);
  add_scales(all, "scale_b", request.scale_b, inputs.scale_b);
  return all;
}

void MatmulRequest::describe(requests::Fields& fields) {
  product.describe(fields);
  fields.add("engine", engine, "the engine that multiplied: its bound, or its bits; without it any order of additions in --acc")
      .as_value("E");
  fields.add("acc_rounding", acc_rounding, "of additions without an engine: nearest_even or toward_zero").as_value("R").shown();
  fields.at("acc").help += "; int32: exact sums of integers, which float32 scales";
  fields.at("flush_subnormals").help =
      "without an engine subnormal products, sums and results may become zero; with one subnormal inputs do";
  fields.at("out").help = "format of D, rounded to nearest even (default: that of its file)";
  fields.add("acc_overflow", acc_overflow, "what sums in int32 do beyond its range").as_value("wrap|saturate").shown();
  fields.add("reduction_order", reduction_order, "of the parts of --split-k, against an engine")
      .as_value("ascending|any")
      .shown();
  output.describe(fields);
}

IntegerOverflow overflow_of_integers(const MatmulRequest& request) {
  if (!request.engine.empty() || request.output.against != "exact")
    throw Error("--engine, --against: --acc int32 is judged against the exact sums, without either");
  refuse_idle(request.acc_rounding != MatmulRequest().acc_rounding, "--acc-rounding", "sums in floating point");
  refuse_idle(request.reduction_order != MatmulRequest().reduction_order, "--reduction-order", "--against engine");
  if (request.output.false_alarm)
    throw Error(
        "--false-alarm: --acc int32 sums exactly, and what may be lost behind the sums does not grow with K; leave it out");
  return parse_overflow(request.acc_overflow);
}

std::string in_words(const products::Product& product) {
  return emu::format_name(product.a.rounding.format) + "," + emu::format_name(product.b.rounding.format);
}

products::ProductRequest product_of(const MatmulRequest& request) {
  products::ProductRequest product = request.product;
  if (request.engine.empty()) product.rounding.flush_subnormals = false;
  return product;
}

Declaration declaration_of(const MatmulRequest& request) {
  const MatmulRequest standard;
  refuse_idle(request.acc_overflow != standard.acc_overflow, "--acc-overflow", "--acc int32");
  refuse_idle(request.acc_rounding != standard.acc_rounding && !request.engine.empty(), "--acc-rounding",
              "sums without --engine");
  refuse_idle(request.reduction_order != standard.reduction_order && request.output.against != "engine", "--reduction-order",
              "--against engine");
  return {.bitwise = request.output.against == "engine",
          .order = parse_order(request.reduction_order),
          .sums = parse_sum_rounding(request.acc_rounding),
          .false_alarm = request.output.false_alarm,
          .overflow = request.output.last_rounding(emu::float32).options.policy,
          .flushes_results = request.output.out_flush || (request.engine.empty() && request.product.rounding.flush_subnormals)};
}

std::unique_ptr<Expectation> expectation_of(const products::Product& product, const Declaration& declared) {
  if (declared.bitwise) {
    if (product.engine.empty()) throw Error("--against engine: say which, --engine E; `ulpscope engines` lists them");
    if (declared.false_alarm) throw Error("--false-alarm: against an engine every bit must be right");
    return expect_engine(product, declared.order, declared.overflow);
  }
  if (declared.false_alarm && !(*declared.false_alarm > 0 && *declared.false_alarm < 1))
    throw Error("--false-alarm: a probability between 0 and 1, e.g. 1e-6");
  Arithmetic arithmetic{.engine = {},
                        .rounding = declared.sums,
                        .false_alarm = declared.false_alarm,
                        .flushes_results = declared.flushes_results};
  if (!product.engine.empty()) arithmetic.engine = products::engine_of(product);
  return expect_matmul(product, matmul_allowance(product, arithmetic));
}

ResolvedMatmul resolve(const MatmulRequest& request) {
  if (request.product.acc == "int32") return resolve_integers(request);
  ResolvedMatmul check;
  const products::ProductInputs inputs = products::open(request.product);
  if (request.product.in.empty() && !inputs.a.dtype.format && !inputs.b.dtype.format)
    throw Error(inputs.a.label + ": holds " + inputs.a.dtype.name +
                "; --acc int32 sums integers, --dtype F says that these are codes, --in F rounds them");
  check.product = products::resolve(product_of(request), inputs, request.engine);
  products::Product& product = check.product;
  const bool out_is_stated = !request.product.out.empty();
  const std::optional<emu::Format> out = out_is_stated ? std::optional(product.out) : std::nullopt;
  check.output = request.output.open(request.output.output, out);
  product.out = format_of_output(check.output, out);
  check.expectation = expectation_of(product, declaration_of(request));
  check.last = request.output.last_rounding(product.out);
  check.operation = "matmul";
  check.heading = heading_of(product);
  check.inputs = inputs_of(request.product, inputs);
  check.inputs[0].format = product.a.rounding.format;
  check.inputs[1].format = product.b.rounding.format;
  if (request.product.in.empty()) check.stated = {"--in", in_words(product)};
  if (!out_is_stated) check.stated.insert(check.stated.end(), {"--out", emu::format_name(product.out)});
  return check;
}

}  // namespace ulpscope::verify
