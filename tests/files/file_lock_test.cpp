// SPDX-License-Identifier: Apache-2.0
// One process at a time, whatever another has left.
#include "files/file_lock.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "emu/error.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::files;
using Catch::Matchers::ContainsSubstring;
using ulpscope::Error;
using namespace std::chrono_literals;

TEST_CASE("a lock is held once, and leaves no file") {
  const TemporaryDirectory directory;
  const Folder folder(directory.path());
  {
    std::optional<FileLock> lock(std::in_place, folder, ".lock", "report");
    CHECK_THROWS_WITH(FileLock(folder, ".lock", "report"), ContainsSubstring("report: another process is writing to it"));
    CHECK_THROWS_AS(FileLock(folder, ".lock", "report", 20ms), Error);
    const FileLock other(folder, ".other", "report");
    lock.reset();
    FileLock again(folder, ".lock", "report");
    again.release();
    const FileLock third(folder, ".lock", "report");
  }
  CHECK(directory.names().empty());
}

TEST_CASE("the file of a process that was killed keeps nobody out") {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(Folder(directory.path()), ".lock", "report");
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  REQUIRE(directory.names() == std::set<std::string>{".lock"});

  const FileLock lock(Folder(directory.path()), ".lock", "report");
}

TEST_CASE("who waits gets it, one at a time") {
  const TemporaryDirectory directory;
  std::atomic<int> inside = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      const FileLock lock(Folder(directory.path()), ".lock", "ledger", 60s);
      const int now = ++inside;
      if (now > most) most = now;
      std::this_thread::sleep_for(1ms);
      --inside;
      ++done;
    });
  for (std::thread& thread : threads) thread.join();

  CHECK(most == 1);
  CHECK(done == 6);
  CHECK(directory.names().empty());
}

TEST_CASE("what is no lock is refused and stays") {
  const TemporaryDirectory directory;
  const Folder folder(directory.path());
  std::ofstream(directory.file("victim")) << "years of work";
  std::filesystem::create_symlink(directory.file("victim"), directory.file("link"));
  REQUIRE(::mkfifo(directory.file("pipe").c_str(), 0600) == 0);

  CHECK_THROWS_WITH(FileLock(folder, "link", "report"), ContainsSubstring("is a link, and no lock"));
  CHECK_THROWS_WITH(FileLock(folder, "pipe", "report"), ContainsSubstring("is a pipe, and no lock"));

  CHECK(directory.names() == std::set<std::string>{"victim", "link", "pipe"});
  CHECK(bytes_of(directory.file("victim")) == "years of work");
}
