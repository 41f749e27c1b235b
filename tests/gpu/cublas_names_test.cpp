// SPDX-License-Identifier: Apache-2.0
// The names that the plugin gives to the numbers of cublasLt.h.
#include <cublasLt.h>

#include <catch2/catch_test_macros.hpp>

#include "gpu/cublas/matmul_algorithms.hpp"

using namespace ulpscope::gpu::cublas;

TEST_CASE("numbers of cublasLt.h have its names", "[gpu]") {
  CHECK(tile_name(CUBLASLT_MATMUL_TILE_8x8) == "8x8");
  CHECK(tile_name(CUBLASLT_MATMUL_TILE_128x256) == "128x256");
  CHECK(tile_name(CUBLASLT_MATMUL_TILE_END - 1) != std::to_string(CUBLASLT_MATMUL_TILE_END - 1));
  CHECK(tile_name(CUBLASLT_MATMUL_TILE_END + 9) == std::to_string(CUBLASLT_MATMUL_TILE_END + 9));
  CHECK(stages_name(CUBLASLT_MATMUL_STAGES_64xAUTO) == "64xAUTO");
  CHECK(inner_shape_name(CUBLASLT_MATMUL_INNER_SHAPE_MMA16816) == "MMA16816");
  CHECK(cluster_shape_name(CUBLASLT_CLUSTER_SHAPE_2x1x1) == "2x1x1");
  CHECK(cluster_shape_name(CUBLASLT_CLUSTER_SHAPE_AUTO) == "AUTO");
  CHECK(reduction_name(CUBLASLT_REDUCTION_SCHEME_NONE) == "NONE");
  CHECK(reduction_name(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) == "COMPUTE_TYPE");
}
