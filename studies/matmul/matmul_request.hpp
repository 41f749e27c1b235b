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
  products::ProductRequest product;
  std::vector<std::string> engine, against;
  std::string device, instruction;

  void describe(requests::Fields& fields);
  bool compares() const { return against != std::vector<std::string>{"none"}; }
};

/// Opens the inputs and the device. @throws ulpscope::Error
MatmulConfig resolve(const MatmulRequest& request);

/// matmul.csv. @throws ulpscope::Error
StudyResult run(const MatmulRequest& request, const Progress& progress);
Work work_of(const MatmulRequest& request);

}  // namespace ulpscope::studies
