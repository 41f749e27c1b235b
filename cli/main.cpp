// SPDX-License-Identifier: Apache-2.0
// The program: reads the command line, runs one command, turns errors into one line and an exit code.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/description.hpp"
#include "cli/output.hpp"
#include "cli/own_process.hpp"
#include "cli/unknown_word.hpp"
#include "emu/error.hpp"
#include "emu/simd.hpp"
#include "emu/visible.hpp"
#include "files/standard_descriptors.hpp"
#include "gpu/unit.hpp"
#include "reports/build_info.hpp"
#include "tensors/memory_limit.hpp"

namespace {

using namespace ulpscope;

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "ulpscope: %s\n", cli::shortened(emu::visible(message)).c_str());
  return code;
}

constexpr std::string_view no_memory = "ulpscope: out of memory\n";
std::atomic<bool> is_out_of_memory = false;
std::terminate_handler usual_end = nullptr;

/// What operator new calls where it finds none.
void note_missing_memory() {
  is_out_of_memory = true;
  throw std::bad_alloc();
}

bool ends_for_want_of_memory() {
  if (std::current_exception() == nullptr) return is_out_of_memory;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Where memory is missed in what must not throw: destructors of JSON values allocate. The line and the code are main()'s.
[[noreturn]] void end_program() {
  if (!ends_for_want_of_memory()) {
    usual_end();
    std::abort();
  }
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, no_memory.data(), no_memory.size());
  cli::OwnProcess::is_ended_by_itself();
  ::_exit(cli::own_error);
}

bool takes_value(const cli::CommandDescription& command, const std::string& option) {
  return std::ranges::any_of(command.options, [&](const cli::OptionDescription& o) {
    return !o.is_flag() && std::ranges::find(o.names, option) != o.names.end();
  });
}

/// CLI11 takes what begins with `-` for an option: a space before the negative numbers that `round` is given keeps them inputs.
std::vector<std::string> with_marked_numbers(std::vector<std::string> arguments, const CLI::App& app) {
  if (arguments.front() != "round") return arguments;
  const cli::CommandDescription round = cli::describe(*app.get_subcommand("round"));
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    std::string& word = arguments[i];
    if (word.size() < 2 || word[0] != '-' || takes_value(round, arguments[i - 1])) continue;
    if (std::string_view("0123456789.inIN").find(word[1]) != std::string_view::npos) word.insert(0, 1, ' ');
  }
  return arguments;
}

/// CLI11 leaves out what is empty between commas, and a variable of a script that is not set would leave out a value. It lets
/// `=true` and `=` pass after a flag, though a report, which holds its words, is another one then.
void check_values(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const auto named = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == words[i]; });
    if (!named.empty()) command = named.front();
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const CLI::Option* const option = name.starts_with('-') ? command->get_option_no_throw(name) : nullptr;
    if (option != nullptr && option->get_items_expected_max() == 0 && equals != std::string::npos && name.starts_with("--"))
      throw CLI::ArgumentMismatch::FlagOverride(name.substr(2));
    if (option == nullptr || option->get_delimiter() == '\0' || (equals == std::string::npos && i + 1 == words.size()))
      continue;
    const std::string list = "," + (equals == std::string::npos ? words[i + 1] : words[i].substr(equals + 1)) + ",";
    if (list != ",," && list.find(",,") != std::string::npos)
      throw Error(name + " '" + list.substr(1, list.size() - 2) + "': there is nothing before or after a comma");
  }
}

/// The path that the environment asks for; the results do not depend on it.
void choose_simd_path() {
  const char* const path = std::getenv("ULPSCOPE_SIMD");
  if (path == nullptr || *path == '\0') return;
  try {
    emu::use_simd_path(path);
  } catch (const Error& error) {
    throw Error(std::string("environment variable ULPSCOPE_SIMD: ") + error.what());
  }
}

constexpr std::string_view memory_option = "--max-memory";

/// `8G`: a whole number, and K, M, G or T for powers of 1024.
std::uint64_t parse_size(const std::string& word) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  const std::string_view unit(end, static_cast<std::size_t>(word.data() + word.size() - end));
  const std::size_t power = unit.empty() ? 0 : std::string_view("KMGT").find(unit) + 1;
  const bool known = error == std::errc() && unit.size() <= 1 && (unit.empty() || power != 0);
  if (!known || size == 0 || size > (~std::uint64_t{0} >> (10 * power)))
    throw Error(std::string(memory_option) + ": '" + word + "': give bytes, such as 500M or 8G");
  return size << (10 * power);
}

