// SPDX-License-Identifier: Apache-2.0
// Reads the file of checks.
#include "verify/evidence/public_checks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "emu/error.hpp"
#include "reports/compare/csv_file.hpp"

namespace ulpscope::verify {
namespace {

constexpr const char* checks_path = "verify/evidence/public_checks.csv";
constexpr std::array<std::string_view, 3> fit_names{"exact", "near", "no"};

/// The fields of one row by the names of their columns.
class CheckRow {
 public:
  CheckRow(const reports::CsvFile& file, std::size_t row) : file_(file), row_(row) {}

  const std::string& operator[](std::string_view column) const {
    const auto found = std::ranges::find(file_.columns, column);
    if (found == file_.columns.end()) fail("no column " + std::string(column));
    return file_.rows[row_][static_cast<std::size_t>(found - file_.columns.begin())];
  }
  std::size_t extent(std::string_view column) const {
    const std::string& text = (*this)[column];
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && (error != std::errc{} || end != text.data() + text.size()))
      fail(std::string(column) + " is '" + text + "', which is no whole number");
    return value;
  }
  Fit fit() const {
    const std::string& text = (*this)["fit"];
    const auto found = std::ranges::find(fit_names, text);
    if (found == fit_names.end()) fail("fit is '" + text + "', which is not exact, near or no");
    return static_cast<Fit>(found - fit_names.begin());
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(std::string(checks_path) + ": row " + std::to_string(row_ + 2) + ": " + why);
  }

  const reports::CsvFile& file_;
  std::size_t row_;
};

}  // namespace

std::string_view name_of(Fit fit) noexcept { return fit_names[static_cast<std::size_t>(fit)]; }

std::vector<PublicCheck> public_checks() {
  const reports::CsvFile file = reports::read_csv(checks_path);
  std::vector<PublicCheck> checks;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const CheckRow row(file, i);
    checks.push_back({.check = row["check"],
                      .repository = row["repository"],
                      .path = row["path"],
                      .commit = row["commit"],
                      .operation = row["operation"],
                      .m = row.extent("m"),
                      .n = row.extent("n"),
                      .k = row.extent("k"),
                      .a_format = row["a_format"],
                      .b_format = row["b_format"],
                      .acc = row["acc"],
                      .out = row["out"],
                      .a = row["a"],
                      .b = row["b"],
                      .c = row["c"],
                      .scales = row["scales"],
                      .rule = row["rule"],
                      .fit = row.fit(),
                      .why = row["why"],
                      .request = row["request"]});
  }
  return checks;
}

}  // namespace ulpscope::verify
