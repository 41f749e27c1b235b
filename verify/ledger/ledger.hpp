// SPDX-License-Identifier: Apache-2.0
// What a kernel returned for each of a number of cases, kept as digests and error figures, so that after an upgrade one knows
// which cases moved. A ledger is text: one JSON object a line, sorted by case, the same bytes for the same entries.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// A tensor by its digest.
struct LedgerTensor {
  std::string role;                  ///< CheckInput::role: `A`, `B`, `C`, `scale_a`, `x`, ...; of the output `output`
  std::string words;                 ///< as given on the command line; empty for the output
  std::string format, sha256;        ///< its name; of the codes, in lower-case hex
  std::vector<std::uint64_t> shape;  ///< empty: a scalar

  /// Whether both hold the same numbers; what they were named does not matter.
  bool same_numbers(const LedgerTensor& other) const {
    return format == other.format && shape == other.shape && sha256 == other.sha256;
  }
  bool operator==(const LedgerTensor&) const = default;
};

/// The figures of a Verdict that are kept, by the names of verify.csv.
struct LedgerFigures {
  std::string verdict;                                                                ///< pass, fail, vacuous
  std::uint64_t equal = 0, within = 0, beyond = 0, nonfinite = 0;                     ///< elements, by Standing
  std::uint64_t nonfinite_admitted = 0;  ///< of `within`; 0 where an earlier version recorded
  double max_ulp_error = 0, bias_ulp = 0, rel_frobenius_error = 0, max_of_bound = 0;  ///< as the columns of verify.csv

  /// Elements.
  std::uint64_t count() const { return equal + within + beyond + nonfinite; }
  /// Elements that are wrong.
  std::uint64_t wrong() const { return beyond + nonfinite; }
};
/// What is kept of a verdict.
LedgerFigures figures_of(const Verdict& verdict);
/// Whether all figures are the same numbers, NaN equal to NaN.
bool same_figures(const LedgerFigures& a, const LedgerFigures& b);

/// Another output of a kernel beside that of the entry, judged by itself.
struct LedgerFurther {
  std::string name;       ///< of the option that names it: `lse`
  LedgerTensor output;    ///< of the kernel
  std::string bound;      ///< Verdict::bound
  LedgerFigures figures;  ///< of the verdict
};

/// One case of a ledger: what was computed, from what, and how right it was.
struct LedgerEntry {
  std::string name;                             ///< of the case
  std::string operation;                        ///< of `ulpscope verify`: `matmul`
  std::map<std::string, std::string> options;   ///< of `ulpscope verify OPERATION`, without dashes: `acc` is `float32`
  std::map<std::string, std::string> declared;  ///< algorithm, device, driver, library, and free tags: as given
  std::vector<LedgerTensor> inputs;             ///< in the order of the command line
  LedgerTensor output;                          ///< of the kernel
  std::string bound;                            ///< Verdict::bound
  LedgerFigures figures;                        ///< of the verdict
  std::vector<LedgerFurther> further = {};      ///< what else the kernel returned
};

/// One output of a case, which comparisons and tables are about. It refers to the entry, which must outlive it.
struct LedgerOutput {
  const LedgerEntry* entry;                ///< of the case
  const LedgerFurther* further = nullptr;  ///< which of its further outputs; null: the output of the entry itself

  std::string name() const { return further == nullptr ? "" : further->name; }  ///< LedgerFurther::name, or empty
  std::string label() const;                                                    ///< label_of() of case and name
  const LedgerTensor& tensor() const { return further == nullptr ? entry->output : further->output; }      ///< the output
  const std::string& bound() const { return further == nullptr ? entry->bound : further->bound; }          ///< its bound
  const LedgerFigures& figures() const { return further == nullptr ? entry->figures : further->figures; }  ///< its figures
};
/// What an output is called in tables and messages: `CASE`, or `CASE lse`. Another case may bear that name.
std::string label_of(const std::string& case_name, const std::string& output_name);

/// The output of the entry, then its further ones.
std::vector<LedgerOutput> by_output(const LedgerEntry& entry);
/// The same of all entries.
std::vector<LedgerOutput> by_output(const std::vector<LedgerEntry>& entries);

/// Whether two entries judge the same numbers: operation and inputs, by their digests.
bool same_inputs(const LedgerEntry& a, const LedgerEntry& b);

/// What is digested of a tensor: `FORMAT SHAPE`, LF, then the codes of `values` (numbers of `format`, row-major) as
/// little-endian integers of the least of 1, 2, 4, 8 bytes. So numbers have one digest however they are stored; all NaNs are
/// one NaN.
std::string canonical_bytes(emu::Format format, const std::vector<std::uint64_t>& shape, std::span<const double> values);

/// The entries of a ledger's text, sorted by case. `file` names it in messages. @throws ulpscope::Error with the line where it
/// is none: no JSON, a key that is missing, unknown or there twice, counts that do not add up, a case, the role of an input or
/// a further output that is there twice, a further output that the operation does not have.
std::vector<LedgerEntry> parse_ledger(std::string_view text, const std::string& file);

/// The text of entries in any order. @throws ulpscope::Error for text that is not UTF-8.
std::string ledger_text(std::vector<LedgerEntry> entries);

/// ledger.csv: one row for each output of a case.
reports::Table ledger_table(const std::vector<LedgerEntry>& entries);

}  // namespace ulpscope::verify
