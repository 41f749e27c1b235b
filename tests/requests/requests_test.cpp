// SPDX-License-Identifier: Apache-2.0
// Fields of requests: as words, on the command line, in TOML, in the JSON schema. All requests go through all of them and back.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "cli/command.hpp"
#include "emu/error.hpp"
#include "requests/field.hpp"
#include "requests/toml.hpp"
#include "requests/words.hpp"
#include "studies/cast/cast.hpp"
#include "study_files/kinds.hpp"
#include "study_files/schema.hpp"
#include "verify/audit/audit_request.hpp"
#include "verify/explain/explain_request.hpp"
#include "verify/generate/generate_request.hpp"

using namespace ulpscope;
using requests::Field;
using requests::Fields;
using requests::Scope;

namespace {

using Words = std::vector<std::string>;

/// Values that no request has from the start.
Words other_words(const Field& field) {
  if (field.is_flag()) return {"true"};
  Words words;
  if (field.is_whole()) {
    const std::uint64_t least = field.whole_bounds ? field.whole_bounds->least : 0;
    words = {std::to_string(least + 7), std::to_string(least + 9)};
  } else if (field.is_real()) {
    words = {"0.1875", "0.5"};
  } else {
    words = {"a \"b\" \\ c#d", "x:y=\xc3\xa9"};
  }
  if (!field.is_list()) words.resize(1);
  return words;
}

void change_all(Fields& fields) {
  for (Field& field : fields) field.set(other_words(field));
}

std::map<std::string, Words> values_of(const Fields& fields) {
  std::map<std::string, Words> values;
  for (const Field& field : fields)
    if (field.scope == Scope::result) values[field.name] = field.words();
  return values;
}

struct Numbers {
  std::uint64_t whole = 3;
  double real = 0.5;
  std::optional<double> perhaps;
  std::vector<std::uint64_t> several{1, 2};
  bool flag = false;
  std::string text;

