// SPDX-License-Identifier: Apache-2.0
// Products that the tests of the cuBLAS plugin ask for, and the stand-ins that they ask.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <memory>
#include <string>
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

struct Problem {
  Numbers a, b, c;

  Problem(const gpu::LibraryCall& call, Shape s) : a(call.a, s.m, s.k, 1), b(call.b, s.k, s.n, 2), c(call.d, s.m, s.n, 3) {}
  gpu::LibraryProduct product() const { return {{a.view(), b.view(), {}}, 1, 0, {}, {}}; }
  std::vector<std::byte> blank() const { return std::vector<std::byte>(c.codes.size(), std::byte{0xee}); }
  /// In K parts, each rounded to D's format first.
  std::vector<std::byte> expected(double alpha, double beta, std::size_t reduced_parts = 1) const {
    std::vector<std::byte> d(c.codes.size());
    const std::size_t each = (a.columns + reduced_parts - 1) / reduced_parts;
    for (std::size_t i = 0; i < c.rows; ++i)
      for (std::size_t j = 0; j < c.columns; ++j) {
        double sum = 0, part = 0;
        for (std::size_t p = 0; p < a.columns; ++p) {
          part += a.at(i, p) * b.at(p, j);
          if ((p + 1) % each != 0 && p + 1 < a.columns) continue;
          sum += reduced_parts > 1 ? emu::round_to(c.format, part).value : part;
          part = 0;
        }
        gpu::store_code(c.format, d.data(), i * c.columns + j, emu::encode(c.format, alpha * sum + beta * c.at(i, j)));
      }
    return d;
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

inline Shape asymmetric(const gpu::LibraryCall& call) { return call.a.bits() == 8 ? Shape{5, 32, 48} : Shape{3, 5, 7}; }

/// The stand-in's machine as it was.
struct Machine {
  fake_cuda::Machine before = fake_cuda::machine();
  Machine() = default;
  ~Machine() { fake_cuda::machine() = before; }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
};

inline std::size_t count_fp8(const std::vector<gpu::LibraryCall>& calls) {
  return static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [](const auto& c) { return c.a.bits() == 8; }));
}

}  // namespace ulpscope::testing
