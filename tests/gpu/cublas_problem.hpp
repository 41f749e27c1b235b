// SPDX-License-Identifier: Apache-2.0
// Products that the tests of the cuBLAS plugin ask for, and the stand-ins that they ask.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "gpu/cublas/cublas_library.hpp"
#include "tests/gpu/fake_cublas/control.hpp"
#include "tests/gpu/fake_cuda/control.hpp"

namespace ulpscope::testing {

struct Shape {
  std::size_t m, n, k;
};

/// A matrix of numbers -2, -1.5, ..., 2, whose sums of products float64 holds exactly.
struct Numbers {
  emu::Format format;
  std::size_t rows, columns;
  std::vector<std::byte> codes;

  Numbers(emu::Format f, std::size_t r, std::size_t c, std::uint64_t seed)
      : format(f), rows(r), columns(c), codes(r * c * gpu::bytes_per_code(f)) {
    for (std::size_t i = 0; i < r * c; ++i) {
      const double x = static_cast<double>(emu::philox4x32(seed, i).word[0] % 9) / 2 - 2;
      gpu::store_code(f, codes.data(), i, emu::encode(f, x));
    }
  }
  gpu::ConstMatrix view() const { return {format, rows, columns, codes}; }
  double at(std::size_t i, std::size_t j) const { return emu::decode(format, view().at(i, j)); }
};

/// Scales 0.5, 1, 2 and 4 of an operand, by the group of lines and products that share one.
struct ScaleNumbers {
  std::size_t lines = 0, products = 0;  ///< 0: all
  Numbers grid;                         ///< of B transposed

  ScaleNumbers(gpu::ScaleMode mode, std::size_t of_lines, std::size_t k, std::uint64_t seed)
      : ScaleNumbers(shared(mode), mode) {
    const auto groups = [](std::size_t extent, std::size_t each) { return each == 0 ? 1 : (extent + each - 1) / each; };
    const emu::Format format = grid.format;
    grid = Numbers(format, groups(of_lines, lines), groups(k, products), seed);
    for (std::size_t i = 0; i < grid.rows * grid.columns; ++i) {
      const int exponent = static_cast<int>(emu::philox4x32(seed, i).word[0] % 4) - 1;
      gpu::store_code(format, grid.codes.data(), i, emu::encode(format, std::ldexp(1.0, exponent)));
    }
  }
  double at(std::size_t line, std::size_t p) const {
    return grid.at(lines == 0 ? 0 : line / lines, products == 0 ? 0 : p / products);
  }

 private:
  ScaleNumbers(std::pair<std::size_t, std::size_t> extents, gpu::ScaleMode mode)
      : lines(extents.first), products(extents.second), grid(format_of(mode), 0, 0, 0) {}
  static emu::Format format_of(gpu::ScaleMode mode) {
    if (mode == gpu::ScaleMode::vec16_ue4m3) return emu::float8_e4m3fn;
    return mode == gpu::ScaleMode::vec32_ue8m0 ? emu::float8_e8m0fnu : emu::float32;
  }
  static std::pair<std::size_t, std::size_t> shared(gpu::ScaleMode mode) {
    switch (mode) {
      case gpu::ScaleMode::vec16_ue4m3: return {1, 16};
      case gpu::ScaleMode::vec32_ue8m0: return {1, 32};
      case gpu::ScaleMode::outer_vec_32f: return {1, 0};
      case gpu::ScaleMode::vec128_32f: return {1, 128};
      case gpu::ScaleMode::blk128x128_32f: return {128, 128};
      case gpu::ScaleMode::scalar_32f: break;
    }
    return {0, 0};
  }
};

inline Numbers transposed(const Numbers& matrix) {
  Numbers result(matrix.format, matrix.columns, matrix.rows, 0);
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j)
      gpu::store_code(matrix.format, result.codes.data(), j * matrix.rows + i, matrix.view().at(i, j));
  return result;
}

struct Problem {
  Numbers a, b, c;
  emu::Format d;
  ScaleNumbers scale_a, scale_b;
  Numbers grid_of_b;
  std::vector<double> scaled_rows, scaled_columns;  ///< of A and of B, each number times its scale
  double scale_d = 1;

