// SPDX-License-Identifier: Apache-2.0
// What becomes of a few values in two fp8 formats: value, outcome class and exception flags.
#include <cstdio>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"

using namespace ulpscope::emu;

namespace {

std::string words(Flags flags) {
  std::string out;
  if ((flags & inexact) != 0) out += " inexact";
  if ((flags & underflow) != 0) out += " underflow";
  if ((flags & overflow) != 0) out += " overflow";
  return out.empty() ? " none" : out;
}

}  // namespace

int main() {
  for (const Format format : {e4m3, e5m2})
    for (const double x : {1.0, 0.1, 464.0, 465.0, 0x1p-10, 0x1.1p-10}) {
      const Rounded r = round_to(format, x, {.policy = Policy::saturating});
      std::printf("%-13s %-10g -> %-10g %-9s flags:%s\n", format_name(format).c_str(), x, r.value,
                  std::string(name_of(r.outcome)).c_str(), words(r.flags).c_str());
    }
}
