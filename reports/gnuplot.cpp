// SPDX-License-Identifier: Apache-2.0
// Runs gnuplot once for all figures and cuts its output apart.
#include "reports/gnuplot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

namespace ulpscope::reports {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// -d: no start-up file of the user's.
constexpr std::array arguments{"gnuplot", "-d"};

/// Both ends of gnuplot are unnamed temporary files: nothing to deadlock on, nothing to clean up.
struct Ends {
  File input{std::tmpfile(), &std::fclose};
  File output{std::tmpfile(), &std::fclose};
  File errors{std::tmpfile(), &std::fclose};
};

std::string contents(std::FILE* file) {
  std::string bytes;
  std::array<char, 1 << 16> part{};
  std::fseek(file, 0, SEEK_SET);
  while (const auto got = std::fread(part.data(), 1, part.size(), file)) bytes.append(part.data(), got);
  return bytes;
}

/// @returns 0 and the exit status, or the errno of the start
int spawn_and_wait(const Ends& ends, int& status) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(ends.input.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(ends.output.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(ends.errors.get()), STDERR_FILENO);
  std::array<char*, arguments.size() + 1> argv{};
  for (std::size_t i = 0; i < arguments.size(); ++i) argv[i] = const_cast<char*>(arguments[i]);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

/// gnuplot repeats the line, points at a column, then says what is wrong.
std::string first_complaint(const std::string& errors) {
  const auto begin = errors.find("line ");
  return begin == std::string::npos ? errors.substr(0, 200) : errors.substr(begin, errors.find('\n', begin) - begin);
}

struct Answer {
  std::string output;
  std::string problem;
};

Answer run_gnuplot(const std::string& script) {
  const Ends ends;
  if (!ends.input || !ends.output || !ends.errors) return {{}, "no temporary file can be made for gnuplot's input."};
  std::fwrite(script.data(), 1, script.size(), ends.input.get());
  std::fseek(ends.input.get(), 0, SEEK_SET);
  int status = 0;
  const int error = spawn_and_wait(ends, status);
  if (error == ENOENT || (WIFEXITED(status) && WEXITSTATUS(status) == 127)) {  // POSIX leaves the choice to posix_spawn
    return {
        {},
        "gnuplot is not installed; install it (Debian and Ubuntu: apt-get install gnuplot-nox) and write the report again."};
  } else if (error != 0) {
    return {{}, "gnuplot could not be started."};
  }
  if (status == 0) return {contents(ends.output.get()), {}};
  return {{}, "gnuplot failed: " + first_complaint(contents(ends.errors.get()))};
}

std::string whole_script(const std::vector<FigureScript>& scripts) {
  std::string script = "set encoding utf8\nset decimalsign '.'\n";
  for (const auto& figure : scripts) {
    script += fmt::format("reset\nset terminal svg size {},{} dynamic noenhanced font 'sans-serif,13'\n", figure.width,
                          figure.height);
    script += figure.commands;
  }
  return script;
}

}  // namespace

Drawings draw(const std::vector<FigureScript>& scripts) {
  if (scripts.empty()) return {};
  const Answer answer = run_gnuplot(whole_script(scripts));
  if (!answer.problem.empty()) return {{}, answer.problem};
  constexpr std::string_view end_mark = "</svg>";
  Drawings drawings;
  for (std::size_t begin = 0; drawings.svgs.size() < scripts.size();) {
    const auto end = answer.output.find(end_mark, begin);
    if (end == std::string::npos) return {{}, "gnuplot drew fewer figures than it was asked for."};
    const auto document = answer.output.substr(begin, end + end_mark.size() - begin);
    drawings.svgs.push_back(inline_svg(document, scripts[drawings.svgs.size()].description));
    begin = end + end_mark.size();
  }
  return drawings;
}

std::string gnuplot_string(const std::string& text) {
  constexpr std::string_view harmless = " _-+.,:;=/()[]%<>^|";
  std::string quoted = "'";
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    quoted += letter || harmless.find(c) != std::string_view::npos ? c : '?';
  }
  return quoted + "'";
}

}  // namespace ulpscope::reports
