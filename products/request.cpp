// SPDX-License-Identifier: Apache-2.0
// From the words of a request to the operands, formats and scales of a product.
#include "products/request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "requests/numbers.hpp"

namespace ulpscope::products {
namespace {

constexpr std::string_view nearest_suffix = ":nearest", away_suffix = ":nearest_away";

/// The i-th of one word for each input, or the only one there is.
template <class T>
const T& word_for(const std::vector<T>& words, std::size_t i) {
  return words[words.size() == 1 ? 0 : i];
}

void check_count(const char* option, std::size_t count, std::size_t most, const char* form) {
  if (count > most) throw Error(std::string(option) + ": " + std::to_string(count) + " words; give " + form);
}

void check_words(const ProductRequest& request) {
  check_count("--in", request.in.size(), 2, "one format, or one for A and one for B");
  check_count("--dtype", request.dtype.size(), 3, "one format, or one for each of A, B and C");
  check_count("--seed", request.seed.size(), 3, "one number, or one for each of A, B and C");
  if (request.seed.empty()) throw Error("--seed: give one number, or one for each of A, B and C");
  const bool scaled = !request.scale_a.empty() || !request.scale_b.empty();
  if (!request.c.empty() && request.alpha != 1 && !request.beta && scaled)
    throw Error("--alpha with scales and C: say --beta, the factor of C");
  if (!request.scale_dtype.empty() && !scaled) throw Error("--scale-dtype: is of --scale-a and --scale-b, which are not there");
  if (request.beta && request.c.empty()) throw Error("--beta: is the factor of C, which is not there");
}

/// Opens the i-th input.
tensors::Tensor open_input(const ProductRequest& request, const std::string& input, std::size_t i) {
  tensors::OpenOptions options;
  options.seed = i < request.seed.size() ? request.seed[i] : request.seed.front();
  if (!request.dtype.empty() && (request.dtype.size() == 1 || i < request.dtype.size()))
    options.dtype = requests::parse_format(word_for(request.dtype, i));
  return tensors::open_one(input, options);
}

/// `--dtype` is of one tensor at least.
void check_dtype(const ProductRequest& request, const ProductInputs& inputs, const tensors::Tensor* further) {
  std::vector<const tensors::Tensor*> opened{&inputs.a, &inputs.b};
  if (inputs.c) opened.push_back(&*inputs.c);
  bool is_needed = request.dtype.empty();
  for (std::size_t i = 0; i < opened.size() && !is_needed; ++i)
    is_needed = (request.dtype.size() == 1 || i < request.dtype.size()) &&
                opened[i]->dtype.format == requests::parse_format(word_for(request.dtype, i));
  if (!is_needed && further != nullptr) is_needed = further->dtype.format == requests::parse_format(request.dtype.front());
  if (!is_needed) requests::refuse_dtype(emu::comma_separated(request.dtype), inputs.a);
}

InputRounding rounding_of(const ProductRequest& request, const tensors::Tensor& tensor, std::size_t i) {
  InputRounding rounding{.format = emu::float32, .options = request.rounding.options()};
  if (request.in.empty()) {
    if (!tensor.dtype.format)
      throw Error(tensor.label + ": holds " + tensor.dtype.name + "; --dtype F says that these are codes, --in F rounds them");
    rounding.format = *tensor.dtype.format;
    return rounding;
  }
  std::string word = word_for(request.in, i);
  const bool away = word.ends_with(away_suffix), nearest = away || word.ends_with(nearest_suffix);
  if (nearest) word.resize(word.size() - (away ? away_suffix : nearest_suffix).size());
  rounding.format = requests::parse_format(word);
  if (nearest && rounding.format != emu::tf32)
    throw Error("--in " + word_for(request.in, i) + ": only tf32 has such words; others take --rounding");
  if (rounding.format != emu::tf32) return rounding;
  const InputRounding as_read = input_rounding(rounding.format);
  rounding.options.rounding = away      ? emu::Rounding::nearest_away
                              : nearest ? emu::Rounding::nearest_even
                                        : as_read.options.rounding;
  rounding.of_float32 = !nearest && as_read.of_float32;
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

/// Numbers that are said to be of `format`. @throws ulpscope::Error for one that is not
tensors::Tensor stated_scale(const tensors::Tensor& scale, emu::Format format) {
  std::vector<float> values(static_cast<std::size_t>(scale.count()));
  std::vector<double> given(values.size());
  scale.source->read(0, std::span(given));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const emu::Rounded rounded = emu::round_to(format, given[i]);
    if (rounded.value != given[i] && !std::isnan(given[i]))
      throw Error(scale.label + ": element " + std::to_string(i) + " is no number of " + emu::format_name(format) +
                  ", which --scale-dtype says it is");
    values[i] = static_cast<float>(rounded.value);
  }
  tensors::Tensor stated = tensors::from_values(scale.label, scale.shape, std::move(values));
  stated.dtype.format = format;
  return stated;
}

/// A number, or a tensor; of `--scale-dtype` if its values are.
tensors::Tensor open_scale(const ProductRequest& request, const std::string& input) {
  if (const auto number = parse_number(input)) return tensors::from_values(input, {}, std::vector<float>{*number});
  tensors::OpenOptions options;
  if (!request.scale_dtype.empty()) options.dtype = requests::parse_format(request.scale_dtype);
  tensors::Tensor scale = requests::open_one_by("--scale-dtype", input, options);
  if (scale.dtype.format && !emu::fits_float(*scale.dtype.format)) scale.dtype.format = emu::float32;
  return !options.dtype || scale.dtype.format == options.dtype ? scale : stated_scale(scale, *options.dtype);
}

std::vector<tensors::Tensor> open_scales(const ProductRequest& request, const std::vector<std::string>& words) {
  std::vector<tensors::Tensor> scales;
  for (const std::string& word : words) scales.push_back(open_scale(request, word));
  return scales;
}

std::optional<MatmulScales> fitted_scales(const std::vector<tensors::Tensor>& given, const MatmulInput& operand,
                                          MatmulSide side) {
  const char* const option = side == MatmulSide::a ? "--scale-a" : "--scale-b";
  if (given.empty()) return std::nullopt;
  if (given.size() > 2) throw Error(std::string(option) + ": may be given twice, the second time for the whole operand");
  MatmulScales scales = fit_scales(given.front(), operand, side);
  if (given.size() == 1) return scales;
  const tensors::Tensor& whole = given.back();
  if (whole.count() != 1) throw Error(whole.label + ": the second " + option + " is one number for the whole operand");
  whole.source->read(0, std::span(&scales.whole, 1));
  return scales;
}

/// Factors of sums are of the sums' storage. @throws ulpscope::Error where that is float32, and has infinity or 0 for them
void check_factors(const Product& product) {
  for (const emu::Format format : {product.a.rounding.format, product.b.rounding.format, product.acc})
    if (!emu::fits_float(format)) return;
  const auto check = [](const char* option, double factor) {
    const float held = static_cast<float>(factor);
    if (std::isfinite(factor) && (!std::isfinite(held) || (held == 0 && factor != 0)))
      throw Error(std::string(option) + " " + requests::shortest(factor) + ": sums are multiplied in float32, where this is " +
                  (held == 0 ? "0" : "infinite") + "; give a number that float32 holds");
  };
  check("--alpha", product.alpha);
  check("--beta", product.beta.value_or(1));
}

emu::Format parse_accumulator(const std::string& word) {
  const emu::Format format = requests::parse_format(word);
  if (format != emu::float32 && format != emu::float16 && format != emu::float64)
    throw Error("--acc " + word + ": give float32, float16 or float64");
  return format;
}

}  // namespace

std::string engine_word(std::string typed) {
  for (char& c : typed) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!typed.starts_with("block:")) std::replace(typed.begin(), typed.end(), '-', '_');
  return typed;
}

