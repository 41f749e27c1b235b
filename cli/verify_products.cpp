// SPDX-License-Identifier: Apache-2.0
// verify sum, dot and conv.
#include <memory>

#include "cli/operation_words.hpp"
#include "emu/error.hpp"
#include "verify/operations/products.hpp"

namespace ulpscope::cli {
namespace {

struct Words : OperationWords {
  std::string a, b, bias, axis = "last";
  std::vector<std::uint64_t> stride{1}, padding{0}, dilation{1};
  std::uint64_t groups = 1;

  verify::Axis parsed_axis() const {
    if (axis == "last") return verify::Axis::last;
    if (axis == "all") return verify::Axis::all;
    throw Error("--axis '" + axis + "': give last or all");
  }
  void add_axis(Command& command) {
    command.add_option("--axis", axis, "the elements summed: of the last axis, or all")
        ->type_name("last|all")
        ->capture_default_str();
  }
  void add_common(Command& command) {
    add_input(command);
    add_sums(command);
    add_check(command);
  }
};

int run_sum(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "sum", arguments);
  verify::Values x = check.read("X", words.a);
  return check.run(*verify::expect_sum(
      {.x = std::move(x), .axis = words.parsed_axis(), .arithmetic = words.arithmetic(), .last = check.last()}));
}

int run_dot(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "dot", arguments);
  verify::Values a = check.read("A", words.a), b = check.read("B", words.b);
  return check.run(*verify::expect_dot({.a = std::move(a),
                                        .b = std::move(b),
                                        .axis = words.parsed_axis(),
                                        .arithmetic = words.arithmetic(),
                                        .last = check.last()}));
}

int run_convolution(const Words& words, const Arguments& arguments) {
  OperationCheck check(words, "conv", arguments);
  verify::Values x = check.read("X", words.a), w = check.read("W", words.b);
  auto bias = check.read_if_given("bias", words.bias);
  return check.run(*verify::expect_convolution({.x = std::move(x),
                                                .weight = std::move(w),
                                                .bias = std::move(bias),
                                                .stride = words.stride,
                                                .padding = words.padding,
                                                .dilation = words.dilation,
                                                .groups = words.groups,
                                                .arithmetic = words.arithmetic(),
                                                .last = check.last()}));
}

}  // namespace

void add_verify_products(Command& verify, const Arguments& arguments, int& exit_code) {
  auto sum = std::make_shared<Words>(), dot = std::make_shared<Words>(), convolution = std::make_shared<Words>();
  Command& of_sum = *verify.add_subcommand("sum", "sums along the last axis, or of all elements");
  of_sum.add_option("X", sum->a, "the terms")->required();
  sum->add_axis(of_sum);
  sum->add_common(of_sum);
  of_sum.footer("Example: ulpscope verify sum examples/tensors/x.npy --output examples/tensors/sum.npy");
  of_sum.callback([sum, &arguments, &exit_code] { exit_code = run_sum(*sum, arguments); });

  Command& of_dot = *verify.add_subcommand("dot", "sums of products of two tensors of one shape");
  of_dot.add_option("A", dot->a, "one tensor")->required();
  of_dot.add_option("B", dot->b, "the other")->required();
  dot->add_axis(of_dot);
  dot->add_common(of_dot);
  of_dot.footer("Example: ulpscope verify dot examples/tensors/q.npy examples/tensors/k.npy --output examples/tensors/dot.npy");
  of_dot.callback([dot, &arguments, &exit_code] { exit_code = run_dot(*dot, arguments); });

  Command& of_conv = *verify.add_subcommand("conv", "convolution (cross-correlation) in 1 to 3 dimensions");
  of_conv.add_option("X", convolution->a, "NxCx..., the input")->required();
  of_conv.add_option("W", convolution->b, "OxC/groupsx..., the weights")->required();
  of_conv.add_option("--bias", convolution->bias, "O elements")->type_name("FILE");
  constexpr std::uint64_t most = std::uint64_t{1} << 24;
  of_conv.add_option("--stride", convolution->stride, "one number, or one for each axis")
      ->whole({1, most})
      ->comma_list()
      ->type_name("N,...");
  of_conv.add_option("--padding", convolution->padding, "zeros on both sides, likewise")
      ->whole({0, most})
      ->comma_list()
      ->type_name("N,...");
  of_conv.add_option("--dilation", convolution->dilation, "likewise")->whole({1, most})->comma_list()->type_name("N,...");
  of_conv.add_option("--groups", convolution->groups, "of channels")->whole({1, most})->capture_default_str();
  convolution->add_common(of_conv);
  of_conv.footer(
      "Example: ulpscope verify conv examples/tensors/image.npy examples/tensors/filters.npy --output "
      "examples/tensors/conv.npy");
  of_conv.callback([convolution, &arguments, &exit_code] { exit_code = run_convolution(*convolution, arguments); });
}

}  // namespace ulpscope::cli
