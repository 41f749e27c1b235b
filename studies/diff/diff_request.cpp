// SPDX-License-Identifier: Apache-2.0
// From a request to two tensors and their difference.
#include "studies/diff/diff_request.hpp"

#include "emu/catalogue.hpp"

namespace ulpscope::studies {

StudyResult run(const DiffRequest& request, const Progress&) {
  const Tolerance tolerance = parse_tolerance(request.tolerance);
  const tensors::OpenOptions wanted = request.reading.options();
  const tensors::Tensor reference = tensors::open_one(request.reference, wanted),
                        output = tensors::open_one(request.output, wanted);
  const DiffResult result =
      diff(reference, output, wanted.dtype.value_or(output.dtype.format.value_or(emu::float32)), tolerance);
  return {.tables = {diff_table(result), worst_elements(result)},
          .outcome = result.fails(tolerance) ? StudyOutcome::failed : StudyOutcome::done};
}

Work work_of(const DiffRequest& request) {
  return {.operations = tensors::open_one(request.reference, request.reading.options()).count(), .rows = 1};
}

void DiffRequest::describe(requests::Fields& fields) {
  fields.add("reference", reference, "the reference").as_input("REF").needed();
  fields.add("output", output, "what is compared with it").as_input("OUT").needed();
  fields.add("tolerance", tolerance, "what may differ: ulp=N,abs=X,rel=X (any one suffices), frobenius=X").as_value("RULES");
  reading.describe(fields);
}

}  // namespace ulpscope::studies
