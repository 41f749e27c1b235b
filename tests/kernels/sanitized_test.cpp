// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled with sanitizers, for one lane, over arrays on the heap that end where the operands do.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "tests/emu/engine_problems.hpp"
#include "verify/conform/computation.hpp"
#include "verify/float64_sums.hpp"

using namespace ulpscope;

TEST_CASE("small products of every engine and kind of operands stay within their arrays", "[kernels]") {
  test::use_simd_path(test::SimdPath::scalar);
  test::Random random(3);
  for (const test::EngineMode& mode : test::engine_modes()) {
    if (mode.model.accumulator == test::float64) continue;
    for (const test::Kind kind : test::all_kinds) {
      const test::Problem p = test::problem_of(mode, kind, random, {3, 70, 37});
      CAPTURE(mode.engine, mode.instruction, static_cast<int>(kind), p.m, p.n, p.k);
      std::vector<float> d(p.m * p.n);

      test::engine_matmul(p.request(), std::span(d));

      CHECK(test::first_difference(p, d) == std::nullopt);
    }
  }
}

namespace {

template <class Word, class Float>
void check_spans(emu::Format format, emu::Rounding rounding) {
  for (std::size_t length = 0; length < 70; ++length) {
    std::vector<Word> in(length), out(length);
    for (std::size_t i = 0; i < length; ++i) in[i] = static_cast<Word>(emu::random_word(length, i) & format.code_mask());
    std::vector<Float> decoded(length);

    emu::decode(format, std::span<const Word>(in), std::span(decoded));
    emu::encode(format, std::span<const Float>(decoded), std::span(out), {.rounding = rounding}, {1, length});

    for (std::size_t i = 0; i < length; ++i)
      if (!format.is_nan(in[i])) CHECK(out[i] == in[i]);
  }
}

}  // namespace

TEST_CASE("spans of awkward lengths are decoded and encoded within their arrays", "[kernels]") {
  for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::stochastic}) {
    check_spans<std::uint8_t, float>(emu::e4m3, rounding);
    check_spans<std::uint8_t, double>(emu::e5m2, rounding);
    check_spans<std::uint16_t, float>(emu::fp16, rounding);
    check_spans<std::uint16_t, double>(emu::bf16, rounding);
    check_spans<std::uint32_t, float>(emu::fp32, rounding);
    check_spans<std::uint64_t, double>(emu::fp64, rounding);
  }
}

TEST_CASE("a computation of conform stays within its arrays of codes", "[kernels]") {
  verify::Computation computation{.from = emu::bf16, .to = emu::e5m2};
  computation.rules.nan_code = 0b0'11111'01;
  for (const std::size_t size : {1u, 2u, 3u, 8u, 63u}) {
    verify::Words inputs(emu::bf16, size), results(emu::e5m2, size);
    for (std::size_t i = 0; i < size; ++i) inputs.set(i, i % 2 == 0 ? emu::bf16.nan_code() : emu::encode(emu::bf16, 1.5));

    verify::compute(computation, inputs, results);

    for (std::size_t i = 0; i < size; ++i) CHECK(results.code(i) == (i % 2 == 0 ? 0b0'11111'01 : emu::encode(emu::e5m2, 1.5)));
  }
}

TEST_CASE("sums of float64 stay within matrices that end inside a tile and a panel", "[kernels]") {
  for (const std::size_t rows : {1u, 2u, 3u, 7u})
    for (const std::size_t columns : {1u, 15u, 16u, 17u})
      for (const std::size_t depth : {1u, 2u, 255u, 257u}) {
        const std::vector<float> a(rows * depth, 2.0F), b(depth * columns, -3.0F);
        const verify::ColumnPanels panels({emu::fp32, b, {depth, columns}});
        std::vector<double> sums(rows * panels.padded_columns()), magnitudes(sums);

        verify::add_float64_sums(a, rows, depth, panels, 0, depth, sums, magnitudes);

        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < columns; ++j) {
            CHECK(sums[i * panels.padded_columns() + j] == -6.0 * static_cast<double>(depth));
            CHECK(magnitudes[i * panels.padded_columns() + j] == 6.0 * static_cast<double>(depth));
          }
      }
}
