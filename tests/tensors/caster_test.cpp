// SPDX-License-Identifier: Apache-2.0
// Whole numbers of 64 bits are rounded once, whatever lies between them and the format.
#include "tensors/caster.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/readers.hpp"

using namespace ulpscope;

namespace {

/// To nearest even among numbers of so many bits, by whole numbers alone.
double nearest(std::uint64_t magnitude, int bits) {
  const int left_out = static_cast<int>(std::bit_width(magnitude)) - bits;
  if (left_out <= 0) return static_cast<double>(magnitude);
  std::uint64_t kept = magnitude >> left_out;
  const std::uint64_t rest = magnitude - (kept << left_out), half = std::uint64_t{1} << (left_out - 1);
  kept += rest > half || (rest == half && kept % 2 == 1) ? 1 : 0;
  return std::ldexp(static_cast<double>(kept), left_out);
}

std::vector<std::uint64_t> integers() {
  std::vector<std::uint64_t> all{0, 1, (1ULL << 60) + (1ULL << 52) + 1, std::numeric_limits<std::uint64_t>::max(), 1ULL << 63};
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t top = state >> (state >> 58);
    for (const std::uint64_t near : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1}})
      all.push_back((top & ~((1ULL << (state % 50)) - 1)) + near);  // beside ties
    all.push_back(top);
  }
  return all;
}

template <class Integer>
tensors::Tensor tensor_of(const std::vector<std::uint64_t>& values, const std::string& dtype) {
  const std::string dictionary =
      "{'descr': '<" + dtype + "', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' + dictionary;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Integer));
  return tensors::read_npy({"x.npy", tensors::bytes_in_memory(std::move(bytes))}, {});
}

}  // namespace

TEST_CASE("whole numbers of 64 bits are rounded once", "[tensors]") {
  const std::vector<std::uint64_t> values = integers();
  for (const emu::Format format : {emu::bf16, emu::float32, emu::float64}) {
    std::vector<double> rounded(values.size());
    const int bits = format.fraction_bits + 1;
    std::size_t wrong = 0;
    tensors::Caster(tensor_of<std::uint64_t>(values, "u8"), format, {}, {}).values(0, rounded);
    for (std::size_t i = 0; i < values.size(); ++i) wrong += rounded[i] != nearest(values[i], bits) ? 1 : 0;
    CHECK(wrong == 0);
    tensors::Caster(tensor_of<std::int64_t>(values, "i8"), format, {}, {}).values(0, rounded);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool negative = values[i] >> 63 != 0;
      const double wanted = nearest(negative ? ~values[i] + 1 : values[i], bits);
      wrong += rounded[i] != (negative ? -wanted : wanted) ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("whole numbers of 64 bits are rounded to float64 in every direction", "[tensors]") {
  const std::vector<std::uint64_t> values = integers();
  const auto below = [](std::uint64_t magnitude) {  // of 53 bits, toward zero
    const int left_out = std::max(static_cast<int>(std::bit_width(magnitude)) - 53, 0);
    return magnitude >> left_out << left_out;
  };
  const auto above = [&](std::uint64_t magnitude) {  // 2^64 is beyond words
    const int left_out = std::max(static_cast<int>(std::bit_width(magnitude)) - 53, 0);
    const std::uint64_t kept = (magnitude >> left_out) + (below(magnitude) != magnitude ? 1 : 0);
    return std::ldexp(static_cast<double>(kept), left_out);
  };
  for (const emu::Rounding rounding : {emu::Rounding::toward_zero, emu::Rounding::upward, emu::Rounding::downward}) {
    std::vector<double> rounded(values.size());
    std::size_t wrong = 0;
    const auto wanted = [&](std::uint64_t magnitude, bool negative) {
      const bool outward = rounding == (negative ? emu::Rounding::downward : emu::Rounding::upward);
      const double size = outward ? above(magnitude) : static_cast<double>(below(magnitude));
      return negative ? -size : size;
    };
    tensors::Caster(tensor_of<std::uint64_t>(values, "u8"), emu::float64, {.rounding = rounding}, {}).values(0, rounded);
    for (std::size_t i = 0; i < values.size(); ++i) wrong += rounded[i] != wanted(values[i], false) ? 1 : 0;
    tensors::Caster(tensor_of<std::int64_t>(values, "i8"), emu::float64, {.rounding = rounding}, {}).values(0, rounded);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool negative = values[i] >> 63 != 0;
      wrong += rounded[i] != wanted(negative ? ~values[i] + 1 : values[i], negative) ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}
