// SPDX-License-Identifier: Apache-2.0
// The one exception for what the outside world got wrong: files, words, shapes.
#pragma once

#include <stdexcept>

namespace ulpscope {

/// One line for its reader: what, which, what would be right. Commands print it and exit with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ulpscope
