// SPDX-License-Identifier: Apache-2.0
#include "cli/matmul_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* nearest_suffix = ":nearest";

/// The i-th of one word for each input, or the only one there is.
template <class T>
const T& word_for(const std::vector<T>& words, std::size_t i) {
  return words[words.size() == 1 ? 0 : i];
}

void check_count(const char* option, std::size_t count, std::size_t most, const char* form) {
  if (count > most) throw Error(std::string(option) + ": " + std::to_string(count) + " words; give " + form);
}

/// Opens the i-th input.
tensors::Tensor open_input(const MatmulWords& words, const std::string& input, std::size_t i) {
  tensors::OpenOptions options;
  options.seed = i < words.seeds.size() ? words.seeds[i] : words.seeds.front();
  if (!words.dtypes.empty() && (words.dtypes.size() == 1 || i < words.dtypes.size()))
    options.dtype = parse_format(word_for(words.dtypes, i));
  return tensors::open_one(input, options);
}

studies::InputRounding rounding_of(const MatmulWords& words, const tensors::Tensor& tensor, std::size_t i) {
  studies::InputRounding rounding{.format = emu::float32, .options = words.common.parsed_rounding()};
  if (words.in.empty()) {
    if (!tensor.dtype.format)
      throw Error(tensor.label + ": holds " + tensor.dtype.name + "; --dtype F says that these are codes, --in F rounds them");
    rounding.format = *tensor.dtype.format;
    return rounding;
  }
  std::string word = word_for(words.in, i);
  const bool nearest = word.ends_with(nearest_suffix);
  if (nearest) word.resize(word.size() - std::string(nearest_suffix).size());
  rounding.format = parse_format(word);
  if (nearest && rounding.format != emu::tf32)
    throw Error("--in " + word_for(words.in, i) + ": only tf32 has two ways; others take --rounding");
  if (rounding.format != emu::tf32) return rounding;
  rounding.options.rounding = nearest ? emu::Rounding::nearest_even : emu::Rounding::toward_zero;
  rounding.of_float32 = !nearest;
  return rounding;
}

std::optional<float> parse_number(const std::string& word) {
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  const std::string_view digits = std::string_view(word).substr(hexadecimal ? 2 : 0);
  float number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc{} || !std::isfinite(number)) throw Error("scale " + word + ": give a finite number of float32");
  return number;
}

/// A number, or a tensor; of `format` if its values are.
tensors::Tensor open_scale(const MatmulWords& words, const std::string& input) {
  if (const auto number = parse_number(input)) return tensors::from_values(input, {}, std::vector<float>{*number});
  tensors::OpenOptions options;
  if (!words.scale_dtype.empty()) options.dtype = parse_format(words.scale_dtype);
  tensors::Tensor scale = tensors::open_one(input, options);
  if (scale.dtype.format && !emu::fits_float(*scale.dtype.format)) scale.dtype.format = emu::float32;
  if (!options.dtype || scale.dtype.format == options.dtype) return scale;
  std::vector<float> values(static_cast<std::size_t>(scale.count()));
  std::vector<double> given(values.size());
  scale.source->read(0, std::span(given));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const emu::Rounded rounded = emu::round_to(*options.dtype, given[i]);
    if (rounded.value != given[i] && !std::isnan(given[i]))
      throw Error(scale.label + ": element " + std::to_string(i) + " is no number of " + emu::format_name(*options.dtype) +
                  ", which --scale-dtype says it is");
    values[i] = static_cast<float>(rounded.value);
  }
  tensors::Tensor stated = tensors::from_values(scale.label, scale.shape, std::move(values));
  stated.dtype.format = options.dtype;
  return stated;
}

std::optional<studies::MatmulScales> parse_scales(const MatmulWords& words, const std::vector<std::string>& inputs,
                                                  const studies::MatmulInput& operand, studies::MatmulSide side) {
  const char* const option = side == studies::MatmulSide::a ? "--scale-a" : "--scale-b";
  if (inputs.empty()) return std::nullopt;
  if (inputs.size() > 2) throw Error(std::string(option) + ": may be given twice, the second time for the whole operand");
  studies::MatmulScales scales = studies::fit_scales(open_scale(words, inputs.front()), operand, side);
  if (inputs.size() == 1) return scales;
  const tensors::Tensor whole = open_scale(words, inputs.back());
  if (whole.count() != 1) throw Error(whole.label + ": the second " + option + " is one number for the whole operand");
  whole.source->read(0, std::span(&scales.whole, 1));
  return scales;
}

/// Engines in any case, `-` and `_` alike.
std::vector<std::string> engine_words(const std::vector<std::string>& typed) {
  std::vector<std::string> words = typed;
  for (std::string& word : words)
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::string& word : words)
    if (!word.starts_with("block:")) std::replace(word.begin(), word.end(), '-', '_');
  return words;
}

emu::Format parse_accumulator(const std::string& word) {
  const emu::Format format = parse_format(word);
  if (format != emu::float32 && format != emu::float16 && format != emu::float64)
    throw Error("--acc " + word + ": give float32, float16 or float64");
  return format;
}

}  // namespace

