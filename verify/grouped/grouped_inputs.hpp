// SPDX-License-Identifier: Apache-2.0
// The operands of a grouped product, and the plain product that each group is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "products/request.hpp"
#include "verify/grouped/row_groups.hpp"

namespace ulpscope::verify {

/// A (rows, K), B (groups, K, N) and what is over them.
class GroupedInputs {
 public:
  /// @throws ulpscope::Error where extents do not fit, or what is asked for is not for groups
  GroupedInputs(products::ProductRequest request, std::string engine);

  /// Rows of A by one matrix of B, with their C and scales. @throws ulpscope::Error as products::resolve()
  products::Product product(const std::vector<std::uint64_t>& rows, std::size_t group) const;

  std::uint64_t rows() const { return whole_.a.shape[0]; }         ///< of A
  std::uint64_t groups() const { return whole_.b.shape[0]; }       ///< matrices of B
  const products::ProductInputs& whole() const { return whole_; }  ///< as given
  /// The output's format, where it is not what the request says.
  void set_out(emu::Format out) { out_ = out; }

 private:
  products::ProductRequest request_;
  std::string engine_;
  std::optional<emu::Format> out_;
  products::ProductInputs whole_;
};

}  // namespace ulpscope::verify