  void describe(Fields& fields) {
    fields.add("whole", whole, "a whole number").whole({1, 9}).shown();
    fields.add("real", real, "a number").real({0, 1}).shown();
    fields.add("perhaps", perhaps, "a number, or none").real();
    fields.add("several", several, "whole numbers").whole({0, 9}).as_commas();
    fields.add("flag", flag, "yes or no");
    fields.add("text_of_it", text, "text").needed();
  }
};

std::string refusal(const std::string& toml) {
  Numbers numbers;
  Fields fields = requests::fields_of(numbers);
  try {
    requests::set_from(fields, requests::parse_toml(toml, "f.toml"), {});
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// The same request five times.
struct Ways {
  Fields changed, standard, typed, worded, filed;
};

void check_ways(Ways of) {
  change_all(of.changed);
  cli::Command command;
  command.add(of.typed);
  const Words words = requests::words_of(of.changed, of.standard);
  command.parse(words);
  requests::set_words(of.worded, words);
  const std::string toml = requests::to_toml(of.changed, of.standard);
  requests::set_from(of.filed, requests::parse_toml(toml, "f.toml"), {});

  CHECK(values_of(of.changed) != values_of(of.standard));
  CHECK(values_of(of.typed) == values_of(of.changed));
  CHECK(values_of(of.worded) == values_of(of.changed));
  CHECK(values_of(of.filed) == values_of(of.changed));
  CHECK(requests::to_toml(of.filed, of.standard) == toml);
}

}  // namespace

TEST_CASE("every request of a study goes through the command line and TOML and back", "[requests]") {
  const study_files::Kind& kind = GENERATE(from_range(study_files::kinds()));
  CAPTURE(kind.name);
  const auto changed = kind.make(), standard = kind.make(), typed = kind.make(), worded = kind.make(), filed = kind.make();
  check_ways({changed->fields(), standard->fields(), typed->fields(), worded->fields(), filed->fields()});
}

TEMPLATE_TEST_CASE("every other request goes through them, too", "[requests]", studies::CastRequest, verify::AuditRequest,
                   verify::ExplainRequest, verify::GenerateCastRequest, verify::GenerateMatmulRequest) {
  TestType changed, standard, typed, worded, filed;
  check_ways({requests::fields_of(changed), requests::fields_of(standard), requests::fields_of(typed),
              requests::fields_of(worded), requests::fields_of(filed)});
}

TEST_CASE("the schema has every field of every request, and no other", "[requests]") {
  const auto schema = nlohmann::json::parse(study_files::schema([](const Field&) { return Words(); }));
  const auto& tables = schema["properties"]["study"]["items"]["anyOf"];
  REQUIRE(tables.size() == study_files::kinds().size());

  for (std::size_t i = 0; i < tables.size(); ++i) {
    const auto study = study_files::kinds()[i].make();
    const Fields fields = study->fields();
    std::map<std::string, Words> wanted = values_of(fields);
    wanted["kind"], wanted["name"];
    CAPTURE(study_files::kinds()[i].name);
    CHECK(tables[i]["properties"].size() == wanted.size());
    for (const auto& [name, words] : wanted) {
      CAPTURE(name);
      REQUIRE(tables[i]["properties"].contains(name));
      for (const auto& way : tables[i]["properties"][name].value("anyOf", nlohmann::json::array()))
        if (way.value("type", "") == "array") CHECK(way["minItems"] == 1);
    }
  }
}

TEST_CASE("words ask for what is not standard, and for nothing else", "[requests]") {
  Numbers numbers;
  CHECK(requests::words_of(numbers).empty());

  numbers.text = "x", numbers.flag = true, numbers.several = {4, 5}, numbers.perhaps = 0.1;
  CHECK(requests::words_of(numbers) == Words{"--perhaps", "0.1", "--several", "4,5", "--flag", "--text-of-it", "x"});
}

TEST_CASE("a line is split at blanks that are in no quotes", "[requests]") {
  CHECK(requests::split_words("expr 'a * b'  --let x=\"1 2\"\t''", "") == Words{"expr", "a * b", "--let", "x=1 2", ""});
  CHECK(requests::split_words(" \n", "").empty());
  CHECK_THROWS_WITH(requests::split_words("a 'b", "r: "), "r: a quote is not closed");
}

TEST_CASE("words that no field takes are named", "[requests]") {
  Numbers numbers;
  Fields fields = requests::fields_of(numbers);
  const auto refused = [&](const Words& words) { requests::set_words(fields, words); };
  CHECK_THROWS_WITH(refused({"--wholly", "1"}), "there is no option --wholly");
  CHECK_THROWS_WITH(refused({"--whole"}), "--whole: give a value");
  CHECK_THROWS_WITH(refused({"7"}), "'7' is one word too many");
  CHECK_THROWS_WITH(refused({"--whole", "1", "--whole", "2"}), "--whole: 2 values; give one");
  refused({"--several", "7,8"});
  CHECK(numbers.several == std::vector<std::uint64_t>{7, 8});  // and not behind the standard ones
}

TEST_CASE("whole numbers are decimal or hexadecimal, real ones also of hexadecimal digits", "[requests]") {
  const auto whole = [](std::string word, requests::WholeBounds bounds) {
    const std::string wrong = requests::read_whole(word, bounds);
    return wrong.empty() ? word : wrong;
  };
  CHECK(whole("12", {}) == "12");
  CHECK(whole("0x1F", {}) == "31");
  CHECK(whole("0X1f", {}) == "31");
  for (const char* const word : {"", "0x", "-1", "+1", "1.5", "1e3", "12x", "18446744073709551616"})
    CHECK(whole(word, {.least = 0, .most = 99}) == "'" + std::string(word) + "': give a whole number from 0 to 99");
  CHECK(whole("100", {.least = 0, .most = 99}) == "'100': give a whole number from 0 to 99");

  CHECK(requests::real_of("-0x1.8p3") == -12);
  CHECK(requests::real_of("+0X1P-2") == 0.25);
  CHECK(requests::real_of("1e-3") == 1e-3);
  for (const char* const word : {"", "-", "--1", "+-1", "0x", "1,5", "inf", "-nan", "1e999"}) {
    CHECK(requests::read_real(word, {}) == "'" + std::string(word) + "': give a finite number");
    CHECK(requests::read_real(word, {.least = 0}) == "'" + std::string(word) + "': give a finite number of at least 0");
  }
  CHECK(requests::read_real("2", {.least = 0, .most = 1}) == "'2': give a number from 0 to 1");
  CHECK(requests::read_real("-1", {.least = 0, .most = 1}) == "'-1': give a number from 0 to 1");
}

TEST_CASE("text of any characters goes into TOML and back, and no other bytes go there", "[requests]") {
  for (const std::string text : {"", "plain", "it's", "'\"\\", "\x1b[31m\n\t", "\xc3\xa9\xe2\x80\xae'\x7f"}) {
    Numbers numbers, standard, back;
    numbers.text = text, numbers.flag = true, standard.text = "standard", standard.flag = true;
    Fields filed = requests::fields_of(back);
    const std::string toml = requests::to_toml(requests::fields_of(numbers), requests::fields_of(standard));
    CAPTURE(toml);
    requests::set_from(filed, requests::parse_toml(toml, "f.toml"), {});
    CHECK(back.text == text);
  }
  Numbers numbers, standard;
  standard.flag = true;
  CHECK(requests::to_toml(requests::fields_of(numbers), requests::fields_of(standard)) == "flag = false\n");
  numbers.text = "'\xff";
  CHECK_THROWS_WITH(requests::to_toml(requests::fields_of(numbers), requests::fields_of(standard)),
                    Catch::Matchers::EndsWith(": is no UTF-8, and so nothing that TOML can say"));
}

TEST_CASE("what is wrong in TOML is told with its line and what is right", "[requests]") {
  CHECK(refusal("text_of_it = \"x\"") == "accepted");
  CHECK(refusal("whole = 3") == "f.toml:1: text_of_it is missing: text");
  CHECK(refusal("text_of_it = \"x\"\nwhole = 10") == "f.toml:2: whole: '10': give a whole number from 1 to 9");
  CHECK(refusal("text_of_it = \"x\"\n\nwhole = 1.5") == "f.toml:3: whole: give a whole number");
  CHECK(refusal("text_of_it = \"x\"\nwhole = -1") == "f.toml:2: whole: '-1': give a whole number from 1 to 9");
  CHECK(refusal("text_of_it = \"x\"\nreal = \"0.5\"") == "f.toml:2: real: give a number");
  CHECK(refusal("text_of_it = \"x\"\nwhole = true") == "f.toml:2: whole: give a whole number");
  CHECK(refusal("text_of_it = \"x\"\nwhole = \"3\"") == "f.toml:2: whole: give a whole number");
  CHECK(refusal("text_of_it = \"x\"\nflag = \"true\"") == "f.toml:2: flag: give true or false");
  CHECK(refusal("text_of_it = {}") == "f.toml:1: text_of_it: give text in quotes");
  CHECK(refusal("text_of_it = \"x\"\nwhole = {}") == "f.toml:2: whole: give a whole number");
  CHECK(refusal("text_of_it = \"x\"\nreal = 2") == "f.toml:2: real: '2': give a number from 0 to 1");
  CHECK(refusal("text_of_it = \"x\"\nreal = nan") == "f.toml:2: real: 'nan': give a number from 0 to 1");
  CHECK(refusal("text_of_it = \"x\"\nflag = 1") == "f.toml:2: flag: give true or false");
  CHECK(refusal("text_of_it = true") == "f.toml:1: text_of_it: give text in quotes");
  CHECK(refusal("text_of_it = [\"x\"]") == "f.toml:1: text_of_it: give text in quotes, not an array");
  CHECK(refusal("text_of_it = \"x\"\nseveral = [1, [2]]") == "f.toml:2: several: give an array of values");
  CHECK(refusal("text_of_it = \"x\"\nwhol = 3") == "f.toml:2: unknown key 'whol'; nearest: whole, real, flag");
  CHECK(refusal("text_of_it = 1979-05-27") == "f.toml:1: dates and times mean nothing here");
  CHECK_THAT(refusal("text_of_it = \"x"), Catch::Matchers::StartsWith("f.toml:1: "));
  CHECK(refusal("text_of_it = " + std::string(64, '[') + std::string(64, ']')) == "f.toml:1: nested deeper than 32");
}

TEST_CASE("what nests deeper than 32 levels in TOML is refused before it is parsed, whatever makes the levels", "[requests]") {
  const auto parts = [](std::size_t count, const std::string& dot = ".") {
    std::string key = "a";
    while (--count > 0) key += dot + "a";
    return key;
  };
  const auto refused_in = [](int line, const std::string& toml) {
    CAPTURE(toml.substr(0, 200));
    CHECK_THROWS_WITH(requests::parse_toml(toml, "f.toml"), "f.toml:" + std::to_string(line) + ": nested deeper than 32");
  };
  refused_in(1, parts(100'000) + "=1");
  refused_in(1, "[" + parts(100'000) + "]");
  refused_in(2, "x = 1\n[[" + parts(100'000) + "]]");
  refused_in(3, "x = '''\n''''' # '\n" + parts(33, " . ") + " = 1");
  refused_in(1, parts(17, ".\"b.c\".'d'.") + " = 1");
  refused_in(1, "x = {" + parts(32) + " = 1}");
  refused_in(2, "x = [ # [\n" + std::string(30, '[') + "{b = 1, " + parts(2) + " = 1}" + std::string(31, ']'));
  refused_in(2, "[" + parts(16) + "]\n" + parts(17) + " = 1");

  for (const std::string& good :
       {parts(32) + " = 1.5", "[" + parts(32) + "]", "x = {" + parts(31) + " = 1, b" + parts(31) + " = 1.5}",
        "x = " + std::string(31, '[') + "1.5" + std::string(31, ']') + "\n" + parts(32) + " = {}",
        "[[" + parts(15) + "]]\n" + parts(16) + " = 1.5\n[[" + parts(15) + "]]"})
    CHECK_NOTHROW(requests::parse_toml(good, "f.toml"));
  const std::string dots = parts(40) + std::string(40, '[');
  for (const std::string& good :
       {"\"" + dots + "\\\"" + dots + "\" # " + dots, "'" + dots + "\\' # \"" + dots,
        "\"\"\"\n" + dots + "\"\"\n\\\"\"\"" + dots + "\"\"\"\"\" # " + dots, "'''" + dots + "''\n" + dots + "'''' # " + dots})
    CHECK(refusal("text_of_it = " + good) == "accepted");
  CHECK(refusal("\"text_of_it\" = \"\" # " + dots + "\n'several' = [ # " + dots + "\n]") == "accepted");
}

TEST_CASE("characters that are not ASCII stand in quotes and comments of TOML, and nowhere else", "[requests]") {
  for (const std::string wrong :
       {"C\xcc\x8d[[study]]", "text_of_it =\xc2\xa0\"x\"", "text_of_it = \"x\"\xc3\xa9", "text_of_it = 0\"\xc3\xa9\"",
        "text_of_it = 'x'\xe3\x81\x82", "text_of_it = \"\\\xc3\xa9\"", "\xc3\xa9 = 1", "text_of_it = \xff"})
    CHECK_THAT(refusal(wrong), Catch::Matchers::StartsWith("f.toml:1: "));

  CHECK(refusal("\xef\xbb\xbftext_of_it = \"\xc3\xa9 # \\\" '\" # \xc3\xa9 \" '") == "accepted");
  CHECK(refusal("text_of_it = '\xc3\xa9 # \\' # \xc3\xa9") == "accepted");
  CHECK(refusal("text_of_it = \"\"\"x\\ \n\n \xc3\xa9\"\"\"\"\" # \xc3\xa9") == "accepted");
}