/// Takes the option that all commands have out of their words: no result depends on it, so that no report has to know it.
std::vector<std::string> without_memory_limit(std::vector<std::string> arguments) {
  bool is_given = false;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string word = arguments[i];
    const bool has_value = word.starts_with(std::string(memory_option) + "=");
    if (word != memory_option && !has_value) continue;
    if (!has_value && i + 1 == arguments.size()) throw Error(std::string(memory_option) + ": give bytes, such as 500M or 8G");
    if (is_given) throw Error(std::string(memory_option) + " is given more than once");
    is_given = true;
    tensors::set_memory_limit(parse_size(has_value ? word.substr(memory_option.size() + 1) : arguments[i + 1]));
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(first, first + (has_value ? 1 : 2));
    --i;
  }
  return arguments;
}

int run(const std::vector<std::string>& arguments);

/// One command of the program, and the heading that it is listed below.
struct Entry {
  std::string_view heading, name;
  std::function<void(cli::Command&)> add;
  bool asks_for_all = false;  ///< reads the others, too
};

std::vector<Entry> all_commands(const std::vector<std::string>& arguments, int& exit_code) {
  const auto by_code = [&](void (*add)(cli::Command&, int&)) {
    return [&exit_code, add](cli::Command& program) { add(program, exit_code); };
  };
  const auto by_words = [&](void (*add)(cli::Command&, const cli::Arguments&, int&)) {
    return [&arguments, &exit_code, add](cli::Command& program) { add(program, arguments, exit_code); };
  };
  return {{"numbers", "round", by_code(cli::add_round)},
          {"numbers", "formats", by_code(cli::add_formats)},
          {"numbers", "eval", by_code(cli::add_eval)},
          {"tensors", "info", by_code(cli::add_info)},
          {"tensors", "census", by_words(cli::add_census)},
          {"tensors", "sweep", by_words(cli::add_sweep)},
          {"tensors", "merge", by_code(cli::add_merge)},
          {"tensors", "choose", [&](cli::Command& program) { cli::add_choose(program, arguments); }},
          {"tensors", "cast", by_code(cli::add_cast)},
          {"tensors", "diff", by_words(cli::add_diff)},
          {"products", "matmul", by_code(cli::add_matmul)},
          {"products", "accumulation", by_words(cli::add_accumulation)},
          {"products", "engines", by_code(cli::add_engines)},
          {"products", "probe", by_code(cli::add_probe)},
          {"training", "recipes", cli::add_recipes},
          {"training", "scalers", cli::add_scalers},
          {"training", "scale", by_words(cli::add_scale)},
          {"training", "train", by_words(cli::add_train)},
          {"studies", "run", by_words(cli::add_run)},
          {"studies", "schema", cli::add_schema},
          {"studies", "report", [&](cli::Command& program) { cli::add_report(program, run, exit_code); }, true},
          {"checks", "verify", by_words(cli::add_verify)},
          {"checks", "explain", by_code(cli::add_explain)},
          {"checks", "invariance", by_words(cli::add_invariance)},
          {"checks", "audit", by_words(cli::add_audit)},
          {"checks", "generate", by_code(cli::add_generate)},
          {"checks", "conform", by_code(cli::add_conform)},
          {"checks", "ledger", by_code(cli::add_ledger)},
          {"checks", "evidence", by_words(cli::add_evidence)},
          {"hardware", "devices", by_code(cli::add_devices)},
          {"this program", "completion", cli::add_completion, true},
          {"this program", "man", cli::add_man, true}};
}

/// All commands, or the one that the first word names: the options of all of them take five times as long as its own.
void add_commands(cli::Command& program, const std::vector<std::string>& arguments, int& exit_code) {
  std::vector<Entry> commands = all_commands(arguments, exit_code);
  const auto named = arguments.empty() ? commands.end() : std::ranges::find(commands, arguments.front(), &Entry::name);
  if (named != commands.end() && !named->asks_for_all) commands = {*named};
  for (const Entry& command : commands) {
    program.heading(std::string(command.heading));
    command.add(program);
  }
}

/// The command that the words name; words that name none are inputs and options.
const cli::CommandDescription& named_command(const cli::CommandDescription& program, const std::vector<std::string>& words) {
  const cli::CommandDescription* command = &program;
  for (const std::string& word : words) {
    const auto named = std::ranges::find(command->commands, word, &cli::CommandDescription::name);
    if (named != command->commands.end()) command = &*named;
  }
  return *command;
}

