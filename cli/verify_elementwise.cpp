// SPDX-License-Identifier: Apache-2.0
// verify cast and elementwise.
#include <memory>

#include "cli/operation_words.hpp"
#include "verify/operations/elementwise.hpp"

namespace ulpscope::cli {
namespace {

struct Words : OperationWords {
  std::string function, x;
};

int run_cast(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "cast", arguments);
  verify::Values x = check.read("X", words.x);
  return check.run(*verify::expect_conversion({.x = std::move(x), .last = check.last()}));
}

int run_elementwise(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, words.function, arguments);
  verify::Values x = check.read("X", words.x);
  return check.run(*verify::expect_elementwise(
      {.function = words.function, .x = std::move(x), .arithmetic = words.arithmetic(), .last = check.last()}));
}

}  // namespace

void add_verify_elementwise(Command& verify, const Arguments& arguments, int& exit_code) {
  auto cast = std::make_shared<Words>(), function = std::make_shared<Words>();
  Command& of_cast = *verify.add_subcommand("cast", "a conversion: one rounding, --out-rounding, and --out-policy");
  of_cast.add_option("X", cast->x, "what was converted")->required();
  cast->add_input(of_cast);
  cast->add_check(of_cast);
  of_cast.footer(
      "Example: ulpscope verify cast examples/tensors/softmax.npy --output examples/tensors/cast.npy --out bf16 --out-rounding "
      "toward_zero");
  of_cast.callback([cast, &arguments, &exit_code] { exit_code = run_cast(*cast, arguments); });

  std::string names;
  for (const std::string& word : verify::elementwise_words()) names += (names.empty() ? "" : " ") + word;
  Command& of_function = *verify.add_subcommand("elementwise", "a function of each element: " + names);
  of_function.add_option("FUNCTION", function->function, "which")->required();
  of_function.add_option("X", function->x, "its arguments")->required();
  function->add_input(of_function);
  function->add_sums(of_function);
  function->add_functions(of_function);
  function->add_check(of_function);
  of_function.footer("Example: ulpscope verify elementwise exp examples/tensors/x.npy --output examples/tensors/exp.npy");
  of_function.callback([function, &arguments, &exit_code] { exit_code = run_elementwise(*function, arguments); });
}

}  // namespace ulpscope::cli
