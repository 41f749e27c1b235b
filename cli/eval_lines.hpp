// SPDX-License-Identifier: Apache-2.0
// The inner loop of `ulpscope eval`: lines of operands in, lines of operands, result and exception flags out, in the line
// format of Berkeley TestFloat 3e (testfloat_gen, testfloat_ver).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::cli {

enum class Operation : std::uint8_t { add, sub, mul, div, rem, sqrt, fma, round_to_int, eq, le, lt, convert };

struct OperationFacts {
  std::string_view name;
  Operation operation;
  std::size_t operands;
};
inline constexpr std::array<OperationFacts, 12> operations{{{"add", Operation::add, 2},
                                                            {"sub", Operation::sub, 2},
                                                            {"mul", Operation::mul, 2},
                                                            {"div", Operation::div, 2},
                                                            {"rem", Operation::rem, 2},
                                                            {"sqrt", Operation::sqrt, 1},
                                                            {"fma", Operation::fma, 3},
                                                            {"round_to_int", Operation::round_to_int, 1},
                                                            {"eq", Operation::eq, 2},
                                                            {"le", Operation::le, 2},
                                                            {"lt", Operation::lt, 2},
                                                            {"convert", Operation::convert, 1}}};
constexpr OperationFacts facts_of(Operation operation) {
  for (const OperationFacts& facts : operations)
    if (facts.operation == operation) return facts;
  return {};
}

/// What is done to every line.
struct Evaluation {
  Operation operation;
  emu::Format from;  ///< of the operands
  emu::Format to;    ///< of the result; differs from `from` in `convert` only
  emu::RoundingOptions options;
  std::uint64_t seed;  ///< of stochastic rounding
};

/// Bytes of a line, its newline included; a longer one is bad.
inline constexpr std::size_t longest_line = 4096;

constexpr std::size_t hex_digits(emu::Format format) { return static_cast<std::size_t>(format.bits() + 3) / 4; }

/// The most that the results of `text_bytes` bytes of lines can take.
constexpr std::size_t results_bound(const Evaluation& evaluation, std::size_t text_bytes) {
  const std::size_t operands = std::max<std::size_t>(facts_of(evaluation.operation).operands, 1);  // as each has
  const std::size_t shortest = 2 * operands;  // a digit each, and what ends it
  const std::size_t result = operands * (hex_digits(evaluation.from) + 1) + hex_digits(evaluation.to) + sizeof(" 00\n") - 1;
  return text_bytes / shortest * result;
}

struct Evaluated {
  std::size_t bytes;    ///< of text that became results; less than all of it if a bad line follows
  std::uint64_t lines;  ///< in these bytes
  std::string_view results;
};

/// Writes the results of `text`, up to its first bad line, to the front of `out`. `text` is empty or ends in a newline; `out`
/// has results_bound() bytes. `first_line` counts from 0 and is the index whose random bits stochastic rounding uses.
Evaluated evaluate_lines(const Evaluation& evaluation, std::string_view text, std::uint64_t first_line, std::span<char> out);

}  // namespace ulpscope::cli
