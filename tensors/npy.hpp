// SPDX-License-Identifier: Apache-2.0
// The header of an .npy apart from its data, which may not be there yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::tensors {

/// Enough of a file to know the length of its header.
constexpr std::size_t npy_start_bytes = 12;
/// NumPy's headers have some hundred bytes (it refuses 10,000 itself, numpy.lib.format); longer ones are refused.
constexpr std::size_t longest_npy_header = std::size_t{1} << 20;

/// What a header says.
struct NpyHeader {
  std::size_t bytes = 0;             ///< of the file before the data
  DType dtype;                       ///< of the elements
  Layout layout;                     ///< how they are stored
  std::vector<std::uint64_t> shape;  ///< extents
  bool fortran_order = false;        ///< the first index runs fastest
  std::uint64_t data_bytes = 0;      ///< that follow
};

/// Bytes before the data, by the beginning of a file: npy_start_bytes of it, or all where there are fewer. @throws
/// ulpscope::Error
std::size_t npy_header_bytes(const std::string& name, std::span<const std::byte> start);

/// `start` holds the header at least. `dtype`: what codes are. @throws ulpscope::Error, UnknownDType among them
NpyHeader parse_npy_header(const std::string& name, std::span<const std::byte> start, std::optional<emu::Format> dtype);

/// @throws ulpscope::Error where so many bytes behind the header are not those that it promises
void check_npy_size(const std::string& name, const NpyHeader& header, std::uint64_t available);

/// How the data are stored; without their bytes.
StoredElements npy_elements(const NpyHeader& header);

}  // namespace ulpscope::tensors
