// SPDX-License-Identifier: Apache-2.0
// Two's complement, read by hand.
#include "studies/info/integer_cells.hpp"

#include <string>

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

bool is_signed(const tensors::DType& dtype) { return dtype.name == "int64"; }

}  // namespace

bool is_wide_integer(const tensors::DType& dtype) { return is_signed(dtype) || dtype.name == "uint64"; }

double wide_rest(const tensors::DType& dtype, emu::Code bits) {
  const std::uint64_t magnitude = wide_magnitude(dtype, bits);
  const auto nearest = static_cast<double>(magnitude);
  const std::uint64_t rounded = nearest < 0x1p64 ? static_cast<std::uint64_t>(nearest) : 0;  // 2^64 is 0 of 64 bits
  const std::uint64_t below = magnitude - rounded, above = rounded - magnitude;
  const double rest = below < above ? static_cast<double>(below) : -static_cast<double>(above);
  return is_signed(dtype) && (bits & sign_bit) != 0 ? -rest : rest;
}

reports::Cell wide_integer_cell(const tensors::DType& dtype, emu::Code bits) {
  if (is_signed(dtype) || bits < sign_bit) return static_cast<std::int64_t>(bits);
  return std::to_string(bits);
}

std::uint64_t flip_order(const tensors::DType& dtype, std::uint64_t bits_or_order) {
  return is_signed(dtype) ? bits_or_order ^ sign_bit : bits_or_order;
}

std::uint64_t wide_magnitude(const tensors::DType& dtype, emu::Code bits) {
  return is_signed(dtype) && (bits & sign_bit) != 0 ? -bits : bits;
}

}  // namespace ulpscope::studies
