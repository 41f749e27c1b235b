// SPDX-License-Identifier: Apache-2.0
// A library of matrix products on a device, asked for one algorithm at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "gpu/library_scales.hpp"
#include "gpu/matrix.hpp"

namespace ulpscope::gpu {

/// One way to ask a library for D = scale_d * (alpha * scaled A * scaled B + beta * C).
struct LibraryCall {
  std::string function;                     ///< `cublasGemmEx`, `cublasLtMatmul`
  std::string compute;                      ///< as the library spells its compute type: `CUBLAS_COMPUTE_32F`
  emu::Format a, b, d;                      ///< formats of A, B and D
  emu::Format accumulator;                  ///< what the compute type says that sums are kept in
  bool reduced_precision_reduction = true;  ///< whether parts may be added up in D's format (cublasSetMathMode)
  bool fast_accumulation = false;           ///< CUBLASLT_MATMUL_DESC_FAST_ACCUM
  ScaleMode scale_mode_a = ScaleMode::scalar_32f, scale_mode_b = ScaleMode::scalar_32f;  ///< how scales lie over A and B
  std::optional<emu::Format> c = {};                                                     ///< of C, where it is not stored as D

  /// The format of C.
  emu::Format c_format() const { return c.value_or(d); }

  friend bool operator==(const LibraryCall&, const LibraryCall&) = default;
};

/// How a library would carry a call out.
struct LibraryAlgorithm {
  std::string words;              ///< every attribute it has, `key=value` separated by spaces: the record of what was run
  int split_k = 1;                ///< parts of K that it declares
  std::string reduction;          ///< how parts are joined, the library's word; empty where nothing is split
  std::vector<std::byte> opaque;  ///< the library's own description; empty: its default choice
};

/// What a library multiplies: matrices, factors and scales.
struct LibraryProduct {
  MatrixProduct product;         ///< c in the format that the call says, or none
  float alpha = 1, beta = 0;     ///< D = scale_d * (alpha * scaled A * scaled B + beta * C)
  ConstMatrix scale_a, scale_b;  ///< as scale_extent() says, of narrow operands; none stands for one where the mode is scalar
  std::optional<float> scale_d = {};  ///< of a narrow D
  std::span<float> amax_d = {};       ///< one number, to become the greatest magnitude before scale_d; none: not asked for
};

/// How long a call took.
struct LibraryTime {
  double median_seconds = 0, least_seconds = 0;  ///< of one call, over all runs
  std::size_t runs = 0;                          ///< calls that were timed
};

/// A library of matrix products on a device.
class Library {
 public:
  virtual ~Library() = default;

  virtual std::string name() const = 0;     ///< `cuBLAS`, `cuBLASLt`
  virtual std::string version() const = 0;  ///< of the library that was loaded
  /// What it can be asked for.
  virtual std::vector<LibraryCall> calls() const = 0;
  /// The algorithms for a shape, at most `most`, the library's favourite first.
  virtual std::vector<LibraryAlgorithm> algorithms(const LibraryCall& call, std::size_t m, std::size_t n, std::size_t k,
                                                   std::size_t most) const = 0;
  /// d: m * n stored codes of call.d, row-major.
  /// @throws ulpscope::Error naming the call that failed; nothing in d counts then.
  virtual void multiply(const LibraryCall& call, const LibraryAlgorithm& algorithm, const LibraryProduct& product,
                        std::span<std::byte> d) const = 0;
  /// The time of one product of uniform random numbers in (-1, 1), the buffers changed from run to run so that none is in a
  /// cache; after a warm-up, by the device's own clock.
  virtual LibraryTime time(const LibraryCall& call, const LibraryAlgorithm& algorithm, std::size_t m, std::size_t n,
                           std::size_t k) const = 0;
  /// Stored codes of the numbers of gpu/normal_like.hpp, from number 0 on, rounded to nearest even: by the device where the
  /// library has one, else by this processor. @throws ulpscope::Error when the device fails.
  virtual void draw_normal(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes) const = 0;
};

/// Library::draw_normal by this processor.
void draw_normal_here(emu::Format format, std::uint64_t seed, std::uint64_t operand, std::span<std::byte> codes);

}  // namespace ulpscope::gpu
