// SPDX-License-Identifier: Apache-2.0
// What the parts of the stand-in for tcgen05 share.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tensor_core.hpp"

namespace fake_cuda {

[[noreturn]] inline void fail_tcgen05(const std::string& why) { throw std::logic_error("tcgen05: " + why); }

/// A cell of tensor memory that is allocated.
std::uint32_t& tensor_cell(std::uint32_t lane, std::uint32_t column);

/// The matrix that a descriptor of shared memory tells of (PTX ISA 9.0, "Shared memory descriptor"): K-major, without swizzle.
class MatrixInShared {
 public:
  explicit MatrixInShared(std::uint64_t descriptor);
  /// 16 bytes of a row (of A) or column (of B), of which those are number `chunk` along K.
  const unsigned char* bytes(std::uint32_t row, std::uint32_t chunk) const;

 private:
  std::uint32_t start_, along_k_, along_rows_;
};

/// Carries a product out; throws std::logic_error.
void multiply_in_tensor_memory(const TensorProduct& product);

}  // namespace fake_cuda
