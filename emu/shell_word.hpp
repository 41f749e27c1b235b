// SPDX-License-Identifier: Apache-2.0
// A word that a shell reads as it is: names of files stand in commands that people copy.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::emu {

/// The word itself where it means nothing else to a shell, in single quotes where it does, and where it holds what acts on a
/// terminal (emu/visible.hpp) as `$'...'`, which bash, zsh and POSIX.1-2024 read.
std::string shell_word(std::string_view word);

}  // namespace ulpscope::emu
