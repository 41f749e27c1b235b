// SPDX-License-Identifier: Apache-2.0
// What the products of a step would take on a device, by the times that were recorded there (`ulpscope devices cost`).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare/csv_file.hpp"
#include "training/tape/product_tally.hpp"

namespace ulpscope::training {

/// An estimate.
struct StepTime {
  double microseconds = 0;  ///< of the products that the recording knows
  double covered = 0;       ///< their share of all multiply-adds, 0 to 1
};

/// The table device_cost of a device.
class ProductTimes {
 public:
  /// @throws ulpscope::Error where the file cannot be read, lacks a column or has a time that is none
  explicit ProductTimes(const std::string& path);
  /// Of what is in a file. @throws ulpscope::Error, the same
  ProductTimes(const reports::CsvFile& file, const std::string& path);

  /// Of one product. Of the rows with its formats and scales the one counts whose extents are nearest, each by its logarithm; a
  /// product with more multiply-adds takes longer in proportion, one with fewer as long, because small products do not fill a
  /// device. Rows with fast accumulation are for products whose sums are not promoted, where there are any. Nothing where no
  /// row fits.
  std::optional<double> microseconds(const ProductKind& kind) const;
  /// Of all of them, one after the other.
  StepTime of(const ProductTally& tally) const;

 private:
  /// A row with a time.
  struct Row {
    std::string a, b, scale_a, scale_b;
    bool fast;
    double m, n, k, microseconds;
  };
  std::vector<Row> rows_;
};

}  // namespace ulpscope::training
