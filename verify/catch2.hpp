// SPDX-License-Identifier: Apache-2.0
// A matcher of Catch2 3 for the output of a kernel:
//
//   CHECK_THAT(Output(d), IsMatmulOf({.a = a, .b = b, .m = 64, .n = 48, .k = 256, .in = emu::bf16}));
//
// A failure prints the whole census. Bad sizes or words are an ulpscope::Error, which fails the test case with its sentence.
#pragma once

#include <catch2/catch_tostring.hpp>
#include <catch2/matchers/catch_matchers_templated.hpp>
#include <span>
#include <string>

#include "verify/check.hpp"

namespace ulpscope::verify {
inline namespace catch2 {  // so that a program may have verify/googletest.hpp elsewhere

/// What a kernel returned. Without this name around it Catch2 would print each of its elements.
struct Output {
  /// Refers to `returned`, which must outlive it.
  explicit Output(std::span<const float> returned) : values(returned) {}
  std::span<const float> values;  ///< row-major
};

/// Matches an Output that passes `Check`, which is judged when the matcher is asked.
template <class Check>
class IsOutputOf final : public Catch::Matchers::MatcherGenericBase {
 public:
  /// Judges outputs by `check`, whose spans must live until then.
  explicit IsOutputOf(const Check& check) : check_(check) {}

  /// Whether the output passes; the census is kept for the message.
  bool match(const Output& output) const {
    report_ = check_output(check_, output.values, {.width = console_width});
    return report_.passes();
  }
  /// Refuses anything but an Output, at compile time.
  template <class Other>
  bool match(const Other&) const {
    static_assert(sizeof(Other) == 0, "write CHECK_THAT(Output(d), ...), with ulpscope::verify::Output");
    return false;
  }

 protected:
  /// The census. Its empty lines hold a blank: Catch2's console would not indent what follows them.
  std::string describe() const override {
    std::string text = "judged by ulpscope\n\n" + report_.text;
    for (std::size_t at = 0; (at = text.find("\n\n", at)) != std::string::npos;) text.insert(++at, 1, ' ');
    return text;
  }

 private:
  // What Catch2's console reporter would break lines at: the last column stays free, and it indents by two.
  static constexpr std::size_t console_width = CATCH_CONFIG_CONSOLE_WIDTH - 3;

  Check check_;
  mutable CheckReport report_;
};

/// The matcher: CHECK_THAT(Output(d), IsMatmulOf({...})).
inline IsOutputOf<MatmulCheck> IsMatmulOf(const MatmulCheck& check) { return IsOutputOf<MatmulCheck>(check); }
/// Of any operation: CHECK_THAT(Output(y), IsResultOf({.operation = "softmax", .inputs = {{"x", x, {rows, columns}}}})).
inline IsOutputOf<OperationCheck> IsResultOf(const OperationCheck& check) { return IsOutputOf<OperationCheck>(check); }

}  // namespace catch2
}  // namespace ulpscope::verify

template <>
struct Catch::StringMaker<ulpscope::verify::Output> {
  static std::string convert(const ulpscope::verify::Output& output) {
    return "output of " + std::to_string(output.values.size()) + " elements";
  }
};
