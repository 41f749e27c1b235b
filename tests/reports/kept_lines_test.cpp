// SPDX-License-Identifier: Apache-2.0
// Of a file that ends anywhere, or is damaged anywhere, the lines before that place are kept.
#include "reports/kept_lines.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "files/folder.hpp"
#include "tests/reports/temporary_directory.hpp"

namespace {
using namespace ulpscope::reports;
using ulpscope::files::Folder;

const std::vector<std::string> texts{"first", "", std::string(3 << 20, 'x'), "last"};

/// As `printf %s TEXT | sha256sum` has them.
const std::string of_first = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e first\n";

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::vector<std::string> kept(const std::string& folder) {
  const KeptLines lines(Folder(folder), "kept");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < lines.count(); ++i) all.push_back(lines.at(i));
  return all;
}

TEST_CASE("lines come back", "[kept_lines]") {
  const TemporaryDirectory directory;
  {
    KeptLines lines(Folder(directory.path()), "kept");
    for (const std::string& text : texts) lines.add(text);
    CHECK(lines.at(3) == "last");
  }
  CHECK(kept(directory.path()) == texts);
  CHECK(bytes_of(directory.file("kept")).starts_with(of_first));
}

TEST_CASE("of a file that ends within a line the lines before are kept, and others follow", "[kept_lines]") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("kept");
  {
    KeptLines lines(Folder(directory.path()), "kept");
    for (const char* text : {"first", "second", "third"}) lines.add(text);
  }
  const std::string whole = bytes_of(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    write(path, whole.substr(0, size));
    std::size_t ends = 0;
    for (const char c : whole.substr(0, size)) ends += c == '\n';
    {
      KeptLines lines(Folder(directory.path()), "kept");
      CHECK(lines.count() == ends);
      lines.add("next");
    }
    const std::vector<std::string> all = kept(directory.path());
    REQUIRE(all.size() == ends + 1);
    CHECK(all.back() == "next");
  }
}

TEST_CASE("behind a damaged line nothing is kept", "[kept_lines]") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("kept");
  {
    KeptLines lines(Folder(directory.path()), "kept");
    for (const char* text : {"first", "second", "third"}) lines.add(text);
  }
  const std::string whole = bytes_of(path);
  const std::size_t second = of_first.size(), third = whole.find('\n', second) + 1;
  for (std::size_t i = second; i < third; ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 1);
    write(path, other);
    CHECK(kept(directory.path()) == std::vector<std::string>{"first"});
  }
}

TEST_CASE("a link is refused", "[kept_lines]") {
  const TemporaryDirectory directory;
  write(directory.file("victim"), "years of work");
  std::filesystem::create_symlink(directory.file("victim"), directory.file("kept"));
  CHECK_THROWS_WITH(KeptLines(Folder(directory.path()), "kept"),
                    Catch::Matchers::ContainsSubstring("kept: cannot be written: it is a link"));
  CHECK(bytes_of(directory.file("victim")) == "years of work");
}

}  // namespace