ProductInputs open(const ProductRequest& request, const tensors::Tensor* further) {
  check_words(request);
  ProductInputs inputs{.a = open_input(request, request.a, 0), .b = open_input(request, request.b, 1)};
  if (!request.c.empty()) inputs.c = open_input(request, request.c, 2);
  check_dtype(request, inputs, further);
  inputs.scale_a = open_scales(request, request.scale_a);
  inputs.scale_b = open_scales(request, request.scale_b);
  return inputs;
}

Product resolve(const ProductRequest& request, const ProductInputs& inputs, const std::string& engine) {
  Product product{.engine = engine_word(engine),
                  .a = {{inputs.a, request.transpose_a}, rounding_of(request, inputs.a, 0), {}},
                  .b = {{inputs.b, request.transpose_b}, rounding_of(request, inputs.b, 1), {}},
                  .c = inputs.c,
                  .acc = emu::float32,
                  .out = emu::float32,
                  .alpha = request.alpha,
                  .beta = request.beta,
                  .promote = request.promote,
                  .split_k = request.split_k,
                  .threads = request.threads};
  product.a.rounding.random = {request.seed.front(), 0};
  product.b.rounding.random = {request.seed.size() > 1 ? request.seed[1] : request.seed.front(), inputs.a.count()};
  product.acc = request.acc.empty() ? default_accumulator(engine.empty() ? "exact" : product.engine, product.a.rounding.format,
                                                          product.b.rounding.format)
                                    : parse_accumulator(request.acc);
  product.out = request.out.empty() ? product.acc : requests::parse_format(request.out);
  const std::uint64_t most = std::max<std::uint64_t>(matmul_shape(product.a.input, product.b.input).k, 1);
  if (request.split_k < 1 || request.split_k > most)
    throw Error("--split-k " + std::to_string(request.split_k) + ": K is " +
                std::to_string(matmul_shape(product.a.input, product.b.input).k) + ", so give 1 to " + std::to_string(most));
  if (product.c && product.beta == 0) {  // C is not read, as in BLAS: NaN in it is not multiplied
    broadcast_indices("C " + product.c->label, product.c->shape, matmul_shape(product.a.input, product.b.input).d);
    product.c.reset(), product.beta.reset();
  }
  check_factors(product);
  product.a.scales = fitted_scales(inputs.scale_a, product.a.input, MatmulSide::a);
  product.b.scales = fitted_scales(inputs.scale_b, product.b.input, MatmulSide::b);
  return product;
}

