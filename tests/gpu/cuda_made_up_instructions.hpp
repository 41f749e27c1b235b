// SPDX-License-Identifier: Apache-2.0
// Instructions that no device has, so that the checks of instructions can be checked: each is an engine or a model, some with a
// fault.
#pragma once

#include "gpu/cuda/instruction.hpp"

namespace ulpscope::testing {

enum class Fault { none, one_bit_less, nearest, no_least_exponent, one_operand, first_scale };

/// The operand of a conversion that Fault::one_operand gets wrong.
inline constexpr emu::Code wrong_operand = 0x3c01;

emu::Engine made_up_engine(Fault fault);
gpu::Operation made_up_operation(Fault fault);
/// The same with block scales. Fault::first_scale takes the first scale of a for every block.
emu::Engine made_up_scaled_engine(Fault fault);
gpu::Operation made_up_scaled_operation(Fault fault);
gpu::ElementOperation made_up_element_operation(gpu::ElementKind kind, Fault fault);

}  // namespace ulpscope::testing
