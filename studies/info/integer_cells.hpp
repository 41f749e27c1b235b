// SPDX-License-Identifier: Apache-2.0
// Integers of 64 bits as tables show them: a double would round them beyond 2^53.
#pragma once

#include <cstdint>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Whether doubles do not hold every value of the type.
bool is_wide_integer(const tensors::DType& dtype);

/// What the nearest double leaves of an integer of 64 bits: the integer less that double. Precondition: is_wide_integer(dtype).
double wide_rest(const tensors::DType& dtype, emu::Code bits);

/// The value of an integer of 64 bits from its own bits, as Source::read_codes() gives them; from 2^63 on as text.
/// Precondition: is_wide_integer(dtype).
reports::Cell wide_integer_cell(const tensors::DType& dtype, emu::Code bits);

/// The same bits as a number that orders integers of the type by value, and back.
std::uint64_t flip_order(const tensors::DType& dtype, std::uint64_t bits_or_order);

/// |value|. Precondition as above.
std::uint64_t wide_magnitude(const tensors::DType& dtype, emu::Code bits);

}  // namespace ulpscope::studies
