// SPDX-License-Identifier: Apache-2.0
// Sums of products of integers in int32, exact but for what becomes of them beyond its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "products/product.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// What a sum does beyond -2^31 .. 2^31 - 1.
enum class IntegerOverflow : std::uint8_t {
  wrap,     ///< modulo 2^32, as mma.s32 without .satfinite and VPDPBUSD do: whatever the order, one result
  saturate  ///< to the nearest end, as mma.s32 with .satfinite and VPDPBUSDS do: where parts saturate, results depend on the
            ///< order
};

/// A sum in int32.
struct IntegerSum {
  double value = 0;          ///< of the exact sum, put into the range
  double low = 0, high = 0;  ///< the results of all orders are between them
  double magnitude = 0;      ///< sum of the magnitudes of its terms
};

/// The sums of all elements of a product of integers of up to 16 bits, each over stretches of K.
class IntegerSums {
 public:
  /// `stretch`: products that are summed in int32 before anything else is done to the sum. C, of int32, is where the sums of
  /// the first stretch start. @throws ulpscope::Error where shapes do not fit or an element is no such integer
  IntegerSums(const products::Product& product, IntegerOverflow overflow, std::size_t stretch);

  std::vector<std::uint64_t> shape() const { return of_products_.front()->shape(); }  ///< of D
  std::size_t stretches() const noexcept { return of_products_.size(); }              ///< sums of an element
  /// Those of one stretch of elements [first, first + sums.size()).
  void sums(std::size_t stretch, std::uint64_t first, std::span<IntegerSum> sums) const;
  /// The products alone of a stretch, before they are put into the range.
  const Expectation& of_products(std::size_t stretch) const { return *of_products_[stretch]; }
  /// Whether sums start from C.
  bool start_from_c() const noexcept { return !c_.empty(); }
  /// `exact sums in int32, which wrap around beyond its range`.
  std::string words() const;

 private:
  double in_range(double sum) const;

  std::vector<std::unique_ptr<Expectation>> of_products_;  ///< exact: integers below 2^53
  std::vector<double> c_;                                  ///< in the shape of D
  IntegerOverflow overflow_;
};

}  // namespace ulpscope::verify
