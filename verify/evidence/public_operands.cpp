// SPDX-License-Identifier: Apache-2.0
// Draws the operands of a check and scales them as its source does.
#include "verify/evidence/public_operands.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "requests/parts.hpp"
#include "tensors/synthetic.hpp"
#include "verify/audit/mutants.hpp"

namespace ulpscope::verify {
namespace {

using products::MatmulScales;

constexpr const char* int8 = "int8";
constexpr double largest_int8 = 127, lowest_int8 = -128;

/// Numbers of an operand before they are multiplied.
struct OwnFormat {
  bool is_int8 = false;
  emu::Format format;

  double largest() const { return is_int8 ? largest_int8 : emu::decode(format, format.max_finite_code()); }
  double rounded(double x) const {
    if (is_int8) return std::clamp(std::nearbyint(x), lowest_int8, largest_int8);
    return emu::round_to(format, x, {.policy = emu::Policy::saturating}).value;
  }
};

/// What a word of PublicCheck::scales says of one operand.
struct ScaleWords {
  std::size_t line_block = MatmulScales::all, k_block = MatmulScales::all;
  emu::Format format = emu::float32;
  bool is_up = false;      ///< a power of two, rounded up
  bool has_whole = false;  ///< one more scale for the tensor takes the largest scale to the largest number of its format
  std::string drawn = {};  ///< how scales are drawn; empty: they take the largest magnitude to the format's largest number
};

std::size_t block_of(std::string_view word, std::string_view all_of_it) {
  std::size_t block = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), block);
  if (error != std::errc{} || end != word.data() + word.size() || block == 0)
    throw Error("scales '" + std::string(all_of_it) + "' are not tensor, row, mx, nvfp4 or blocks such as 1x128");
  return block;
}

ScaleWords scale_words(const std::string& text) {
  ScaleWords words;
  const std::size_t colon = std::min(text.find(':'), text.size());
  if (colon < text.size()) words.drawn = text.substr(colon + 1);
  std::string kind = text.substr(0, colon);
  constexpr std::string_view up = ",up";
  words.is_up = kind.ends_with(up);
  if (words.is_up) kind.resize(kind.size() - up.size());
  if (kind == "tensor") return words;
  words.line_block = 1;
  if (kind == "row") return words;
  if (kind == "mx") {
    words.k_block = 32, words.format = emu::e8m0;  // OCP Microscaling Formats 1.0, 5.2
  } else if (kind == "nvfp4" || kind == "nvfp4,alone") {
    words.k_block = 16, words.format = emu::e4m3, words.has_whole = kind == "nvfp4" && words.drawn.empty();
  } else {
    const std::size_t cross = std::min(kind.find('x'), kind.size());
    words.line_block = block_of(std::string_view(kind).substr(0, cross), text);
    words.k_block = block_of(std::string_view(kind).substr(std::min(cross + 1, kind.size())), text);
  }
  return words;
}

/// The power of two that scales numbers as large as `largest` into a format, by the exponents of both (OCP Microscaling
/// Formats 1.0, 6.3), or the least by which none is beyond its largest number.
double power_of_two(double largest, double of_format, bool is_up) {
  if (!is_up) return std::ldexp(1.0, std::ilogb(largest) - std::ilogb(of_format));
  const double ratio = largest / of_format, below = std::ldexp(1.0, std::ilogb(ratio));
  return ratio > below ? 2 * below : below;
}

/// A scale for numbers as large as `largest`, after division by `whole`.
float scale_for(double largest, const OwnFormat& own, const ScaleWords& words, double whole) {
  if (largest == 0) return 1;
  if (words.is_up || words.format == emu::e8m0) return static_cast<float>(power_of_two(largest, own.largest(), words.is_up));
  return static_cast<float>(
      emu::round_to(words.format, largest / own.largest() / whole, {.policy = emu::Policy::saturating}).value);
}

double magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double x : values) largest = std::max(largest, std::fabs(x));
  return largest;
}

