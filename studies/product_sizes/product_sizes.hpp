// SPDX-License-Identifier: Apache-2.0
// The error of a product of N by N matrices as N grows, by format: how much of it comes from rounding the operands, how much
// from the engine that adds the products, beside a product in float32 and the exact one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/page.hpp"
#include "requests/field.hpp"
#include "studies/accumulation/accumulation.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct ProductSizesRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  std::vector<std::string> in{"fp16", "bf16", "tf32", "e4m3", "e5m2"};
  std::vector<std::string> engine{"fma", "sm_90"};
  std::vector<std::string> distribution{"normal:0,1", "uniform:0,1"};
  std::vector<std::uint64_t> n{100, 200, 500, 1000, 2000, 5000, 10000};
  std::string shape = "32x32";
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Relative errors, in Frobenius norms over the outputs computed: |X - Y| / |A B|.
struct ProductSize {
  std::string distribution;                         ///< of A and B, before they were rounded
  Accumulation by;                                  ///< engine, format and accumulator
  std::uint64_t n = 0, outputs = 0, nonfinite = 0;  ///< length of the sums; outputs computed; outputs that are infinite or NaN
  double error = 0;        ///< C on the engine against A B, both of the unrounded operands; inf where an output is not finite
  double of_inputs = 0;    ///< A'B' against A B, both exact: the rounding of the operands alone
  double of_engine = 0;    ///< C against A'B': the engine alone
  double mean_signed = 0;  ///< mean of (C - A'B') / |A'B'| over outputs that are not 0: below 0 where magnitudes are lost
  double of_float32 = 0;   ///< a chain of float32 fmas of the unrounded operands against A B
};

/// By distribution, format, engine, n. @throws ulpscope::Error
std::vector<ProductSize> measure(const ProductSizesRequest& request, const Progress& progress = {});

/// Of its tables: errors of the engine and of the rounding of operands, each alone, over N.
std::vector<reports::Figure> product_sizes_figures(const std::vector<reports::Table>& tables);

/// product_sizes.csv. @throws ulpscope::Error
StudyResult run(const ProductSizesRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const ProductSizesRequest& request);

}  // namespace ulpscope::studies
