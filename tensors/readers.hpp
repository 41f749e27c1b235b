// SPDX-License-Identifier: Apache-2.0
// One reader per file format. Each takes the bytes of a whole file, which may say anything, and `owner`, which keeps them
// alive.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// A file's bytes and the name to use in messages.
struct FileBytes {
  std::string name;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// NumPy's format description, versions 1.0 to 3.0 (numpy.lib.format). `dtype`: what codes are. @throws ulpscope::Error
Tensor read_npy(const FileBytes& file, std::optional<emu::Format> dtype);
/// A zip archive of .npy members, stored or deflated. @throws ulpscope::Error
std::vector<Tensor> read_npz(const FileBytes& file, std::optional<emu::Format> dtype);
/// The safetensors format description; tensors in the order of their data. @throws ulpscope::Error
std::vector<Tensor> read_safetensors(const FileBytes& file);
/// Numbers in rows of equal length (RFC 4180), the first row being names if it holds no number. @throws ulpscope::Error
Tensor read_csv(const FileBytes& file);

}  // namespace ulpscope::tensors
