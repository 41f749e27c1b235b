// SPDX-License-Identifier: Apache-2.0
// The algorithms of cuBLASLt for a product, and what each of them says of itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/cublas/calls.hpp"
#include "gpu/cublas/matmul_problem.hpp"
#include "gpu/library.hpp"

namespace ulpscope::gpu::cublas {

/// At most `most`: those of the library's heuristic in its order, then up to a quarter of them with K split, by 2, 3, 4 and 8
/// and by each kind of reduction, as far as the algorithm says that it can and the library agrees. Without reduced-precision
/// reduction partial sums stay in the compute type.
/// @throws Error where the library has no algorithm for the shape.
std::vector<LibraryAlgorithm> matmul_algorithms(cublasLtHandle_t handle, const LibraryCall& call, const Shape& shape,
                                                std::size_t most, std::size_t workspace_bytes);

/// The library's own description of an algorithm. @throws Error where it has none.
cublasLtMatmulAlgo_t opaque_algorithm(const LibraryAlgorithm& algorithm);

/// Names of the library's numbers, as its header spells them without their prefix: `128x256`, `64xAUTO`, `2x1x1`; the number
/// itself where the header has no name for it.
std::string tile_name(unsigned id);
std::string stages_name(unsigned id);
std::string inner_shape_name(unsigned id);
std::string cluster_shape_name(unsigned id);
std::string reduction_name(unsigned id);

}  // namespace ulpscope::gpu::cublas
