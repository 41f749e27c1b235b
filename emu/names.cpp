// SPDX-License-Identifier: Apache-2.0
// Parses and prints words, and finds the nearest by edit distance.
#include "emu/names.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <utility>

#include "emu/catalogue.hpp"

namespace ulpscope::emu {
namespace {

std::string normalized(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return out;
}

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t space = words.find(' ');
    out.push_back(words.substr(0, space));
    words = space == std::string_view::npos ? std::string_view{} : words.substr(space + 1);
  }
  return out;
}

std::string integer_name(int bits) { return "int" + std::to_string(bits); }

constexpr std::array<std::pair<std::string_view, Specials>, 7> suffixes{{{"ieee", Specials::ieee},
                                                                         {"fn", Specials::fn},
                                                                         {"fnuz", Specials::fnuz},
                                                                         {"finite", Specials::finite},
                                                                         {"se", Specials::se},
                                                                         {"ue", Specials::ue},
                                                                         {"uf", Specials::uf}}};

/// P3109's words for signedness and domain. The biases of these are powers of two.
constexpr std::array<std::pair<std::string_view, Specials>, 4> domains{
    {{"se", Specials::se}, {"sf", Specials::fnuz}, {"ue", Specials::ue}, {"uf", Specials::uf}}};
constexpr int least_p3109_bits = 3, most_p3109_bits = 15;
constexpr int most_p3109_exponent_bits = 10;  // with more the least normal number is below that of double

constexpr int default_bias(int exponent_bits, Specials specials) {
  if (exponent_bits < 1) return 0;  // of integers, which are named by others
  const bool power = std::any_of(domains.begin(), domains.end(), [&](const auto& d) { return d.second == specials; });
  return (1 << (exponent_bits - 1)) - (power ? 0 : 1);
}

/// Takes `prefix` and a decimal number off the front of `rest`.
std::optional<int> take_number(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return std::nullopt;
  int value = 0;
  const char* const first = rest.data() + prefix.size();
  const char* const last = rest.data() + rest.size();
  if (first == last || *first < '0' || *first > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

/// Of the exponent field in `eXmY`.
constexpr bool is_custom_width(int bits) { return bits >= 2 && bits <= 8; }

std::optional<Format> parse_custom(std::string_view rest) {
  const auto exponent_bits = take_number(rest, "e");
  const auto fraction_bits = exponent_bits ? take_number(rest, "m") : std::nullopt;
  if (!fraction_bits || !is_custom_width(*exponent_bits) || *fraction_bits > 23) return std::nullopt;
  const bool has_bias = !rest.empty() && rest.front() == 'b';
  const auto bias = take_number(rest, "b");
  if (has_bias && (!bias || *bias > max_custom_bias)) return std::nullopt;
  const auto suffix = std::find_if(suffixes.begin(), suffixes.end(), [&](const auto& s) { return s.first == rest; });
  if (suffix == suffixes.end() && !rest.empty()) return std::nullopt;
  const Specials specials = rest.empty() ? Specials::ieee : suffix->second;
  return Format{*exponent_bits, *fraction_bits, bias.value_or(default_bias(*exponent_bits, specials)), specials};
}

/// `binaryKpP` with signedness and domain (P3109, Interim Report 4.0).
std::optional<Format> parse_p3109(std::string_view rest) {
  const auto bits = take_number(rest, "binary");
  const auto precision = bits ? take_number(rest, "p") : std::nullopt;
  const auto domain = std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return d.first == rest; });
  if (!precision || domain == domains.end() || *bits < least_p3109_bits || *bits > most_p3109_bits) return std::nullopt;
  Format format{0, *precision - 1, 0, domain->second};
  format.exponent_bits = *bits - format.bits();
  if (*precision < 1 || format.exponent_bits < 1 || format.exponent_bits > most_p3109_exponent_bits) return std::nullopt;
  format.bias = default_bias(format.exponent_bits, format.specials);
  return format;
}

/// Empty where P3109 has no such special values, or other names have them (fnuz).
std::string p3109_name(Format format) {
  const auto domain = std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return d.second == format.specials; });
  if (domain == domains.end() || (format.specials == Specials::fnuz && is_custom_width(format.exponent_bits))) return "";
  return "binary" + std::to_string(format.bits()) + "p" + std::to_string(format.precision()) + std::string(domain->first);
}

template <class Enum, std::size_t N>
using Words = std::array<std::pair<std::string_view, Enum>, N>;

// The first word of a value is its canonical name; the rest are aliases. rn rz rp rm, rna, rs: PTX ISA, cvt; rne: RISC-V.
constexpr Words<Rounding, 14> roundings{{{"nearest_even", Rounding::nearest_even},
                                         {"nearest_away", Rounding::nearest_away},
                                         {"toward_zero", Rounding::toward_zero},
                                         {"upward", Rounding::upward},
                                         {"downward", Rounding::downward},
                                         {"to_odd", Rounding::to_odd},
                                         {"stochastic", Rounding::stochastic},
                                         {"rn", Rounding::nearest_even},
                                         {"rne", Rounding::nearest_even},
                                         {"rna", Rounding::nearest_away},
                                         {"rz", Rounding::toward_zero},
                                         {"rp", Rounding::upward},
                                         {"rm", Rounding::downward},
                                         {"rs", Rounding::stochastic}}};
