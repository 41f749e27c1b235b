// SPDX-License-Identifier: Apache-2.0
// Ledgers written, read, damaged and compared.
#include "verify/ledger/ledger.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "verify/ledger/ledger_compare.hpp"
#include "verify/ledger/ledger_manifest.hpp"

namespace {

using namespace ulpscope;
using verify::CaseStatus;
using verify::LedgerEntry;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN();

std::string digest(char digit) { return std::string(64, digit); }

LedgerEntry entry(const std::string& name) {
  return {.name = name,
          .operation = "matmul",
          .options = {{"acc", "float32"}, {"in", "bfloat16,bfloat16"}},
          .declared = {{"driver", "550.54"}, {"who", "a \"quoted\"\nline, \xc3\xa9"}},
          .inputs = {{"A", "a.npy", "bfloat16", digest('a'), {2, 3}}, {"B", "b.npy", "bfloat16", digest('b'), {3, 2}}},
          .output = {"output", "", "float32", digest('0'), {2, 2}},
          .bound = "sums",
          .figures = {.verdict = "fail",
                      .equal = 1,
                      .within = 1,
                      .beyond = 1,
                      .nonfinite = 1,
                      .max_ulp_error = infinity,
                      .bias_ulp = -0.1,
                      .rel_frobenius_error = quiet_nan,
                      .max_of_bound = 0x1.23456789abcdfp-700}};
}

std::string problem_of(const std::string& text) {
  try {
    static_cast<void>(verify::parse_ledger(text, "L"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The text of `entries` with the first `what` in it replaced.
std::string damaged(const std::vector<LedgerEntry>& entries, const std::string& what, const std::string& by) {
  std::string text = verify::ledger_text(entries);
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

/// The outputs of two entries that have no further ones.
verify::CaseComparison compared(const LedgerEntry& before, const LedgerEntry& after) {
  return verify::compare_cases({&before}, {&after});
}

/// A case of attention with the log-sum-exp of its scores.
LedgerEntry entry_of_two(const std::string& name) {
  LedgerEntry two = entry(name);
  two.operation = "attention";
  two.further = {{"lse", two.output, "sums of exponentials", two.figures}};
  return two;
}

tensors::Tensor tensor(std::vector<double> values) {
  const std::uint64_t size = values.size();
  return tensors::from_values("d", {size}, std::move(values));
}

}  // namespace

TEST_CASE("names that act on a terminal are escapes in a ledger, and come back") {
  for (const std::string name : {"a\xc2\x9b[31m", "b\xe2\x80\xaeg", "d\x7f", "e\x1b[31m"}) {
    const std::string text = verify::ledger_text({entry(name)});

    CHECK(emu::visible_lines(text) == text);
    CHECK(verify::parse_ledger(text, "L").at(0).name == name);
  }
  CHECK(verify::ledger_text({entry("\xc3\xa9")}).find("\xc3\xa9") != std::string::npos);
}

TEST_CASE("what is read from a ledger is what was written, byte for byte", "[verify][ledger]") {
  const std::string text = verify::ledger_text({entry("b"), entry("a \"x\"\n,\xc3\xa9"), entry("B")});

  const auto entries = verify::parse_ledger(text, "L");

  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "B");
  CHECK(entries[1].name == "a \"x\"\n,\xc3\xa9");
  CHECK(entries[1].declared == entry("").declared);
  CHECK(entries[1].options == entry("").options);
  CHECK(entries[1].inputs == entry("").inputs);
  CHECK(entries[1].output == entry("").output);
  CHECK(verify::same_figures(entries[1].figures, entry("").figures));
  CHECK(verify::ledger_text(entries) == text);
  CHECK(verify::ledger_text({entries[2], entries[0], entries[1]}) == text);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("a ledger without cases, and an empty file, hold no case", "[verify][ledger]") {
  CHECK(verify::ledger_text({}) == "{\"ulpscope_ledger\":1}\n");
  CHECK(verify::parse_ledger(verify::ledger_text({}), "L").empty());
  CHECK(verify::parse_ledger("", "L").empty());
}

TEST_CASE("a damaged ledger is answered with its line", "[verify][ledger]") {
  const std::vector<LedgerEntry> two{entry("a"), entry("b")};
  const std::string whole = verify::ledger_text(two);

  CHECK(problem_of(whole).empty());
  CHECK(problem_of(whole.substr(0, whole.size() - 10)).starts_with("L: line 3: is no JSON at byte "));
  CHECK(problem_of("<<<<<<< HEAD\n" + whole).starts_with("L: line 1: is no JSON"));
  CHECK(problem_of(damaged(two, "{\"ulpscope_ledger\":1}", "[1]")) == "L: line 1: is no JSON object");
  CHECK(problem_of(damaged(two, "ulpscope_ledger", "something")) == "L: line 1: is no ledger: 'ulpscope_ledger' is missing");
  CHECK(problem_of(damaged(two, "ledger\":1", "ledger\":2")).starts_with("L: line 1: is a ledger of another version"));
  CHECK(problem_of(damaged(two, "\"b\",\"operation", "\"a\",\"operation")) == "L: line 3: case \"a\" is in line 2 too");
  CHECK(problem_of(damaged(two, "\"bound\"", "\"bond\"")) == "L: line 2: 'bound' is missing");
  CHECK(problem_of(damaged(two, "\"bound\"", "\"note\":1,\"bound\"")) == "L: line 2: '/note' is nothing a ledger holds");
  CHECK(problem_of(damaged(two, "\"equal\":1", "\"equal\":1,\"equal\":1")) == "L: line 2: the key 'equal' occurs twice");
  CHECK(problem_of(damaged(two, "\"equal\":1", "\"equal\":-1")) == "L: line 2: 'equal' is no count");
  CHECK(problem_of(damaged(two, "\"equal\":1", "\"equal\":2")) ==
        "L: line 2: the counts add up to 5, the output has 4 elements");
  CHECK(problem_of(damaged(two, "\"fail\"", "\"pass\"")) == "L: line 2: verdict pass with 2 wrong elements");
  CHECK(problem_of(damaged(two, "\"fail\"", "\"good\"")).starts_with("L: line 2: verdict 'good'"));
  CHECK(problem_of(damaged(two, "-0.1", "1e999")).starts_with("L: line 2: "));
  CHECK(problem_of(damaged(two, "-0.1", "\"much\"")) == "L: line 2: 'bias_ulp' is no number");
  CHECK(problem_of(damaged(two, "bfloat16\",\"shape", "bf16\",\"shape")) == "L: line 2: 'bf16' is no format");
  CHECK(problem_of(damaged(two, digest('a'), digest('A'))).starts_with("L: line 2: 'sha256' is not 64"));
  CHECK(problem_of(damaged(two, "\xc3\xa9", "\xe9")).starts_with("L: line 2: is no JSON at byte "));
}

TEST_CASE("counts and extents that leave 64 bits are none", "[verify][ledger]") {
  LedgerEntry vast = entry("a");
  vast.output.shape = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};  // 2^64 elements, which are 0 modulo 2^64
  vast.figures = {.verdict = "pass"};
  CHECK(problem_of(verify::ledger_text({vast})) == "L: line 2: an output has more elements than can be counted");
  vast.output.shape = {0, std::uint64_t{1} << 32};
  CHECK(problem_of(verify::ledger_text({vast})).empty());

  LedgerEntry many = entry("a");
  many.figures = {.verdict = "pass", .equal = 4, .beyond = std::uint64_t{1} << 63, .nonfinite = std::uint64_t{1} << 63};
  CHECK(problem_of(verify::ledger_text({many})) == "L: line 2: the counts add up to 2^64 or more");
}

TEST_CASE("inputs and further outputs are there once, and the operation has them", "[verify][ledger]") {
  CHECK(problem_of(verify::ledger_text({entry_of_two("a")})).empty());

  LedgerEntry twice = entry_of_two("a");
  twice.further.push_back(twice.further.front());
  CHECK(problem_of(verify::ledger_text({twice})) == "L: line 2: 'lse' is there twice");
  LedgerEntry roles = entry("a");
  roles.inputs[1].role = "A";
  CHECK(problem_of(verify::ledger_text({roles})) == "L: line 2: the input 'A' is there twice");
  for (const char* const name : {"mask", "threads", "output", "q", ""}) {
    LedgerEntry other = entry_of_two("a");
    other.further.front().name = name;
    CHECK(problem_of(verify::ledger_text({other})) ==
          "L: line 2: '" + std::string(name) + "' is no output that attention has beside its own");
  }
  LedgerEntry softmax = entry_of_two("a");
  softmax.operation = "softmax";
  CHECK(problem_of(verify::ledger_text({softmax})) == "L: line 2: 'lse' is no output that softmax has beside its own");
}

TEST_CASE("outputs of a case are compared by themselves, and copy nothing of it", "[verify][ledger]") {
  const LedgerEntry before = entry_of_two("a");
  LedgerEntry after = before;
  after.further.front().output.sha256 = digest('1');
  after.further.front().figures.beyond = 2;
  const auto was = verify::by_output(before), is = verify::by_output(after);

  REQUIRE(was.size() == 2);
  CHECK(&was[1].tensor() == &before.further.front().output);
  CHECK(&was[0].figures() == &before.figures);
  CHECK(was[1].label() == "a lse");
  CHECK(verify::compare_cases(was[0], is[0]).status == CaseStatus::same);
  const auto moved = verify::compare_cases(was[1], is[1]);
  CHECK(moved.status == CaseStatus::moved);
  CHECK(moved.name == "a");
  CHECK(moved.label() == "a lse");
  CHECK(moved.after->beyond == 2);
  const reports::Table table = verify::ledger_table({before});
  REQUIRE(table.rows.size() == 2);
  CHECK(std::get<std::string>(table.rows[1].front()) == "a lse");
  CHECK(std::get<std::string>(table.rows[1][table.columns.size() - 2]) == "sums of exponentials");
}

TEST_CASE("text that is not UTF-8 is not written", "[verify][ledger]") {
  LedgerEntry bad = entry("a");
  bad.declared["who"] = "\xe9";
  CHECK_THROWS_AS(verify::ledger_text({bad}), Error);
}

TEST_CASE("numbers have one canonical form", "[verify][ledger]") {
  using std::string_literals::operator""s;
  const std::vector<double> values{1, -0.0, quiet_nan, -infinity};

  CHECK(verify::canonical_bytes(emu::bfloat16, {2, 2}, values) == "bfloat16 2x2\n\x80\x3f\x00\x80\xff\x7f\x80\xff"s);
  CHECK(verify::canonical_bytes(emu::float8_e4m3fn, {2}, std::vector<double>{448, -1}) == "float8_e4m3fn 2\n\x7e\xb8"s);
  CHECK(verify::canonical_bytes(emu::float64, {}, std::vector<double>{1}) == "float64 \n\0\0\0\0\0\0\xf0\x3f"s);
  std::vector<double> many(200000, 1);
  many[150000] = 2;
  const std::string bytes = verify::canonical_bytes(emu::float16, {200000}, many);
  CHECK(bytes.size() == "float16 200000\n"s.size() + 400000);
  CHECK(bytes.substr(bytes.size() - 100002, 6) == "\x00\x3c\x00\x40\x00\x3c"s);
}

TEST_CASE("a movement counts codes, and measures ulps at the former value", "[verify][ledger]") {
  const double ulp = 0x1p-7;  // of bfloat16 in [1, 2); twice that above
  const auto m = verify::movement(emu::bfloat16, tensor({1, 1, 2, 0, quiet_nan, infinity, 5, 1}),
                                  tensor({1, 1 + 3 * ulp, 2 - ulp, -0.0, quiet_nan, 5, quiet_nan, 1 - ulp / 2}));

  CHECK(m.count == 8);
  CHECK(m.moved == 6);
  CHECK(m.nonfinite == 2);
  CHECK(m.max_ulp == 3);
  CHECK(m.mean_ulp == (3 + 0.5 + 0 + 0.5) / 4);
  CHECK_THROWS_AS(verify::movement(emu::bfloat16, tensor({1}), tensor({1, 2})), Error);
}

TEST_CASE("a movement is found wherever it is", "[verify][ledger]") {
  const std::size_t at = GENERATE(as<std::size_t>(), 0, 65535, 65536, 140000 - 1);
  std::vector<double> values(140000, 1);
  const auto before = tensor(values);
  values[at] = 1.5;

  const auto m = verify::movement(emu::float16, before, tensor(values));

  CHECK(m.moved == 1);
  CHECK(m.max_ulp == 512);
}

TEST_CASE("cases are compared only if they judge the same numbers", "[verify][ledger]") {
  const LedgerEntry before = entry("a");
  LedgerEntry after = before;
  CHECK(compared(before, after).status == CaseStatus::same);
  CHECK(compared(before, after).beyond());

  after.inputs[0].words = "elsewhere.npy";
  after.declared["driver"] = "560.28";
  after.declared.erase("who");
  const auto renamed = compared(before, after);
  CHECK(renamed.status == CaseStatus::same);
  CHECK(renamed.changes.front() == "driver: 550.54 -> 560.28");
  CHECK(renamed.changes.back().ends_with("-> none"));

  after.output.sha256 = digest('1');
  CHECK(compared(before, after).status == CaseStatus::moved);

  after.inputs[1].sha256 = digest('c');
  const auto differ = compared(before, after);
  CHECK(differ.status == CaseStatus::inputs_differ);
  CHECK_FALSE(differ.beyond());
  CHECK(differ.changes.front() == "B: bfloat16 3x2 bbbbbbbbbbbb -> bfloat16 3x2 cccccccccccc");

  LedgerEntry fewer = before;
  fewer.inputs.pop_back();
  CHECK(compared(before, fewer).status == CaseStatus::inputs_differ);
  CHECK(compared(before, fewer).changes.front() == "B: bfloat16 3x2 bbbbbbbbbbbb -> none");
  CHECK(compared(fewer, before).changes.front() == "B: none -> bfloat16 3x2 bbbbbbbbbbbb");
  LedgerEntry other = before;
  other.operation = "grouped_matmul";
  CHECK(compared(before, other).status == CaseStatus::inputs_differ);
  CHECK(compared(before, other).changes.front() == "operation: matmul -> grouped_matmul");
  for (const auto figure : {&verify::LedgerFigures::max_ulp_error, &verify::LedgerFigures::bias_ulp,
                            &verify::LedgerFigures::rel_frobenius_error, &verify::LedgerFigures::max_of_bound}) {
    LedgerEntry moved = before;
    moved.figures.*figure = 0.75;
    CHECK_FALSE(verify::same_figures(before.figures, moved.figures));
  }
  for (const auto count : {&verify::LedgerFigures::equal, &verify::LedgerFigures::within, &verify::LedgerFigures::beyond,
                           &verify::LedgerFigures::nonfinite}) {
    LedgerEntry moved = before;
    moved.figures.*count = 7;
    CHECK_FALSE(verify::same_figures(before.figures, moved.figures));
  }
  LedgerEntry overflowed = before;
  overflowed.figures.nonfinite_admitted = 1;
  CHECK_FALSE(verify::same_figures(before.figures, overflowed.figures));
  CHECK(verify::same_figures(before.figures, entry("b").figures));
  LedgerEntry roles = before;
  roles.inputs[0].role = "Q";
  CHECK(compared(before, roles).status == CaseStatus::inputs_differ);
}

TEST_CASE("what overflowed within the bound since it was recorded is told", "[verify][ledger]") {
  LedgerEntry before = entry("a"), after = before;
  before.figures = {.verdict = "pass", .equal = 2, .within = 2};
  after.figures = {.verdict = "pass", .equal = 1, .within = 3, .nonfinite_admitted = 2};
  after.output.sha256 = digest('1');

  const auto moved = compared(before, after);
  CHECK(moved.overflowed() == 2);
  CHECK(
      moved.sentence() ==
      "a: moved, by how many ulps is not known, as an output was not kept; 2 of 4 elements are INFINITE OR NaN where the exact "
      "result is finite, before 0: the bound admits that");
  CHECK(verify::summary({moved}) == "1 case: 1 moved; nothing is beyond the bound; 1 overflowed within it");
  CHECK(verify::figures_table({moved}).columns.back() == "nonfinite_admitted");
  CHECK(compared(after, before).overflowed() == 0);
  before.figures.nonfinite_admitted = 2;
  CHECK(compared(before, after).overflowed() == 0);

  // A ledger names them where there are some, and is else that of earlier versions.
  CHECK(verify::parse_ledger(verify::ledger_text({after}), "L")[0].figures.nonfinite_admitted == 2);
  CHECK(verify::ledger_text({entry("a")}).find("nonfinite_admitted") == std::string::npos);
  after.figures.nonfinite_admitted = 4;
  CHECK(problem_of(verify::ledger_text({after})) == "L: line 2: 4 elements are admitted, 3 are within the bound");
}

TEST_CASE("free tags stand beside each other, and not beside those that have columns of their own", "[verify][ledger]") {
  LedgerEntry tagged = entry("a");
  tagged.declared = {{"driver", "550.54"}, {"who", "us"}, {"why", "an upgrade"}};
  const reports::Table table = verify::ledger_table({tagged});
  const auto column = std::ranges::find(table.columns, "tags") - table.columns.begin();
  CHECK(std::get<std::string>(table.rows.at(0).at(static_cast<std::size_t>(column))) == "who=us; why=an upgrade");
}

TEST_CASE("blank lines of a ledger hold no case", "[verify][ledger]") {
  const std::string text = verify::ledger_text({entry("a"), entry("b")});
  std::string spaced;
  for (const char c : text) spaced += c == '\n' ? std::string("\n \t\r\n") : std::string(1, c);
  CHECK(verify::ledger_text(verify::parse_ledger(spaced, "L")) == text);
}

TEST_CASE("a manifest names cases, outputs and inputs given anew", "[verify][ledger]") {
  const auto cases = verify::parse_manifest("case,A,output\n\"x,\n\"\"1\"\"\",,d.npy\ny,a.npy,e.npy\n", "M");

  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "x,\n\"1\"");
  CHECK(cases[0].output == "d.npy");
  CHECK(cases[0].inputs.empty());
  CHECK(cases[1].row == 3);
  CHECK(cases[1].inputs.at("A") == "a.npy");
  CHECK(verify::parse_manifest("case,output\n", "M").empty());
}

TEST_CASE("a manifest that is none is answered with its row", "[verify][ledger]") {
  const auto problem = [](const char* text) -> std::string {
    try {
      static_cast<void>(verify::parse_manifest(text, "M"));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(problem("").starts_with("M: is empty"));
  CHECK(problem("name,output\n").starts_with("M: row 1: there is no column 'case'"));
  CHECK(problem("case\n").starts_with("M: row 1: there is no column 'output'"));
  CHECK(problem("case,output,A,A\n") == "M: row 1: column 'A' is there twice");
  CHECK(problem("case,output\nx\n") == "M: row 2 has 1 fields, the header 2");
  CHECK(problem("case,output\nx,\n") == "M: row 2: the output is missing");
  CHECK(problem("case,output\nx,d\nx,e\n") == "M: row 3: case 'x' is in row 2 too");
  CHECK(problem("case,output\n\"x,d\n").starts_with("M: row 2: "));
}
