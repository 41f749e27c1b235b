// SPDX-License-Identifier: Apache-2.0
// The kinds of studies that a study file may name: each a request, and the function that runs it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page.hpp"
#include "requests/field.hpp"
#include "studies/study.hpp"

namespace ulpscope::study_files {

/// A request of any kind.
class Study {
 public:
  virtual ~Study() = default;

  /// Its fields, which set and read this study, and must not outlive it.
  virtual requests::Fields fields() = 0;
  virtual std::unique_ptr<Study> copy() const = 0;
  /// @throws ulpscope::Error
  virtual studies::StudyResult run(const studies::Progress& progress) const = 0;
  /// Opens its inputs. @throws ulpscope::Error
  virtual studies::Work work() const = 0;
};

struct Kind {
  std::string name;  ///< the command's: `census`, `verify matmul`
  std::string help;
  std::string operation;  ///< what Work counts: `elements`, `products`
  double per_second;      ///< operations a core does, about: for forecasts
  std::unique_ptr<Study> (*make)();
  /// Names of the tables that it may give behind its own: no other study has the files that become of them.
  std::vector<std::string> further_tables = {};
  /// Of its tables, for the page; none: it has no figures.
  std::vector<reports::Figure> (*figures)(const std::vector<reports::Table>& tables) = nullptr;
};

const std::vector<Kind>& kinds();

/// @throws ulpscope::Error naming the nearest
const Kind& find_kind(std::string_view name);

}  // namespace ulpscope::study_files
