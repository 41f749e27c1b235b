// SPDX-License-Identifier: Apache-2.0
// How an element is judged: intervals, NaN, overflow.
#include "verify/expected.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"

namespace {

using namespace ulpscope;
using verify::Expected;
using verify::Precise;
using verify::Standing;

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

/// One element whose exact result is known to the last bit.
class One final : public verify::Expectation {
 public:
  One(emu::Format out, Precise exact) : out_(out), exact_(exact) {}
  std::vector<std::uint64_t> shape() const override { return {1}; }
  emu::Format out() const override { return out_; }
  void expect(std::uint64_t, std::span<Expected>) const override {}
  Precise precise(std::uint64_t) const override {
    ++asked;
    return exact_;
  }
  std::string bound() const override { return {}; }
  std::string refusal() const override { return {}; }
  mutable int asked = 0;

 private:
  emu::Format out_;
  Precise exact_;
};

Standing of(emu::Format out, const Expected& expected, double output, emu::RoundingOptions options = {}) {
  const One one(out, {expected.value, 0, emu::round_to(out, expected.value, options).value});
  return judge(one, 0, expected, output, {out, options});
}

}  // namespace

TEST_CASE("results between the roundings of the ends of the interval are within, all others beyond", "[verify]") {
  // Exact 1, a kernel within 2^-7: bfloat16 has 1 - 2^-8, 1, 1 + 2^-7 there, and the ends.
  const Expected expected{.value = 1, .allowed = 0x1p-7};
  CHECK(of(emu::bfloat16, expected, 1) == Standing::equal);
  CHECK(of(emu::bfloat16, expected, 1 + 0x1p-7) == Standing::within);
  CHECK(of(emu::bfloat16, expected, 1 - 0x1p-8) == Standing::within);
  CHECK(of(emu::bfloat16, expected, 1 - 0x1p-7) == Standing::within);
  CHECK(of(emu::bfloat16, expected, 1 + 0x1p-6) == Standing::beyond);
  CHECK(of(emu::bfloat16, expected, 1 - 0x3p-8) == Standing::beyond);
  // Without an allowance the last rounding alone is left.
  CHECK(of(emu::bfloat16, {.value = 1 + 0x1p-9}, 1) == Standing::equal);
  CHECK(of(emu::bfloat16, {.value = 1 + 0x1p-9}, 1 + 0x1p-7) == Standing::beyond);
}

TEST_CASE("a NaN passes only where the exact result is NaN or a sum may overflow", "[verify]") {
  for (const emu::Format out : {emu::float16, emu::float8_e5m2, emu::float32}) {
    CHECK(of(out, {.value = 1, .allowed = 1e30}, not_a_number) == Standing::nonfinite);
    CHECK(of(out, {.value = not_a_number, .allowed = infinity}, not_a_number) == Standing::equal);
    CHECK(of(out, {.value = not_a_number}, 1) == Standing::nonfinite);
    CHECK(of(out, {.value = 1, .may_overflow = verify::Overflow::any}, not_a_number) == Standing::within);
    CHECK(of(out, {.value = infinity}, not_a_number) == Standing::nonfinite);
    CHECK(of(out, {.value = 0}, not_a_number) == Standing::nonfinite);
  }
}

TEST_CASE("an overflow passes as the infinity of its sign, as NaN where both overflow", "[verify]") {
  const auto stands = [](verify::Overflow overflow, double output) {
    return of(emu::float32, {.value = 1, .may_overflow = overflow}, output) == Standing::within;
  };
  using verify::Overflow;
  CHECK(std::array{stands(Overflow::upward, infinity), stands(Overflow::upward, -infinity),
                   stands(Overflow::upward, not_a_number)} == std::array{true, false, false});
  CHECK(std::array{stands(Overflow::downward, infinity), stands(Overflow::downward, -infinity),
                   stands(Overflow::downward, not_a_number)} == std::array{false, true, false});
  CHECK(std::array{stands(Overflow::undefined, infinity), stands(Overflow::undefined, not_a_number)} ==
        std::array{false, true});
  // In a format without infinity it is a NaN, which has the sign of neither; saturated it is the greatest number.
  CHECK(of(emu::float8_e4m3fn, {.value = 1, .may_overflow = Overflow::downward}, not_a_number) == Standing::within);
  const emu::RoundingOptions saturating{.policy = emu::Policy::saturating};
  CHECK(of(emu::float8_e4m3fn, {.value = 1, .may_overflow = Overflow::downward}, -448, saturating) == Standing::within);
  CHECK(of(emu::float8_e4m3fn, {.value = 1, .may_overflow = Overflow::downward}, 448, saturating) == Standing::beyond);
  CHECK(of(emu::float8_e4m3fn, {.value = 1, .may_overflow = Overflow::downward}, not_a_number, saturating) ==
        Standing::nonfinite);
  // Terms that are all of one sign, and terms of both.
  CHECK(verify::overflow_of_sum(9, 9, 1.01, 10) == Overflow::none);
  CHECK(verify::overflow_of_sum(10, 10, 1.01, 10) == Overflow::upward);
  CHECK(verify::overflow_of_sum(-1e9, 1e9, 1.01, 10) == Overflow::downward);
  CHECK(verify::overflow_of_sum(0, 19, 1.01, 10) == Overflow::none);
  CHECK(verify::overflow_of_sum(0, 20, 1.01, 10) == Overflow::any);
  CHECK(verify::overflow_of_sum(-4, 20, 1.01, 10) == Overflow::downward);
}

