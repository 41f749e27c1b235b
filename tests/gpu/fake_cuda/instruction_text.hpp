// SPDX-License-Identifier: Apache-2.0
// A matrix instruction as its text tells it (PTX ISA 9.0, syntax of mma, wgmma.mma_async and wmma.mma), and the elements in its
// registers.
#pragma once

#include <cstdint>
#include <string>

#include "emu/format.hpp"

namespace fake_cuda {

struct Meaning {
  int m = 0, n = 0, k = 0;
  ulpscope::emu::Format d{}, a{}, b{};
  unsigned threads = 32;
  std::string kind = {};               ///< `f8f6f4`; empty where none is said
  int scale_vec = 0;                   ///< scales in a row of A; 0 without block scales
  ulpscope::emu::Format scale_type{};  ///< where there are scales

  int operand_bits() const;  ///< of the place of an element of A or B in a register
};

/// @throws std::logic_error where there is no such instruction.
Meaning read(const std::string& text);

/// Bits of an element where nothing is packed closer.
int bits_of(ulpscope::emu::Format format);
/// Element i of packed ones of so many bits each, as a code. @throws std::logic_error where padding is not 0.
std::uint64_t element(ulpscope::emu::Format format, int bits, const void* words, int i);
void set_element(ulpscope::emu::Format format, void* words, int i, std::uint64_t code);

}  // namespace fake_cuda