std::string missing_command(const cli::CommandDescription& group) {
  std::string names;
  for (const cli::CommandDescription& command : group.commands) names += (names.empty() ? "" : ", ") + command.name();
  return "`" + group.path + "` needs a command: " + names;
}

/// The first of the words behind all inputs, where these are files.
std::optional<std::string> file_too_many(const CLI::ParseError& error, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return std::nullopt;
  const std::vector<std::string> words = app.remaining(true);
  std::error_code ignored;
  const auto is_file = [&](const std::string& word) { return std::filesystem::exists(word, ignored); };
  return !words.empty() && std::ranges::all_of(words, is_file) ? std::optional(words.front()) : std::nullopt;
}

int refuse(const CLI::ParseError& error, const CLI::App& app, const std::vector<std::string>& words) {
  const cli::CommandDescription program = cli::describe(app);
  const cli::CommandDescription& chosen = named_command(program, words);
  std::string sentence = error.what();
  if (const auto unknown = cli::unknown_word(program, words)) {
    sentence = *unknown;
  } else if (const auto more = file_too_many(error, app); more && !chosen.inputs.empty()) {
    sentence = *more + " is an input more than `" + chosen.path +
               "` takes; a pattern of file names stands in quotes, or the shell puts the files in its place";
  } else if (!chosen.commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    sentence = missing_command(chosen);
  } else if (const std::size_t most = sentence.find(": At Most 1 required"); most != std::string::npos) {
    sentence = sentence.substr(0, most) + " is given more than once";
  } else if (const std::size_t value = sentence.find(" was given a disallowed flag override"); value != std::string::npos) {
    sentence = "--" + sentence.substr(0, value) + " takes no value";
  }
  return fail(sentence + "; see `" + chosen.path + " --help`", cli::bad_usage);
}

void print_help(const cli::CommandDescription& command) { cli::print(cli::help_text(command, cli::terminal_width())); }

int run(const std::vector<std::string>& arguments) {
  CLI::App app("what low-precision floating point does to numbers, to the last bit", "ulpscope");
  app.set_help_flag("-h,--help", "what a command does, and how it is used");
  app.set_version_flag("--version", "ulpscope " + reports::version(), "the version");
  std::string declared;  // for help; without_memory_limit() has read it
  app.add_option(std::string(memory_option), declared,
                 "bytes that the tensors of files may take, such as 8G; half of what there is")
      ->type_name("SIZE");
  app.require_subcommand(1);
  app.footer(
      "The environment variable ULPSCOPE_SIMD chooses the vector instructions; results do not depend on it.\n"
      "Example: ulpscope round 464 465 0.001 --to e4m3,fp16\n"
      "         ulpscope census studies/data/breast-cancer.csv --text\n"
      "         ulpscope sweep studies/data/digits-training.safetensors:end.layer1.weight_grad -o report");
  cli::Command program(app);
  int exit_code = cli::done;
  add_commands(program, arguments, exit_code);
  if (arguments.empty()) return cli::print(cli::introduction(cli::describe(app))), cli::done;
  if (arguments.front() == "help") {
    const cli::CommandDescription described = cli::describe(app);
    return print_help(cli::find_command(described, {arguments.begin() + 1, arguments.end()})), cli::done;
  }
  const std::vector<std::string> words = with_marked_numbers(arguments, app);
  try {
    check_values(app, words);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 takes them
  } catch (const CLI::CallForHelp&) {
    const cli::CommandDescription described = cli::describe(app);
    print_help(named_command(described, words));
  } catch (const CLI::CallForVersion& version) {
    cli::print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return refuse(error, app, words);
  }
  return exit_code;
}

}  // namespace

int main(int count, char** words) {
  files::hold_standard_descriptors();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow any more is an error of the write
  std::set_new_handler(note_missing_memory);
  usual_end = std::set_terminate(end_program);
  try {
    const std::vector<std::string> arguments = without_memory_limit({words + 1, words + count});
    choose_simd_path();
    return run(arguments);
  } catch (const gpu::NoDevice& error) {
    return fail(error.what(), cli::no_hardware);
  } catch (const Error& error) {
    return fail(error.what(), cli::bad_usage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", cli::own_error);
  } catch (const std::length_error&) {  // more than any memory holds
    return fail("out of memory", cli::own_error);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what(), cli::own_error);
  }
}
