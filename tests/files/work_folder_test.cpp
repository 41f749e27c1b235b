// SPDX-License-Identifier: Apache-2.0
// The folder of a run on its way: one process's, no link, and gone with the last that is kept in it.
#include "files/work_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "emu/error.hpp"
#include "files/folder.hpp"
#include "files/growing_file.hpp"
#include "files/new_file.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::files;
using Catch::Matchers::ContainsSubstring;
using Existing = WorkFolder::Existing;

TEST_CASE("it lies beside the report, and goes when it is empty") {
  const TemporaryDirectory directory;
  const std::string path = WorkFolder::beside(directory.file("out//"), ".partial");
  CHECK(path == directory.file("out.partial"));

  { const WorkFolder folder(path, Existing::refuse, "advice"); }
  CHECK(directory.names().empty());
  {
    const WorkFolder folder(path, Existing::refuse, "advice");
    write_file(path + "/a", "kept");
  }
  CHECK_THROWS_WITH(WorkFolder(path, Existing::refuse, "advice"), ContainsSubstring("out.partial: advice"));
  CHECK(bytes_of(path + "/a") == "kept");
  WorkFolder folder(path, Existing::resume, "advice");
  folder.remove([](const std::string& name) { return name == "a"; });
  CHECK(directory.names().empty());
}

TEST_CASE("what is not its own stays") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.partial");
  {
    WorkFolder folder(path, Existing::refuse, "advice");
    for (const auto& name : {std::string("a"), std::string("mine"), temporary_name("a")}) write_file(path + "/" + name, "kept");
    folder.remove([](const std::string& name) { return name == "a"; });
  }
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(path)) left.insert(entry.path().filename().string());
  CHECK(left == std::set<std::string>{"mine"});
}

TEST_CASE("a second process is refused, whether it goes on or not") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.partial");
  const WorkFolder folder(path, Existing::refuse, "advice");

  for (const Existing existing : {Existing::refuse, Existing::resume})
    CHECK_THROWS_WITH(WorkFolder(path, existing, "advice"), ContainsSubstring("another process is writing to it"));

  CHECK(std::filesystem::exists(path));
}

TEST_CASE("only its owner can enter it, and the folders above it are as others") {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(022);
  const WorkFolder folder(directory.file("above/out.partial"), Existing::resume, {});
  ::umask(before);
  const auto mode = [&](const char* name) { return std::filesystem::status(directory.file(name)).permissions(); };
  CHECK(mode("above/out.partial") == std::filesystem::perms::owner_all);
  CHECK(mode("above") == std::filesystem::perms(0755));
}

TEST_CASE("one that others can write to, or that belongs to one, is refused") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.partial");
  std::filesystem::create_directory(path);
  for (const int mode : {0770, 0702}) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    CHECK_THROWS_WITH(WorkFolder(path, Existing::resume, {}),
                      ContainsSubstring("out.partial: others can write to it; remove it"));
  }
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  if (::geteuid() == 0 && ::chown(path.c_str(), 12345, static_cast<gid_t>(-1)) == 0)
    CHECK_THROWS_WITH(WorkFolder(path, Existing::resume, {}), ContainsSubstring("belongs to another user; remove it"));
}

TEST_CASE("a file that grows is this user's, and has no other name") {
  const TemporaryDirectory directory;
  const Folder folder(directory.path());
  write_file(directory.file("notes"), "notes");
  { CHECK(GrowingFile(folder, "notes").size() == 5); }
  std::filesystem::create_hard_link(directory.file("notes"), directory.file("measured.txt"));
  CHECK_THROWS_WITH(GrowingFile(folder, "measured.txt"), ContainsSubstring("measured.txt: has another name, a hard link"));
  std::filesystem::remove(directory.file("measured.txt"));
  if (::geteuid() == 0 && ::chown(directory.file("notes").c_str(), 12345, static_cast<gid_t>(-1)) == 0)
    CHECK_THROWS_WITH(GrowingFile(folder, "notes"), ContainsSubstring("notes: belongs to another user; remove it"));
}

TEST_CASE("a link is refused") {
  const TemporaryDirectory outside, directory;
  const std::string path = directory.file("out.partial");
  std::filesystem::create_directory_symlink(outside.path(), path);

  CHECK_THROWS_WITH(WorkFolder(path, Existing::resume, "advice"), ContainsSubstring("is a link"));

  CHECK(outside.names().empty());
}

TEST_CASE("other work is refused by the first line that tells") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.partial");
  {
    const WorkFolder folder(path, Existing::resume, {});
    folder.keep_request("version 1\ncensus a\n");
  }
  const WorkFolder folder(path, Existing::resume, {});
  folder.keep_request("version 1\ncensus a\n");
  write_file(path + "/measured.txt", "kept");
  CHECK_THROWS_WITH(folder.keep_request("version 1\ncensus b\n"),
                    ContainsSubstring("is of other work: 'census a' there, 'census b' now"));
  CHECK_THROWS_WITH(folder.keep_request("version 1\ncensus a\nmore\n"), ContainsSubstring("'' there, 'more' now"));
  CHECK_THROWS_WITH(folder.keep_request("version 1\n"), ContainsSubstring("'census a' there, '' now"));
}

TEST_CASE("where nothing is kept in it yet, it is for any work") {
  const TemporaryDirectory directory;
  const WorkFolder folder(directory.file("out.partial"), Existing::resume, {});
  folder.keep_request("census a\n");
  write_file(folder.path() + "/measured.txt", "");

  folder.keep_request("census b\n");
  CHECK(bytes_of(folder.path() + "/" + work_request) == "census b\n");

  write_file(folder.path() + "/measured.txt", "kept");
  CHECK_THROWS_WITH(folder.keep_request("census c\n"), ContainsSubstring("is of other work"));
  CHECK(bytes_of(folder.path() + "/" + work_request) == "census b\n");
}

TEST_CASE("what lies in it without a word of which work it is stays, and is refused") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("out.partial");
  std::filesystem::create_directory(path);
  write_file(path + "/measured.txt", "notes");
  write_file(path + "/" + temporary_name("a"), "of a process that was killed");
  {
    const WorkFolder folder(path, Existing::resume, {});
    CHECK_THROWS_WITH(folder.keep_request("census a\n"),
                      ContainsSubstring("out.partial: holds measured.txt, but no request.txt"));
  }
  CHECK(bytes_of(path + "/measured.txt") == "notes");
  CHECK_FALSE(std::filesystem::exists(path + "/" + work_request));
  std::filesystem::remove(path + "/measured.txt");
  const WorkFolder folder(path, Existing::resume, {});
  CHECK_NOTHROW(folder.keep_request("census a\n"));
}
