// SPDX-License-Identifier: Apache-2.0
// `ulpscope matmul` as people ask for it: a product, the engines that compute it, and what they are compared with.
#pragma once

#include <string>
#include <vector>

#include "products/request.hpp"
#include "requests/field.hpp"
#include "studies/matmul/matmul.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct MatmulRequest {
  products::ProductRequest product;          ///< the operands and what is done to them
  std::vector<std::string> engine, against;  ///< words for emu::parse_engine, or `exact`
  std::string device, instruction;           ///< of real hardware; empty: none
  bool partial_sums = false;                 ///< what the field's help says

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
  /// Whether results are compared, and not written alone.
  bool compares() const { return against != std::vector<std::string>{"none"}; }
};

/// Opens the inputs and the device. @throws ulpscope::Error
MatmulConfig resolve(const MatmulRequest& request);

/// matmul.csv. @throws ulpscope::Error
StudyResult run(const MatmulRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const MatmulRequest& request);

}  // namespace ulpscope::studies
