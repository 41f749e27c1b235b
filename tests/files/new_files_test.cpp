// SPDX-License-Identifier: Apache-2.0
// Several files appear together; where one cannot, what was there is put back.
#include "files/new_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "emu/error.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::files;
using ulpscope::Error;
namespace fs = std::filesystem;

namespace {

void write(const TemporaryDirectory& directory, const std::set<std::string>& names, const std::string& bytes) {
  NewFiles files{Folder(directory.path())};
  for (const std::string& name : names) files.add(name).write(bytes);
  files.commit();
}

}  // namespace

TEST_CASE("what is no name of a file is refused, and nothing is left") {
  const TemporaryDirectory directory;
  {
    NewFiles files{Folder(directory.path())};
    for (const char* const name : {"", ".", "..", "sub/", "sub/.", "../x", "sub/../x", "/x"}) {
      CAPTURE(name);
      CHECK_THROWS_AS(files.add(name), Error);
    }
    files.add("sub/x");
    CHECK_THROWS_AS(files.add("sub/x"), Error);
  }
  CHECK(directory.names().empty());
}

TEST_CASE("files appear together, in folders too") {
  const TemporaryDirectory directory;
  {
    NewFiles files{Folder(directory.path())};
    files.add("a").write("1");
    files.add("sub/b").write("2");
    CHECK_FALSE(fs::exists(directory.file("a")));
    files.add("z").write("3");

    files.commit();
  }
  CHECK(directory.names() == std::set<std::string>{"a", "sub", "z"});
  CHECK(bytes_of(directory.file("sub/b")) == "2");
  CHECK(std::distance(fs::directory_iterator(directory.file("sub")), fs::directory_iterator()) == 1);
}

TEST_CASE("without a commit nothing is there, no folder either") {
  const TemporaryDirectory directory;

  {
    NewFiles files{Folder(directory.path())};
    files.add("sub/b").write("2");
    files.add("z").write("3");
  }

  CHECK(directory.names().empty());
}

TEST_CASE("what is superseded goes, and its folder") {
  const TemporaryDirectory directory;
  write(directory, {"a", "old", "sub/b"}, "former");

  NewFiles files{Folder(directory.path())};
  files.supersede("old");
  files.supersede("sub/b");
  files.add("a").write("new");
  files.commit();

  CHECK(directory.names() == std::set<std::string>{"a"});
  CHECK(bytes_of(directory.file("a")) == "new");
}

TEST_CASE("a name that cannot be taken leaves all as it was") {
  const TemporaryDirectory directory;
  const std::string left = temporary_name("z");  // by a process that was killed
  write(directory, {"a", "old", "z"}, "former");
  write_file(directory.file(left), "former");

  {
    NewFiles files{Folder(directory.path())};
    files.supersede("old");
    files.supersede(left);
    for (const auto* name : {"a", "c", "d", "z"}) files.add(name).write("new");
    fs::create_directory(directory.file("d"));
    CHECK_THROWS_AS(files.commit(), Error);
  }

  CHECK(directory.names() == std::set<std::string>{left, "a", "d", "old", "z"});
  for (const std::string& name : {left, std::string("a"), std::string("old"), std::string("z")})
    CHECK(bytes_of(directory.file(name)) == "former");
}

TEST_CASE("no link among the folders is followed") {
  const TemporaryDirectory outside, directory;
  fs::create_directory_symlink(outside.path(), directory.file("sub"));

  NewFiles files{Folder(directory.path())};
  CHECK_THROWS_AS(files.add("sub/b"), Error);

  CHECK(outside.names().empty());
}
