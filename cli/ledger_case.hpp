// SPDX-License-Identifier: Apache-2.0
// One case of a ledger: from words, or from what was recorded of them, to a judged output and its entry.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"
#include "verify/check_operations.hpp"
#include "verify/ledger/ledger.hpp"

namespace ulpscope::cli {

/// A file as it is. `advice` says what to do where there is none. @throws ulpscope::Error
std::string read_text(const std::string& path, const std::string& advice);

/// The digest of a tensor's values, which are numbers of `format`.
verify::LedgerTensor digest(std::string role, std::string words, emu::Format format, const tensors::Tensor& tensor);

struct JudgedCase {
  verify::LedgerEntry entry;                           ///< without a name, and nothing declared
  std::vector<tensors::Tensor> outputs;                ///< as verify::by_output() has them
  std::vector<std::string> sentences;                  ///< of their verdicts
  verify::Outcome outcome = verify::Outcome::vacuous;  ///< of all
};

/// `options`: the words that are neither inputs nor output, by their long names without dashes.
JudgedCase judge_case(const std::string& operation, const verify::Check& asked,
                      const std::map<std::string, std::string>& options);

/// What takes the place of what was recorded.
struct GivenAgain {
  std::string output, output_dtype;           ///< the dtype: as recorded where empty
  std::map<std::string, std::string> inputs;  ///< by role; further outputs by their names
  int threads = 0;
};

/// Judges another output of a recorded case, under its options. What it returns has the further outputs of `recorded`.
/// @throws ulpscope::Error
JudgedCase judge_again(const verify::LedgerEntry& recorded, const GivenAgain& given);

}  // namespace ulpscope::cli
