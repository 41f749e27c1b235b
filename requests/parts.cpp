// SPDX-License-Identifier: Apache-2.0
// The words of common fields, and what they mean.
#include "requests/parts.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "tensors/hadamard.hpp"

namespace ulpscope::requests {
namespace {

Error unknown(const std::string& what, const std::string& word, const std::vector<std::string>& nearest) {
  return Error("unknown " + what + " '" + word + "'; nearest: " + emu::comma_separated(nearest));
}

/// Words for several formats, or for a format and the scales of its blocks.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> families{
    {{"fp8", "one of several formats: give e4m3 or e5m2"},
     {"float8", "one of several formats: give e4m3 or e5m2"},
     {"fp6", "one of two formats: give e3m2 or e2m3"},
     {"fp4", "e2m1 here"},
     {"mxfp8", "a format in blocks with scales: give e4m3 or e5m2, and --scale mx:floor where there is one"},
     {"mxfp6", "a format in blocks with scales: give e3m2 or e2m3, and --scale mx:floor where there is one"},
     {"mxfp4", "a format in blocks with scales: give e2m1, and --scale mx:floor where there is one"},
     {"nvfp4", "a format in blocks with scales: give e2m1, and --scale nvfp4 where there is one"}}};

Error unknown_format(const std::string& word, const std::vector<std::string>& known) {
  if (emu::parse_format_or_integer(word))
    return Error("unknown format '" + word +
                 "': it is one of integers, and here a floating-point format is meant, such as float32, which has its numbers");
  for (const auto& [family, meant] : families)
    if (word == family) return Error("format '" + word + "' is " + std::string(meant));
  return unknown("format", word, emu::closest_words(word, known));
}

}  // namespace

void FormatList::describe(Fields& fields) {
  fields
      .add("to", to,
           std::string("formats, e.g. fp16,e4m3,e5m2 or custom eXmY[bN][ieee|fn|fnuz|finite], binaryKpP(se|sf|ue|uf)") +
               (integers ? "; symmetric integers intN" : ""))
      .as_commas()
      .as_value("F,...")
      .shown();
}

std::vector<emu::Format> FormatList::formats() const {
  std::vector<emu::Format> all;
  for (const std::string& word : to) {
    const emu::Format format = integers ? parse_format_or_integer(word) : parse_format(word);
    if (std::find(all.begin(), all.end(), format) == all.end()) all.push_back(format);
  }
  return all;
}

void RoundingRequest::describe(Fields& fields) {
  fields.add("rounding", rounding, "rounding mode").as_value("R").shown();
  fields.add("random_bits", random_bits, "random bits of stochastic rounding").whole({1, 32}).shown();
  fields.add("policy", policy, "what overflow gives").as_value("nonsaturating|saturating").shown_as("nonsaturating");
  fields.add("flush_subnormals", flush_subnormals, "subnormal results become zero");
  fields.add("subnormals_are_zero", subnormals_are_zero, "subnormal inputs count as zero");
}

emu::RoundingOptions RoundingRequest::options(emu::Policy otherwise) const {
  emu::RoundingOptions options;
  options.rounding = parse_rounding(rounding);
  options.policy = policy.empty() ? otherwise : parse_policy(policy);
  options.flush_subnormals = flush_subnormals;
  options.subnormals_are_zero = subnormals_are_zero;
  if (random_bits != options.random_bits && options.rounding != emu::Rounding::stochastic)
    throw Error("--random-bits: is of --rounding stochastic, and plays no part here");
  options.random_bits = random_bits;
  return options;
}

void ReadingRequest::describe(Fields& fields) {
  fields.add("dtype", dtype, "what the codes of an .npy or .npz are").as_value("F");
  describe_seed(fields, seed, "key of synthetic tensors");
}

tensors::OpenOptions ReadingRequest::options() const {
  tensors::OpenOptions options;
  if (!dtype.empty()) options.dtype = parse_format(dtype);
  options.seed = seed;
  options.hadamard = hadamard;
  options.only_dtype = only_dtype;
  if (!hadamard.empty()) tensors::parse_hadamard(hadamard);
  return options;
}

tensors::Tensor open_one_by(const std::string& option, const std::string& input, const tensors::OpenOptions& options) {
  try {
    return tensors::open_one(input, options);
  } catch (const Error& error) {
    std::string text = error.what();
    const std::string_view usual = "--dtype";
    for (std::size_t at = text.find(usual, input.size()); at != std::string::npos; at = text.find(usual, at + option.size()))
      text.replace(at, usual.size(), option);
    throw Error(text);
  }
}

void refuse_dtype(const std::string& words, const tensors::Tensor& tensor) {
  throw Error("--dtype " + words + ": " + tensor.label + " holds " + tensor.dtype.name + ", no codes of it; leave --dtype out");
}

void describe_seed(Fields& fields, std::uint64_t& seed, const std::string& help) {
  if (!fields.has("seed")) fields.add("seed", seed, help).whole().shown();
}

void describe_hadamard(Fields& fields, std::string& word) {
  fields
      .add("hadamard", word,
           "rotate SIZE neighbours of a row at a time by a Hadamard transform first, SIZE a power of two up to 4096; SIGNS: "
           "the key of random ones, or 16:te for those of Transformer Engine's NVFP4")
      .as_value("SIZE[:SIGNS]");
}

void describe_only_dtype(Fields& fields, std::vector<std::string>& words, const std::string& help) {
  fields.add("only_dtype", words, help + "; dtypes as info prints them, or formats").as_commas().as_value("F,...");
}

void describe_threads(Fields& fields, int& threads) {
  fields.add("threads", threads, "threads; 0 uses all; results do not depend on it")
      .whole({.most = 4096})
      .in(Scope::machine)
      .shown();
}

emu::Format parse_format(const std::string& word) {
  const auto format = emu::parse_format(word);
  if (!format) throw unknown_format(word, emu::format_words());
  return *format;
}

emu::Format parse_format_or_integer(const std::string& word) {
  const auto format = emu::parse_format_or_integer(word);
  if (format) return *format;
  const bool is_integer = word.size() > 3 && word.starts_with("int") && word.find_first_not_of("0123456789", 3) == word.npos;
  if (is_integer)
    throw Error("unknown format '" + word + "'; integers are " + emu::format_name(emu::integer(emu::least_integer_bits)) +
                " to " + emu::format_name(emu::integer(emu::most_integer_bits)));
  std::vector<std::string> words = emu::format_words();
  for (const int bits : {4, 8, 16}) words.push_back(emu::format_name(emu::integer(bits)));
  throw unknown_format(word, words);
}

emu::Rounding parse_rounding(const std::string& word) {
  const auto rounding = emu::parse_rounding(word);
  if (!rounding) throw unknown("rounding mode", word, emu::closest_roundings(word));
  return *rounding;
}

emu::Policy parse_policy(const std::string& word) {
  const auto policy = emu::parse_policy(word);
  if (!policy) throw unknown("policy", word, emu::closest_words(word, emu::policy_words()));
  return *policy;
}

}  // namespace ulpscope::requests
