// SPDX-License-Identifier: Apache-2.0
// A number of any format for code that is written for double: Number<bf16>, Number<e4m3, RoundingOptions{...}>. With it come
// the functions of <cmath>, elementary ones and std::numeric_limits; streams, {fmt} and Eigen have headers of their own
// (docs/numerics.md).
#pragma once

#include "emu/number_elementary.hpp"  // IWYU pragma: export
#include "emu/number_functions.hpp"   // IWYU pragma: export
#include "emu/number_limits.hpp"      // IWYU pragma: export
#include "emu/number_type.hpp"        // IWYU pragma: export
