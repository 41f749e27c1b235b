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

/// Text.
struct Prose {
  std::vector<std::string> paragraphs;  ///< plain words
};

/// Each with its severity as a word, unless nothing was decided of it.
struct FindingList {
  std::vector<Finding> findings;  ///< in the order of the list
};

/// Words of a program, as they are.
struct Code {
  std::string text;  ///< lines
};

/// Something of a page. A table of a census has bars (reports/error_table.hpp).
using Block = std::variant<Prose, FindingList, Figure, Table, Code>;

/// A part of a page under a heading.
struct Section {
  std::string id;                     ///< what links point at; letters, digits, `-`
  std::string title;                  ///< the heading
  std::string note = {};              ///< beside the title
  std::optional<Severity> mark = {};  ///< shown beside the heading
  /// Whether a reader opens it.
  enum class Fold : std::uint8_t { none, closed };
  Fold fold = Fold::none;              ///< open or closed at first
  std::vector<Block> blocks = {};      ///< what it holds
  std::vector<Section> sections = {};  ///< behind the blocks
};

/// A page of a report, as data.
struct Page {
  std::string title;              ///< its heading
  std::string settings;           ///< rounding, policy, seed, in words
  std::string command;            ///< reproduces the page
  std::vector<Block> blocks;      ///< before the sections
  std::vector<Section> sections;  ///< its parts
  /// Whether links to the sections stand at the top.
  enum class Contents : std::uint8_t { none, links };
  Contents contents = Contents::none;  ///< of this page
};

}  // namespace ulpscope::reports