TEST_CASE("overflow is judged by what it becomes", "[verify]") {
  const Expected beyond_half{.value = 70000}, near_edge{.value = 65510, .allowed = 20};
  CHECK(of(emu::float16, beyond_half, infinity) == Standing::equal);
  CHECK(of(emu::float16, beyond_half, 65504) == Standing::beyond);
  CHECK(of(emu::float16, beyond_half, 65504, {.policy = emu::Policy::saturating}) == Standing::equal);
  CHECK(of(emu::float16, near_edge, 65504) == Standing::equal);
  CHECK(of(emu::float16, near_edge, infinity) == Standing::within);
  CHECK(of(emu::float16, {.value = 60000, .allowed = 20}, infinity) == Standing::nonfinite);
  CHECK(of(emu::float8_e4m3fn, {.value = 500}, not_a_number) == Standing::equal);
  CHECK(of(emu::float8_e4m3fn, {.value = 440, .allowed = 1}, not_a_number) == Standing::nonfinite);
  CHECK(of(emu::float8_e4m3fn, {.value = -460, .allowed = 10}, not_a_number) == Standing::within);
}

TEST_CASE("the precise value is asked for only where the radius leaves it open", "[verify]") {
  const double tie = 1 + 0x1p-8;
  const One one(emu::bfloat16, {tie, 0x1p-80, 1 + 0x1p-7});
  const Expected open{.value = tie, .radius = 0x1p-60, .allowed = 0};
  CHECK(judge(one, 0, open, 1 + 0x1p-7, {emu::bfloat16}) == Standing::equal);
  CHECK(one.asked == 1);
  CHECK(judge(one, 0, {.value = 1.25, .radius = 0x1p-60, .allowed = 0x1p-10}, 1.25, {emu::bfloat16}) == Standing::equal);
  CHECK(judge(one, 0, {.value = 1.25, .radius = 0x1p-60, .allowed = 0x1p-10}, 1.5, {emu::bfloat16}) == Standing::beyond);
  CHECK(one.asked == 1);
  // The kernel's last rounding, not the nearest: just below a number it truncates to the one before.
  const One below(emu::bfloat16, {1, -0x1p-80, 1});
  const emu::RoundingOptions toward_zero{.rounding = emu::Rounding::toward_zero};
  const Expected near_one{.value = 1, .radius = 0x1p-60};
  CHECK(judge(below, 0, near_one, 1 - 0x1p-8, {emu::bfloat16, toward_zero}) == Standing::equal);
  CHECK(judge(below, 0, near_one, 1, {emu::bfloat16, toward_zero}) == Standing::beyond);
}

TEST_CASE("what the radius alone would let in is decided by the precise value", "[verify]") {
  // 1 + allowed stays below the tie 1 + 2^-8, 1 + allowed + radius does not: only a look at the exact 1 tells.
  const One one(emu::bfloat16, {1, 0, 1});
  const Expected open{.value = 1, .radius = 0x1p-10, .allowed = 0x1p-8 - 0x1p-12};
  CHECK(judge(one, 0, open, 1 + 0x1p-7, {emu::bfloat16}) == Standing::beyond);
  CHECK(one.asked == 1);
  // Well inside nothing is asked.
  const Expected wide{.value = 1, .radius = 0x1p-10, .allowed = 0x1p-7};
  CHECK(judge(one, 0, wide, 1 + 0x1p-7, {emu::bfloat16}) == Standing::within);
  CHECK(one.asked == 1);
}
