// SPDX-License-Identifier: Apache-2.0
// The words that say what an output is held to.
#include "verify/check_request.hpp"

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "requests/parts.hpp"

namespace ulpscope::verify {
namespace {

template <class Value>
Value parse_word(std::optional<Value> parsed, const char* option, const std::string& word,
                 const std::vector<std::string>& nearest) {
  if (parsed) return *parsed;
  throw Error(std::string(option) + " '" + word + "': unknown; nearest: " + emu::comma_separated(nearest));
}

}  // namespace

void OutputRequest::describe(requests::Fields& fields) {
  fields.add("output", output, "what the kernel returned: a tensor file").needed().as_value("FILE");
  fields.add("output_dtype", output_dtype, "what the codes of that file are, if it does not say").as_value("F");
  fields.add("against", against, "exact: a bound derived from the inputs; engine: bit for bit; FILE: no worse than that output")
      .as_value("exact|engine|FILE")
      .shown();
  fields.add("at_most", at_most, "against a file: times its relative Frobenius error").real({.least = 0}).shown();
  fields
      .add("false_alarm", false_alarm,
           "probability that a correct output is rejected; the bound is then probabilistic, and tighter")
      .real({0, 1});
  fields.add("out_rounding", out_rounding, "the kernel's last rounding").as_value("R").shown();
  fields.add("out_random_bits", out_random_bits, "random bits of its stochastic rounding")
      .whole({1, emu::RoundingOptions{}.random_bits})
      .shown();
  fields.add("out_policy", out_policy, "what its overflow gives").as_value("nonsaturating|saturating").shown();
  fields.add("out_flush", out_flush, "its subnormal results become zero");
}

tensors::Tensor OutputRequest::open(const std::string& file, std::optional<emu::Format> out) const {
  if (!is_against_file() && at_most != OutputRequest{}.at_most)
    throw Error("--at-most: is of --against FILE, and plays no part here");
  tensors::OpenOptions options;
  options.dtype = output_dtype.empty() ? out : std::optional(requests::parse_format(output_dtype));
  tensors::Tensor tensor = requests::open_one_by("--output-dtype", file, options);
  if (!output_dtype.empty() && tensor.dtype.format != options.dtype)
    throw Error(tensor.label + ": holds " + tensor.dtype.name + ", not codes of " + emu::format_name(*options.dtype) +
                ", as --output-dtype says; --out says which format the output has");
  return tensor;
}

emu::Format format_of_output(const tensors::Tensor& output, std::optional<emu::Format> out) {
  if (!out && !output.dtype.format)
    throw Error(output.label +
                " holds integers: say with --out which format the output has: float32 if they are numbers, else that " +
                "whose codes they are");
  return out ? *out : *output.dtype.format;
}

LastRounding OutputRequest::last_rounding(emu::Format out) const {
  LastRounding last{.out = out};
  last.options.rounding =
      parse_word(emu::parse_rounding(out_rounding), "--out-rounding", out_rounding, emu::closest_roundings(out_rounding));
  if (last.options.rounding != emu::Rounding::stochastic && out_random_bits != OutputRequest{}.out_random_bits)
    throw Error("--out-random-bits: is of --out-rounding stochastic, and plays no part here");
  last.options.random_bits = out_random_bits;
  last.options.policy = parse_word(emu::parse_policy(out_policy), "--out-policy", out_policy,
                                   emu::closest_words(out_policy, emu::policy_words()));
  last.options.flush_subnormals = out_flush;
  return last;
}

std::string field_name(std::string word) {
  for (char& c : word)
    if (c == '-')
      c = '_';
    else if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return word;
}

emu::Rounding parse_sum_rounding(const std::string& word) {
  const auto rounding = emu::parse_rounding(word);
  if (rounding == emu::Rounding::nearest_even || rounding == emu::Rounding::toward_zero) return *rounding;
  throw Error("--acc-rounding '" + word + "': give nearest_even or toward_zero");
}

}  // namespace ulpscope::verify
