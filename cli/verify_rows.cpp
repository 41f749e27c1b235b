// SPDX-License-Identifier: Apache-2.0
// verify softmax, layer_norm, rms_norm and attention.
#include <memory>

#include "cli/operation_words.hpp"
#include "emu/error.hpp"
#include "verify/operations/attention.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/softmax.hpp"

namespace ulpscope::cli {
namespace {

struct Words : OperationWords {
  std::string x, k, v, weight, bias, mask, variance = "centred", causal = "none", scores, probabilities;
  double eps = 1e-5;
  std::optional<double> scale;
  std::uint64_t block = 16;

  void add_common(Command& command) {
    add_input(command);
    add_sums(command);
    add_functions(command);
    add_check(command);
  }
  void add_block(Command& command) {
    command.add_option("--block", block, "elements for which an online maximum changes at most once")
        ->whole({1, most_elements})
        ->capture_default_str();
  }
};

std::optional<emu::Format> format_if_given(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(parse_format(word));
}

int run_softmax(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "softmax", arguments);
  verify::Values x = check.read("X", words.x);
  return check.run(*verify::expect_softmax(
      {.x = std::move(x), .arithmetic = words.arithmetic(), .last = check.last(), .block = words.block}));
}

int run_norm(const Words& words, verify::Norm norm, const Arguments& arguments) {
  OperationCheck check(words, norm == verify::Norm::layer ? "layer_norm" : "rms_norm", arguments);
  if (words.variance != "centred" && words.variance != "one_pass")
    throw Error("--variance '" + words.variance + "': give centred or one_pass");
  verify::Values x = check.read("X", words.x);
  auto weight = check.read_if_given("weight", words.weight), bias = check.read_if_given("bias", words.bias);
  return check.run(*verify::expect_layer_norm(
      {.x = std::move(x),
       .weight = std::move(weight),
       .bias = std::move(bias),
       .eps = words.eps,
       .norm = norm,
       .variance = words.variance == "centred" ? verify::Variance::centred : verify::Variance::one_pass,
       .arithmetic = words.arithmetic(),
       .last = check.last()}));
}

verify::Causal parse_causal(const std::string& word) {
  if (word == "none") return verify::Causal::none;
  if (word == "top_left") return verify::Causal::top_left;
  if (word == "bottom_right") return verify::Causal::bottom_right;
  throw Error("--causal '" + word + "': give none, top_left or bottom_right");
}

int run_attention(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "attention", arguments);
  verify::Values q = check.read("Q", words.x), k = check.read("K", words.k), v = check.read("V", words.v);
  auto mask = check.read_if_given("mask", words.mask);
  return check.run(*verify::expect_attention({.q = std::move(q),
                                              .k = std::move(k),
                                              .v = std::move(v),
                                              .mask = std::move(mask),
                                              .scale = words.scale,
                                              .causal = parse_causal(words.causal),
                                              .arithmetic = words.arithmetic(),
                                              .scores = format_if_given(words.scores),
                                              .probabilities = format_if_given(words.probabilities),
                                              .block = words.block,
                                              .last = check.last()}));
}

void add_norm(Command& verify, const char* name, const char* what, verify::Norm norm, const Arguments& arguments,
              int& exit_code) {
  auto words = std::make_shared<Words>();
  Command& command = *verify.add_subcommand(name, what);
  command.add_option("X", words->x, "the rows")->required();
  command.add_option("--weight", words->weight, "a factor for each column")->type_name("FILE");
  command.add_option("--bias", words->bias, "a summand for each column")->type_name("FILE");
  command.add_option("--eps", words->eps, "added to the variance")->real({.least = 0})->capture_default_str();
  if (norm == verify::Norm::layer)
    command.add_option("--variance", words->variance, "centred: two passes, Welford")
        ->type_name("centred|one_pass")
        ->capture_default_str();
  words->add_common(command);
  const std::string tensors = "examples/tensors/";
  command.footer("Example: ulpscope verify " + std::string(name) + " " + tensors + "x.npy --output " + tensors + name + ".npy");
  command.callback([words, norm, &arguments, &exit_code] { exit_code = run_norm(*words, norm, arguments); });
}

}  // namespace

void add_verify_rows(Command& verify, const Arguments& arguments, int& exit_code) {
  auto softmax = std::make_shared<Words>(), attention = std::make_shared<Words>();
  Command& of_softmax = *verify.add_subcommand("softmax", "softmax along the last axis");
  of_softmax.add_option("X", softmax->x, "the rows")->required();
  softmax->add_block(of_softmax);
  softmax->add_common(of_softmax);
  of_softmax.footer("Example: ulpscope verify softmax examples/tensors/x.npy --output examples/tensors/softmax.npy");
  of_softmax.callback([softmax, &arguments, &exit_code] { exit_code = run_softmax(*softmax, arguments); });

  add_norm(verify, "layer_norm", "layer normalisation along the last axis", verify::Norm::layer, arguments, exit_code);
  add_norm(verify, "rms_norm", "RMS norm along the last axis", verify::Norm::rms, arguments, exit_code);

  Command& command = *verify.add_subcommand("attention", "softmax(scale Q K^T + mask) V");
  command.add_option("Q", attention->x, "LxD, BxLxD or BxHxLxD")->required();
  command.add_option("K", attention->k, "the same, of perhaps fewer heads")->required();
  command.add_option("V", attention->v, "as K")->required();
  command.add_option("--mask", attention->mask, "added to the scores, queries by keys; -inf hides")->type_name("FILE");
  command.add_option("--scale", attention->scale, "instead of 1/sqrt(D)")->real();
  command.add_option("--causal", attention->causal, "where the diagonal begins behind which queries see nothing")
      ->type_name("none|top_left|bottom_right")
      ->capture_default_str();
  command.add_option("--scores", attention->scores, "the format Q K^T is rounded to")->type_name("F");
  command.add_option("--probabilities", attention->probabilities, "the format probabilities are rounded to")->type_name("F");
  attention->add_block(command);
  attention->add_common(command);
  command.footer(
      "Example: ulpscope verify attention examples/tensors/q.npy examples/tensors/k.npy examples/tensors/v.npy --output "
      "examples/tensors/attention.npy");
  command.callback([attention, &arguments, &exit_code] { exit_code = run_attention(*attention, arguments); });
}

}  // namespace ulpscope::cli