  Problem(const gpu::LibraryCall& call, Shape s)
      : a(call.a, s.m, s.k, 1),
        b(call.b, s.k, s.n, 2),
        c(call.c_format(), s.m, s.n, 3),
        d(call.d),
        scale_a(call.scale_mode_a, s.m, s.k, 4),
        scale_b(call.scale_mode_b, s.n, s.k, 5),
        grid_of_b(transposed(scale_b.grid)) {
    const bool narrow = a.format.bits() <= 8;
    for (std::size_t i = 0; i < s.m; ++i)
      for (std::size_t p = 0; p < s.k; ++p) scaled_rows.push_back(a.at(i, p) * (narrow ? scale_a.at(i, p) : 1));
    for (std::size_t j = 0; j < s.n; ++j)
      for (std::size_t p = 0; p < s.k; ++p) scaled_columns.push_back(b.at(p, j) * (narrow ? scale_b.at(j, p) : 1));
  }
  /// With scales where the operands are narrow.
  gpu::LibraryProduct product() const {
    gpu::LibraryProduct product{{a.view(), b.view(), {}}, 1, 0, {}, {}};
    if (a.format.bits() > 8) return product;
    product.scale_a = scale_a.grid.view();
    product.scale_b = grid_of_b.view();
    return product;
  }
  double term(std::size_t i, std::size_t j, std::size_t p) const {
    return scaled_rows[i * a.columns + p] * scaled_columns[j * a.columns + p];
  }
  std::vector<std::byte> blank() const {
    return std::vector<std::byte>(c.rows * c.columns * gpu::bytes_per_code(d), std::byte{0xee});
  }
  /// Before scale_d.
  double sum(double alpha, double beta, std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t p = 0; p < a.columns; ++p) sum += term(i, j, p);
    return alpha * sum + beta * c.at(i, j);
  }
  float amax(double alpha, double beta) const {
    double most = 0;
    for (std::size_t i = 0; i < c.rows; ++i)
      for (std::size_t j = 0; j < c.columns; ++j) most = std::max(most, std::abs(sum(alpha, beta, i, j)));
    return static_cast<float>(most);
  }
  /// In K parts, each rounded to D's format first.
  std::vector<std::byte> expected(double alpha, double beta, std::size_t reduced_parts = 1) const {
    std::vector<std::byte> codes = blank();
    emu::RoundingOptions options;
    if (d.bits() == 8) options.policy = emu::Policy::saturating;
    const std::size_t each = (a.columns + reduced_parts - 1) / reduced_parts;
    for (std::size_t i = 0; i < c.rows; ++i)
      for (std::size_t j = 0; j < c.columns; ++j) {
        double sum = 0, part = 0;
        for (std::size_t p = 0; p < a.columns; ++p) {
          part += term(i, j, p);
          if ((p + 1) % each != 0 && p + 1 < a.columns) continue;
          sum += reduced_parts > 1 ? emu::round_to(d, part).value : part;
          part = 0;
        }
        gpu::store_code(d, codes.data(), i * c.columns + j,
                        emu::encode(d, scale_d * (alpha * sum + beta * c.at(i, j)), options));
      }
    return codes;
  }
};

inline std::shared_ptr<const gpu::Library> open(bool lt) {
  gpu::cublas::DeviceFacts device = gpu::cublas::device_facts(0);
  device.workspace_bytes = std::size_t{1} << 16;
  return lt ? gpu::cublas::open_cublaslt(device) : gpu::cublas::open_cublas(device);
}

inline gpu::LibraryCall find(const gpu::Library& library, const std::string& compute, emu::Format a, emu::Format d,
                             bool reduced = true) {
  for (const gpu::LibraryCall& call : library.calls())
    if (call.compute == compute && call.a == a && call.d == d && call.reduced_precision_reduction == reduced) return call;
  FAIL("no such call");
  return {};
}

inline constexpr const char* single = "CUBLAS_COMPUTE_32F";

/// Of three extents; those of scaled operands reach into a second group of lines and a fifth block of products.
inline Shape asymmetric(const gpu::LibraryCall& call) {
  if (call.scale_mode_a != gpu::ScaleMode::scalar_32f) return {132, 160, 544};
  return call.a.bits() == 8 ? Shape{5, 32, 48} : Shape{3, 5, 7};
}

/// The stand-in's machine as it was.
struct Machine {
  fake_cuda::Machine before = fake_cuda::machine();
  Machine() = default;
  ~Machine() { fake_cuda::machine() = before; }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
};

inline std::size_t count_narrow(const std::vector<gpu::LibraryCall>& calls) {
  return static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [](const auto& c) { return c.a.bits() <= 8; }));
}

}  // namespace ulpscope::testing
