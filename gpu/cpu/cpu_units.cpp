// SPDX-License-Identifier: Apache-2.0
// Joins what the files for each instruction set offer.
#include "gpu/cpu/cpu_units.hpp"

#include <utility>

namespace ulpscope::gpu {

std::vector<std::unique_ptr<Unit>> cpu_units() {
  std::vector<std::unique_ptr<Unit>> units;
  for (const auto make : {detail::amx_bf16_unit, detail::avx512_bf16_unit, detail::avx512_fp16_unit, detail::avx512f_unit,
                          detail::arm_bf16_unit, detail::arm_fp16_unit, detail::arm_sme_unit, detail::neon_unit})
    if (auto unit = make()) units.push_back(std::move(unit));
  return units;
}

}  // namespace ulpscope::gpu
