// SPDX-License-Identifier: Apache-2.0
#include "verify/conform/conform.hpp"

#include <charconv>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/conform_tables.hpp"
#include "cli/crash_line.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/render.hpp"
#include "tensors/new_file.hpp"
#include "verify/conform/conform_presets.hpp"

namespace ulpscope::cli {
namespace {

struct Conform {
  CommonOptions common;
  std::string from, to, operation, preset, nan = "any", range;
  std::string program, library, symbol, signature = "batch", dump, write_inputs;
  std::uint64_t ulp = 0;
  std::size_t examples = 3;
  int subject_threads = 0;
  bool list_presets = false;
  const Command* command = nullptr;

  bool given(const std::string& option) const { return command->count(option) != 0; }
};

verify::NanCheck parse_nan(const std::string& word) {
  if (word == "any") return verify::NanCheck::any;
  if (word == "sign") return verify::NanCheck::sign;
  if (word == "code") return verify::NanCheck::code;
  throw Error("--nan " + word + ": give any, sign (that of the input) or code (the canonical one)");
}

verify::Rules rules_of(const Conform& conform, emu::Format to) {
  if (!conform.preset.empty()) {
    for (const char* const option : {"--rounding", "--policy", "--flush-subnormals", "--subnormals-are-zero", "--nan", "--op"})
      if (conform.given(option)) throw Error(std::string("--preset says what ") + option + " would: give one of them");
    return verify::find_preset(conform.preset, to).rules;
  }
  verify::Rules rules{.options = conform.common.parsed_rounding(), .nan_check = parse_nan(conform.nan)};
  if (rules.options.rounding == emu::Rounding::stochastic)
    throw Error("--rounding stochastic: has no one right result; give a deterministic mode");
  if (rules.nan_check == verify::NanCheck::sign) rules.nan_sign = rules.overflow_nan_sign = verify::Sign::of_input;
  return rules;
}

verify::Computation right_of(const Conform& conform) {
  if (conform.from.empty()) throw Error("--from F is missing: the format of the inputs");
  const emu::Format from = parse_format(conform.from);
  verify::Computation right{from, from};
  if (!conform.operation.empty()) {
    right.operation = verify::parse_unary_operation(conform.operation);
    if (!right.operation) {
      std::string known;
      for (const std::string& word : verify::unary_operation_words()) known += (known.empty() ? "" : ", ") + word;
      throw Error("unknown operation '" + conform.operation + "'; there are " + known);
    }
    if (!conform.to.empty() && !(parse_format(conform.to) == from))
      throw Error("--op " + conform.operation + " has one format: --to " + conform.to + " is another than --from " +
                  conform.from);
    if (from.bits() > 32)
      throw Error("--op " + conform.operation + ": formats have at most 32 bits, not " + emu::format_name(from));
  } else {
    if (conform.to.empty()) throw Error("--to F is missing: the format of the results (or --op OP, a function)");
    right.to = parse_format(conform.to);
  }
  right.rules = rules_of(conform, right.to);
  return right;
}

std::uint64_t parse_code(std::string_view text, const std::string& whole) {
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw Error("--range " + whole + ": give FIRST:END, codes in decimal or 0x hexadecimal, END not included");
  return out;
}

verify::Questions questions_of(const Conform& conform, const verify::Inputs& inputs, emu::Format to) {
  verify::Questions questions{inputs, to, 0, inputs.size()};
  if (conform.range.empty()) return questions;
  const std::size_t colon = conform.range.find(':');
  const std::string_view text = conform.range;
  questions.first = parse_code(text.substr(0, colon), conform.range);
  questions.end = parse_code(colon == std::string::npos ? "" : text.substr(colon + 1), conform.range);
  if (questions.first > questions.end || questions.end > inputs.size())
    throw Error("--range " + conform.range + ": lies outside of 0:" + std::to_string(inputs.size()));
  return questions;
}

std::unique_ptr<verify::Subject> subject_of(const Conform& conform, const verify::Questions& questions) {
  if (!conform.program.empty()) return verify::start_program(conform.program, questions);
  if (!conform.dump.empty()) return verify::open_dump(conform.dump, questions);
  return verify::open_library({.library = conform.library,
                               .symbol = conform.symbol,
                               .signature = verify::parse_signature(conform.signature),
                               .threads = conform.subject_threads},
                              questions);
}

std::string subject_name(const Conform& conform) {
  if (!conform.program.empty()) return conform.program;
  return conform.dump.empty() ? conform.library + ":" + conform.symbol : conform.dump;
}

void check_subject(const Conform& conform) {
  const int given = (conform.program.empty() ? 0 : 1) + (conform.dump.empty() ? 0 : 1) + (conform.library.empty() ? 0 : 1);
  if (given != 1) throw Error("what is to be checked? give one of --library LIB --symbol NAME, --program CMD, --dump FILE");
  if (!conform.library.empty() && conform.symbol.empty())
    throw Error("--library " + conform.library + ": add --symbol NAME, the function");
  if (conform.library.empty() &&
      (!conform.symbol.empty() || conform.given("--signature") || conform.given("--subject-threads")))
    throw Error("--symbol, --signature and --subject-threads belong to --library LIB");
}

void write_inputs(const std::string& path, const verify::Questions& questions) {
  constexpr std::uint64_t at_once = std::uint64_t{1} << 20;
  tensors::NewFile file(path);
  verify::Words words(questions.inputs.format(), 0);
  for (std::uint64_t first = questions.first; first < questions.end; first += at_once) {
    words.resize(static_cast<std::size_t>(std::min(at_once, questions.end - first)));
    questions.inputs.fill(first, words);
    const auto bytes = words.bytes();
    file.write(bytes.data(), bytes.size());
  }
  file.commit();
}

void print_text(const Conform& conform, const ConformHeading& heading, const verify::Conformance& result) {
  print(conform_heading(heading, result) + "\n");
  if (result.mismatches != 0) {
    const auto tables = chosen_together({conform_counts(result), conform_examples(heading, result)}, conform.common);
    print("\n"), print_chosen(tables[0], conform.common, 1);
    print("\nThe first of each class:\n"), print_chosen(with_whole_numbers(tables[1]), conform.common, 2);
  }
  print("\n" + verify::diagnosis(result, heading.subject) + "\n");
}

void print_result(const Conform& conform, const ConformHeading& heading, const verify::Conformance& result) {
  const std::string sentence = verify::diagnosis(result, heading.subject);
  const reports::Table table = conform_table(heading, result);
  switch (rendering_of(conform.common)) {
    case Rendering::csv:
      print(table, conform.common, 1);
      remark(sentence);
      break;
    case Rendering::json: {
      const auto tables = chosen_together({table, conform_examples(heading, result)}, conform.common);
      print("{\"conform\": " + json_of(tables[0], conform.common) + ", \"examples\": " + json_of(tables[1], conform.common) +
            "}\n");
      remark(sentence);
      break;
    }
    case Rendering::text: return print_text(conform, heading, result);
  }
}

int run(const Conform& conform) {
  if (conform.list_presets) return print(preset_table(), conform.common, 2), done;
  const verify::Computation right = right_of(conform);
  const verify::Inputs inputs(right.from, right.to, conform.common.seed);
  const verify::Questions questions = questions_of(conform, inputs, right.to);
  if (!conform.write_inputs.empty()) return write_inputs(conform.write_inputs, questions), done;
  check_subject(conform);

  const ConformHeading heading{subject_name(conform), conform.preset, right, conform.ulp, inputs.is_sample()};
  const CrashLine crash(heading.subject + ": crashed");
  const std::unique_ptr<verify::Subject> subject = subject_of(conform, questions);
  ProgressLine progress;
  const verify::Conformance result = verify::conform(*subject, questions,
                                                     {.right = right,
                                                      .ulp = conform.ulp,
                                                      .examples = conform.examples,
                                                      .threads = conform.common.threads,
                                                      .progress = progress.callback()});
  print_result(conform, heading, result);
  if (result.compared == 0) return vacuous;
  return result.mismatches == 0 ? done : check_failed;
}

void add_subject(Command& command, Conform& conform) {
  command.add_option("--library", conform.library, "shared library with the function to check")->type_name("LIB.so");
  command.add_option("--symbol", conform.symbol, "its name in the library")->type_name("NAME");
  command.add_option("--signature", conform.signature, "how it is called, see below")
      ->type_name("batch|scalar|scalar_float")
      ->capture_default_str();
  command.add_option("--subject-threads", conform.subject_threads, "call the function from at most N threads; 0: any number")
      ->whole({.most = 4096});
  command
      .add_option("--program", conform.program, "shell command: inputs on its standard input, results on its standard output")
      ->type_name("CMD");
  command.add_option("--dump", conform.dump, "file of results, one per input: raw words, or .npy of unsigned integers")
      ->type_name("FILE");
  command.add_option("--write-inputs", conform.write_inputs, "write the inputs as raw words instead of checking anything")
      ->type_name("FILE");
}

void add_right(Command& command, Conform& conform) {
  command.add_option("--from", conform.from, "format of the inputs")->type_name("F");
  command.add_option("--to", conform.to, "format of the results")->type_name("F");
  command
      .add_option("--op", conform.operation, "an elementwise function of --from instead of a conversion: exp, tanh, rcp, ...")
      ->type_name("OP");
  command
      .add_option("--preset", conform.preset, "somebody's conversion: cuda, onnx, ml_dtypes, pytorch, ...; see --list-presets")
      ->type_name("PRESET");
  command.add_flag("--list-presets", conform.list_presets, "the presets, their formats and sources");
  command.add_option("--nan", conform.nan, "NaN results: any NaN is right, the sign of the input, or every bit of the code")
      ->type_name("any|sign|code")
      ->capture_default_str();
  command.add_option("--ulp", conform.ulp, "results may be so many codes away")->whole()->capture_default_str();
  command.add_option("--range", conform.range, "inputs FIRST to END - 1 only, in decimal or 0x hexadecimal")
      ->type_name("FIRST:END");
  command.add_option("--examples", conform.examples, "mismatches shown of each class")->whole({1, 1000})->capture_default_str();
}

}  // namespace

void add_conform(Command& app, int& exit_code) {
  auto conform = std::make_shared<Conform>();
  Command& command = *app.add_subcommand("conform", "somebody else's converter on every input: each wrong result, and why");
  conform->command = &command;
  add_subject(command, *conform);
  add_right(command, *conform);
  conform->common.add_rounding(command);
  conform->common.add_threads(command);
  conform->common.add_output(command);
  command.footer(
      "Codes are right-aligned in little-endian words of 1, 2, 4 or 8 bytes, the least that hold the format. Signatures:\n"
      "  batch          void NAME(const void* in, void* out, size_t count)   words in and out\n"
      "  scalar         uintN_t NAME(uintM_t)                                a code in, a code out\n"
      "  scalar_float   uintN_t NAME(float)                                  of float64: NAME(double)\n"
      "\n"
      "A library's function: ulpscope conform --library ./libmine.so --symbol to_e4m3 --from fp32 --to e4m3 --preset cuda\n"
      "Example: ulpscope conform --program cat --from fp16 --to fp16");
  command.callback([conform, &exit_code] { exit_code = run(*conform); });
}

}  // namespace ulpscope::cli
