// SPDX-License-Identifier: Apache-2.0
// Words for formats, rounding modes, policies and outcome classes, and back. Case is ignored, `-` and `_` are alike.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// A catalogue name, an alias, or a custom format: `eXmY[bN][ieee|fn|fnuz|finite|se|ue|uf]`, X in 2..8, Y in 0..23, N in
/// 0..1023, without bN of bias 2^(X-1) - 1, for fnuz, se, ue and uf 2^(X-1); or `binaryKpP` and `se`, `sf`, `ue` or `uf` (IEEE
/// P3109, Interim Report 4.0), K in 3..15, P in 1..K-1, of unsigned ones 1..K, with at most 10 exponent bits. The catalogue's
/// words win. Also the names that numpy, ml_dtypes, PyTorch and safetensors have for a format (catalogue.hpp), spelled as
/// there.
std::optional<Format> parse_format(std::string_view word);

/// Bits of the narrowest symmetric integers that have names.
inline constexpr int least_integer_bits = 3;
/// Of the widest: float32 holds them all.
inline constexpr int most_integer_bits = 25;
/// What parse_format() takes, and `intN`, N between these: symmetric integers (catalogue.hpp).
std::optional<Format> parse_format_or_integer(std::string_view word);

/// The canonical name: the catalogue's, `intN`, P3109's where no other word has its special values, else `eXmY[bN][suffix]`
/// with the defaults left out.
std::string format_name(Format format);

/// A code in lower-case hex without prefix, ceil(bits / 4) digits.
std::string hex_code(Format format, Code code);
/// The same of so many bits.
std::string hex_digits(Code code, int bits);

std::optional<Rounding> parse_rounding(std::string_view word);  ///< also PTX's rn, rz, rp, rm and rna, rs
/// `nonsaturating`, `saturating`
std::optional<Policy> parse_policy(std::string_view word);

/// The word of a rounding mode, as the command line and CSV have it.
std::string_view name_of(Rounding rounding) noexcept;
/// The word of a policy.
std::string_view name_of(Policy policy) noexcept;
/// The word of an outcome class.
std::string_view name_of(Outcome outcome) noexcept;

/// Every rounding mode, in the order of their values.
inline constexpr std::array all_roundings{Rounding::nearest_even, Rounding::nearest_away, Rounding::toward_zero,
                                          Rounding::upward,       Rounding::downward,     Rounding::to_odd,
                                          Rounding::stochastic};
inline constexpr std::array all_policies{Policy::nonsaturating, Policy::saturating};  ///< every policy

std::vector<std::string> format_words();  ///< every name and alias, for suggestions
/// Every rounding mode and its aliases.
std::vector<std::string> rounding_words();
/// Every policy.
std::vector<std::string> policy_words();

/// The known words nearest to `word` by edit distance, best first, at most `most`.
std::vector<std::string> closest_words(std::string_view word, const std::vector<std::string>& known, std::size_t most = 3);

}  // namespace ulpscope::emu