std::vector<std::string> ambiguous_scales(const Product& product) {
  std::vector<std::string> remarks;
  const auto look = [&](const std::string& option, const std::string& along, std::size_t extent, std::size_t count,
                        std::size_t block) {
    if (count <= 1 || extent % count != 0 || extent / count == block) return;
    remarks.push_back(option + ": " + std::to_string(count) + " scales along " + along + " = " + std::to_string(extent) +
                      " are taken for blocks of " + std::to_string(block) + ", the last one shorter; blocks of " +
                      std::to_string(extent / count) + " fit too");
  };
  const MatmulShape shape = matmul_shape(product.a.input, product.b.input);
  if (const auto& scales = product.a.scales) {
    look("--scale-a", "M", shape.m, scales->for_lines, scales->line_block);
    look("--scale-a", "K", shape.k, scales->for_k, scales->k_block);
  }
  if (const auto& scales = product.b.scales) {
    look("--scale-b", "K", shape.k, scales->for_k, scales->k_block);
    look("--scale-b", "N", shape.n, scales->for_lines, scales->line_block);
  }
  return remarks;
}

void ProductRequest::describe(requests::Fields& fields) {
  fields.add("a", a, "matrices (M,K), a batch (B,M,K) or a vector (K): tensor file, FILE:NAME, or synthetic")
      .as_input("A")
      .needed();
  fields.add("b", b, "matrices (K,N), a batch (B,K,N) or a vector (K)").as_input("B").needed();
  fields.add("c", c, "where the sums start; shaped like D, or broadcast to it").as_input("C");
  fields
      .add("in", in,
           "formats that A and B are rounded to (default: their own); tf32 cuts, tf32:nearest and tf32:nearest_away round")
      .as_commas()
      .as_value("F[,F]");
  fields.add("acc", acc, "what the engine sums in: float32, float16, float64 (default float32, or what the engine has)")
      .as_value("F");
  fields.add("out", out, "format of D, rounded to nearest even (default: that of --acc)").as_value("F");
  fields.add("alpha", alpha, "D = alpha * sum").real().shown();
  fields.add("beta", beta, "D = alpha * sum + beta * C, C being no start of the sum; 0: C is not read").real();
  fields.add("transpose_a", transpose_a, "the matrices of A are stored as (K,M)");
  fields.add("transpose_b", transpose_b, "the matrices of B are stored as (N,K)");
  fields.add("promote", promote, "restart the sum every N products and add the parts in float32; 0: never")
      .whole({.most = requests::most_elements})
      .shown();
  fields
      .add("split_k", split_k, "cut K into N chains of whole steps of the engine (fewer where K / N is less than one), 1 to K")
      .whole({1, requests::most_elements})
      .shown();
  fields.add("scale_a", scale_a, "scales of A, a tensor or a number; given again: one more for all of A")
      .as_repeated()
      .as_value("S");
  fields.add("scale_b", scale_b, "scales of B").as_repeated().as_value("S");
  fields.add("scale_dtype", scale_dtype, "format of the scales, where their file does not say (e8m0, e4m3)").as_value("F");
  fields.add("seed", seed, "keys of synthetic tensors and stochastic rounding: one, or one each for A, B and C")
      .whole()
      .as_commas()
      .as_value("N[,N[,N]]")
      .shown();
  fields.add("dtype", dtype, "what the codes of an .npy or .npz are: one format, or one each for A, B and C")
      .as_commas()
      .as_value("F[,F[,F]]");
  rounding.describe(fields);
  requests::describe_threads(fields, threads);
}

}  // namespace ulpscope::products