constexpr Words<Policy, 2> policies{{{"nonsaturating", Policy::nonsaturating}, {"saturating", Policy::saturating}}};
constexpr Words<Outcome, outcome_count> outcomes{{{"nan", Outcome::nan},
                                                  {"infinite", Outcome::infinite},
                                                  {"zero", Outcome::zero},
                                                  {"exact", Outcome::exact},
                                                  {"rounded", Outcome::rounded},
                                                  {"subnormal", Outcome::subnormal},
                                                  {"to_zero", Outcome::to_zero},
                                                  {"overflow", Outcome::overflow}}};

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const Words<Enum, N>& words, std::string_view word) {
  const std::string wanted = normalized(word);
  for (const auto& [name, value] : words)
    if (name == wanted) return value;
  return std::nullopt;
}

template <class Enum, std::size_t N>
std::string_view word_of(const Words<Enum, N>& words, Enum wanted) noexcept {
  for (const auto& [name, value] : words)
    if (value == wanted) return name;
  return {};
}

template <class Enum, std::size_t N>
std::vector<std::string> all_words(const Words<Enum, N>& words) {
  std::vector<std::string> out;
  for (const auto& [name, value] : words) out.emplace_back(name);
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min(std::min(row[j], row[j + 1]) + 1, substituted);
    }
  }
  return row.back();
}

}  // namespace

std::optional<Format> parse_format(std::string_view word) {
  const std::string wanted = normalized(word);
  for (const NamedFormat& named : catalogue) {
    if (named.name == wanted) return named.format;
    for (const std::string_view alias : split(named.aliases))
      if (alias == wanted) return named.format;
    // As they are spelled there: `F4` is e2m1 in a safetensors header, `f4` four bytes to numpy.
    for (const std::string_view elsewhere : {named.numpy, named.torch, named.safetensors})
      if (elsewhere == word && !word.empty()) return named.format;
  }
  const auto p3109 = parse_p3109(wanted);
  return p3109 ? p3109 : parse_custom(wanted);
}

std::optional<Format> parse_format_or_integer(std::string_view word) {
  const std::string wanted = normalized(word);
  for (int bits = least_integer_bits; bits <= most_integer_bits; ++bits)
    if (wanted == integer_name(bits)) return integer(bits);
  return parse_format(word);
}

std::string format_name(Format format) {
  for (const NamedFormat& named : catalogue)
    if (named.format == format) return std::string(named.name);
  if (format == integer(format.bits())) return integer_name(format.bits());
  if (const std::string name = p3109_name(format); !name.empty() && parse_p3109(name) == format) return name;
  std::string name = "e" + std::to_string(format.exponent_bits) + "m" + std::to_string(format.fraction_bits);
  if (format.bias != default_bias(format.exponent_bits, format.specials)) name += "b" + std::to_string(format.bias);
  for (const auto& [suffix, specials] : suffixes)
    if (specials == format.specials && specials != Specials::ieee) name += suffix;
  if (format.specials == Specials::ieee && parse_format(name) != format) name += "ieee";  // the short word is a catalogue's
  return name;
}

std::optional<Rounding> parse_rounding(std::string_view word) { return value_of(roundings, word); }
std::optional<Policy> parse_policy(std::string_view word) { return value_of(policies, word); }
std::string_view name_of(Rounding rounding) noexcept { return word_of(roundings, rounding); }
std::string_view name_of(Policy policy) noexcept { return word_of(policies, policy); }
std::string_view name_of(Outcome outcome) noexcept { return word_of(outcomes, outcome); }

std::vector<std::string> format_words() {
  std::vector<std::string> out;
  for (const NamedFormat& named : catalogue) {
    out.emplace_back(named.name);
    for (const std::string_view alias : split(named.aliases)) out.emplace_back(alias);
  }
  return out;
}
std::string hex_code(Format format, Code code) { return hex_digits(code, format.bits()); }
std::string hex_digits(Code code, int bits) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out;
  for (int i = (bits + 3) / 4 - 1; i >= 0; --i) out += digits[code >> (4 * i) & 0xf];
  return out;
}

std::vector<std::string> rounding_words() { return all_words(roundings); }
std::vector<std::string> policy_words() { return all_words(policies); }

std::vector<std::string> closest_words(std::string_view word, const std::vector<std::string>& known, std::size_t most) {
  std::size_t longest = 0;
  for (const std::string& candidate : known) longest = std::max(longest, candidate.size());
  constexpr std::size_t more = 8;  // what is much longer than each of them is as far from all, and work to compare
  const std::string wanted = normalized(word.substr(0, longest + more));
  // What begins with the word comes first, then what contains it: `up` is upward, not rp.
  const auto rank = [&](const std::string& candidate) {
    const std::size_t at = wanted.size() < 2 ? std::string::npos : candidate.find(wanted);
    return std::pair(at == 0 ? 0 : at != std::string::npos ? 1 : 2, edit_distance(wanted, candidate));
  };
  std::vector<std::pair<std::pair<int, std::size_t>, std::string>> ranked;
  for (const std::string& candidate : known) ranked.emplace_back(rank(normalized(candidate)), candidate);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [by, candidate] : ranked)
    if (out.size() < most) out.push_back(candidate);
  return out;
}

}  // namespace ulpscope::emu
