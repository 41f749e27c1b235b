// SPDX-License-Identifier: Apache-2.0
// Reads portions, and gives away what lies between ends of lines.
#include "reports/part_lines.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/read_file.hpp"

namespace ulpscope::reports {
namespace {

constexpr std::size_t portion = std::size_t{1} << 16;

void hold_to_seal(const std::string& path) {
  const files::OpenFile file = files::open_file(path);
  std::string bytes(portion, '\0');
  SealCheck check;
  bool is_first = true;
  while (const std::size_t got = files::read_some(file, bytes.data(), bytes.size(), path)) {
    const std::string_view piece = std::string_view(bytes).substr(0, got);
    if (std::exchange(is_first, false) && has_former_seal(piece))
      throw Error(
          emu::visible(path + ": was written by another version, which laid parts out otherwise; make it again by this one"));
    check.add(piece);
  }
  if (!check.holds()) throw Error(emu::visible(path + ": is damaged, or no part: it does not hold the SHA-256 of itself"));
}

}  // namespace

PartLines::PartLines(std::string path) : path_(std::move(path)) { hold_to_seal(path_); }

std::size_t PartLines::read_more() {
  if (ahead_.size() - here_ > files::most_text)
    throw Error(
        emu::visible(path_ + ": is too large: lines of " + std::to_string(files::most_text) + " bytes are read at most"));
  ahead_.erase(0, std::exchange(here_, 0));
  const std::size_t before = ahead_.size();
  ahead_.resize(before + portion);
  const std::size_t got = files::read_at(files::open_file(path_), read_, ahead_.data() + before, portion, path_);
  ahead_.resize(before + got);
  check_.add(std::string_view(ahead_).substr(before));
  read_ += got;
  return got;
}

std::optional<std::string> PartLines::next() {
  std::size_t looked = here_;
  for (;;) {
    if (const std::size_t end = ahead_.find('\n', looked); end != std::string::npos) {
      std::string line = ahead_.substr(here_, end - here_);
      here_ = end + 1;
      return line;
    }
    looked = ahead_.size() - here_;  // where it is once what was given away is gone
    if (read_more() != 0) continue;
    if (!check_.holds()) throw Error(emu::visible(path_ + ": was changed while it was read"));
    return std::nullopt;  // a seal ends with the end of a line
  }
}

}  // namespace ulpscope::reports
