// SPDX-License-Identifier: Apache-2.0
#include "cli/operation_words.hpp"

#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::cli {

void OperationWords::add_input(Command& command) {
  command.add_option("--in", in, "the format that inputs are rounded to (default: their own); tf32 cuts")->type_name("F");
  common.add_input(command);
  common.add_threads(command);
}

void OperationWords::add_sums(Command& command) {
  command.add_option("--acc", acc, "the format of sums and intermediate results")->type_name("F")->capture_default_str();
  command.add_option("--acc-rounding", acc_rounding, "of additions: nearest_even or toward_zero")
      ->type_name("R")
      ->capture_default_str();
  command.add_option("--sum-depth", depth, "additions that a term meets at most; without it any order of them")
      ->whole({.most = most_elements});
}

void OperationWords::add_functions(Command& command) {
  command.add_option("--function-ulp", function_ulp, "error of exp, division, roots in ulp of --acc; 0: correctly rounded")
      ->real({.least = 0})
      ->capture_default_str();
}

void OperationWords::add_check(Command& command) {
  command.add_option("--out", out, "the output's format (default: that of its file)")->type_name("F");
  check.add_to(command);
  common.add_output(command);
}

verify::KernelArithmetic OperationWords::arithmetic() const {
  const auto rounding = emu::parse_rounding(acc_rounding);
  if (rounding != emu::Rounding::nearest_even && rounding != emu::Rounding::toward_zero)
    throw Error("--acc-rounding '" + acc_rounding + "': give nearest_even or toward_zero");
  return {.format = parse_format(acc), .sums = *rounding, .depth = depth, .function_ulp = function_ulp};
}

OperationCheck::OperationCheck(const OperationWords& words, std::string operation, const Arguments& arguments)
    : words_(words), check_{.operation = std::move(operation), .arguments = arguments} {
  if (words.check.against == "engine")
    throw Error("--against engine: engines are models of matrix products; " + check_.operation +
                " is judged against exact or a FILE");
  if (words.check.false_alarm) throw Error("--false-alarm: no probabilistic bound is derived for " + check_.operation);
  const auto out = words.out.empty() ? std::nullopt : std::optional(parse_format(words.out));
  output_ = words.check.open(words.check.output, out);
  if (!out && !output_.dtype.format) throw Error(output_.label + " holds integers: say with --out which format the output has");
  last_ = words.check.last_rounding(out ? *out : *output_.dtype.format);
}

verify::Values OperationCheck::read(const std::string& name, const std::string& word) {
  const tensors::Tensor tensor = tensors::open_one(word, words_.common.parsed_open());
  studies::InputRounding rounding{.format = tensor.dtype.format.value_or(emu::float32)};
  if (!words_.in.empty()) rounding.format = parse_format(words_.in);
  if (rounding.format == emu::tf32) rounding.options.rounding = emu::Rounding::toward_zero, rounding.of_float32 = true;
  check_.inputs.push_back({word, tensor});
  check_.heading +=
      name + "  " + word + " (" + verify::words_of_shape(tensor.shape) + "), " + emu::format_name(rounding.format) + "\n";
  return verify::read_values(tensor, rounding);
}

std::optional<verify::Values> OperationCheck::read_if_given(const std::string& name, const std::string& word) {
  if (word.empty()) return std::nullopt;
  return read(name, word);
}

int OperationCheck::run(const verify::Expectation& expectation) const {
  VerifyCase check = check_;
  check.heading += check.operation + "  " + verify::words_of_shape(expectation.shape()) + ", out " +
                   emu::format_name(expectation.out()) + "\n";
  if (words_.out.empty()) check.stated = {"--out", emu::format_name(last_.out)};
  return report_verdict(words_.check, words_.common, check, expectation, output_);
}

}  // namespace ulpscope::cli