/// Scales over `operand`; where they are not drawn, it is divided by them.
MatmulScales scaled(MutableOperand& operand, const ScaleWords& words, const OwnFormat& own, std::uint64_t seed) {
  const auto extent_of = [](std::size_t block, std::size_t extent) {
    return block == MatmulScales::all || block > extent ? extent : block;
  };
  const std::size_t lines = extent_of(words.line_block, operand.lines), steps = extent_of(words.k_block, operand.k);
  MatmulScales scales{.format = words.format, .values = {}, .line_block = words.line_block, .k_block = words.k_block};
  scales.for_lines = (operand.lines + lines - 1) / lines, scales.for_k = (operand.k + steps - 1) / steps;
  if (!words.drawn.empty()) {
    for (const double x : elements_of(words.drawn, words.format, scales.for_lines, scales.for_k, seed))
      scales.values.push_back(static_cast<float>(emu::round_to(words.format, x).value));
    return scales;
  }
  const double largest = magnitude(operand.values);
  if (words.has_whole && largest != 0)
    scales.whole = static_cast<float>(largest / own.largest() / emu::decode(words.format, words.format.max_finite_code()));
  std::vector<double> most(scales.for_lines * scales.for_k);
  const auto block_at = [&](std::size_t line, std::size_t step) { return line / lines * scales.for_k + step / steps; };
  for (std::size_t line = 0; line < operand.lines; ++line)
    for (std::size_t step = 0; step < operand.k; ++step) {
      double& of_block = most[block_at(line, step)];
      of_block = std::max(of_block, std::fabs(operand.values[operand.at(0, line, step)]));
    }
  const auto whole = static_cast<double>(scales.whole);
  for (const double x : most) scales.values.push_back(scale_for(x, own, words, whole));
  for (std::size_t line = 0; line < operand.lines; ++line)
    for (std::size_t step = 0; step < operand.k; ++step)
      if (const auto scale = static_cast<double>(scales.values[block_at(line, step)]); scale != 0)
        operand.values[operand.at(0, line, step)] /= scale * whole;
  return scales;
}

/// The first lines alone, and their scales.
void keep_lines(MutableOperand& operand, std::optional<MatmulScales>& scales, std::size_t count) {
  MutableOperand kept{.values = std::vector<double>(count * operand.k),
                      .matrices = 1,
                      .lines = count,
                      .k = operand.k,
                      .k_is_last = operand.k_is_last};
  for (std::size_t line = 0; line < count; ++line)
    for (std::size_t step = 0; step < operand.k; ++step)
      kept.values[kept.at(0, line, step)] = operand.values[operand.at(0, line, step)];
  operand = std::move(kept);
  if (!scales || scales->line_block == MatmulScales::all) return;
  scales->for_lines = (count + scales->line_block - 1) / scales->line_block;
  scales->values.resize(scales->for_lines * scales->for_k);
  if (scales->for_lines == 1 && scales->line_block > 1) scales->line_block = MatmulScales::all;  // no lines fill it up
}

}  // namespace

std::vector<double> elements_of(const std::string& words, emu::Format format, std::size_t rows, std::size_t columns,
                                std::uint64_t seed) {
  constexpr std::string_view codes = "codes", identity = "identity";
  std::vector<double> values(rows * columns);
  if (words == identity) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i / columns == i % columns ? 1 : 0;
    return values;
  }
  const bool are_codes = words.starts_with(codes);
  const std::string drawn = are_codes ? "integers" + words.substr(codes.size()) : words;
  tensors::synthetic(drawn + ":" + std::to_string(values.size()), seed).source->read(0, std::span(values));
  if (are_codes)
    for (double& x : values) x = emu::decode(format, static_cast<emu::Code>(x));
  return values;
}

emu::Format format_of_operand(const std::string& name) { return name == int8 ? emu::bfloat16 : requests::parse_format(name); }

products::MatmulOperand operand_of(const DrawnOperand& drawn, emu::Format multiplied) {
  const bool is_a = drawn.side == products::MatmulSide::a;
  const OwnFormat own{.is_int8 = drawn.format == int8, .format = format_of_operand(drawn.format)};
  const bool is_scaled = !drawn.scales.empty() && drawn.scales != "none";
  const ScaleWords words = is_scaled ? scale_words(drawn.scales) : ScaleWords{};
  const std::size_t block = is_scaled ? std::max<std::size_t>(words.line_block, 1) : 1;
  const std::size_t lines = std::max(drawn.lines, std::min((drawn.lines + block - 1) / block * block, drawn.all_lines));
  MutableOperand operand{.values = {}, .matrices = 1, .lines = lines, .k = drawn.k, .k_is_last = is_a};
  operand.values = elements_of(drawn.elements, own.format, is_a ? lines : drawn.k, is_a ? drawn.k : lines, drawn.seed);
  std::optional<MatmulScales> scales;
  if (is_scaled) scales = scaled(operand, words, own, ~drawn.seed);
  keep_lines(operand, scales, drawn.lines);
  for (double& x : operand.values) x = own.rounded(x);
  const std::vector<std::uint64_t> shape =
      is_a ? std::vector<std::uint64_t>{drawn.lines, drawn.k} : std::vector<std::uint64_t>{drawn.k, drawn.lines};
  return {{tensors::from_values(drawn.elements, shape, std::move(operand.values))}, {multiplied}, std::move(scales)};
}

}  // namespace ulpscope::verify
