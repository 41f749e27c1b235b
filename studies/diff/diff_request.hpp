// SPDX-License-Identifier: Apache-2.0
// `ulpscope diff` as people ask for it.
#pragma once

#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/diff/diff.hpp"
#include "studies/kept_rows.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct DiffRequest {
  std::string reference, output, tolerance;  ///< as the help of `ulpscope diff` says
  std::vector<std::string> dtype;            ///< of codes where a file does not say; one: also the format whose ulps count
  requests::ReadingRequest reading;          ///< its `dtype` is not asked for

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Tables `diff` and `worst`, of checkpoints `unmatched` as well; it fails as DiffResult::fails() does. Of checkpoints, what
/// was compared before is not compared again where `open_kept` is given. @throws ulpscope::Error
StudyResult run(const DiffRequest& request, const Progress& progress, const OpenKeptRows& open_kept);
StudyResult run(const DiffRequest& request, const Progress& progress);
/// Elements compared.
Work work_of(const DiffRequest& request);

}  // namespace ulpscope::studies
