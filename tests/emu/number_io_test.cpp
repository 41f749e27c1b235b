// SPDX-License-Identifier: Apache-2.0
// Numbers as text: streams and {fmt}.
#include "emu/number_io.hpp"

#include <fmt/format.h>
#include <fmt/xchar.h>

#include <catch2/catch_test_macros.hpp>
#include <iomanip>
#include <sstream>
#include <string>

#include "emu/names.hpp"
#include "emu/number.hpp"
#include "emu/number_fmt.hpp"
#include "tests/emu/number_types.hpp"

namespace {
using namespace ulpscope::emu;
using E4M3 = Number<e4m3>;

template <class N>
std::string printed(N x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("what a stream prints it reads back as the same code", "[emu][number]") {
  ulpscope::laws::for_each_number<16>([]<class N>() {
    for (Code code = 0; code <= N::format().code_mask(); ++code) {
      const N x = N::from_code(code);
      std::istringstream in(printed(x));
      N back{};
      in >> back;
      if (in.fail() || !(back.code() == code || (isnan(x) && isnan(back))))
        FAIL(format_name(N::format()) << " code " << code << " printed as " << printed(x));
    }
  });
}

TEST_CASE("numbers print as their doubles do, in the fewest digits", "[emu][number]") {
  std::ostringstream padded;
  padded << std::setw(10) << std::setfill('.') << E4M3(0.1) << std::left << std::setw(6) << E4M3(-2);

  CHECK(printed(E4M3(448)) == "448");
  CHECK(printed(-E4M3(0)) == "-0");
  CHECK(printed(Number<fp64>(-0x1p-1022)) == "-2.2250738585072014e-308");
  CHECK(printed(Number<fp16>(1e9)) == "inf");
  CHECK(printed(E4M3(1e9)) == "nan");
  CHECK(padded.str() == ".0.1015625-2....");
}

TEST_CASE("reading takes one word and fails on what is not a number", "[emu][number]") {
  std::istringstream line(" 1.5e1,+2 -inf;x");
  E4M3 a, b;
  Number<fp16> c;
  char comma = 0, semicolon = 0;
  line >> a >> comma >> b >> c >> semicolon;

  CHECK(
      (line.good() && a == 15 && comma == ',' && b == 2 && c == -std::numeric_limits<double>::infinity() && semicolon == ';'));
  for (const char* text : {"", "x", "1x", "1e999", "+-1", "++1", "-"}) {
    CAPTURE(text);
    std::istringstream in(text);
    E4M3 kept = 7;
    in >> kept;
    CHECK((in.fail() && kept == 7));
  }
}

TEST_CASE("fmt takes numbers with the specifications of double", "[emu][number]") {
  CHECK(fmt::format("{} {:.3f} {:8.1e}|{:+}", E4M3(448), E4M3(0.1), E4M3(-3), Number<fp16>(1)) == "448 0.102 -3.0e+00|+1");
  CHECK(fmt::format(L"{:6}", Number<bf16>(0.5)) == L"   0.5");
}
