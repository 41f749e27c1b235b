// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.hpp"

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::cli {
namespace {

template <class Value>
Value parse_word(std::optional<Value> parsed, const char* option, const std::string& word,
                 const std::vector<std::string>& nearest) {
  if (parsed) return *parsed;
  std::string list;
  for (const std::string& near : nearest) list += (list.empty() ? "" : ", ") + near;
  throw Error(std::string(option) + " '" + word + "': unknown; nearest: " + list);
}

}  // namespace

void VerifyWords::add_to(Command& command) {
  command.add_option("--output", output, "what the kernel returned: a tensor file")->required()->type_name("FILE");
  command.add_option("--output-dtype", output_dtype, "what the codes of that file are, if it does not say")->type_name("F");
  command
      .add_option("--against", against,
                  "exact: a bound derived from the inputs; engine: bit for bit; FILE: no worse than that output")
      ->type_name("exact|engine|FILE")
      ->capture_default_str();
  command.add_option("--at-most", at_most, "against a file: times its relative Frobenius error")
      ->real({.least = 0})
      ->capture_default_str();
  command
      .add_option("--false-alarm", false_alarm,
                  "probability that a correct output is rejected; the bound is then probabilistic, and tighter")
      ->real({0, 1});
  command.add_option("--out-rounding", out_rounding, "the kernel's last rounding")->type_name("R")->capture_default_str();
  command.add_option("--out-policy", out_policy, "what its overflow gives")
      ->type_name("nonsaturating|saturating")
      ->capture_default_str();
  command.add_flag("--out-flush", flush_out, "its subnormal results become zero");
  command.add_option("--junit", junit, "write JUnit XML")->type_name("FILE");
  command.add_option("--save", save, "on failure keep inputs and output there, and print the command that reproduces it")
      ->type_name("DIR");
}

tensors::Tensor VerifyWords::open(const std::string& file, std::optional<emu::Format> out) const {
  tensors::OpenOptions options;
  options.dtype = output_dtype.empty() ? out : std::optional(parse_format(output_dtype));
  return tensors::open_one(file, options);
}

verify::LastRounding VerifyWords::last_rounding(emu::Format out) const {
  verify::LastRounding last{.out = out};
  last.options.rounding =
      parse_word(emu::parse_rounding(out_rounding), "--out-rounding", out_rounding, emu::closest_roundings(out_rounding));
  last.options.policy = parse_word(emu::parse_policy(out_policy), "--out-policy", out_policy,
                                   emu::closest_words(out_policy, emu::policy_words()));
  last.options.flush_subnormals = flush_out;
  return last;
}

void add_verify(Command& app, const Arguments& arguments, int& exit_code) {
  Command& command =
      *app.add_subcommand("verify", "is this kernel's output right? exit code 1 if not, 3 if that cannot be told");
  command.require_subcommand(1);
  command.footer("Example: ulpscope verify softmax examples/tensors/x.npy --output examples/tensors/softmax.npy");
  add_verify_matmul(command, arguments, exit_code);
  add_verify_rows(command, arguments, exit_code);
  add_verify_products(command, arguments, exit_code);
  add_verify_elementwise(command, arguments, exit_code);
}

}  // namespace ulpscope::cli
