// SPDX-License-Identifier: Apache-2.0
// `ulpscope probe` as people ask for it: the numerical features of an engine or of a device's instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct ProbeRequest {
  /// What the fields of these names say in the help of `ulpscope probe`.
  ///@{
  std::string engine, device, instruction;
  std::vector<std::string> in;
  std::string acc;
  std::uint64_t seed = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// probe.csv (probe_table()). @throws ulpscope::Error, gpu::NoDevice
StudyResult run(const ProbeRequest& request, const Progress& progress);
/// Operations probed.
Work work_of(const ProbeRequest& request);

}  // namespace ulpscope::studies
