// SPDX-License-Identifier: Apache-2.0
// Writes reference and output to files, fills their names into the program's words, runs it and reads its exit code.
#include "cli/audit_program.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cli/scratch_folder.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"
#include "tensors/write.hpp"
#include "verify/child_process.hpp"

namespace ulpscope::cli {
namespace {

/// What may stand in the words of a program.
constexpr std::array slots{"{ref}", "{out}", "{ref_codes}", "{out_codes}"};

bool names(const std::vector<std::string>& words, const std::string& slot) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.find(slot) != std::string::npos; });
}

template <class T>
tensors::Producer<T> rounded_values(std::span<const double> values) {
  return [values](std::uint64_t first, std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values[static_cast<std::size_t>(first) + i]);
  };
}

void write_values(const std::string& path, const verify::RuleProblem& problem, std::span<const double> values) {
  if (problem.out == emu::float64) return tensors::write_npy(path, problem.shape, rounded_values<double>(values));
  tensors::write_npy(path, problem.shape, rounded_values<float>(values));
}

void write_codes(const std::string& path, const verify::RuleProblem& problem, std::span<const double> values) {
  tensors::write_npy_codes(path, problem.shape, problem.out, [&](std::uint64_t first, std::span<emu::Code> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = emu::encode(problem.out, values[static_cast<std::size_t>(first) + i]);
  });
}

/// One program and its files, for one product.
class ProgramJudge {
 public:
  ProgramJudge(ProgramRule program, verify::RuleProblem problem) : program_(std::move(program)), problem_(std::move(problem)) {}

  verify::RuleVerdict operator()(std::span<const double> reference, std::span<const double> output) const {
    write("{ref}", "{ref_codes}", reference);
    write("{out}", "{out_codes}", output);
    const verify::ChildEnd end = verify::run_child(words(), program_.timeout_s);
    if (end.interrupted_by != 0) {
      folder_.remove();
      ::signal(end.interrupted_by, SIG_DFL);
      ::raise(end.interrupted_by);
    }
    verify::RuleVerdict verdict{.passes = end.exit_code == 0};
    verdict.violations = verdict.passes ? 0 : 1;
    verdict.figure = end.exit_code.value_or(-1);
    if (end.exit_code != 0 && end.exit_code != 1) verdict.broken = reason(end);
    return verdict;
  }

 private:
  std::string path_of(const std::string& slot) const { return folder_.file(slot.substr(1, slot.size() - 2) + ".npy"); }
  void write(const std::string& values_in, const std::string& codes_in, std::span<const double> values) const {
    if (names(program_.words, values_in)) write_values(path_of(values_in), problem_, values);
    if (names(program_.words, codes_in)) write_codes(path_of(codes_in), problem_, values);
  }
  std::vector<std::string> words() const {
    std::vector<std::string> filled = program_.words;
    for (std::string& word : filled)
      for (const std::string slot : slots)
        for (std::size_t at = 0; (at = word.find(slot, at)) != std::string::npos;) {
          const std::string path = path_of(slot);
          word.replace(at, slot.size(), path);
          at += path.size();
        }
    return filled;
  }
  std::string reason(const verify::ChildEnd& end) const {
    const std::string tail = end.last_line.empty() ? "" : ": " + end.last_line;
    if (end.timed_out) return "was still running after " + reports::shortest(program_.timeout_s) + " s" + tail;
    if (!end.exit_code)
      return std::string("was ended by signal ") + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")" + tail;
    return "ended with exit code " + std::to_string(*end.exit_code) + ", where 0 accepts and 1 rejects" + tail;
  }

  ProgramRule program_;
  verify::RuleProblem problem_;
  ScratchFolder folder_;
};

}  // namespace

std::vector<std::string> split_words(std::string_view command) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;  // of a word, which quotes may leave empty
  for (const char c : command) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && blank) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else {
        words.back() += c;
      }
    }
  }
  const std::string quoted = "rule 'program:" + std::string(command) + "': ";
  if (quote != 0) throw Error(quoted + "a quote is not closed");
  const bool reads_output = names(words, "{out}") || names(words, "{out_codes}");
  if (words.empty() || !reads_output)
    throw Error(quoted + "the program is not given the output; write it like program:./check {ref} {out}");
  return words;
}

verify::Rule program_rule(std::string word, ProgramRule program) {
  return {std::move(word), [program = std::move(program)](const verify::RuleProblem& problem) -> verify::RuleJudge {
            const auto judge = std::make_shared<ProgramJudge>(program, problem);
            return [judge](auto reference, auto output) { return (*judge)(reference, output); };
          }};
}

}  // namespace ulpscope::cli
