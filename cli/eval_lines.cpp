// SPDX-License-Identifier: Apache-2.0
// Parses, computes and prints one line after another.
#include "cli/eval_lines.hpp"

#include "emu/arithmetic.hpp"
#include "emu/comparison.hpp"
#include "emu/integral.hpp"
#include "emu/philox.hpp"

namespace ulpscope::cli {
namespace {

using emu::Code;
using emu::Format;

constexpr std::uint8_t not_a_digit = 0xff;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(not_a_digit);
  for (unsigned i = 0; i < 10; ++i) out['0' + i] = static_cast<std::uint8_t>(i);
  for (unsigned i = 0; i < 6; ++i) out['a' + i] = out['A' + i] = static_cast<std::uint8_t>(10 + i);
  return out;
}();

ULPSCOPE_INLINE const char* after_blanks(const char* at) {
  while (*at == ' ' || *at == '\t') ++at;
  return at;
}

/// Reads the operands of a line of text that ends in a newline. Returns the start of the next line, or null for a bad line.
template <std::size_t count>
ULPSCOPE_INLINE const char* read_operands(const char* line, Format format, std::array<Code, count>& operands) {
  const auto digits = static_cast<std::ptrdiff_t>(hex_digits(format));
  const char* at = line;
  for (Code& operand : operands) {
    const char* const field = after_blanks(at);
    Code code = 0;
    at = field;
    for (std::uint8_t digit; (digit = digit_values[static_cast<unsigned char>(*at)]) != not_a_digit; ++at)
      code = code << 4 | digit;
    const bool separated = *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n';
    if (at == field || at - field > digits || code > format.code_mask() || !separated) return nullptr;
    operand = code;
  }
  at = after_blanks(at);
  if (*at == '\r') ++at;
  const bool ends = *at == '\n' && static_cast<std::size_t>(at - line) < longest_line;
  return ends ? at + 1 : nullptr;
}

ULPSCOPE_INLINE char* write_hex(char* out, Code code, std::size_t digits) {
  for (std::size_t i = digits; i-- > 0;) *out++ = "0123456789ABCDEF"[code >> (4 * i) & 0xf];
  return out;
}

template <Operation operation>
inline constexpr bool is_comparison = operation == Operation::eq || operation == Operation::le || operation == Operation::lt;

/// 0 or 1 is the code of a comparison.
template <Operation operation>
ULPSCOPE_INLINE emu::Result compare(Format format, Code a, Code b, const emu::RoundingOptions& options) {
  const bool quiet = operation == Operation::eq;
  const emu::Comparison c = quiet ? emu::compare_quiet(format, a, b, options) : emu::compare_signaling(format, a, b, options);
  const bool equal = c.order == emu::Order::equal, less = c.order == emu::Order::less;
  const bool holds = operation == Operation::eq ? equal : (operation == Operation::lt ? less : less || equal);
  return {holds ? Code{1} : Code{0}, c.flags};
}

template <Operation operation, std::size_t count>
ULPSCOPE_INLINE emu::Result compute(Format from, Format to, const std::array<Code, count>& x,
                                    const emu::RoundingOptions& options, std::uint32_t random) {
  if constexpr (operation == Operation::add) return emu::add(from, x[0], x[1], options, random);
  if constexpr (operation == Operation::sub) return emu::sub(from, x[0], x[1], options, random);
  if constexpr (operation == Operation::mul) return emu::mul(from, x[0], x[1], options, random);
  if constexpr (operation == Operation::div) return emu::div(from, x[0], x[1], options, random);
  if constexpr (operation == Operation::rem) return emu::remainder(from, x[0], x[1], options);
  if constexpr (operation == Operation::sqrt) return emu::sqrt(from, x[0], options, random);
  if constexpr (operation == Operation::fma) return emu::fma(from, x[0], x[1], x[2], options, random);
  if constexpr (operation == Operation::round_to_int) return emu::round_to_integral(from, x[0], options, random);
  if constexpr (is_comparison<operation>) return compare<operation>(from, x[0], x[1], options);
  if constexpr (operation == Operation::convert) {
    const emu::Rounded rounded = emu::convert(from, x[0], to, options, random);
    return {rounded.code, rounded.flags};
  }
}

template <Operation operation>
Evaluated evaluate(const Evaluation& evaluation, std::string_view text, std::uint64_t first_line, char* out) {
  const auto [ignored, from, to, options, seed] = evaluation;  // a copy: what is written to `out` cannot change it
  const bool stochastic = options.rounding == emu::Rounding::stochastic;
  const std::size_t operand_digits = hex_digits(from), result_digits = is_comparison<operation> ? 1 : hex_digits(to);
  const char *const begin = text.data(), *const end = begin + text.size();
  char* const out_begin = out;
  std::array<Code, facts_of(operation).operands> operands{};
  std::uint64_t index = first_line;
  const char* line = begin;
  while (line != end) {
    const char* const next = read_operands(line, from, operands);
    if (next == nullptr) break;
    const std::uint32_t random = stochastic ? emu::rounding_bits(seed, index) : 0;
    const emu::Result result = compute<operation>(from, to, operands, options, random);
    for (const Code operand : operands) {
      out = write_hex(out, operand, operand_digits);
      *out++ = ' ';
    }
    out = write_hex(out, result.code, result_digits);
    *out++ = ' ';
    out = write_hex(out, result.flags, 2);
    *out++ = '\n';
    ++index;
    line = next;
  }
  return {static_cast<std::size_t>(line - begin), index - first_line, {out_begin, static_cast<std::size_t>(out - out_begin)}};
}

}  // namespace

Evaluated evaluate_lines(const Evaluation& evaluation, std::string_view text, std::uint64_t first_line, std::span<char> out) {
  switch (evaluation.operation) {
    case Operation::add: return evaluate<Operation::add>(evaluation, text, first_line, out.data());
    case Operation::sub: return evaluate<Operation::sub>(evaluation, text, first_line, out.data());
    case Operation::mul: return evaluate<Operation::mul>(evaluation, text, first_line, out.data());
    case Operation::div: return evaluate<Operation::div>(evaluation, text, first_line, out.data());
    case Operation::rem: return evaluate<Operation::rem>(evaluation, text, first_line, out.data());
    case Operation::sqrt: return evaluate<Operation::sqrt>(evaluation, text, first_line, out.data());
    case Operation::fma: return evaluate<Operation::fma>(evaluation, text, first_line, out.data());
    case Operation::round_to_int: return evaluate<Operation::round_to_int>(evaluation, text, first_line, out.data());
    case Operation::eq: return evaluate<Operation::eq>(evaluation, text, first_line, out.data());
    case Operation::le: return evaluate<Operation::le>(evaluation, text, first_line, out.data());
    case Operation::lt: return evaluate<Operation::lt>(evaluation, text, first_line, out.data());
    case Operation::convert: return evaluate<Operation::convert>(evaluation, text, first_line, out.data());
  }
  return {};
}

}  // namespace ulpscope::cli
