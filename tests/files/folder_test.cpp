// SPDX-License-Identifier: Apache-2.0
// What stands in a folder, by its kind: what is read of it, written to it, and refused.
#include "files/folder.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <string>

#include "emu/error.hpp"
#include "files/descriptor.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"
#include "files/work_folder.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::files;
using Catch::Matchers::EndsWith;
using ulpscope::Error;
namespace fs = std::filesystem;

namespace {

/// A folder with one of each: a file, a folder, a link to each of the others, a pipe, a socket.
class OneOfEach {
 public:
  OneOfEach() : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    write_file(at("file"), "bytes");
    fs::create_directory(at("folder"));
    REQUIRE(::mkfifo(at("pipe").c_str(), 0600) == 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const Folder own = folder();  // by its descriptor: addresses are shorter than some paths
    ("/proc/self/fd/" + std::to_string(own.descriptor()) + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_.value(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    for (const std::string name : {"file", "folder", "pipe", "socket", "nothing"}) fs::create_symlink(name, at("to_" + name));
    fs::create_symlink("/dev/null", at("to_device"));
  }
  std::string at(const std::string& name) const { return directory_.file(name); }
  Folder folder() const { return Folder(directory_.path()); }

 private:
  TemporaryDirectory directory_;
  Descriptor socket_;
};

}  // namespace

TEST_CASE("every kind has its words") {
  const OneOfEach there;
  const Folder folder = there.folder();

  CHECK(folder.kind("nothing") == Kind::none);
  CHECK(folder.kind("file") == Kind::file);
  CHECK(folder.kind("folder") == Kind::folder);
  CHECK(folder.kind("to_file") == Kind::link);
  CHECK(folder.kind("pipe") == Kind::pipe);
  CHECK(folder.kind("socket") == Kind::socket);
  CHECK(Folder("/dev").kind("null") == Kind::device);
  std::string words;
  for (const Kind kind : {Kind::none, Kind::file, Kind::folder, Kind::link, Kind::pipe, Kind::socket, Kind::device})
    words += std::string(words_of(kind)) + ", ";
  CHECK(words == "nothing, a file, a directory, a link, a pipe, a socket, a device, ");
  CHECK(Folder("").path_of("x") == "x");
  CHECK(Folder("/").path_of("x") == "/x");
  CHECK(Folder("/dev").path_of("x") == "/dev/x");
}

TEST_CASE("files are read through links, and nothing else is") {
  const OneOfEach there;

  CHECK(read_file(there.at("file")) == "bytes");
  CHECK(read_file(there.at("to_file")) == "bytes");
  for (const std::string name : {"folder", "pipe", "socket"})
    for (const std::string& path : {there.at(name), there.at("to_" + name)}) {
      const std::string kind = name == "folder" ? "a directory" : "a " + name;
      CHECK_THROWS_WITH(read_file(path), path + ": is " + kind + ", not a file");
    }
  CHECK_THROWS_WITH(read_file("/dev/null"), "/dev/null: is a device, not a file");
  CHECK_THROWS_WITH(read_file(there.at("nothing")), EndsWith("nothing: cannot be read: No such file or directory"));
  CHECK_THROWS_WITH(read_file(there.at("to_nothing")), EndsWith("to_nothing: cannot be read: No such file or directory"));
}

TEST_CASE("in a folder that is held files alone are read, through no link") {
  const OneOfEach there;
  const Folder folder = there.folder();

  CHECK(read_whole(open_file(folder, "file"), "file", 5) == "bytes");
  CHECK_THROWS_WITH(open_file(folder, "to_file"), EndsWith("to_file: is a link, not a file"));
  CHECK_THROWS_WITH(open_file(folder, "folder"), EndsWith("folder: is a directory, not a file"));
  CHECK_THROWS_WITH(open_file(folder, "nothing"), EndsWith("nothing: cannot be read: No such file or directory"));
}

TEST_CASE("no more is read than may be") {
  const OneOfEach there;

  CHECK(read_file(there.at("file"), 5) == "bytes");
  CHECK_THROWS_WITH(read_file(there.at("file"), 4), EndsWith("file: is too large: 4 bytes are read at most"));
  OpenFile grown = open_file(there.at("file"));
  grown.bytes = 2;  // of which it had two when it was opened
  CHECK(read_whole(grown, "file", 5) == "bytes");
  OpenFile longer = open_file(there.at("file"));
  longer.bytes = 0;
  CHECK_THROWS_WITH(read_whole(longer, "file", 3), "file: is too large: 3 bytes are read at most");
}

TEST_CASE("what is no file is written to as it is, or not at all") {
  const OneOfEach there;

  write_file("/dev/null", "bytes");
  write_file(there.at("to_device"), "bytes");
  const Descriptor reader(::open(there.at("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  for (const std::string name : {"pipe", "to_pipe"}) {
    write_file(there.at(name), name);
    std::string got(16, '\0');
    got.resize(static_cast<std::size_t>(::read(reader.value(), got.data(), got.size())));
    CHECK(got == name);
  }
  CHECK_THROWS_WITH(write_file(there.at("to_file"), ""),
                    EndsWith("cannot be written: it is a link; name the file that it leads to"));
  CHECK_THROWS_WITH(write_file(there.at("to_nothing"), ""),
                    EndsWith("cannot be written: it is a link; name the file that it leads to"));
  CHECK_THROWS_WITH(write_file(there.at("to_folder"), ""), EndsWith("cannot be written: it is a directory"));
  CHECK_THROWS_WITH(write_file(there.at("to_socket"), ""), EndsWith("cannot be written: No such device or address"));
  CHECK_THROWS_WITH(write_file(there.at("folder"), ""), EndsWith("cannot be written: it is a directory"));
  CHECK_THROWS_WITH(write_file(there.at("socket"), ""), EndsWith("cannot be written: it is a socket"));
  for (const std::string name : {"", ".", ".."})
    CHECK_THROWS_WITH(write_file(there.at(name) + (name.empty() ? "/" : ""), ""),
                      EndsWith("cannot be written: it is a directory"));
  CHECK(read_file(there.at("file")) == "bytes");
}

TEST_CASE("a descriptor of this process is written to, where it is open") {
  const OneOfEach there;
  const Descriptor own(::open(there.at("file").c_str(), O_WRONLY | O_TRUNC));
  write_file("/dev/fd/" + std::to_string(own.value()), "again");
  write_file("/proc/self/fd/" + std::to_string(own.value()), ", and again");

  CHECK(read_file(there.at("file")) == "again, and again");
  CHECK_THROWS_WITH(write_file("/dev/fd/999", ""), "/dev/fd/999: cannot be written: Bad file descriptor");
  CHECK_THROWS_AS(write_file("/dev/fd/1x", ""), Error);
  CHECK_THROWS_AS(write_file("/proc/self/fd/x", ""), Error);
}

TEST_CASE("a folder is made with those above it, and none in the place of a file") {
  const OneOfEach there;
  {
    NewFolder made(there.at("a/b//c/"));
    CHECK(made.is_new());
    made.keep();
  }
  CHECK(fs::is_directory(there.at("a/b/c")));
  CHECK_FALSE(NewFolder(there.at("a/b")).is_new());
  CHECK_THROWS_WITH(NewFolder(there.at("d/../file/x")), EndsWith("file/x: cannot be made: Not a directory"));
  CHECK_THROWS_WITH(NewFolder(there.at("file")), EndsWith("file: cannot be made: Not a directory"));
  CHECK_FALSE(fs::exists(there.at("d")));  // made on the way
}

TEST_CASE("names of temporary files are told from others") {
  CHECK(is_temporary_name(temporary_name("x")));
  const std::string mark(temporary_mark);
  CHECK(is_temporary_name(".x" + mark + "0123456789abcdef"));
  for (const std::string& name :
       {"x" + mark + "0123456789abcdef", ".x" + mark + "0123456789abcdeF", ".x" + mark + "0123456789abcde/",
        ".x" + mark + "0123456789abcde:", ".x" + mark + "0123456789abcde`", ".x" + mark + "0123456789abcdeg",
        std::string(".x0123456789abcdef0123456789abcdef"), mark + "0123456789abcdef", std::string()})
    CHECK_FALSE(is_temporary_name(name));
}

TEST_CASE("of a work folder goes what is ours and what is temporary, and the rest stays") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("work");
  WorkFolder work(path, WorkFolder::Existing::refuse, "is there");
  for (const std::string& name : {std::string("ours"), std::string("other"), temporary_name("x")})
    write_file(path + "/" + name, "");
  fs::create_directory(path + "/ours_too");
  work.remove([](const std::string& name) { return name.starts_with("ours"); });

  CHECK(fs::exists(path + "/other"));
  CHECK(fs::exists(path + "/ours_too"));
  CHECK(std::distance(fs::directory_iterator(path), fs::directory_iterator()) == 2);
}

TEST_CASE("of a file that a user replaces for a group that is not theirs the new group may do what all others may") {
  if (::geteuid() != 0) SKIP("this user may not act as another");
  const TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = directory.file("x");
  write_file(path, "former");
  REQUIRE(::chmod(path.c_str(), 0664) == 0);
  constexpr uid_t other = 65534;
  REQUIRE(::setegid(other) == 0);
  REQUIRE(::seteuid(other) == 0);
  write_file(path, "new");
  REQUIRE(::seteuid(0) == 0);
  REQUIRE(::setegid(0) == 0);

  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0644);  // as others have it
  CHECK(found.st_gid == other);
  CHECK(read_file(path) == "new");
}
