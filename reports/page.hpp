// SPDX-License-Identifier: Apache-2.0
// A report's page as data: findings first, then figures and tables, in sections. reports/page_html.hpp renders it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/figure.hpp"
#include "reports/finding.hpp"
#include "reports/table.hpp"

namespace ulpscope::reports {

struct Prose {
  std::vector<std::string> paragraphs;
};

/// Each with its severity as a word, unless nothing was decided of it.
struct FindingList {
  std::vector<Finding> findings;
};

/// Words of a program, as they are.
struct Code {
  std::string text;
};

/// Something of a page. A table of a census has bars (reports/error_table.hpp).
using Block = std::variant<Prose, FindingList, Figure, Table, Code>;

struct Section {
  std::string id;  ///< what links point at; letters, digits, `-`
  std::string title;
  std::string note = {};  ///< beside the title
  std::optional<Severity> mark = {};
  enum class Fold : std::uint8_t { none, closed } fold = Fold::none;
  std::vector<Block> blocks = {};
  std::vector<Section> sections = {};
};

struct Page {
  std::string title;
  std::string settings;  ///< rounding, policy, seed, in words
  std::string command;   ///< reproduces the page
  std::vector<Block> blocks;
  std::vector<Section> sections;
  enum class Contents : std::uint8_t { none, links } contents = Contents::none;  ///< links to the sections, at the top
};

}  // namespace ulpscope::reports
