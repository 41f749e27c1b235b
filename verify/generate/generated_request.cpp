// SPDX-License-Identifier: Apache-2.0
// From the words that made a case to what its output should be.
#include "verify/generate/generated_request.hpp"

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "requests/parts.hpp"
#include "verify/generate/generated_output.hpp"

namespace ulpscope::verify {

void GeneratedRequest::describe(requests::Fields& fields) {
  made.describe(fields);
  fields.remove("engine");
  fields.add("sums", sums, "what the kernel is said to sum in (default: --acc of the case)").as_value("F");
  requests::describe_threads(fields, threads);
  output.describe(fields);
  for (const char* const other : {"against", "at_most"}) fields.remove(other);
  fields.at("false_alarm").help = "of cancellation: probability that a correct output is rejected (default 1e-6)";
}

ResolvedCheck resolve(const GeneratedRequest& request) {
  const CaseKind& kind = find_case_kind(request.made.kind);
  const CaseRequest made = resolve(request.made);
  const emu::Format promised = request.sums.empty() ? made.accumulator : requests::parse_format(request.sums);
  if (promised.precision() < made.accumulator.precision() || promised.max_exponent() < made.accumulator.max_exponent())
    throw Error("--sums " + request.sums + ": the case is made for " + emu::format_name(made.accumulator) +
                ", or an accumulator of a greater range; give another --acc to `ulpscope generate matmul` and here");
  if (request.output.false_alarm && kind.name != "cancellation")
    throw Error("--false-alarm: is for the kind cancellation; correct outputs of " + std::string(kind.name) +
                " are never rejected");
  ResolvedCheck check;
  check.operation = "generated";
  check.expectation = expect_generated(kind, made, promised, request.output.false_alarm.value_or(1e-6));
  check.output = request.output.open(request.output.output, made.out);
  check.last = request.output.last_rounding(made.out);
  check.heading = std::string(kind.name) + ": " + std::string(kind.provokes) + "\nD  " + std::to_string(made.m) + "x" +
                  std::to_string(made.n) + ", K = " + std::to_string(made.k) + ", in " + emu::format_name(made.a) + "," +
                  emu::format_name(made.b) + ", accumulator " + emu::format_name(promised) + ", out " +
                  emu::format_name(made.out) + "\n";
  return check;
}

}  // namespace ulpscope::verify
