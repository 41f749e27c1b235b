// SPDX-License-Identifier: Apache-2.0
// PTX's conversions and arithmetic for the stand-in runtime, from the text of the instruction.
#include "tests/gpu/fake_cuda/element_instructions.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace fake_cuda {
namespace {

/// A type of PTX. `cut`: bits of its register below the code.
struct Type {
  int exponent_bits, fraction_bits, register_bits;
  bool has_infinity = true;
  int cut = 0;
  bool has_nan = true, has_sign = true;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }
  std::uint64_t magnitude_bits() const { return (std::uint64_t{1} << (exponent_bits + fraction_bits)) - 1; }
  std::uint64_t sign() const { return magnitude_bits() + 1; }
  std::uint64_t infinity() const { return magnitude_bits() >> fraction_bits << fraction_bits; }
  std::uint64_t largest() const { return has_infinity ? infinity() - 1 : magnitude_bits() - (has_nan ? 1 : 0); }
  bool is_nan(std::uint64_t code) const {
    const std::uint64_t magnitude = code & magnitude_bits();
    return has_infinity ? magnitude > infinity() : has_nan && magnitude == magnitude_bits();
  }
};

Type type_of(const std::string& name) {
  static const std::map<std::string, Type> types{{"f16", {5, 10, 16}},
                                                 {"bf16", {8, 7, 16}},
                                                 {"tf32", {8, 10, 32, true, 13}},
                                                 {"f32", {8, 23, 32}},
                                                 {"f64", {11, 52, 64}},
                                                 {"e4m3", {4, 3, 8, false}},
                                                 {"e5m2", {5, 2, 8}},
                                                 {"e2m1", {2, 1, 4, false, 0, false}},
                                                 {"e2m3", {2, 3, 8, false, 0, false}},
                                                 {"e3m2", {3, 2, 8, false, 0, false}},
                                                 {"ue8m0", {8, 0, 8, false, 0, true, false}}};
  const auto found = types.find(name);
  if (found != types.end()) return found->second;
  record_failure("no type ." + name);
  return {5, 10, 16};
}

/// The value of a code that is no NaN.
double value(const Type& type, std::uint64_t code) {
  if (!type.has_sign) return std::ldexp(1, static_cast<int>(code) - type.bias());
  const std::uint64_t magnitude = code & type.magnitude_bits();
  const double sign = (code & type.sign()) != 0 ? -1 : 1;
  if (type.has_infinity && magnitude == type.infinity()) return sign * std::numeric_limits<double>::infinity();
  const auto field = static_cast<int>(magnitude >> type.fraction_bits);
  const auto fraction = static_cast<double>(magnitude & ((std::uint64_t{1} << type.fraction_bits) - 1));
  const double hidden = field > 0 ? std::ldexp(1, type.fraction_bits) : 0;
  const int exponent = std::max(field, 1) - type.bias() - type.fraction_bits;
  return sign * std::ldexp(hidden + fraction, exponent);
}

/// Whether bits that a rounding drops, `fraction` of the last one kept, carry when a random number is added to the uppermost of
/// them.
bool carries(double fraction, std::uint32_t random, int random_bits) {
  return std::floor(std::ldexp(fraction, random_bits)) + random >= std::ldexp(1, random_bits);
}

/// A power of two of no sign: the last one that is no greater than x, or the first that is no less; 2^-127 at least.
std::uint64_t exponent_of(double x, char rounding, bool saturates) {
  const std::uint64_t too_great = saturates ? 254 : 255;
  const double magnitude = std::fabs(x);
  if (std::isinf(x)) return too_great;
  for (int code = 0; code < 255; ++code) {
    const double power = std::ldexp(1, code - 127);
    if (magnitude == power || (magnitude < power && rounding == 'p')) return static_cast<std::uint64_t>(code);
    if (magnitude < power) return static_cast<std::uint64_t>(std::max(code - 1, 0));
  }
  return rounding == 'p' ? too_great : 254;
}

