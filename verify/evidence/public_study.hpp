// SPDX-License-Identifier: Apache-2.0
// Public checks, each asked about wrong outputs of its own operation and about right ones, beside the derived bound and
// equality of all bits with the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/finding.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"
#include "verify/audit/mutants.hpp"
#include "verify/audit/operation_source.hpp"
#include "verify/evidence/public_checks.hpp"
#include "verify/evidence/public_kernels.hpp"

namespace ulpscope::verify {

/// What is asked, and how much of it.
struct PublicConfig {
  Sample sample = {};                                                          ///< of each product
  int threads = 0;                                                             ///< 0: all; results do not depend on it
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of checks that were asked
};

/// An output that is fed to a check.
struct FedOutput {
  std::string name;                 ///< a mutant (`k_dropped_8`), or what computed it rightly (`sm_80`, `exact`, `plain_1`)
  bool is_right = false;            ///< a right output; else a mutant
  std::vector<double> values = {};  ///< of it all; empty where the operation does not have what the mutant changes
};

/// The wrong outputs of a product: nothing written, NaN, one number, signs, halves, the wrong scale, C alone or missing, rows
/// in reverse, a stale tile, a dropped tail of K, operands rounded or truncated to fewer bits. `outputs` is the number of
/// elements of the whole D, of which the source may be a sample: a tile of 128 by 128 has the same share of both.
std::vector<FedOutput> wrong_outputs(const MutationSource& source, double outputs);
/// The right outputs: of the product's engine and of the others that take it, and the exact product rounded once.
std::vector<FedOutput> right_outputs(const MutationSource& source);

/// The operation that a check with a request names, and its correct output, the exact result rounded once. `seed` is the key of
/// the first input. @throws ulpscope::Error where a word of the request means nothing
std::unique_ptr<const OperationSource> operation_of(const PublicCheck& check, std::uint64_t seed);
/// Its wrong outputs: signs, halves, and mutants_of() it, some grades of those that have grades.
std::vector<FedOutput> wrong_outputs(const OperationSource& source);
/// Its right ones: the exact result, and plain computations where there are any.
std::vector<FedOutput> right_outputs(const OperationSource& source);

/// What was said of one output.
struct JudgedOutput {
  std::string name;                       ///< FedOutput::name
  bool is_right = false;                  ///< FedOutput::is_right
  bool applicable = true;                 ///< whether the operation has what the mutant changes
  std::uint64_t changed = 0;              ///< elements whose codes differ from those of the correct output
  bool accepted = false;                  ///< by the check
  std::optional<bool> within_bound = {};  ///< whether a right kernel may return it; nothing where no bound is derived
  bool same_bits = false;                 ///< as the correct output: the engine's, or the exact result rounded once

  /// A mutant that differs from the right output, and that no right kernel returns.
  bool is_wrong() const noexcept { return !is_right && applicable && changed != 0 && within_bound == false; }
};

/// One check, and what it said.
struct PublicResult {
  PublicCheck check;                       ///< as in the file
  std::string engine = {};                 ///< that computed the right output of a product
  std::uint64_t rows = 0, columns = 0;     ///< of the output that were computed; columns are its last extent
  std::vector<JudgedOutput> outputs = {};  ///< none where the check cannot be said
  /// The right output times anything from `least_scale` to `most_scale` is accepted; nan where the right output is not.
  double least_scale = 1, most_scale = 1;

  std::uint64_t wrong() const;           ///< outputs that are wrong
  std::uint64_t wrong_accepted() const;  ///< those of them that the check accepts
  std::uint64_t right() const;           ///< right outputs
  std::uint64_t right_rejected() const;  ///< those of them that the check rejects
};

/// Asks every check. @throws ulpscope::Error
std::vector<PublicResult> ask_public_checks(const PublicConfig& config);

/// public_checks.csv, a row a check; public_outputs.csv, a row a check and output.
std::vector<reports::Table> public_tables(const std::vector<PublicResult>& results);
/// The counts, those that a reader asks for first.
std::vector<reports::Finding> public_findings(const std::vector<PublicResult>& results);
/// In order of the wrong outputs that they accept, the most first; those that accept as many in their own order. All are of one
/// vector.
void most_accepting_first(std::vector<const PublicResult*>& results);
/// How many checks there are, of how many repositories, and how many of them can be asked: a sentence.
std::string public_sentence(const std::vector<PublicResult>& results);
/// For a terminal: each mutant that is wrong for the operation of any check, of how many, and how many of them accept it.
reports::Table public_mutants(const std::vector<PublicResult>& results);
/// For a terminal: each check that was asked, those first that accept the most.
reports::Table public_summary(const std::vector<PublicResult>& results);
/// Mutants by repositories: the share of the checks that accept each.
std::vector<reports::Figure> public_figures(const std::vector<PublicResult>& results);
/// Without the command that reproduces it.
reports::Page public_page(const std::vector<PublicResult>& results, const std::vector<KernelVerdict>& kernels,
                          const PublicConfig& config);

}  // namespace ulpscope::verify
