// SPDX-License-Identifier: Apache-2.0
// Fills the names of files into the words of a program, runs it, and says how it ended.
#include "cli/child_program.hpp"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"
#include "requests/words.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
}

template <class T>
tensors::Producer<T> as_type(std::span<const double> values) {
  return [values](std::uint64_t first, std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values[static_cast<std::size_t>(first) + i]);
  };
}

}  // namespace

void write_values(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                  std::span<const double> values) {
  if (emu::fits_float(format)) return tensors::write_npy(path, shape, as_type<float>(values));
  tensors::write_npy(path, shape, as_type<double>(values));
}

void write_codes(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                 std::span<const double> values) {
  tensors::write_npy_codes(path, shape, format, [&](std::uint64_t first, std::span<emu::Code> out) {
    emu::encode(format, values.subspan(static_cast<std::size_t>(first), out.size()), out);
  });
}

bool ChildProgram::names(std::string_view slot) const {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word.find(slot) != std::string::npos; });
}

verify::ChildEnd ChildProgram::run(const std::map<std::string, std::string>& files, const ScratchFolder& folder) const {
  std::vector<std::string> filled = words;
  for (std::string& word : filled)
    for (const auto& [slot, path] : files) replace(word, slot, path);
  verify::ChildEnd end = verify::run_child(filled, timeout_s, {}, folder.path());
  if (end.interrupted_by != 0) {
    folder.remove();
    ::signal(end.interrupted_by, SIG_DFL);
    ::raise(end.interrupted_by);
  }
  for (const auto& [slot, path] : files) replace(end.last_line, path, slot);
  return end;
}

std::string ChildProgram::how_it_ended(const verify::ChildEnd& end, const std::string& accepted) const {
  const std::string tail = end.last_line.empty() ? "" : ": " + end.last_line;
  if (end.timed_out) return "was still running after " + reports::shortest(timeout_s) + " s" + tail;
  if (!end.exit_code)
    return std::string("was ended by signal ") + std::to_string(end.signal) + " (" + ::strsignal(end.signal) + ")" + tail;
  return "ended with exit code " + std::to_string(*end.exit_code) + accepted + tail;
}

std::vector<std::string> program_words(std::string_view command, const std::string& said) {
  std::vector<std::string> words = requests::split_words(command, said);
  if (words.empty()) throw Error(said + "names no program");
  return words;
}

}  // namespace ulpscope::cli
