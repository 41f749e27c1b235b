// SPDX-License-Identifier: Apache-2.0
// A ledger on disk: LEDGER itself, and beside it LEDGER.outputs/, whose files are outputs by their digests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"
#include "verify/ledger/ledger.hpp"

namespace ulpscope::cli {

/// @throws ulpscope::Error where there is none, and as verify::parse_ledger.
std::vector<verify::LedgerEntry> read_ledger(const std::string& path);

enum class Keep : std::uint8_t { figures, output };

/// Adds an entry, or replaces the one of its name; a ledger that is not there begins with it. Ledger and outputs are whole at
/// any time; two programs that record at once wait for each other. @returns whether one was replaced. @throws ulpscope::Error
/// `outputs`: as verify::by_output() has them.
bool record_entry(const std::string& path, const verify::LedgerEntry& entry, const std::vector<tensors::Tensor>& outputs,
                  Keep keep);

/// An output, if it was kept. @throws ulpscope::Error if the file holds another.
std::optional<tensors::Tensor> kept_output(const std::string& path, const verify::LedgerTensor& output);

}  // namespace ulpscope::cli
