// SPDX-License-Identifier: Apache-2.0
// The libraries of a GPU, as the program that opens the plugin asks for them.
#include "gpu/plugin.hpp"

#include "gpu/cublas/cublas_library.hpp"

using Libraries = std::vector<std::shared_ptr<const ulpscope::gpu::Library>>;

ULPSCOPE_EXPORT_PLUGIN_BUILD;
extern "C" __attribute__((visibility("default"))) void ulpscope_cublas_libraries(int ordinal, Libraries& libraries);

void ulpscope_cublas_libraries(int ordinal, Libraries& libraries) {
  const ulpscope::gpu::cublas::DeviceFacts device = ulpscope::gpu::cublas::device_facts(ordinal);
  libraries.push_back(ulpscope::gpu::cublas::open_cublas(device));
  libraries.push_back(ulpscope::gpu::cublas::open_cublaslt(device));
}
