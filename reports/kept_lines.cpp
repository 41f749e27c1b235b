// SPDX-License-Identifier: Apache-2.0
// `64 digits, a blank, text` in each line.
#include "reports/kept_lines.hpp"

#include "reports/sha256.hpp"

namespace ulpscope::reports {
namespace {

constexpr std::size_t before_text = 64 + 1;

bool is_whole_line(std::string_view line) {
  return line.size() >= before_text && line[before_text - 1] == ' ' &&
         sha256(line.substr(before_text)) == line.substr(0, before_text - 1);
}

}  // namespace

KeptLines::KeptLines(const files::Folder& folder, const std::string& name) : file_(folder, name) { find_lines(); }

void KeptLines::find_lines() {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  std::uint64_t begin = 0;  // of the line that `ahead` begins with
  std::string ahead;
  for (std::uint64_t read = 0; read < file_.size();) {
    const std::size_t searched = ahead.size();
    ahead += file_.read(read, at_once);
    if (ahead.size() == searched) break;  // the file has become shorter
    read = begin + ahead.size();
    std::size_t next = 0;
    for (std::size_t end = ahead.find('\n', searched); end != std::string::npos; end = ahead.find('\n', next)) {
      if (!is_whole_line(std::string_view(ahead).substr(next, end - next))) return file_.cut(begin + next);
      places_.push_back({begin + next + before_text, end - next - before_text});
      next = end + 1;
    }
    ahead.erase(0, next);
    begin += next;
  }
  file_.cut(begin);
}

std::string KeptLines::at(std::size_t line) const { return file_.read(places_.at(line).first, places_.at(line).size); }

void KeptLines::add(std::string_view text) {
  std::string line = sha256(text);
  line.append(" ").append(text).append("\n");
  const Place place{file_.size() + before_text, text.size()};
  file_.append(line);
  places_.push_back(place);
}

}  // namespace ulpscope::reports
