// SPDX-License-Identifier: Apache-2.0
// Files appear whole or not at all, with the permissions of those they replace, and through no link.
#include "files/new_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "tests/files/file_size_limit.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::files;
using Catch::Matchers::ContainsSubstring;
using ulpscope::Error;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat found {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

}  // namespace

TEST_CASE("a file is written whole and replaced whole") {
  const TemporaryDirectory directory;
  const auto path = directory.file("x");

  write_file(path, "first");
  write_file(path, std::string("se\0cond", 7));

  CHECK(bytes_of(path) == std::string("se\0cond", 7));
  CHECK(directory.names() == std::set<std::string>{"x"});
}

TEST_CASE("a failed write leaves the former file and nothing else") {
  const TemporaryDirectory directory;
  const auto path = directory.file("x");
  write_file(path, "former");

  {
    const FileSizeLimit limit(4096);
    CHECK_THROWS_WITH(write_file(path, std::string(100000, 'x')), ContainsSubstring("x: cannot be written: File too large"));
  }

  CHECK(bytes_of(path) == "former");
  CHECK(directory.names() == std::set<std::string>{"x"});
}

TEST_CASE("a file that is not committed is not there") {
  const TemporaryDirectory directory;

  { NewFile(directory.file("x")).write("bytes"); }

  CHECK(directory.names().empty());
}

TEST_CASE("a file that is taken has another name, or is copied, and is not changed when that is replaced") {
  const TemporaryDirectory directory;
  write_file(directory.file("kept"), "bytes");
  for (const bool is_written : {false, true}) {
    if (is_written) write_file(directory.file("a"), "former");
    NewFile file(directory.file("a"));
    file.take(open_file(directory.file("kept")));
    CHECK((is_written ? bytes_of(directory.file("a")) == "former" : !std::filesystem::exists(directory.file("a"))));
    file.commit();
    CHECK(bytes_of(directory.file("a")) == "bytes");
  }
  write_file(directory.file("a"), "others");
  CHECK(bytes_of(directory.file("kept")) == "bytes");
  CHECK(directory.names() == std::set<std::string>{"a", "kept"});
}

TEST_CASE("a write that cannot be done names the path and the reason") {
  const TemporaryDirectory directory;

  CHECK_THROWS_WITH(write_file(directory.file("absent/x"), "bytes"), ContainsSubstring("absent/x: cannot be written: ") &&
                                                                         ContainsSubstring("No such file"));
  CHECK_THROWS_WITH(write_file(directory.path(), "bytes"), ContainsSubstring("it is a directory"));
  CHECK_THROWS_WITH(write_file(directory.path() + "/", "bytes"), ContainsSubstring("it is a directory"));
}

TEST_CASE("a link to a file is refused, and a device stays a device") {
  const TemporaryDirectory directory;
  write_file(directory.file("target"), "former");
  fs::create_symlink(directory.file("target"), directory.file("link"));
  fs::create_symlink(directory.file("nowhere"), directory.file("dangling"));
  fs::create_symlink(directory.file("loop"), directory.file("loop"));
  fs::create_symlink("/dev/null", directory.file("null"));

  for (const auto* name : {"link", "dangling", "loop"}) {
    CHECK_THROWS_WITH(write_file(directory.file(name), "new"), ContainsSubstring("it is a link"));
    CHECK(fs::is_symlink(directory.file(name)));
  }
  write_file(directory.file("null"), "new");
  CHECK_THROWS_AS(NewFile(Folder(directory.path()), "null"), Error);  // in a folder of anyone's

  CHECK(bytes_of(directory.file("target")) == "former");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(directory.names() == std::set<std::string>{"target", "link", "dangling", "loop", "null"});
}

TEST_CASE("a link that takes the name meanwhile is replaced, not followed") {
  const TemporaryDirectory directory;
  write_file(directory.file("victim"), "former");
  NewFile file(directory.file("x"));
  file.write("new");
  fs::create_symlink(directory.file("victim"), directory.file("x"));

  file.commit();

  CHECK_FALSE(fs::is_symlink(directory.file("x")));
  CHECK(bytes_of(directory.file("x")) == "new");
  CHECK(bytes_of(directory.file("victim")) == "former");
}

TEST_CASE("permissions are those of the file that is replaced, or what the umask leaves") {
  const TemporaryDirectory directory;
  const auto path = directory.file("x");
  const mode_t mask = ::umask(0022);
  write_file(path, "first");
  CHECK(mode_of(path) == 0644);

  for (const mode_t mode : {0600U, 0640U, 0666U, 0755U, 0444U}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    write_file(path, "next");
    CHECK(mode_of(path) == mode);
  }
  ::umask(mask);
}

TEST_CASE("what another process left under temporary names is in nobody's way") {
  const TemporaryDirectory directory;
  const auto left = temporary_name("x");
  REQUIRE(is_temporary_name(left));
  write_file(directory.file(left), "half");
  for (const auto* name : {"x.partial", "x.new"}) {
    fs::create_symlink(directory.file("victim"), directory.file(name));
  }
  write_file(directory.file("x.tmp." + std::to_string(::getpid())), "half");

  write_file(directory.file("x"), "whole");

  CHECK(bytes_of(directory.file("x")) == "whole");
  CHECK(bytes_of(directory.file(left)) == "half");
  CHECK_FALSE(fs::exists(directory.file("victim")));
  CHECK(temporary_name("x") != temporary_name("x"));
  for (const auto* name : {"x", ".x", ".ulpscope-part-0123456789abcdef", ".x.ulpscope-part-0123456789abcdeg", ".x.ulpscope-part-1-0"})
    CHECK_FALSE(is_temporary_name(name));
  CHECK(is_temporary_name(temporary_name(std::string(255, 'x'))));
  write_file(directory.file(std::string(255, 'x')), "whole");
}

TEST_CASE("many writers of one file all succeed, and the file is one of theirs") {
  const TemporaryDirectory directory;
  const auto path = directory.file("x");
  constexpr int writers = 8, times = 20;

  std::vector<std::thread> threads;
  for (int i = 0; i < writers; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < times; ++k) write_file(path, std::string(10000, static_cast<char>('a' + i)));
    });
  for (std::thread& thread : threads) thread.join();

  const std::string bytes = bytes_of(path);
  CHECK(bytes == std::string(10000, bytes.at(0)));
  CHECK(directory.names() == std::set<std::string>{"x"});
}