studies::MatmulConfig parse_matmul(const MatmulWords& words) {
  check_count("--in", words.in.size(), 2, "one format, or one for A and one for B");
  check_count("--dtype", words.dtypes.size(), 3, "one format, or one for each of A, B and C");
  check_count("--seed", words.seeds.size(), 3, "one number, or one for each of A, B and C");
  if (words.beta && words.c.empty()) throw Error("--beta: is the factor of C, which is not there");
  const bool scaled = !words.scale_a.empty() || !words.scale_b.empty();
  if (!words.c.empty() && words.alpha != 1 && !words.beta && scaled)
    throw Error("--alpha with scales and C: say --beta, the factor of C");

  const tensors::Tensor a = open_input(words, words.a, 0), b = open_input(words, words.b, 1);
  studies::MatmulConfig config{.engines = engine_words(words.engines),
                               .against = engine_words(words.against),
                               .a = {{a, words.transpose_a}, rounding_of(words, a, 0), {}},
                               .b = {{b, words.transpose_b}, rounding_of(words, b, 1), {}},
                               .c = {},
                               .acc = emu::float32,
                               .out = emu::float32,
                               .alpha = words.alpha,
                               .beta = words.beta,
                               .promote = words.promote,
                               .split_k = words.split_k,
                               .threads = words.common.threads};
  config.a.rounding.random = {words.seeds.front(), 0};
  config.b.rounding.random = {words.seeds.size() > 1 ? words.seeds[1] : words.seeds.front(), a.count()};
  if (!words.c.empty()) config.c = open_input(words, words.c, 2);
  config.acc = words.accumulator.empty()
                   ? studies::default_accumulator(words.engines.empty() ? "exact" : config.engines.front(),
                                                  config.a.rounding.format, config.b.rounding.format)
                   : parse_accumulator(words.accumulator);
  config.out = words.out.empty() ? config.acc : parse_format(words.out);
  if (!words.device.empty())
    config.devices.push_back(studies::choose_device(
        words.device, words.instruction, {config.a.rounding.format, config.b.rounding.format, config.acc}, config.engines));
  const std::uint64_t k = studies::matmul_shape(config.a.input, config.b.input).k;  // before the scales, which are fitted to it
  if (words.split_k > std::max<std::uint64_t>(k, 1))
    throw Error("--split-k " + std::to_string(words.split_k) + ": K is " + std::to_string(k) + ", so give 1 to " +
                std::to_string(std::max<std::uint64_t>(k, 1)));
  config.a.scales = parse_scales(words, words.scale_a, config.a.input, studies::MatmulSide::a);
  config.b.scales = parse_scales(words, words.scale_b, config.b.input, studies::MatmulSide::b);
  if (config.against == std::vector<std::string>{"none"} || words.only_writes())
    config.against.clear();
  else if (config.against.empty() && !config.engines.empty())
    config.against = {"exact"};
  return config;
}

void MatmulWords::add_problem(Command& command) {
  command.add_option("A", a, "matrices (M,K), a batch (B,M,K) or a vector (K): tensor file, FILE:NAME, or synthetic")
      ->required();
  command.add_option("B", b, "matrices (K,N), a batch (B,K,N) or a vector (K)")->required();
  command.add_option("C", c, "where the sums start; shaped like D, or broadcast to it");
  command.add_option("--in", in, "formats that A and B are rounded to (default: their own); tf32 cuts, tf32:nearest rounds")
      ->comma_list()
      ->type_name("F[,F]");
  command
      .add_option("--acc", accumulator,
                  "what the engine sums in: float32, float16, float64 (default float32, or what the engine has)")
      ->type_name("F");
  command.add_option("--out", out, "format of D, rounded to nearest even (default: that of --acc)")->type_name("F");
  command.add_option("--alpha", alpha, "D = alpha * sum")->real()->capture_default_str();
  command.add_option("--beta", beta, "D = alpha * sum + beta * C, C being no start of the sum")->real();
  command.add_flag("--transpose-a", transpose_a, "the matrices of A are stored as (K,M)");
  command.add_flag("--transpose-b", transpose_b, "the matrices of B are stored as (N,K)");
  command.add_option("--promote", promote, "begin anew every so many products and add the parts in float32; 0: never")
      ->whole({.most = most_elements})
      ->capture_default_str();
  command.add_option("--split-k", split_k, "cut K into so many chains, 1 to K")
      ->whole({1, most_elements})
      ->capture_default_str();
  command.add_option("--scale-a", scale_a, "scales of A, a tensor or a number; given again: one more for all of A")
      ->repeatable()
      ->type_name("S");
  command.add_option("--scale-b", scale_b, "scales of B")->repeatable()->type_name("S");
  command.add_option("--scale-dtype", scale_dtype, "format of the scales, where their file does not say (e8m0, e4m3)")
      ->type_name("F");
  command.add_option("--seed", seeds, "keys of synthetic tensors and stochastic rounding: one, or one each for A, B and C")
      ->whole()
      ->comma_list()
      ->type_name("N[,N[,N]]")
      ->default_str("0");
  command.add_option("--dtype", dtypes, "what the codes of an .npy or .npz are: one format, or one each for A, B and C")
      ->comma_list()
      ->type_name("F[,F[,F]]");
  common.add_rounding(command);
  common.add_threads(command);
}

void MatmulWords::add_to(Command& command) {
  add_problem(command);
  command.add_option("--engine", engines, "engine, or block:n=16,f=25,out=rz for one of your own; may be repeated")
      ->repeatable()
      ->type_name("E")
      ->required();
  command.add_option("--against", against, "engine to compare with, or none; may be repeated (default exact; none with -o)")
      ->repeatable()
      ->type_name("E");
  command.add_option("-o", output, "write D: .npy (float32; float64 if D is), or .safetensors")->type_name("D.npy");
  command.add_flag("--codes", codes, "write codes as unsigned integers to the .npy");
  command.add_option("--device", device, "multiply on this device too and compare: cuda:0, cpu:amx_bf16 (`ulpscope devices`)")
      ->type_name("D");
  command.add_option("--instruction", instruction, "with --device: a part of the name of the instruction to use")
      ->type_name("TEXT");
  common.add_output(command);
}

}  // namespace ulpscope::cli
