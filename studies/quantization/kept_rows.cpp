// SPDX-License-Identifier: Apache-2.0
// Whole numbers in decimal, the bits of doubles in hexadecimal, blanks between.
#include "studies/quantization/kept_rows.hpp"

#include <bit>
#include <cstdint>
#include <ios>
#include <sstream>

#include "emu/error.hpp"

namespace ulpscope::studies {

std::string row_line(const Quantized& row) {
  std::ostringstream text;
  text << row.count << ' ' << row.finite << ' ' << row.to_zero << ' ' << row.overflow << ' ' << row.infinite << ' ' << row.nan
       << std::hex;
  for (const double x : {row.bits_per_element, row.lost_share, row.sqnr_db, row.max_relative_error})
    text << ' ' << std::bit_cast<std::uint64_t>(x);
  return text.str();
}

void read_row_line(const std::string& line, Quantized& row) {
  std::istringstream text(line);
  text >> row.count >> row.finite >> row.to_zero >> row.overflow >> row.infinite >> row.nan >> std::hex;
  for (double* const x : {&row.bits_per_element, &row.lost_share, &row.sqnr_db, &row.max_relative_error}) {
    std::uint64_t bits = 0;
    text >> bits;
    *x = std::bit_cast<double>(bits);
  }
  if (text.fail() || text.peek() != std::istringstream::traits_type::eof())
    throw Error("'" + line + "': is no line of what --resume keeps; remove the folder to begin anew");
}

}  // namespace ulpscope::studies
