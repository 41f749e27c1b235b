// SPDX-License-Identifier: Apache-2.0
// From a request to a subject, what is right, and the inputs; a conformance as a study.
#include "verify/conform/conform_request.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "files/new_file.hpp"
#include "verify/conform/conform_presets.hpp"

namespace ulpscope::verify {
namespace {

NanCheck parse_nan(const std::string& word) {
  if (word.empty() || word == "any") return NanCheck::any;
  if (word == "sign") return NanCheck::sign;
  if (word == "code") return NanCheck::code;
  throw Error("--nan " + word + ": give any, sign (that of the input) or code (the canonical one)");
}

Rules rules_of(const ConformRequest& request, emu::Format to) {
  if (!request.preset.empty()) {
    const requests::RoundingRequest& r = request.rounding;
    const requests::RoundingRequest standard;
    const std::pair<const char*, bool> options[]{{"--rounding", r.rounding != standard.rounding},
                                                 {"--policy", !r.policy.empty()},
                                                 {"--flush-subnormals", r.flush_subnormals},
                                                 {"--subnormals-are-zero", r.subnormals_are_zero},
                                                 {"--nan", !request.nan.empty()},
                                                 {"--op", !request.op.empty()}};
    for (const auto& [option, given] : options)
      if (given) throw Error(std::string("--preset says what ") + option + " would: give one of them");
    return find_preset(request.preset, to).rules;
  }
  Rules rules{.options = request.rounding.options(), .nan_check = parse_nan(request.nan)};
  if (rules.options.rounding == emu::Rounding::stochastic)
    throw Error("--rounding stochastic: has no one right result; give a deterministic mode");
  if (rules.nan_check == NanCheck::sign) rules.nan_sign = rules.overflow_nan_sign = Sign::of_input;
  return rules;
}

Computation right_of(const ConformRequest& request) {
  if (request.from.empty()) throw Error("--from F is missing: the format of the inputs");
  const emu::Format from = requests::parse_format(request.from);
  Computation right{from, from};
  if (!request.op.empty()) {
    right.operation = parse_unary_operation(request.op);
    if (!right.operation) {
      std::string known;
      for (const std::string& word : unary_operation_words()) known += (known.empty() ? "" : ", ") + word;
      throw Error("unknown operation '" + request.op + "'; there are " + known);
    }
    if (!request.to.empty() && !(requests::parse_format(request.to) == from))
      throw Error("--op " + request.op + " has one format: --to " + request.to + " is another than --from " + request.from);
    if (from.bits() > 32) throw Error("--op " + request.op + ": formats have at most 32 bits, not " + emu::format_name(from));
  } else {
    if (request.to.empty()) throw Error("--to F is missing: the format of the results (or --op OP, a function)");
    right.to = requests::parse_format(request.to);
  }
  right.rules = rules_of(request, right.to);
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

Questions questions_of(const ConformRequest& request, const Inputs& inputs, emu::Format to) {
  Questions questions{inputs, to, 0, inputs.size()};
  if (request.range.empty()) return questions;
  const std::size_t colon = request.range.find(':');
  const std::string_view text = request.range;
  questions.first = parse_code(text.substr(0, colon), request.range);
  questions.end = parse_code(colon == std::string::npos ? "" : text.substr(colon + 1), request.range);
  if (questions.first > questions.end) throw Error("--range " + request.range + ": END lies before FIRST");
  if (questions.end > inputs.size())
    throw Error("--range " + request.range + ": lies outside of 0:" + std::to_string(inputs.size()));
  return questions;
}

std::unique_ptr<Subject> subject_of(const ConformRequest& request, const Questions& questions) {
  if (!request.program.empty()) return start_program({request.program, request.timeout}, questions);
  if (!request.dump.empty()) return open_dump(request.dump, questions);
  return open_library({.library = request.library,
                       .symbol = request.symbol,
                       .signature = parse_signature(request.signature),
                       .threads = request.subject_threads},
                      questions);
}

void check_subject(const ConformRequest& request) {
  const int given = (request.program.empty() ? 0 : 1) + (request.dump.empty() ? 0 : 1) + (request.library.empty() ? 0 : 1);
  if (given != 1) throw Error("what is to be checked? give one of --library LIB --symbol NAME, --program CMD, --dump FILE");
  if (!(request.timeout > 0)) throw Error("--timeout: give a number of seconds above 0");
  if (!request.library.empty() && request.symbol.empty())
    throw Error("--library " + request.library + ": add --symbol NAME, the function");
  if (request.library.empty() &&
      (!request.symbol.empty() || request.signature != ConformRequest{}.signature || request.subject_threads != 0))
    throw Error("--symbol, --signature and --subject-threads belong to --library LIB");
}

/// Where zero may stand for every number, converters of no worth pass.
void check_ulp(const ConformRequest& request, emu::Format to) {
  const emu::Code numbers = to.max_finite_code();
  if (request.ulp != 0 && request.ulp >= numbers)
    throw Error("--ulp " + std::to_string(request.ulp) + ": " + emu::format_name(to) + " has " + std::to_string(numbers) +
                " numbers above zero, and zero would pass for each; give less than that");
}

/// What is asked of the subject.
struct Asked {
  explicit Asked(const ConformRequest& request)
      : right(right_of(request)),
        inputs(right.from, right.to, request.seed),
        questions(questions_of(request, inputs, right.to)) {
    check_ulp(request, right.to);
  }

  Computation right;
  Inputs inputs;
  Questions questions;
};

}  // namespace

std::string subject_name(const ConformRequest& request) {
  if (!request.program.empty()) return request.program;
  return request.dump.empty() ? request.library + ":" + request.symbol : request.dump;
}

void write_inputs(const ConformRequest& request, const std::string& path) {
  const Asked asked(request);
  const Questions& questions = asked.questions;
  constexpr std::uint64_t at_once = std::uint64_t{1} << 20;
  files::NewFile file(path);
  Words words(questions.inputs.format(), 0);
  for (std::uint64_t first = questions.first; first < questions.end; first += at_once) {
    words.resize(static_cast<std::size_t>(std::min(at_once, questions.end - first)));
    questions.inputs.fill(first, words);
    const auto bytes = words.bytes();
    file.write(bytes.data(), bytes.size());
  }
  file.commit();
}

ConformResult conform(const ConformRequest& request, const studies::Progress& progress,
                      const std::function<void(const std::string& line)>& found) {
  const Asked asked(request);
  check_subject(request);
  const std::unique_ptr<Subject> subject = subject_of(request, asked.questions);
  const ConformHeading heading{subject_name(request), request.preset,           asked.right,
                               request.ulp,           asked.inputs.is_sample(), request.range};
  ConformConfig config{.right = asked.right,
                       .ulp = request.ulp,
                       .examples = static_cast<std::size_t>(request.examples),
                       .threads = request.threads,
                       .progress = progress};
  if (found) config.mismatch = [&](const Mismatch& mismatch) { found(mismatch_line(heading, mismatch)); };
  return {heading, conform(*subject, asked.questions, config)};
}

studies::StudyOutcome outcome_of(const Conformance& result) {
  if (result.compared == 0) return studies::StudyOutcome::vacuous;
  return result.mismatches == 0 ? studies::StudyOutcome::done : studies::StudyOutcome::failed;
}

studies::StudyResult run(const ConformRequest& request, const studies::Progress& progress) {
  const ConformResult done = conform(request, progress);
  const Conformance& result = done.conformance;
  const bool wrong = result.mismatches != 0;
  return {.tables = {conform_table(done.heading, result), conform_examples(done.heading, result)},
          .findings = {{.what = "mismatches",
                        .where = done.heading.subject,
                        .value = static_cast<std::int64_t>(result.mismatches),
                        .threshold = std::int64_t{0},
                        .source = "every input of a conversion has one right result (IEEE 754-2019, 4.3)",
                        .severity = wrong ? reports::Severity::bad : reports::Severity::good,
                        .sentence = diagnosis(result, done.heading.subject)}},
          .outcome = outcome_of(result)};
}

studies::Work work_of(const ConformRequest& request) {
  const Asked asked(request);
  return {.operations = asked.questions.end - asked.questions.first, .rows = 1};
}

void ConformRequest::describe(requests::Fields& fields) {
  fields.add("library", library, "shared library with the function to check").as_value("LIB.so");
  fields.add("symbol", symbol, "its name in the library").as_value("NAME");
  fields.add("signature", signature, "how it is called, see below").as_value("batch|scalar|scalar_float").shown();
  fields.add("subject_threads", subject_threads, "call the function from at most N threads; 0: any number")
      .whole({.most = 4096});
  fields.add("program", program, "shell command: inputs on its standard input, results on its standard output").as_value("CMD");
  fields.add("timeout", timeout, "seconds that a program may give no result").real({.least = 0}).shown();
  fields.add("dump", dump, "file of results, one per input: raw words, or .npy of unsigned integers").as_value("FILE");
  fields.add("from", from, "format of the inputs").as_value("F");
  fields.add("to", to, "format of the results").as_value("F");
  fields.add("op", op, "an elementwise function of --from instead of a conversion: exp, tanh, rcp, ...").as_value("OP");
  fields.add("preset", preset, "somebody's conversion: cuda, onnx, ml_dtypes, pytorch, ...; see --list-presets")
      .as_value("PRESET");
  fields.add("nan", nan, "NaN results: any NaN is right, the sign of the input, or every bit of the code")
      .as_value("any|sign|code")
      .shown_as("any");
  fields.add("ulp", ulp, "results may be N codes away").whole().shown();
  fields.add("range", range, "inputs FIRST to END - 1 only, in decimal or 0x hexadecimal").as_value("FIRST:END");
  fields.add("examples", examples, "mismatches shown of each class").whole({1, 1000}).shown();
  rounding.describe(fields);
  requests::describe_seed(fields, seed, "key of stochastic rounding and of sampled inputs");
  requests::describe_threads(fields, threads);
}

}  // namespace ulpscope::verify
