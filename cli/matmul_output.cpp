// SPDX-License-Identifier: Apache-2.0
// The text of a comparison, the remarks on its operands, and the file of a product.
#include "cli/matmul_output.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <span>

#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/request.hpp"
#include "reports/render.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/tensor.hpp"
#include "tensors/write.hpp"

namespace ulpscope::cli {
namespace {

/// The columns of a table that have these names, in this order.
reports::Table columns_of(const reports::Table& table, const std::vector<std::string>& names) {
  reports::Table out{table.name, names, std::vector<std::vector<reports::Cell>>(table.rows.size())};
  for (const std::string& name : names) {
    const std::size_t column = table.column(name);
    for (std::size_t i = 0; i < table.rows.size(); ++i) out.rows[i].push_back(table.rows[i][column]);
  }
  return out;
}

std::string input_line(const char* name, const std::string& words, emu::Format format,
                       const products::RoundedElements& rounded) {
  std::string line = std::string(name) + "  " + words + ", " + emu::format_name(format);
  if (rounded.changed == 0) return line + ", nothing rounded\n";
  return line + ", " + std::to_string(rounded.changed) + " of " + std::to_string(rounded.count) + " elements rounded\n";
}

/// What every row of the table has in common, in words.
std::string heading(const studies::MatmulConfig& config, const studies::MatmulResult& r) {
  std::string text = input_line("A", config.product.a.input.words(), config.product.a.rounding.format, r.a);
  text += input_line("B", config.product.b.input.words(), config.product.b.rounding.format, r.b);
  if (config.product.c)
    text += input_line("C", config.product.c->label + " (" + tensors::shape_text(config.product.c->shape) + ")",
                       config.product.acc, r.c);
  text += "D  " + tensors::shape_words(r.shape.d) + ", K = " + std::to_string(r.shape.k) + ", accumulator " +
          emu::format_name(config.product.acc) + ", out " + emu::format_name(config.product.out);
  if (config.product.alpha != 1) text += ", alpha " + reports::shortest(config.product.alpha);
  if (config.product.beta) text += ", beta " + reports::shortest(*config.product.beta);
  if (config.product.promote != 0) text += ", promoted every " + std::to_string(config.product.promote) + " products";
  if (config.product.split_k != 1) text += ", K split in " + std::to_string(config.product.split_k);
  if (config.product.a.scales || config.product.b.scales) text += ", scales of A " + r.scale_a + ", of B " + r.scale_b;
  if (const auto& sums = r.partial_sums)
    text += "\npartial sums up to " + reports::shortest(sums->largest) + ", the accumulator's numbers to " +
            reports::shortest(emu::max_finite(config.product.acc)) +
            (std::isnan(sums->log2_scale) ? "" : ": A may be multiplied by 2^" + reports::shortest(sums->log2_scale));
  return text + "\n\n";
}

/// The columns that tell most, in an order that reads well.
reports::Table text_table(const reports::Table& all, const studies::MatmulConfig& config, const studies::MatmulResult& result) {
  const auto any_product = [&](auto holds) { return std::any_of(result.products.begin(), result.products.end(), holds); };
  const auto any = [&](auto holds) { return std::any_of(result.comparisons.begin(), result.comparisons.end(), holds); };
  std::vector<std::string> names{"engine", "evidence"};
  const auto add = [&](std::initializer_list<std::string> more) { names.insert(names.end(), more); };
  if (!result.comparisons.empty()) add({"against"});
  if (any([&](const auto& c) { return emu::lacks_hardware(result.products[c.against].engine.evidence); }))
    add({"against_evidence"});
  if (config.product.a.scales || config.product.b.scales) add({"scaled_by"});
  if (result.comparisons.empty()) add({"min", "max"});
  if (any_product([](const auto& product) { return product.nan != 0 || product.infinite != 0; })) add({"nan", "infinite"});
  if (result.comparisons.empty()) return columns_of(all, names);
  if (any([](const auto& c) { return c.diff.nonfinite_one_side != 0; })) add({"nonfinite_one_side"});
  add({"differing"});
  if (any([](const auto& c) { return c.differing_codes != c.diff.count - c.diff.equal; })) add({"differing_codes"});
  add({"max_ulp_error", "bias_ulp", "max_abs_error", "max_rel_error", "mean_rel_error", "mean_signed_rel_error",
       "rel_frobenius_error"});
  return columns_of(all, names);
}

/// Whether A and B are drawn from one distribution with one key.
bool draws_alike(const MatmulWords& words) {
  if (words.request.product.seed.size() > 1 && words.request.product.seed[0] != words.request.product.seed[1]) return false;
  const auto distribution = [](const std::string& word) { return word.substr(0, word.rfind(':')); };
  return tensors::is_synthetic(words.request.product.a) && tensors::is_synthetic(words.request.product.b) &&
         distribution(words.request.product.a) == distribution(words.request.product.b);
}

}  // namespace

void check_output(const MatmulWords& words) {
  if (words.output.empty()) {
    if (words.codes) throw Error("--codes: is about the file that D is written to; give -o D.npy");
    return;
  }
  if (words.request.engine.size() != 1) throw Error("-o " + words.output + ": writes the D of one engine; give --engine once");
  const std::filesystem::path path(words.output);
  if (path.extension() != ".npy" && path.extension() != ".safetensors")
    throw Error(words.output + ": the name ends in neither .npy nor .safetensors");
}

std::vector<std::string> warnings(const MatmulWords& words, const studies::MatmulConfig& config,
                                  const studies::MatmulResult& result) {
  std::vector<std::string> lines;
  if (draws_alike(words))
    lines.push_back("B repeats numbers of A, both being drawn with key " + std::to_string(words.request.product.seed[0]) +
                    "; --seed 0,1 draws them apart");
  for (const std::string& line : products::ambiguous_scales(config.product)) lines.push_back(line);
  const auto lost = [&](const tensors::Tensor& tensor, emu::Format format, const products::RoundedElements& rounded) {
    if (rounded.lost == 0) return;
    lines.push_back(tensor.label + ": " + std::to_string(rounded.lost) + " of " + std::to_string(rounded.count) +
                    " elements are beyond " + emu::format_name(format) +
                    " and became infinite or NaN; see --policy saturating");
  };
  lost(config.product.a.input.tensor, config.product.a.rounding.format, result.a);
  lost(config.product.b.input.tensor, config.product.b.rounding.format, result.b);
  if (config.product.c) lost(*config.product.c, config.product.acc, result.c);
  for (const studies::MatmulProduct& product : result.products)
    if (emu::lacks_hardware(product.engine.evidence))
      lines.push_back("engine " + product.engine.word + ": as published (" + product.engine.source +
                      "), not checked here against the hardware");
  return lines;
}

void write_product(const MatmulWords& words, const studies::MatmulConfig& config, const studies::MatmulProduct& product) {
  const tensors::Tensor& d = product.d;
  const auto codes = [&](std::uint64_t first, std::span<emu::Code> out) {
    std::vector<double> values(out.size());
    d.source->read(first, std::span(values));
    emu::encode(config.product.out, std::span<const double>(values), out);
  };
  if (std::filesystem::path(words.output).extension() == ".safetensors")
    return tensors::write_safetensors(words.output, {{"d", config.product.out, d.shape, codes}});
  if (words.codes) return tensors::write_npy_codes(words.output, d.shape, config.product.out, codes);
  const auto values = [&](std::uint64_t first, std::span<double> out) { d.source->read(first, out); };
  if (!emu::fits_float(config.product.out)) return tensors::write_npy(words.output, d.shape, tensors::Producer<double>(values));
  tensors::write_npy(words.output, d.shape, [&](std::uint64_t first, std::span<float> out) {
    std::vector<double> exact(out.size());
    values(first, exact);
    std::transform(exact.begin(), exact.end(), out.begin(), [](double x) { return static_cast<float>(x); });
  });
}

std::string product_sentence(const std::string& name, const studies::MatmulConfig& config,
                             const studies::MatmulProduct& product) {
  return name + ": " + tensors::shape_words(product.d.shape) + ", " + emu::format_name(config.product.out) + ", from " +
         reports::shortest(product.min) + " to " + reports::shortest(product.max) + ", infinite " +
         std::to_string(product.infinite) + ", nan " + std::to_string(product.nan);
}

void print_matmul(const MatmulWords& words, const studies::MatmulConfig& config, const studies::MatmulResult& result) {
  const reports::Table all = chosen(studies::matmul_table(config, result), words.common);
  if (rendering_of(words.common) != Rendering::text) return print_chosen(all, words.common, 4);
  print(heading(config, result));
  print_chosen(text_table(all, config, result), words.common, result.comparisons.empty() ? 2 : 3);
}

}  // namespace ulpscope::cli
