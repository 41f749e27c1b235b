// SPDX-License-Identifier: Apache-2.0
// `PLACE OF THE TENSOR, a blank, JSON` in each line.
#include "cli/kept_parts.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "cli/precision.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "reports/build_info.hpp"
#include "reports/directory.hpp"
#include "studies/shards/sample.hpp"
#include "tensors/is_no_input.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* measured_name = "measured.txt";

}  // namespace

std::string kept_folder(const std::string& directory) {
  return files::WorkFolder::beside(reports::report_folder(directory), ".partial");
}

void check_resume(bool resume, const std::string& directory, const std::vector<std::string>& inputs) {
  if (resume && directory.empty()) throw Error("--resume: -o DIR is missing, beside which work is kept");
  if (resume) return tensors::check_holds_no_input(inputs, kept_folder(directory));
  if (directory.empty()) return;
  std::error_code ignored;
  if (const std::string folder = kept_folder(directory);
      std::filesystem::file_size(std::filesystem::path(folder) / measured_name, ignored) > 0 && !ignored)
    throw Error(folder + ": holds what a run that was ended has measured; --resume goes on with it, or remove it");
}

std::vector<std::string> undisturbed(std::vector<std::string> arguments) {
  std::erase(arguments, "--resume");
  return arguments;
}

std::string program_line() { return "ulpscope " + reports::version() + " " + reports::commit(); }

std::string request_lines(const std::vector<std::string>& words, const std::vector<tensors::Tensor>& tensors, int threads) {
  std::string text = program_line() + "\n";
  for (const std::string& word : words) text += emu::visible(word) + " ";
  text.back() = '\n';
  return text + studies::sample_lines(tensors, threads);
}

KeptParts::KeptParts(const std::string& directory, const std::string& request, std::size_t tensors)
    : folder_(kept_folder(directory), files::WorkFolder::Existing::resume, {}),
      name_(folder_.path() + "/" + measured_name),
      line_of_(tensors) {
  folder_.keep_request(request);
  lines_ = std::make_unique<reports::KeptLines>(files::Folder(folder_.path()), measured_name);
  for (std::size_t line = 0; line < lines_->count(); ++line) {
    const std::string text = lines_->at(line);
    std::size_t tensor = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tensor);
    if (error != std::errc{} || tensor >= tensors) throw Error(name_ + ": is damaged; remove it to begin anew");
    line_of_[tensor] = line;
  }
}

std::optional<std::string> KeptParts::find(std::size_t tensor) const {
  const std::lock_guard lock(one_at_a_time_);
  if (!line_of_[tensor]) return std::nullopt;
  const std::string text = lines_->at(*line_of_[tensor]);
  return text.substr(std::min(text.find(' '), text.size() - 1) + 1);
}

void KeptParts::keep(std::size_t tensor, const std::string& line) {
  const std::string text = std::to_string(tensor) + " " + line;
  const std::lock_guard lock(one_at_a_time_);
  lines_->add(text);
  line_of_[tensor] = lines_->count() - 1;
}

std::size_t KeptParts::missing() const {
  const std::lock_guard lock(one_at_a_time_);
  return static_cast<std::size_t>(std::count(line_of_.begin(), line_of_.end(), std::nullopt));
}

studies::KeptRows KeptParts::rows() {
  return {.find = [this](std::size_t row) { return find(row); },
          .keep = [this](std::size_t row, const std::string& line) { keep(row, line); }};
}

void KeptParts::remove() {
  lines_.reset();
  folder_.remove([](const std::string& name) { return name == measured_name || name == files::work_request; });
}

studies::OpenKeptRows KeptStudy::open() {
  if (!resume_) return {};
  return [this](const std::vector<tensors::Tensor>& tensors, std::size_t rows) {
    kept_ = std::make_unique<KeptParts>(output_, request_lines(reproducing(arguments_), tensors, threads_) + more_, rows);
    return kept_->rows();
  };
}

}  // namespace ulpscope::cli
