// SPDX-License-Identifier: Apache-2.0
// Report directories, which are written whole or not at all, and in which nothing is followed or removed that is not theirs.
#include "reports/directory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "emu/error.hpp"
#include "files/file_lock.hpp"
#include "files/new_file.hpp"
#include "reports/render.hpp"
#include "reports/sha256.hpp"
#include "tests/files/file_size_limit.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::reports;
using Catch::Matchers::ContainsSubstring;
using ulpscope::Error;

namespace {

const Table census{.name = "census", .columns = {"tensor", "x"}, .rows = {{"a", 0.5}}};
const Table sweep{.name = "sweep", .columns = {"tensor", "x"}, .rows = {}};

}  // namespace

TEST_CASE("SHA-256 gives the published answers") {
  // FIPS 180-4 examples of NIST, and the empty message.
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
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
  CHECK(manifest["stochastic_rounding"] == 2);
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
  SECTION("an empty one with a stranger") { ulpscope::files::write_file(directory.file("thesis.tex"), "years of work"); }
  SECTION("a file named like a table, without a manifest") { ulpscope::files::write_file(directory.file("census.csv"), "years of work"); }
  SECTION("a manifest of another program") { ulpscope::files::write_file(directory.file("manifest.json"), R"({"files": {"x": 1}})"); }
  SECTION("a manifest that is no JSON") { ulpscope::files::write_file(directory.file("manifest.json"), "PK"); }
  SECTION("a former report with a stranger") {
    write_report(directory.path(), {sweep}, "page", {});
    ulpscope::files::write_file(directory.file("notes.txt"), "mine");
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
  ulpscope::files::write_file(directory.file(ulpscope::files::temporary_name("index.html")), "half a pa");
  std::filesystem::create_directory(directory.file("weights"));
  ulpscope::files::write_file(directory.file("weights/" + ulpscope::files::temporary_name("w")), "some");
  ulpscope::files::write_file(directory.file(ulpscope::files::folder_lock), "");

  write_report(directory.path(), {census}, "page", {});

  CHECK(directory.names() == std::set<std::string>{"census.csv", "index.html", "manifest.json"});
}

TEST_CASE("a report that was being replaced when the program was killed is replaced again") {
  const TemporaryDirectory directory, other;
  write_report(directory.path(), {census, sweep}, "page", {});
  write_report(other.path(), {census}, "new page", {});
  // The former manifest is set aside, the new one has its temporary name, one file of two is new.
  std::filesystem::rename(directory.file("manifest.json"), directory.file(ulpscope::files::temporary_name("manifest.json")));
  std::filesystem::copy_file(other.file("manifest.json"), directory.file(ulpscope::files::temporary_name("manifest.json")));
  ulpscope::files::write_file(directory.file("index.html"), "new page");

  write_report(directory.path(), {census}, "third page", {});

  CHECK(directory.names() == std::set<std::string>{"census.csv", "index.html", "manifest.json"});
  CHECK(bytes_of(directory.file("index.html")) == "third page");
}

TEST_CASE("what a manifest names is removed or replaced only if its SHA-256 is the listed one") {
  const TemporaryDirectory directory;
  write_report(directory.path(), {census, sweep}, "page", {});
  const auto* const changed = GENERATE("sweep.csv", "index.html");
  ulpscope::files::write_file(directory.file(changed), "years of work");
  const auto before = directory.names();

  CHECK_THROWS_AS(check_report_folder(directory.path()), Error);
  CHECK_THROWS_AS(write_report(directory.path(), {census}, "new page", {}), Error);

  CHECK(directory.names() == before);
  CHECK(bytes_of(directory.file(changed)) == "years of work");
  CHECK(bytes_of(directory.file("census.csv")) == to_csv(census));
}

TEST_CASE("what comes into a report's directory while it is made is left alone") {
  const TemporaryDirectory directory;
  const bool replaces = GENERATE(false, true);
  if (replaces) write_report(directory.path(), {census}, "page", {});
  const auto* const changed = GENERATE("census.csv", "notes.txt");
  {
    ReportFolder folder(directory.path());
    folder.add("census.csv", to_csv(sweep));
    ulpscope::files::write_file(directory.file(changed), "years of work");
    CHECK_THROWS_WITH(folder.commit("new page", {}), ContainsSubstring(changed));
  }

  CHECK(bytes_of(directory.file(changed)) == "years of work");
  if (replaces) CHECK(bytes_of(directory.file("index.html")) == "page");
  CHECK(directory.names().size() == (replaces ? (changed == std::string("notes.txt") ? 4U : 3U) : 1U));
}

TEST_CASE("no link in a report's directory is followed") {
  const TemporaryDirectory outside, directory;
  ulpscope::files::write_file(outside.file("victim"), "years of work");
  write_report(directory.path(), {census}, "page", {.arguments = {}, .texts = {{"weights/a", "numbers"}}});
  SECTION("a table's") {
    std::filesystem::remove(directory.file("census.csv"));
    std::filesystem::create_symlink(outside.file("victim"), directory.file("census.csv"));
  }
  SECTION("the manifest's") {
    std::filesystem::copy_file(directory.file("manifest.json"), outside.file("manifest.json"));
    std::filesystem::remove(directory.file("manifest.json"));
    std::filesystem::create_symlink(outside.file("manifest.json"), directory.file("manifest.json"));
  }
  SECTION("a folder's") {
    std::filesystem::rename(directory.file("weights"), outside.file("weights"));
    std::filesystem::create_directory_symlink(outside.file("weights"), directory.file("weights"));
  }
  SECTION("the lock's") { std::filesystem::create_symlink(outside.file("victim"), directory.file(ulpscope::files::folder_lock)); }
  const auto before = outside.names();

  CHECK_THROWS_AS(write_report(directory.path(), {census}, "new", {.arguments = {}, .texts = {{"weights/a", "new"}}}), Error);

  CHECK(outside.names() == before);
  CHECK(bytes_of(outside.file("victim")) == "years of work");
  CHECK(bytes_of(directory.file("index.html")) == "page");
}

TEST_CASE("a report that another process writes is not written") {
  const TemporaryDirectory directory;
  write_report(directory.path(), {census}, "page", {});
  const ulpscope::files::FileLock lock(ulpscope::files::Folder(directory.path()), ulpscope::files::folder_lock, "x");

  CHECK_THROWS_AS(write_report(directory.path(), {sweep}, "new page", {}), Error);

  CHECK(bytes_of(directory.file("index.html")) == "page");
}
