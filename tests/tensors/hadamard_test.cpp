// SPDX-License-Identifier: Apache-2.0
// Rotations against the matrix, written out from its definition.
#include "tensors/hadamard.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "tensors/inputs.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {
namespace {

/// Whole numbers of 12 bits: their sums are exact.
std::vector<float> whole_numbers(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<int>(emu::rounding_bits(3, i) & 4095U) - 2048);
  return x;
}

/// Sylvester's matrix: the sign of entry (i, j) is the parity of the bits that i and j have in common.
double entry(std::size_t i, std::size_t j) { return std::popcount(i & j) % 2 == 0 ? 1 : -1; }

std::vector<double> by_matrix(const std::vector<float>& x, const Hadamard& hadamard) {
  const std::size_t n = hadamard.size();
  std::vector<double> y(x.size());
  for (std::size_t first = 0; first < x.size(); first += n)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(x[first + i]) * hadamard.signs[i] * entry(i, j);
      y[first + j] = static_cast<double>(static_cast<float>(sum * (1 / std::sqrt(static_cast<double>(n)))));
    }
  return y;
}

std::vector<double> read(const Tensor& tensor, std::uint64_t first, std::size_t count) {
  std::vector<double> out(count);
  tensor.source->read(first, std::span(out));
  return out;
}

}  // namespace

TEST_CASE("rotated rows are those that the matrix gives") {
  for (const char* const word : {"2", "4:1", "16", "16:te", "16:7", "32:5", "256:9", "4096:2"}) {
    INFO(word);
    const Hadamard hadamard = parse_hadamard(word);
    const std::vector<float> x = whole_numbers(24576);
    const Tensor tensor = from_values("x", {3, 8192}, x);
    REQUIRE(hadamard.fits(tensor));
    const Tensor rotated = tensors::rotated(tensor, hadamard);
    CHECK(rotated.dtype.format == emu::float32);
    CHECK(read(rotated, 0, x.size()) == by_matrix(x, hadamard));
  }
}

TEST_CASE("a part of a rotated tensor is that part of all of it") {
  const Hadamard hadamard = parse_hadamard("64:3");
  const Tensor rotated = tensors::rotated(from_values("x", {320, 128}, whole_numbers(40960)), hadamard);
  const std::vector<double> all = read(rotated, 0, 40960);
  for (const std::uint64_t first : {0U, 1U, 63U, 64U, 130U, 8191U, 8192U, 20001U})
    for (const std::size_t count : {0U, 1U, 2U, 63U, 64U, 129U, 8192U, 9000U}) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
      CHECK(read(rotated, first, count) == std::vector<double>(from, from + static_cast<std::ptrdiff_t>(count)));
      std::vector<float> floats(count);
      rotated.source->read(first, std::span(floats));
      CHECK(std::vector<double>(floats.begin(), floats.end()) == read(rotated, first, count));
      std::vector<emu::Code> codes(count);
      rotated.source->read_codes(first, codes);
      for (std::size_t i = 0; i < count; ++i) CHECK(codes[i] == std::bit_cast<std::uint32_t>(floats[i]));
    }
}

TEST_CASE("a rotated tensor rotated back is the tensor") {
  for (const char* const word : {"4", "16:te", "64:11"}) {  // 1 / sqrt(n) is a power of two: nothing is rounded
    INFO(word);
    const Hadamard hadamard = parse_hadamard(word);
    const std::vector<float> x = whole_numbers(4096);
    const Tensor back = rotated_back(rotated(from_values("x", {64, 64}, x), hadamard), hadamard);
    CHECK(read(back, 0, x.size()) == std::vector<double>(x.begin(), x.end()));
  }
}

TEST_CASE("signs are those of the key, each of them used") {
  CHECK(parse_hadamard("128:1").signs != parse_hadamard("128:2").signs);
  for (const double sign : parse_hadamard("128").signs) CHECK(sign == 1);
  const Hadamard of_key = parse_hadamard("128:1");
  for (std::size_t i = 0; i < 128; ++i) CHECK(of_key.signs[i] == ((emu::rounding_bits(1, i) & 1U) != 0 ? -1 : 1));
}

TEST_CASE("words that name no rotation are refused") {
  for (const char* const word : {"", "0", "1", "3", "8192", "16:", "16:te ", "32:te", "16:-1", "x", "16:1:2", " 16"}) {
    INFO(word);
    CHECK_THROWS_AS(parse_hadamard(word), Error);
  }
}

TEST_CASE("what does not fit is not rotated, and told") {
  const Hadamard hadamard = parse_hadamard("16");
  CHECK_FALSE(hadamard.fits(from_values("x", {2, 24}, std::vector<float>(48))));
  CHECK_FALSE(hadamard.fits(from_values("x", {}, std::vector<float>(1))));
  CHECK(hadamard.fits(from_values("x", {32}, std::vector<double>(32))));
  OpenOptions options;
  options.hadamard = "16";
  const Inputs sorted = sort_inputs({"normal:0,1:4x16", "normal:0,1:4x24"}, options, Integers::leave_out, "");
  REQUIRE(sorted.kept.size() == 2);
  REQUIRE(sorted.unrotated.size() == 1);
  CHECK(sorted.unrotated.front().label == "normal:0,1:4x24");
  CHECK(read(sorted.kept.back(), 0, 96) == read(sorted.unrotated.front(), 0, 96));
  CHECK(read(sorted.kept.front(), 0, 64) != read(open_one("normal:0,1:4x16"), 0, 64));
  CHECK(left_out(sorted).size() == 1);
  CHECK_THROWS_AS(sort_inputs({"normal:0,1:4x24"}, options, Integers::leave_out, ""), Error);
}

}  // namespace ulpscope::tensors
