// SPDX-License-Identifier: Apache-2.0
// What an operation should have returned: for every element the exact result, and how far a correct kernel may be from it.
// Every check against the exact value asks this interface, whatever the operation is.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// What may stand in the place of a finite result where sums or products on the way leave the range of a kernel's arithmetic.
enum class Overflow : std::uint8_t {
  none = 0,
  upward = 1,      ///< infinity
  downward = 2,    ///< -infinity
  undefined = 4,   ///< NaN: infinity less infinity
  any = 7,         ///< each of them
  doubted = 8,     ///< the result is not finite, and the others are right too; and so are numbers up to `allowed`
  other_zero = 16  ///< the zero of the other sign
};
/// Whether `one` is among `some`.
constexpr bool includes(Overflow some, Overflow one) noexcept { return (static_cast<int>(some) & static_cast<int>(one)) != 0; }
/// What either has.
constexpr Overflow operator|(Overflow x, Overflow y) noexcept {
  return static_cast<Overflow>(static_cast<int>(x) | static_cast<int>(y));
}
/// Of a result that a kernel has in [low, high].
constexpr Overflow overflow_of_interval(double low, double high, double largest) noexcept {
  const bool up = high > largest, down = low < -largest;
  return up && down ? Overflow::any : up ? Overflow::upward : down ? Overflow::downward : Overflow::none;
}
/// Of a sum in any order: its terms sum up to `value`, their magnitudes to `magnitude`, and roundings make no part of them
/// larger than `grown` times itself. NaN needs terms of both signs that overflow by themselves.
constexpr Overflow overflow_of_sum(double value, double magnitude, double grown, double largest) noexcept {
  return overflow_of_interval((value - magnitude) / 2 * grown, (value + magnitude) / 2 * grown, largest);
}
/// The terms of a sum by their signs, for sums of which `value` and `magnitude` do not tell them: a sum in float64 loses terms
/// beside those of the other sign that are 2^53 times as large.
struct SignedTerms {
  double positive = 0, negative = 0;  ///< sums of magnitudes; infinite where a term is
  /// Adds a term.
  void add(double term) noexcept {
    positive += term > 0 ? term : 0;
    negative += term < 0 ? -term : 0;
  }
};
/// Of a sum of these terms in any order, whose exact result is `value`. In the place of an infinity there is NaN, where terms
/// of the other sign, too, are infinite or overflow by themselves.
inline Overflow overflow_of_sum(double value, const SignedTerms& terms, double grown, double largest) noexcept {
  const Overflow all = overflow_of_interval(-terms.negative * grown, terms.positive * grown, largest);
  return std::isfinite(value) ? all : all == Overflow::any ? Overflow::undefined : Overflow::none;
}

/// One element. Not finite are only `value`, where the exact result is infinite or NaN, and then `magnitude`.
struct Expected {
  double value = 0;                        ///< the exact result lies within `radius` of it
  double radius = 0;                       ///< of the float64 arithmetic that found `value`
  double allowed = 0;                      ///< of |a correct kernel's result before its last rounding - the exact result|
  double magnitude = 0;                    ///< what `allowed` is derived from: of a sum of products the sum of |a||b|
  Overflow may_overflow = Overflow::none;  ///< what is right too
};

/// As many neighbouring elements as are judged at once, few enough to stay in the first cache: the numbers of Expected, apart.
struct ExpectedBlock {
  static constexpr std::size_t size = 256;  ///< the most elements
  /// One for each element.
  struct alignas(64) Numbers : std::array<double, size> {};

  std::size_t count;                        ///< of the elements
  bool in_range;                            ///< no element may overflow; `may_overflow` is not set then
  Numbers value, radius, allowed;           ///< as of Expected
  std::array<Overflow, size> may_overflow;  ///< likewise

  /// Element i, but for its magnitude.
  Expected at(std::size_t i) const noexcept {
    return {value[i], radius[i], allowed[i], 0, in_range ? Overflow::none : may_overflow[i]};
  }
};

/// The exact result as the sum of two doubles (within 2^-100 of it, relatively), and rounded once to the output format.
struct Precise {
  double high = 0, low = 0;  ///< the sum of both
  double rounded = 0;        ///< to the output format
};

