// SPDX-License-Identifier: Apache-2.0
// Report directories and files that are written whole or not at all.
#include "reports/directory.hpp"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "emu/error.hpp"
#include "reports/render.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::reports;
using ulpscope::Error;

namespace {

const Table census{.name = "census", .columns = {"tensor", "x"}, .rows = {{"a", 0.5}}};
const Table sweep{.name = "sweep", .columns = {"tensor", "x"}, .rows = {}};

/// Files may not grow beyond `bytes` while this lives: a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("SHA-256 gives the published answers") {
  // FIPS 180-4 examples of NIST, and the empty message.
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

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
    CHECK_THROWS_AS(write_file(path, std::string(100000, 'x')), Error);
  }

  CHECK(bytes_of(path) == "former");
  CHECK(directory.names() == std::set<std::string>{"x"});
}

TEST_CASE("a write that cannot be done names the path and the reason") {
  const TemporaryDirectory directory;

  try {
    write_file(directory.file("absent/x"), "bytes");
    FAIL("written");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.find("absent/x") != std::string::npos);
    CHECK(message.find("No such file") != std::string::npos);
  }
  CHECK_THROWS_AS(write_file(directory.path(), "bytes"), Error);
}

TEST_CASE("a link is followed and a device stays a device") {
  const TemporaryDirectory directory;
  write_file(directory.file("target"), "former");
  std::filesystem::create_symlink(directory.file("target"), directory.file("link"));
  std::filesystem::create_symlink("/dev/null", directory.file("null"));

  write_file(directory.file("link"), "new");
  write_file(directory.file("null"), "new");

  CHECK(std::filesystem::is_symlink(directory.file("link")));
  CHECK(bytes_of(directory.file("target")) == "new");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a report is its tables, its page, and a manifest with the hash of each") {
  const TemporaryDirectory directory;
  const auto report = directory.file("new/report");

  write_report(report, {census, sweep}, "<p>page", {.arguments = {"ulpscope", "sweep"}, .seed = 7, .extra = {{"in", "x"}}});

  const auto manifest = nlohmann::ordered_json::parse(bytes_of(report + "/manifest.json"));
  CHECK(bytes_of(report + "/census.csv") == to_csv(census));
  CHECK(bytes_of(report + "/index.html") == "<p>page");
  CHECK(manifest["seed"] == 7);
  CHECK(manifest["arguments"] == nlohmann::json{"ulpscope", "sweep"});
  CHECK(manifest["extra"]["in"] == "x");
  CHECK(manifest["gpu"] == "none");
  for (const auto* key : {"version", "commit", "compiler", "cpu"}) CHECK_FALSE(manifest[key].get<std::string>().empty());
  CHECK(manifest["files"].size() == 3);
  for (const auto& [name, hash] : manifest["files"].items()) CHECK(hash == sha256(bytes_of(report + "/" + name)));
}

TEST_CASE("a report written twice has the same bytes") {
  const TemporaryDirectory a;
  const TemporaryDirectory b;

  for (const auto* directory : {&a, &b}) write_report(directory->path(), {census}, "page", {});

  for (const auto& name : a.names()) CHECK(bytes_of(a.file(name)) == bytes_of(b.file(name)));
}

TEST_CASE("a former report is replaced, with the files that the new one does not have") {
  const TemporaryDirectory directory;
  write_report(directory.path(), {census, sweep}, "page", {});

  write_report(directory.path(), {census}, "new page", {});

  CHECK(directory.names() == std::set<std::string>{"census.csv", "index.html", "manifest.json"});
  CHECK(bytes_of(directory.file("index.html")) == "new page");
}

TEST_CASE("a report of which one file does not fit leaves the former one, or no directory") {
  const TemporaryDirectory directory;
  write_report(directory.path(), {census}, "page", {});
  const auto manifest = bytes_of(directory.file("manifest.json"));

  {
    const FileSizeLimit limit(4096);
    CHECK_THROWS_AS(write_report(directory.path(), {sweep}, std::string(100000, 'x'), {}), Error);
    CHECK_THROWS_AS(write_report(directory.file("new"), {sweep}, std::string(100000, 'x'), {}), Error);
  }

  CHECK(directory.names() == std::set<std::string>{"census.csv", "index.html", "manifest.json"});
  CHECK(bytes_of(directory.file("index.html")) == "page");
  CHECK(bytes_of(directory.file("manifest.json")) == manifest);
}

TEST_CASE("a directory with anything foreign is refused and left as it is") {
  const TemporaryDirectory directory;
  SECTION("an empty one with a stranger") { write_file(directory.file("thesis.tex"), "years of work"); }
  SECTION("a file named like a table, without a manifest") { write_file(directory.file("census.csv"), "years of work"); }
  SECTION("a manifest of another program") { write_file(directory.file("manifest.json"), R"({"files": {"x": 1}})"); }
  SECTION("a manifest that is no JSON") { write_file(directory.file("manifest.json"), "PK"); }
  SECTION("a former report with a stranger") {
    write_report(directory.path(), {sweep}, "page", {});
    write_file(directory.file("notes.txt"), "mine");
  }
  SECTION("a former report with a directory") {
    write_report(directory.path(), {sweep}, "page", {});
    std::filesystem::create_directory(directory.file("figures"));
  }
  const auto before = directory.names();

  CHECK_THROWS_AS(write_report(directory.path(), {census}, "new", {}), Error);

  CHECK(directory.names() == before);
}

TEST_CASE("what an interrupted write left behind is not foreign") {
  const TemporaryDirectory directory;
  write_report(directory.path(), {census}, "page", {});
  write_file(directory.file(".index.html.ulpscope-part-1-0"), "half a pa");

  write_report(directory.path(), {census}, "page", {});

  CHECK(directory.names() == std::set<std::string>{"census.csv", "index.html", "manifest.json"});
}
