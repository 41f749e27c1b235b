// SPDX-License-Identifier: Apache-2.0
// The data of a member of an .npz, inflated a block at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tensors/bytes.hpp"
#include "tensors/npz_archive.hpp"

namespace ulpscope::tensors {

/// Where the data of a member lie.
struct NpzPlace {
  std::uint64_t index = 0;  ///< of the member
  std::string name;         ///< for messages
  std::uint64_t begin = 0;  ///< of the data, behind the header
  std::uint64_t size = 0;   ///< of the data, which end where the member does
};

/// Before the first of them is given all are inflated once, and compared with what the archive says of them. The blocks that
/// were used last are kept, of all archives together at most half a gigabyte and half of what tensors may take; others are
/// inflated again, which is quick where they are asked for in about their order.
std::shared_ptr<const Bytes> inflated(std::shared_ptr<const NpzArchive> archive, NpzPlace place);

}  // namespace ulpscope::tensors
