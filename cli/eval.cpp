// SPDX-License-Identifier: Apache-2.0
// The command `eval`: reads pieces, answers each before it reads the next.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/eval_lines.hpp"
#include "cli/eval_words.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

/// A pipe holds 64 KiB; files are read in larger pieces.
constexpr std::size_t read_bytes = std::size_t{1} << 18;

struct Eval {
  CommonOptions common;
  std::string operation, format, from, tininess = "after";

  Evaluation parsed() const {
    const Operation op = parse_operation(operation);
    const emu::Format to = requests::parse_format(format);
    if (op == Operation::convert && from.empty()) throw Error("--op convert: add --from F, the format of the operands");
    if (op != Operation::convert && !from.empty())
      throw Error("--from " + from + ": only --op convert has operands of another format; leave --from out");
    emu::RoundingOptions options = common.rounding.options();
    options.tininess = parse_tininess(tininess);
    return {op, from.empty() ? to : requests::parse_format(from), to, options, common.reading.seed};
  }
};

/// What one read gives, as soon as there is anything; 0 bytes at the end.
std::size_t read_input(std::span<char> room) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, room.data(), room.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error(std::string("standard input cannot be read: ") + std::strerror(errno));
  }
}

/// Prints the results of what each read returned before it reads again, so that a program that waits for them gets them.
void run(const Eval& eval) {
  const Evaluation evaluation = eval.parsed();
  std::vector<char> in(longest_line + read_bytes);
  const std::size_t out_bytes = results_bound(evaluation, in.size());
  const auto out = std::make_unique_for_overwrite<char[]>(out_bytes);
  std::size_t held = 0;  // bytes at the front of `in`: the beginning of a line
  std::uint64_t lines = 0;
  for (bool ended = false; !ended;) {
    const std::size_t got = read_input(std::span(in).subspan(held, read_bytes));
    held += got;
    ended = got == 0;
    if (ended && held > 0) in[held++] = '\n';  // a last line may lack it
    const std::string_view text(in.data(), held);
    const std::string_view whole = text.substr(0, text.rfind('\n') + 1);
    const Evaluated done = evaluate_lines(evaluation, whole, lines, {out.get(), out_bytes});
    if (!done.results.empty()) print(done.results);
    if (reader_has_gone()) return;
    lines += done.lines;
    const std::string_view rest = text.substr(done.bytes);
    if (done.bytes < whole.size() || rest.size() >= longest_line)
      throw Error("standard input, line " + std::to_string(lines + 1) + ": " +
                  what_is_wrong(evaluation, rest.substr(0, rest.find('\n'))));
    std::copy(rest.begin(), rest.end(), in.begin());
    held = rest.size();
  }
}

}  // namespace

void add_eval(Command& app, int&) {
  auto eval = std::make_shared<Eval>();
  Command& command = *app.add_subcommand("eval", "arithmetic on codes from standard input, in TestFloat's line format");
  command.add_option("--op", eval->operation, "operation: " + operation_words(", "))->type_name("OPERATION")->required();
  command.add_option("--format", eval->format, "format of the result, and of the operands unless --from names another")
      ->type_name("F")
      ->required();
  command.add_option("--from", eval->from, "convert: format of the operands")->type_name("F");
  command.add_option("--tininess", eval->tininess, "underflow is detected after or before rounding")
      ->type_name("after|before")
      ->capture_default_str();
  eval->common.add_rounding(command);
  command.footer(
      "A line holds the operands in hexadecimal; the answer repeats them and adds result and flags: 01 inexact, 02 underflow,\n"
      "04 overflow, 08 divide by zero, 10 invalid, added up. eq is quiet, le and lt signal; round_to_int is never inexact.\n"
      "\n"
      "With Berkeley TestFloat on both sides: testfloat_gen f16 2 | ulpscope eval --op add --format float16 | testfloat_ver "
      "f16_add\n"
      "Example: ulpscope eval --op add --format float16 <<< '3C00 1000'");
  command.callback([eval] { run(*eval); });
}

}  // namespace ulpscope::cli
