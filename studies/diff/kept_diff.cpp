// SPDX-License-Identifier: Apache-2.0
// Counts, the bits of measures, then six numbers for each of the worst elements.
#include "studies/diff/kept_diff.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "studies/kept_rows.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::array diff_counts{&DiffResult::count,         &DiffResult::equal,          &DiffResult::nonfinite_one_side,
                                 &DiffResult::beyond_1_ulp,  &DiffResult::beyond_2_ulp,   &DiffResult::nonfinite_unlike,
                                 &DiffResult::beyond_10_ulp, &DiffResult::beyond_100_ulp, &DiffResult::intolerable};
constexpr std::array diff_measures{&DiffResult::max_abs_error,  &DiffResult::mean_abs_error, &DiffResult::max_rel_error,
                                   &DiffResult::mean_rel_error, &DiffResult::bias_ulp,       &DiffResult::rel_frobenius_error,
                                   &DiffResult::cosine,         &DiffResult::sqnr_db};
constexpr std::array of_element{&DiffElement::reference, &DiffElement::value, &DiffElement::error_ulp};
constexpr std::array bits_of_element{&DiffElement::reference_bits, &DiffElement::value_bits};
constexpr std::size_t numbers_of_element = 1 + of_element.size() + bits_of_element.size();

}  // namespace

std::string diff_line(const DiffResult& result) {
  std::vector<std::uint64_t> numbers;
  for (const auto count : diff_counts) numbers.push_back(result.*count);
  for (const auto measure : diff_measures) numbers.push_back(std::bit_cast<std::uint64_t>(result.*measure));
  for (const DiffElement& element : result.worst) {
    numbers.push_back(element.index);
    for (const auto number : of_element) numbers.push_back(std::bit_cast<std::uint64_t>(element.*number));
    for (const auto bits : bits_of_element) numbers.push_back(element.*bits);
  }
  return line_of(numbers);
}

void read_diff_line(const std::string& line, DiffResult& result) {
  const std::vector<std::uint64_t> numbers = numbers_of(line);
  constexpr std::size_t first = diff_counts.size() + diff_measures.size();
  if (numbers.size() < first || (numbers.size() - first) % numbers_of_element != 0) refuse_line(line);
  auto next = numbers.begin();
  for (const auto count : diff_counts) result.*count = *next++;
  for (const auto measure : diff_measures) result.*measure = std::bit_cast<double>(*next++);
  result.worst.clear();
  while (next != numbers.end()) {
    DiffElement& element = result.worst.emplace_back();
    element.index = *next++;
    for (const auto number : of_element) element.*number = std::bit_cast<double>(*next++);
    for (const auto bits : bits_of_element) element.*bits = *next++;
    if (element.index >= result.count) refuse_line(line);
  }
  if (result.count != std::accumulate(result.shape.begin(), result.shape.end(), std::uint64_t{1}, std::multiplies<>()))
    refuse_line(line);
}

}  // namespace ulpscope::studies