/// An integer of at least 0 that is near a number of at least 0: "n", "a", "z", "p", "m" for a number with that sign.
double integer(double x, char rounding, bool negative) {
  switch (rounding) {
    case 'n': return std::nearbyint(x);
    case 'a': return std::round(x);
    case 'p': return negative ? std::floor(x) : std::ceil(x);
    case 'm': return negative ? std::ceil(x) : std::floor(x);
    default: return std::floor(x);
  }
}

struct Random {
  std::uint32_t number = 0;
  int bits = 0;
};

std::uint64_t rounded(const Type& type, double x, char rounding, bool saturates, Random random = {}) {
  if (!type.has_sign) return exponent_of(x, rounding, saturates);
  const bool negative = std::signbit(x);
  const std::uint64_t sign = negative ? type.sign() : 0;
  const double magnitude = std::fabs(x), beyond = std::ldexp(1, type.bias() + 2);
  if (magnitude == 0) return sign;
  std::uint64_t code = type.magnitude_bits();
  if (magnitude < beyond) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int last = std::max(exponent - 1, type.least_exponent()) - type.fraction_bits;
    const double exact = std::ldexp(magnitude, -last), cut = std::floor(exact);
    const double steps =
        random.bits > 0 ? cut + (carries(exact - cut, random.number, random.bits) ? 1 : 0) : integer(exact, rounding, negative);
    const auto binade = static_cast<std::uint64_t>(last + type.fraction_bits - type.least_exponent());
    code = (binade << type.fraction_bits) + static_cast<std::uint64_t>(steps);
  }
  if (code <= type.largest()) return sign | code;
  const bool outward =
      random.bits > 0 || rounding == 'n' || rounding == 'a' || rounding == (negative ? 'm' : 'p') || std::isinf(x);
  if (saturates || !outward) return sign | type.largest();
  return type.has_infinity ? sign | type.infinity() : type.magnitude_bits();
}

/// NaNs: canonical, but conversions to and from double keep sign and payload, and the two conversions that are integer code
/// cut.
std::uint64_t nan(const std::string& text, const Type& from, std::uint64_t code, const Type& to) {
  const bool cut = text == "cvt.rna.tf32.f32" || text == "cvt.f32.bf16";
  if (!cut && to.fraction_bits != 52 && from.fraction_bits != 52)
    return to.magnitude_bits();  // without NaN the greatest number
  const std::uint64_t fraction = code & ((std::uint64_t{1} << from.fraction_bits) - 1);
  const int shift = to.fraction_bits - from.fraction_bits;
  const std::uint64_t kept = shift >= 0 ? fraction << shift : fraction >> -shift;
  const std::uint64_t quiet = cut ? 0 : std::uint64_t{1} << (to.fraction_bits - 1);
  return ((code & from.sign()) != 0 ? to.sign() : 0) | to.infinity() | kept | quiet;
}

struct Conversion {
  std::string text;
  Type to, from;
  int to_lanes = 1, from_lanes = 1;
  char rounding = 'n';
  bool saturates = false, relu = false;

  std::uint64_t of(std::uint64_t source, Random random = {}) const {
    const std::uint64_t code = source >> from.cut;
    if (from.is_nan(code)) return nan(text, from, code, to) << to.cut;
    const std::uint64_t result = rounded(to, value(from, code), rounding, saturates, random);
    return (relu && (result & to.sign()) != 0 ? 0 : result) << to.cut;
  }
};

Conversion read(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, '.');) words.push_back(word);
  if (words.size() < 3 || words[0] != "cvt") record_failure("no conversion: " + text);
  const auto lanes = [](std::string& word) {
    if (!word.ends_with("x2") && !word.ends_with("x4")) return 1;
    const int count = word.back() - '0';
    word.resize(word.size() - 2);
    return count;
  };
  Conversion conversion;
  conversion.text = text;
  std::string from = words.back(), to = words[words.size() - 2];
  conversion.from_lanes = lanes(from);
  conversion.to_lanes = lanes(to);
  conversion.from = type_of(from);
  conversion.to = type_of(to);
  for (std::size_t i = 1; i + 2 < words.size(); ++i) {
    if (words[i] == "satfinite") {
      conversion.saturates = true;
    } else if (words[i] == "relu") {
      conversion.relu = true;
    } else if (words[i] == "rn" || words[i] == "rz" || words[i] == "rm" || words[i] == "rp" || words[i] == "rna" ||
               words[i] == "rs") {
      conversion.rounding = words[i] == "rna" ? 'a' : words[i][1];
    } else {
      record_failure("." + words[i] + " in " + text);
    }
  }
  return conversion;
}

