// SPDX-License-Identifier: Apache-2.0
// Writes reference and output to files, fills their names into the program's words, runs it and reads its exit code.
#include "cli/audit_program.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/child_program.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/read_file.hpp"
#include "reports/file_sha256.hpp"

namespace ulpscope::cli {
namespace {

/// What may stand in the words of a program.
constexpr std::array slots{"{ref}", "{out}", "{ref_codes}", "{out_codes}"};

constexpr std::string_view program_word = "program:";

std::string said_of(const std::string& rule) { return "rule '" + rule + "': "; }

/// One program and its files, for one product.
class ProgramJudge {
 public:
  ProgramJudge(ChildProgram program, verify::RuleProblem problem) : program_(std::move(program)), problem_(std::move(problem)) {
    for (const std::string slot : slots) files_[slot] = folder_.file(slot.substr(1, slot.size() - 2) + ".npy");
  }

  verify::RuleVerdict operator()(std::span<const double> reference, std::span<const double> output) const {
    write("{ref}", "{ref_codes}", reference);
    write("{out}", "{out_codes}", output);
    const verify::ChildEnd end = program_.run(files_, folder_);
    verify::RuleVerdict verdict{.passes = end.exit_code == 0};
    verdict.violations = verdict.passes ? 0 : 1;
    verdict.figure = end.exit_code.value_or(-1);
    if (end.exit_code != 0 && end.exit_code != 1)
      verdict.broken = program_.how_it_ended(end, ", where 0 accepts and 1 rejects");
    return verdict;
  }

 private:
  void write(const std::string& values_in, const std::string& codes_in, std::span<const double> values) const {
    if (program_.names(values_in)) write_values(files_.at(values_in), problem_.shape, problem_.out, values);
    if (program_.names(codes_in)) write_codes(files_.at(codes_in), problem_.shape, problem_.out, values);
  }

  ChildProgram program_;
  verify::RuleProblem problem_;
  ScratchFolder folder_;
  std::map<std::string, std::string> files_;  // by slot
};

}  // namespace

std::optional<std::string> program_of(const std::string& rule) {
  return rule.starts_with(program_word) ? std::optional(rule.substr(program_word.size())) : std::nullopt;
}

std::string program_lines(const std::vector<std::string>& rules) {
  std::string lines;
  for (const std::string& rule : rules) {
    const std::optional<std::string> command = program_of(rule);
    if (!command) continue;
    std::vector<std::string> words = program_words(*command, said_of(rule));
    words.front() = verify::path_of_program(words.front());
    std::error_code ignored;
    for (const std::string& word : words)
      if (std::filesystem::is_regular_file(word, ignored))
        lines += emu::visible(word) + ", sha256 " + reports::sha256_of_file(files::open_file(word), word) + "\n";
  }
  return lines;
}

verify::Rule program_rule(const std::string& command, double timeout_s) {
  const std::string word = std::string(program_word) + command, said = said_of(word);
  const ChildProgram program{program_words(command, said), timeout_s};
  if (!program.names("{out}") && !program.names("{out_codes}"))
    throw Error(said + "the program is not given the output; write it like program:./check {ref} {out}");
  return {word, [program](const verify::RuleProblem& problem) -> verify::RuleJudge {
            const auto judge = std::make_shared<ProgramJudge>(program, problem);
            return [judge](auto reference, auto output) { return (*judge)(reference, output); };
          }};
}

}  // namespace ulpscope::cli
