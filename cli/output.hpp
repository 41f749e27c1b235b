// SPDX-License-Identifier: Apache-2.0
// What reaches standard output and standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "reports/table.hpp"
#include "requests/command_line.hpp"

namespace ulpscope::cli {

enum class Rendering : std::uint8_t { text, csv, json };

/// The rendering asked for, else text on a terminal and CSV elsewhere.
Rendering rendering_of(const CommonOptions& options);

/// Prints what --where, --sort and --rows leave of a table; `key_columns` identify a row in folded text.
/// @throws ulpscope::Error when it cannot be written
void print(const reports::Table& table, const CommonOptions& options, std::size_t key_columns);

/// Prints the same of one table that comes in parts. Of CSV that is not sorted it keeps none: there may be millions of rows.
class PartsPrinter {
 public:
  /// `options` outlive it.
  PartsPrinter(const CommonOptions& options, std::size_t key_columns);
  /// The next rows. @returns whether anything reads what is printed
  bool add(const reports::Table& part);
  /// Behind the last of them, of which there is at least one.
  void finish();
  /// Whether parts appear on a terminal as they come: a progress line would stand among them.
  bool draws_lines() const;

 private:
  const CommonOptions& options_;
  std::size_t key_columns_;
  bool keeps_none_;
  reports::Table all_;
  std::size_t parts_ = 0, rows_ = 0, kept_ = 0;
};

/// The same of rows that are chosen already (cli/rows.hpp): at most --rows of them.
void print_chosen(const reports::Table& table, const CommonOptions& options, std::size_t key_columns);

/// The JSON of such rows, for a command that prints several tables as one.
std::string json_of(const reports::Table& chosen, const CommonOptions& options);

/// Columns of the terminal; of text that goes elsewhere those that COLUMNS says.
std::size_t terminal_width();

// Names in files come from others, and terminals and CI systems obey some characters (emu/visible.hpp). Nothing of that leaves:
// - cells of tables, JSON and XML are made visible where they are rendered (reports/csv.cpp, text.cpp, escape.cpp), in files
//   too;
// - names of files that are written, and words of inputs in headings, where a sentence is made of them;
// - labels of tensors, of which sentences are made, where tensors are opened (tensors/tensor.cpp), so that none holds a line
//   feed;
// - all that is printed goes through print(), remark(), the progress lines below and the one line of an error in main.cpp:
// there
//   nothing is left but line feeds and tabs, and no line is a command.

/// Writes to standard output whole, what acts on a terminal escaped; nothing where its reader has gone. @throws ulpscope::Error
void print(std::string_view text);

/// Whether the reader of standard output has closed it (`| head`): what is printed is dropped, and the command goes on to its
/// files and its exit code. One that prints piece by piece, and does nothing else, asks and stops.
bool reader_has_gone();

using requests::command_line;

/// A line, or several, on standard error.
void remark(const std::string& text);

/// A line that is too long to read without its middle.
std::string shortened(const std::string& line);

/// `DIR/index.html written`, where it is.
void remark_report(const std::string& directory);
/// `PART/part.json written; ` and what makes use of it, likewise.
void remark_part(const std::string& folder, const std::string& use);

/// A progress line on standard error: only on a terminal, only after a second, gone at the end.
class ProgressLine {
 public:
  /// `things` are what is counted.
  explicit ProgressLine(std::string things = "elements");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// A function to call from one thread at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> callback();
  /// What the function does; `more` is said of the present state.
  void show(std::uint64_t done, std::uint64_t total, const std::string& more = {});
  /// Makes room for a remark; the line comes back with the next progress.
  void clear();

 private:
  std::string things_;
  std::int64_t start_ms_, shown_ms_;
  bool terminal_;
};

/// The same of many cells: `3 of 40 cells, 12 s left`.
class CellProgress {
 public:
  CellProgress();
  ~CellProgress();
  CellProgress(const CellProgress&) = delete;
  CellProgress& operator=(const CellProgress&) = delete;
  std::function<void(std::uint64_t cells, std::uint64_t of, double share)> callback();

 private:
  std::int64_t start_ms_, shown_ms_ = 0;
  bool terminal_;
};

}  // namespace ulpscope::cli
