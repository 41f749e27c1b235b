// SPDX-License-Identifier: Apache-2.0
// Asks the processor which paths it has, and keeps the choice.
#include "emu/simd.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "emu/error.hpp"

namespace ulpscope::emu {
namespace {

struct Path {
  SimdPath path;
  std::string_view name;
  std::int64_t targets;  ///< Highway's bits
};
constexpr std::array known{Path{SimdPath::avx512, "avx512", HWY_AVX3}, Path{SimdPath::avx2, "avx2", HWY_AVX2},
                           Path{SimdPath::neon, "neon", HWY_NEON}, Path{SimdPath::scalar, "scalar", HWY_SCALAR | HWY_EMU128}};

const Path& row_of(SimdPath path) noexcept {
  return *std::find_if(known.begin(), known.end(), [&](const Path& p) { return p.path == path; });
}

std::atomic<SimdPath>& chosen() noexcept {
  static std::atomic<SimdPath> path{simd_paths().front()};
  return path;
}

}  // namespace

std::string_view name_of(SimdPath path) noexcept { return row_of(path).name; }

std::vector<SimdPath> simd_paths() {
  // Before any path is forced. Compiler options such as -march=native can leave out the scalar one.
  static const std::int64_t supported = (hwy::SupportedTargets() | HWY_SCALAR | HWY_EMU128) & HWY_TARGETS;
  std::vector<SimdPath> paths;
  for (const Path& p : known)
    if ((supported & p.targets) != 0) paths.push_back(p.path);
  return paths;
}

SimdPath simd_path() noexcept { return chosen().load(std::memory_order_relaxed); }

void use_simd_path(SimdPath path) { use_simd_path(name_of(path)); }

void use_simd_path(std::string_view name) {
  std::string available;
  for (const SimdPath path : simd_paths()) {
    if (name_of(path) == name) {
      hwy::SetSupportedTargetsForTest(row_of(path).targets);
      hwy::GetChosenTarget().DeInit();
      chosen() = path;
      return;
    }
    available += (available.empty() ? "" : ", ") + std::string(name_of(path));
  }
  throw Error("SIMD path '" + std::string(name) + "': this machine has " + available);
}

}  // namespace ulpscope::emu
