// SPDX-License-Identifier: Apache-2.0
// x86's scalar instructions in terms of emu. Where they differ from it, the function says how; the tests show it.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cpu_instructions.hpp"
#include "emu/arithmetic.hpp"
#include "emu/comparison.hpp"
#include "emu/decode.hpp"
#include "emu/integral.hpp"

namespace peers {

namespace emu = ulpscope::emu;

/// What x86 instructions on numbers of format `f` give, in terms of emu.
template <emu::Format f>
struct X86 {
  using Options = emu::RoundingOptions;

  static emu::Result add(const Operands& x, const Options& o) { return emu::add(f, x.a, x.b, o); }
  static emu::Result sub(const Operands& x, const Options& o) { return emu::sub(f, x.a, x.b, o); }
  static emu::Result mul(const Operands& x, const Options& o) { return flushed(emu::mul(f, x.a, x.b, o), o); }
  static emu::Result div(const Operands& x, const Options& o) { return flushed(emu::div(f, x.a, x.b, o), o); }
  static emu::Result sqrt(const Operands& x, const Options& o) { return emu::sqrt(f, x.a, o); }

  /// Differs in that 0 * inf + a quiet NaN is that NaN, and signals nothing.
  static emu::Result fma(const Operands& x, const Options& o) {
    const bool quiet = !f.is_signaling_nan(x.a) && !f.is_signaling_nan(x.b) && !f.is_signaling_nan(x.c);
    if (f.is_nan(x.c) && quiet) return {f.nan_code(), emu::no_flags};
    return flushed(emu::fma(f, x.a, x.b, x.c, o), o);
  }
  static emu::Result fma_less(const Operands& x, const Options& o) { return fma({x.a, x.b, x.c ^ f.sign_mask()}, o); }
  static emu::Result negated_fma(const Operands& x, const Options& o) { return fma({x.a ^ f.sign_mask(), x.b, x.c}, o); }
  static emu::Result negated_fma_less(const Operands& x, const Options& o) {
    return fma({x.a ^ f.sign_mask(), x.b, x.c ^ f.sign_mask()}, o);
  }

  /// Not IEEE 754's: b unless a is less, and any NaN signals.
  static emu::Result least(const Operands& x, const Options& o) { return selected(x, o, emu::Order::less); }
  static emu::Result greatest(const Operands& x, const Options& o) { return selected(x, o, emu::Order::greater); }

  static emu::Result whole(const Operands& x, const Options& o) { return emu::round_to_integral(f, x.a, o); }
  static emu::Result whole_exact(const Operands& x, const Options& o) { return emu::round_to_integral_exact(f, x.a, o); }

  /// Differs in that the exponent of zero signals nothing.
  static emu::Result exponent(const Operands& x, const Options& o) {
    emu::Result result = emu::log_b(f, x.a, o);
    if (result.flags == emu::divide_by_zero) result.flags = emu::no_flags;
    return result;
  }
  /// a * 2^floor(b), b finite. VSCALEF takes infinities, too.
  static emu::Result scale(const Operands& x, const Options& o) {
    const double floor = std::floor(emu::decode(f, operand(x.b, o)));
    const double count = floor < -1e5 ? -1e5 : (floor > 1e5 ? 1e5 : floor);
    return flushed(emu::scale_b(f, x.a, static_cast<std::int64_t>(count), o), o);
  }

  /// Differs in that beyond the integers and for NaN it is the "integer indefinite": the least signed or greatest unsigned one.
  template <class Integer>
  static emu::Result to_integer(const Operands& x, const Options& o) {
    using Unsigned = std::make_unsigned_t<Integer>;
    constexpr Unsigned ones = static_cast<Unsigned>(~Unsigned{0});
    constexpr Unsigned indefinite = std::is_signed_v<Integer> ? static_cast<Unsigned>(ones ^ (ones >> 1)) : ones;
    const auto result = emu::to_integer<Integer>(f, x.a, o);
    return {result.flags == emu::invalid ? indefinite : static_cast<Unsigned>(result.value), result.flags};
  }
  template <class Integer>
  static emu::Result truncate_to(const Operands& x, const Options& o) {
    Options truncating = o;
    truncating.rounding = emu::Rounding::toward_zero;
    return to_integer<Integer>(x, truncating);
  }
  template <class Integer>
  static emu::Result from_integer(const Operands& x, const Options& o) {
    return emu::from_integer(f, static_cast<Integer>(x.a), o);
  }
  template <emu::Format to>
  static emu::Result convert(const Operands& x, const Options& o) {
    const emu::Rounded rounded = emu::convert(f, x.a, to, o);
    return X86<to>::flushed({rounded.code, rounded.flags}, o);
  }

  /// ZF, PF and CF in bits 14, 10 and 8.
  static emu::Result compare_quiet(const Operands& x, const Options& o) {
    return in_eflags(emu::compare_quiet(f, x.a, x.b, o));
  }
  static emu::Result compare_signaling(const Operands& x, const Options& o) {
    return in_eflags(emu::compare_signaling(f, x.a, x.b, o));
  }

  /// Predicate of VCMP (SDM, "Comparison Predicate for CMPPD and CMPPS Instructions"): 8 to 15 are 0 to 7 with the other answer
  /// to unordered, 16 to 31 are 0 to 15 quiet where those signal and the other way round.
  template <int predicate>
  static emu::Result is(const Operands& x, const Options& o) {
    struct Truth {
      unsigned of;  ///< bit n: of Order n, that is unordered, greater, equal, less
      bool quiet;
    };
    constexpr Truth truths[] = {{0b0010, true}, {0b0001, false}, {0b0011, false}, {0b1000, true},
                                {0b1101, true}, {0b1110, false}, {0b1100, false}, {0b0111, true}};
    constexpr Truth truth = truths[predicate & 7];
    constexpr bool quiet = truth.quiet != ((predicate & 16) != 0);
    constexpr unsigned of = truth.of ^ ((predicate & 8) != 0 ? 0b1000U : 0U);
    const auto compared = quiet ? emu::compare_quiet(f, x.a, x.b, o) : emu::compare_signaling(f, x.a, x.b, o);
    return {of >> static_cast<unsigned>(compared.order) & 1, compared.flags};
  }

  /// Differs in that what is tiny after rounding as if the range had no end is flushed: also what rounds up to the least normal
  /// number all the same.
  static emu::Result flushed(emu::Result result, const Options& o) {
    const bool least_normal = (result.code & f.magnitude_mask()) == f.min_normal_code();
    if (o.flush_subnormals && least_normal && (result.flags & emu::underflow) != 0) result.code &= f.sign_mask();
    return result;
  }

 private:
  static emu::Code operand(emu::Code code, const Options& o) {
    return o.subnormals_are_zero && f.is_subnormal(code) ? code & f.sign_mask() : code;
  }
  static emu::Result selected(const Operands& x, const Options& o, emu::Order order) {
    const auto compared = emu::compare_signaling(f, x.a, x.b, o);
    const emu::Code code = operand(compared.order == order ? x.a : x.b, o);
    return {f.is_nan(code) ? f.nan_code() : code, compared.flags};
  }
  static emu::Result in_eflags(const emu::Comparison& compared) {
    constexpr emu::Code zf = 1 << 14, pf = 1 << 10, cf = 1 << 8;
    switch (compared.order) {
      case emu::Order::less: return {cf, compared.flags};
      case emu::Order::equal: return {zf, compared.flags};
      case emu::Order::greater: return {0, compared.flags};
      case emu::Order::unordered: return {zf | pf | cf, compared.flags};
    }
    return {};
  }
};

}  // namespace peers
