// SPDX-License-Identifier: Apache-2.0
// Chooses text, CSV or JSON, writes it whole, and shows progress on a terminal.
#include "cli/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/directory.hpp"
#include "reports/escape.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {
namespace {

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  int width = 0;
  if (columns != nullptr) std::from_chars(columns, columns + std::strlen(columns), width);
  return width >= 20 ? static_cast<std::size_t>(width) : reports::TextOptions{}.width;
}

Rendering rendering_of(const CommonOptions& options) {
  if (options.text) return Rendering::text;
  if (options.csv) return Rendering::csv;
  if (options.json) return Rendering::json;
  return ::isatty(STDOUT_FILENO) != 0 ? Rendering::text : Rendering::csv;
}

void print(const reports::Table& table, const CommonOptions& options, std::size_t key_columns) {
  if (options.where.empty() && options.sort.empty())
    print_chosen(table, options, key_columns);
  else
    print_chosen(chosen(table, options), options, key_columns);
}

PartsPrinter::PartsPrinter(const CommonOptions& options, std::size_t key_columns)
    : options_(options),
      key_columns_(key_columns),
      keeps_none_(rendering_of(options) == Rendering::csv && options.sort.empty() && options.rows.empty()) {}

bool PartsPrinter::add(const reports::Table& part) {
  if (!keeps_none_) {
    all_.append(part);
    return true;
  }
  const reports::Table here = options_.where.empty() ? part : kept_of(part, options_);
  rows_ += part.rows.size();
  kept_ += here.rows.size();
  print(parts_++ == 0 ? reports::to_csv(here) : reports::csv_rows(here));
  return !reader_has_gone();
}

bool PartsPrinter::draws_lines() const { return keeps_none_ && ::isatty(STDOUT_FILENO) != 0; }

void PartsPrinter::finish() {
  if (!keeps_none_)
    print(all_, options_, key_columns_);
  else if (kept_ == 0)
    remark_none(rows_);
}

void print_chosen(const reports::Table& table, const CommonOptions& options, std::size_t key_columns) {
  const bool text_on_terminal = rendering_of(options) == Rendering::text && ::isatty(STDOUT_FILENO) != 0;
  const std::size_t most = most_rows(options, text_on_terminal ? default_rows : 0);
  if (rendering_of(options) == Rendering::text)
    return print(reports::to_text(table, {.width = terminal_width(), .max_rows = most, .key_columns = key_columns}));
  const auto render = [&](const reports::Table& rows) {
    return rendering_of(options) == Rendering::csv ? reports::to_csv(rows) : reports::to_json(rows);
  };
  const bool all = most == 0 || most >= table.rows.size();
  print(all ? render(table) : render(first_rows(table, most)));
}

std::string json_of(const reports::Table& chosen, const CommonOptions& options) {
  return reports::to_json(first_rows(chosen, most_rows(options, 0)));
}

bool reader_has_gone() { return std::ferror(stdout) != 0; }  // print() throws for all else that sets it

void print(std::string_view whole) {
  if (reader_has_gone()) return;
  const std::string text = emu::visible_lines(whole);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return;  // the reader has what it wanted; verdicts and files are for others
  throw Error(std::string("standard output cannot be written: ") + std::strerror(errno));
}

void remark(const std::string& text) {
  std::istringstream lines(emu::visible_lines(text));
  std::string shown;
  for (std::string line; std::getline(lines, line);) shown += shortened(line) + "\n";
  std::fputs(shown.c_str(), stderr);
}

std::string shortened(const std::string& line) {
  constexpr std::size_t most = 4000;
  return reports::without_middle(line, most);
}

void remark_report(const std::string& directory) {
  if (reports::WriteElsewhere::present() == nullptr) remark(emu::visible(directory + "/index.html written"));
}

void remark_part(const std::string& folder, const std::string& use) {
  if (reports::WriteElsewhere::present() == nullptr)
    remark(emu::visible(folder + "/" + reports::part_name + " written; " + use));
}

ProgressLine::ProgressLine(std::string things)
    : things_(std::move(things)), start_ms_(now_ms()), shown_ms_(0), terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_ms_ != 0) std::fputs("\r\033[K", stderr);
}

std::function<void(std::uint64_t, std::uint64_t)> ProgressLine::callback() {
  if (!terminal_) return nullptr;
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

void ProgressLine::show(std::uint64_t done, std::uint64_t total, const std::string& more) {
  const std::int64_t now = now_ms(), elapsed = now - start_ms_;
  if (!terminal_ || elapsed < 1000 || now - shown_ms_ < 100 || done == 0) return;
  shown_ms_ = now;
  const double share = static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(total, 1));
  const double left_s = static_cast<double>(elapsed) / 1000 * (1 - share) / share;
  std::fprintf(stderr, "\r\033[K%3.0f%% of %llu %s, %.0f s left%s%s", 100 * share, static_cast<unsigned long long>(total),
               things_.c_str(), left_s, more.empty() ? "" : "; ", emu::visible(more).c_str());
}

CellProgress::CellProgress() : start_ms_(now_ms()), terminal_(::isatty(STDERR_FILENO) != 0) {}

CellProgress::~CellProgress() {
  if (shown_ms_ != 0) std::fputs("\r\033[K", stderr);
}

std::function<void(std::uint64_t, std::uint64_t, double)> CellProgress::callback() {
  if (!terminal_) return nullptr;
  return [this](std::uint64_t cells, std::uint64_t of, double share) {
    const std::int64_t now = now_ms(), elapsed = now - start_ms_;
    const double done = (static_cast<double>(cells) + share) / static_cast<double>(std::max<std::uint64_t>(of, 1));
    if (elapsed < 1000 || now - shown_ms_ < 100 || done <= 0) return;
    shown_ms_ = now;
    std::fprintf(stderr, "\r\033[K%llu of %llu cells, %.0f s left", static_cast<unsigned long long>(cells),
                 static_cast<unsigned long long>(of), static_cast<double>(elapsed) / 1000 * (1 - done) / done);
  };
}

}  // namespace ulpscope::cli
