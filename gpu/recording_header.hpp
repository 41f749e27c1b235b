// SPDX-License-Identifier: Apache-2.0
// The lines of text that a recording begins with: everything but the codes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/recording.hpp"

namespace ulpscope::gpu::detail {

/// Bytes of a packed code: the bits of the format, rounded up.
constexpr std::size_t packed_bytes(emu::Format format) noexcept { return (static_cast<std::size_t>(format.bits()) + 7) / 8; }

/// A recording whose sets have no codes yet, and how many inner products or elements each set has.
struct RecordingHeader {
  Recording recording;
  std::vector<std::size_t> product_counts, element_counts;
  std::size_t bytes = 0;  ///< of the text
};

std::string header_text(const Recording& recording);
/// @throws Error in one line; `name` is that of the file.
RecordingHeader parse_header(std::string_view file, const std::string& name);

}  // namespace ulpscope::gpu::detail
