// SPDX-License-Identifier: Apache-2.0
// A check as a study: its verdict as a table, a finding and an outcome.
#pragma once

#include "studies/study.hpp"
#include "verify/check_request.hpp"

namespace ulpscope::verify {

/// Judges the output, and what there is beside it. Tables: `verify` (or `baseline`), then `histogram` and `worst`; of another
/// output `lse`, `lse_histogram` and `lse_worst`, after its option's name. @throws ulpscope::Error
studies::StudyResult judged(const ResolvedCheck& check, const OutputRequest& output, int threads,
                            const studies::Progress& progress);

/// For requests that resolve() takes, of matmul and of all other operations.
template <class Request>
studies::StudyResult run_check(const Request& request, int threads, const studies::Progress& progress) {
  return judged(resolve(request), request.output, threads, progress);
}

}  // namespace ulpscope::verify
