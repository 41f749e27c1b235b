// SPDX-License-Identifier: Apache-2.0
// A program that uses what is installed, and nothing of the source tree.
#include <iostream>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"

using namespace ulpscope::emu;

int main() { std::cout << format_name(e4m3) << " 464 -> " << round_to(e4m3, 464.0).value << '\n'; }
