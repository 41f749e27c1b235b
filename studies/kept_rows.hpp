// SPDX-License-Identifier: Apache-2.0
// Rows that were measured before a run was ended, as lines of text: what --resume keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What was measured before of row number i, and what keeps more. Any thread calls both.
struct KeptRows {
  std::function<std::optional<std::string>(std::size_t)> find;  ///< the line of a row; nothing where it was not kept
  std::function<void(std::size_t, const std::string&)> keep;    ///< a row and its line
};

/// Opens what is kept of these tensors, so many rows in all.
using OpenKeptRows = std::function<KeptRows(const std::vector<tensors::Tensor>& tensors, std::size_t rows)>;

/// Numbers of 64 bits as a line: hexadecimal, blanks between. Of doubles those are their bits.
std::string line_of(std::span<const std::uint64_t> numbers);
/// The numbers of a line. @throws ulpscope::Error where it is no such line
std::vector<std::uint64_t> numbers_of(const std::string& line);
/// That a line does not hold what it should.
[[noreturn]] void refuse_line(const std::string& line);

}  // namespace ulpscope::studies
