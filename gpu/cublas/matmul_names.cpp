// SPDX-License-Identifier: Apache-2.0
// The names are read from the toolkit's own header when the plugin is configured (names.cmake); without that file numbers stay
// numbers.
#include <cublasLt.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "gpu/cublas/matmul_algorithms.hpp"

namespace ulpscope::gpu::cublas {
namespace {

struct Named {
  std::string_view name;
  unsigned id;
};

constexpr Named names[] = {
#if __has_include("gpu/cublas/cublaslt_names.inc")
#include "gpu/cublas/cublaslt_names.inc"
#endif
    {"", 0},
};

std::string name_of(std::string_view prefix, unsigned id) {
  for (const Named& named : names)
    if (named.id == id && named.name.substr(0, prefix.size()) == prefix) return std::string(named.name.substr(prefix.size()));
  return std::to_string(id);
}

}  // namespace

std::string tile_name(unsigned id) { return name_of("MATMUL_TILE_", id); }
std::string stages_name(unsigned id) { return name_of("MATMUL_STAGES_", id); }
std::string inner_shape_name(unsigned id) { return name_of("MATMUL_INNER_SHAPE_", id); }
std::string cluster_shape_name(unsigned id) { return name_of("CLUSTER_SHAPE_", id); }
std::string reduction_name(unsigned id) { return name_of("REDUCTION_SCHEME_", id); }

}  // namespace ulpscope::gpu::cublas
