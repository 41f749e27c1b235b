// SPDX-License-Identifier: Apache-2.0
// `verify grouped_matmul`: rows of A, dealt out to groups, each by the matrix of its group, as mixtures of experts multiply
// (torch._grouped_mm, DeepGEMM's m_grouped products, MegaBlocks). docs/verify.md.
#pragma once

#include <string>

#include "requests/field.hpp"
#include "verify/matmul_request.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says; what is inherited means the same of each group.
struct GroupedMatmulRequest : MatmulRequest {
  std::string offsets, group_of_row;  ///< which rows belong to which group: one of these

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Opens inputs and output. @throws ulpscope::Error
ResolvedCheck resolve(const GroupedMatmulRequest& request);

}  // namespace ulpscope::verify