/// The last rounding of a kernel.
struct LastRounding {
  emu::Format out;                    ///< of the output
  emu::RoundingOptions options = {};  ///< direction, overflow and subnormal results
};

/// Whether that is a conversion to float, in C++.
bool is_conversion_to_float(const LastRounding& last) noexcept;

/// All elements of the output of one operation, row-major. May be asked by several threads at once.
class Expectation {
 public:
  virtual ~Expectation() = default;
  /// Of the output.
  virtual std::vector<std::uint64_t> shape() const = 0;
  /// The format of the output.
  virtual emu::Format out() const = 0;
  /// Elements [first, first + elements.size()). The same doubles for any division into calls, on every machine.
  virtual void expect(std::uint64_t first, std::span<Expected> elements) const = 0;
  /// Whether expect() costs the same however elements are divided into calls: no element depends on what its row has in common.
  virtual bool is_elementwise() const { return false; }
  /// Takes elements that follow each other.
  using TakeBlock = std::function<void(ExpectedBlock& block)>;
  /// What expect() says of elements [first, first + count), block by block, where that is quicker; false where it is not there.
  virtual bool for_each_block(std::uint64_t first, std::size_t count, const TakeBlock& take) const;
  /// An element for which `expect` does not decide.
  virtual Precise precise(std::uint64_t index) const = 0;
  /// Where `allowed` comes from, in one line: `float32 sums of 4096 products in any order, u = 2^-24, gamma_4096 = 0.000244`.
  virtual std::string bound() const = 0;
  /// Why that bound is worth nothing and what would be; empty where it is worth something.
  virtual std::string refusal() const = 0;
  /// Whether `output` is right although it is beyond what `expect` allows: another schedule returns it.
  virtual bool admits(std::uint64_t index, double output) const;
  /// What the engine that is declared itself returns before its last rounding, where its arithmetic may leave its range: that
  /// is right whatever the bound says. Nothing elsewhere.
  virtual std::optional<double> of_engine(std::uint64_t index) const;
  /// Whether admits() may take a zero in the place of what is far from zero.
  virtual bool may_admit_zero() const { return false; }
  /// Whether zeros of opposite signs differ.
  virtual bool is_bitwise() const { return false; }
  /// Whether diagnosis() is given wrong elements from everywhere, in runs of neighbours: else the first ones.
  virtual bool diagnoses_from_everywhere() const { return false; }
  /// What the elements at `indices` that are wrong, a sample of all, have in common that only the operation knows; else empty.
  virtual std::string diagnosis(std::span<const std::uint64_t> indices, std::span<const double> outputs,
                                const LastRounding& last) const;
  /// What to say of an output that is one number where this is more; empty where nothing is.
  virtual std::string of_scalar() const { return {}; }
  /// Of an output that is right: what known fault would pass all the same; empty where none is known to.
  virtual std::string weakness(const LastRounding& last) const;
};

/// Where an element stands.
enum class Standing : std::uint8_t {
  equal,     ///< the exact result, rounded once
  within,    ///< what a correct kernel may return
  beyond,    ///< what none does
  nonfinite  ///< infinite or NaN where a correct kernel's result is finite, or the other way about
};
/// Whether no correct kernel returns it.
constexpr bool is_wrong(Standing standing) noexcept { return standing == Standing::beyond || standing == Standing::nonfinite; }
/// `equal`, `within`, `beyond`, `nonfinite`.
std::string_view name_of(Standing standing) noexcept;

/// Judges `output`, element `index` of what a kernel returned. A NaN is right only where the exact result is NaN, or where
/// `may_overflow`.
Standing judge(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
               const LastRounding& last);

/// How an output stands, and by what.
struct JudgedElement {
  Standing standing;  ///< as of judge()
  bool is_admitted;   ///< right by admits() alone
};
/// The same, and whether admits() has made it right.
JudgedElement judge_by_what(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
                            const LastRounding& last);

/// Whether a zero would be right in the place of element `index`, whatever a declared engine itself returns.
bool zero_passes(const Expectation& expectation, std::uint64_t index, const Expected& expected, const LastRounding& last);

}  // namespace ulpscope::verify