/// x + y, x - y, x * y or x * y + z: the exact result cut to double, its last bit set where something was cut off, so that a
/// second rounding to at most 51 bits is that of the exact result.
__attribute__((noinline)) double to_odd(char operation, double x, double y, double z) {
  const volatile double a = x, b = y, c = z;
  const int before = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile double result = 0;
  switch (operation) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    default: result = std::fma(a, b, c); break;
  }
  const bool inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(before);
  const double cut = result;
  return inexact ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(cut) | 1) : cut;
}

}  // namespace

std::uint64_t converted(const char* text, std::initializer_list<std::uint64_t> sources) {
  const Conversion conversion = read(text);
  if (static_cast<int>(sources.size()) * conversion.from_lanes != conversion.to_lanes)
    record_failure(std::string("operands of ") + text);
  std::vector<std::uint64_t> elements;  // the lowest first
  for (const std::uint64_t* source = sources.end(); source != sources.begin();) {
    --source;
    for (int lane = 0; lane < conversion.from_lanes; ++lane) {
      const std::uint64_t mask =
          conversion.from.register_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << conversion.from.register_bits) - 1;
      elements.push_back(*source >> (lane * conversion.from.register_bits) & mask);
    }
  }
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < elements.size(); ++i)
    result |= conversion.of(elements[i]) << (i * static_cast<std::size_t>(conversion.to.register_bits));
  return result;
}

std::uint64_t converted_randomly(const char* text, const std::uint32_t* sources, int count, std::uint32_t rbits) {
  const Conversion conversion = read(text);
  if (conversion.rounding != 's' || conversion.to_lanes != count || conversion.from_lanes != 1)
    record_failure(std::string("operands of ") + text);
  std::uint64_t result = 0;
  for (int i = 0; i < count; ++i) {
    // Two elements have a half each; of four, two have the upper bits and two the lower ones, of each half where d is 16 bits
    // wide.
    const bool ab = i < count / 2;
    Random random{ab ? rbits >> 16 : rbits & 0xffff, 16};
    if (conversion.to.fraction_bits == 10) random = {random.number & 0x1fff, 13};
    if (count == 4 && conversion.to.register_bits == 4)
      random.number = (rbits >> (ab ? 24 : 16) & 0xff) << 8 | (rbits >> (ab ? 8 : 0) & 0xff);
    if (count == 4 && i % 2 == 0) {
      std::uint32_t reversed = 0;
      for (int bit = 0; bit < 16; ++bit) reversed |= (random.number >> bit & 1) << (15 - bit);
      random.number = reversed;
    }
    result |= conversion.of(sources[i], random) << ((count - 1 - i) * conversion.to.register_bits);
  }
  return result;
}

void check_constraint(const char* text, const char* constraint, std::size_t bytes) {
  const std::map<std::string, std::size_t> sizes{{"h", 2}, {"r", 4}, {"l", 8}};
  if (!sizes.contains(constraint) || sizes.at(constraint) != bytes) record_failure(std::string("registers of ") + text);
}

std::uint16_t half_result(const char* type_name, char operation, std::uint16_t x, std::uint16_t y, std::uint16_t z) {
  const Type type = type_of(type_name);
  const bool takes_z = operation == 'f';
  if (type.is_nan(x) || type.is_nan(y) || (takes_z && type.is_nan(z))) return 0x7fff;
  const double exact = to_odd(operation, value(type, x), value(type, y), takes_z ? value(type, z) : 0);
  return std::isnan(exact) ? 0x7fff : static_cast<std::uint16_t>(rounded(type, exact, 'n', false));
}

}  // namespace fake_cuda
