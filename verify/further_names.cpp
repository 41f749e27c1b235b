// SPDX-License-Identifier: Apache-2.0
// Apart from check_operations.cpp, which needs every operation: what reads a ledger needs the names alone.
#include "verify/further_names.hpp"

namespace ulpscope::verify {

std::vector<std::string> further_names(std::string_view operation) {
  if (operation == "attention") return {"lse"};
  return {};
}

}  // namespace ulpscope::verify
