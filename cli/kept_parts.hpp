// SPDX-License-Identifier: Apache-2.0
// --resume: what was measured of each tensor lies beside what is written of it until that is done.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/work_folder.hpp"
#include "reports/kept_lines.hpp"
#include "studies/kept_rows.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// The help of --resume where it keeps what is measured.
inline constexpr const char* resume_help =
    "keep what is measured of each tensor in DIR.partial until the report is written, and go on with what is there";

/// Where work of this command for `directory` would be kept.
std::string kept_folder(const std::string& directory);
/// What becomes of --resume, which keeps nothing beside these inputs, or of work that is there without it.
/// @throws ulpscope::Error
void check_resume(bool resume, const std::string& directory, const std::vector<std::string>& inputs);
/// The words without it: a report is that of a run that was never interrupted.
std::vector<std::string> undisturbed(std::vector<std::string> arguments);
/// Which program keeps something: another one may find other bytes.
std::string program_line();
/// What makes two runs the same work, a line each: the program, these words, and the tensors with samples of their numbers.
std::string request_lines(const std::vector<std::string>& words, const std::vector<tensors::Tensor>& tensors, int threads);

/// Lines of tensors (studies::piece_line) by their places. Any thread may ask and keep.
class KeptParts {
 public:
  /// Opens what is kept for this report, or makes a place for it. @throws ulpscope::Error where it is of other work
  KeptParts(const std::string& directory, const std::string& request, std::size_t tensors);

  /// What is kept of a tensor; nothing where nothing is.
  std::optional<std::string> find(std::size_t tensor) const;
  /// @throws ulpscope::Error where it cannot be written
  void keep(std::size_t tensor, const std::string& line);
  /// Of how many tensors nothing is kept.
  std::size_t missing() const;
  /// The same for a study, which this outlives.
  studies::KeptRows rows();
  /// The report is written.
  void remove();
  /// Of the file, for messages.
  const std::string& name() const noexcept { return name_; }

 private:
  files::WorkFolder folder_;
  std::string name_;
  mutable std::mutex one_at_a_time_;
  std::unique_ptr<reports::KeptLines> lines_;
  std::vector<std::optional<std::size_t>> line_of_;  ///< by tensor
};

/// What a study keeps beside what is written of it, once it has opened its tensors.
class KeptStudy {
 public:
  /// Of work of this command line for `output`, and of what else it depends on, in lines; without `resume` nothing is kept.
  KeptStudy(bool resume, std::string output, const std::vector<std::string>& arguments, int threads, std::string more = {})
      : resume_(resume), output_(std::move(output)), arguments_(arguments), threads_(threads), more_(std::move(more)) {}

  /// For the study, which this outlives; empty where nothing is kept.
  studies::OpenKeptRows open();
  /// KeptParts::missing(); 0 where nothing is to be kept.
  std::size_t missing() const { return kept_ ? kept_->missing() : 0; }
  /// The output is written.
  void remove() {
    if (kept_) kept_->remove();
  }

 private:
  bool resume_;
  std::string output_;
  std::vector<std::string> arguments_;
  int threads_;       ///< that samples of the tensors are read on
  std::string more_;  ///< lines
  std::unique_ptr<KeptParts> kept_;
};

}  // namespace ulpscope::cli
