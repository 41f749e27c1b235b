// SPDX-License-Identifier: Apache-2.0
// The fields of generated cases, and the formats that stand for what is not named.
#include "verify/generate/generate_request.hpp"

#include "emu/error.hpp"
#include "products/engine.hpp"

namespace ulpscope::verify {
namespace {

emu::Format usual_out(emu::Format a) {
  if (a == emu::tf32) return emu::float32;
  return a.bits() < emu::bfloat16.bits() ? emu::bfloat16 : a;
}

}  // namespace

void GenerateMatmulRequest::describe(requests::Fields& fields) {
  constexpr requests::WholeBounds extents{1, std::uint64_t{1} << 24};
  fields.add("kind", kind, "what the data is to provoke; `ulpscope generate list` describes the kinds")
      .as_input("KIND")
      .needed();
  fields.add("m", m, "rows of A").whole(extents).shown();
  fields.add("n", n, "columns of B").whole(extents).shown();
  fields.add("k", k, "products of an output").whole(extents).shown();
  fields.add("in", in, "format of A and B, or of each").as_commas().as_value("F[,F]").shown();
  fields.add("acc", acc, "what the kernel sums in: float32 (the default) or float16").as_value("F");
  fields.add("out", out, "what it returns; default: that of A, bfloat16 for smaller ones, float32 for tf32").as_value("F");
  fields.add("engine", engine, "write what this engine returns too; may be repeated").as_repeated().as_value("E");
  fields
      .add("condition", condition,
           "condition number of `cancellation`, 2 sum |a||b| / |sum a b|; default: one that K sums in --acc can resolve")
      .real();
  requests::describe_seed(fields, seed, "key of the random choices");
}

CaseRequest resolve(const GenerateMatmulRequest& request) {
  if (request.in.empty() || request.in.size() > 2) throw Error("--in: give one format, or one for A and one for B");
  if (request.condition && request.kind != "cancellation") throw Error("--condition: is for the kind cancellation");
  CaseRequest asked{.m = request.m, .n = request.n, .k = request.k, .seed = request.seed};
  asked.a = requests::parse_format(request.in.front());
  asked.b = requests::parse_format(request.in.back());
  if (!request.acc.empty())
    asked.accumulator = requests::parse_format(request.acc);
  else if (!request.engine.empty())
    asked.accumulator = products::default_accumulator(request.engine.front(), asked.a, asked.b);
  asked.condition = request.condition.value_or(usual_condition(asked.k, asked.accumulator));
  asked.out = request.out.empty() ? usual_out(asked.a) : requests::parse_format(request.out);
  return asked;
}

void GenerateCastRequest::describe(requests::Fields& fields) {
  fields.add("to", to, "the format").as_value("F").needed();
  rounding.describe(fields);
}

}  // namespace ulpscope::verify
