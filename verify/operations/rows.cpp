// SPDX-License-Identifier: Apache-2.0
// Reads operands, and hands out elements row by row.
#include "verify/operations/rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {
namespace {

std::uint64_t product(std::span<const std::uint64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

bool fits_float32(emu::Format format) {
  return format.fraction_bits <= emu::float32.fraction_bits &&
         format.min_spacing_exponent() >= emu::float32.min_spacing_exponent() &&
         format.max_exponent() <= emu::float32.max_exponent();
}

}  // namespace

std::uint64_t Values::rows() const { return shape.empty() ? 1 : product(std::span(shape).first(shape.size() - 1)); }

std::span<const float> Values::row(std::uint64_t index) const {
  return std::span(elements).subspan(static_cast<std::size_t>(index * columns()), static_cast<std::size_t>(columns()));
}

Values read_values(const tensors::Tensor& tensor, const products::InputRounding& rounding, int threads) {
  if (!fits_float32(rounding.format))
    throw Error(fmt::format(
        "{}: inputs of {} are not judged: exact values are found in float64, for kernels that read float32 at most; "
        "--in fp32 rounds them to it",
        tensor.label, emu::format_name(rounding.format)));
  products::RoundedElements counts;
  return {tensor.shape, products::rounded_elements<float>(tensor, rounding, counts, threads), rounding.format};
}

Values read_exactly(const tensors::Tensor& tensor) {
  products::RoundedElements counts;
  Values values{tensor.shape, products::rounded_elements<float>(tensor, {.format = emu::float32}, counts), emu::float32};
  if (counts.changed > 0)
    throw Error(fmt::format("{}: {} of its integers {} no float32, in which inputs are judged: round them first", tensor.label,
                            counts.changed, counts.changed == 1 ? "is" : "are"));
  return values;
}

void require_judged(const LastRounding& last) {
  if (fits_float32(last.out)) return;
  throw Error(fmt::format("outputs of {} are not judged: the exact value is found in float64; float32 is the widest",
                          emu::format_name(last.out)));
}

std::string words_of_shape(const std::vector<std::uint64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

RowExpectation::RowExpectation(std::vector<std::uint64_t> shape, const LastRounding& last)
    : shape_(std::move(shape)), columns_(shape_.empty() ? 1 : shape_.back()), count_(product(shape_)), last_(last) {
  require_judged(last);
}

void RowExpectation::expect(std::uint64_t first, std::span<Expected> elements) const {
  std::vector<Expected> whole;
  while (!elements.empty()) {
    emu::stop_if_asked();
    const std::uint64_t index = first / columns_, start = first % columns_;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(columns_ - start, elements.size()));
    if (count == columns_) {
      row(index, elements.first(count));
    } else {
      whole.resize(static_cast<std::size_t>(columns_));
      row(index, whole);
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(start), count, elements.begin());
    }
    elements = elements.subspan(count);
    first += count;
  }
}

Precise RowExpectation::precise(std::uint64_t index) const { return precise_element(index / columns_, index % columns_); }

bool RowExpectation::worth_something() const {
  if (count_ == 0) return true;
  std::vector<Expected> elements(static_cast<std::size_t>(columns_));
  bool any_nonzero = false;
  for (std::uint64_t i = 0; i < count_ / columns_; ++i) {
    row(i, elements);
    for (const Expected& e : elements) {
      if (!std::isfinite(e.value) || e.allowed < e.magnitude) return true;
      any_nonzero = any_nonzero || e.magnitude > 0;
    }
  }
  return !any_nonzero;  // zeros alone say nothing about the bound
}

std::string RowExpectation::refusal() const {
  if (worth_something()) return {};
  std::vector<Expected> elements(static_cast<std::size_t>(columns_));
  bool all_zero = true;
  for (std::uint64_t i = 0; i < count_ / columns_ && all_zero; ++i) {
    row(i, elements);
    all_zero = std::ranges::all_of(elements, [](const Expected& e) { return e.value == 0; });
  }
  if (all_zero) return "an output of zeros would pass: every exact result is 0; give inputs whose results are not";
  return "the bound is at least as large as what it bounds, everywhere: declare the accumulator's format and the depth of the "
         "sums";
}

Expected undefined() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {.value = nan, .radius = 0, .allowed = 0, .magnitude = nan};
}

Expected within(double value, double radius, double allowed, double magnitude) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double bound = loosened(allowed);
  return {.value = value,
          .radius = std::isnan(radius) ? infinity : radius,
          .allowed = std::isnan(bound) ? infinity : bound,
          .magnitude = magnitude};
}

}  // namespace ulpscope::verify
