// SPDX-License-Identifier: Apache-2.0
// Counts, then the bits of doubles.
#include "studies/quantization/kept_rows.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "studies/kept_rows.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::array kept_counts{&Quantized::count,    &Quantized::finite,   &Quantized::to_zero,
                                 &Quantized::overflow, &Quantized::infinite, &Quantized::nan};
constexpr std::array kept_measures{&Quantized::bits_per_element, &Quantized::lost_share, &Quantized::sqnr_db,
                                   &Quantized::max_relative_error};

}  // namespace

std::string row_line(const Quantized& row) {
  std::vector<std::uint64_t> numbers;
  for (const auto count : kept_counts) numbers.push_back(row.*count);
  for (const auto measure : kept_measures) numbers.push_back(std::bit_cast<std::uint64_t>(row.*measure));
  return line_of(numbers);
}

void read_row_line(const std::string& line, Quantized& row) {
  const std::vector<std::uint64_t> numbers = numbers_of(line);
  if (numbers.size() != kept_counts.size() + kept_measures.size()) refuse_line(line);
  auto next = numbers.begin();
  for (const auto count : kept_counts) row.*count = *next++;
  for (const auto measure : kept_measures) row.*measure = std::bit_cast<double>(*next++);
}

}  // namespace ulpscope::studies
