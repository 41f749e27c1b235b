// SPDX-License-Identifier: Apache-2.0
// Shapes, names and dtypes of codes and scales by the layout; numbers by QuantizedTensor.
#include "studies/cast/stored_tensor.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/cast/made_finite.hpp"
#include "tensors/caster.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr const char *bytes_dtype = "U8", *signed_dtype = "I8", *words_dtype = "I32", *shape_dtype = "I64";

/// Whether codes lie eight in a word.
bool are_in_words(const StorageLayout& layout, emu::Format format, ScaleRule rule) {
  return !layout.shape_of_words.empty() && format == emu::integer(4) && !has_zero_point(rule);
}

/// Elements of a block of a row, of rules that have such blocks: they store one scale for each.
std::uint64_t block_length(ScaleRule rule) {
  if (is_nvfp4(rule)) return 16;
  return rule == ScaleRule::tile_1x128 || rule == ScaleRule::tile_128x128 || rule == ScaleRule::minmax_1x128 ? 128 : 32;
}

/// Of all dimensions but the last.
std::uint64_t rows_of(const Shape& shape) {
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

/// Of the scale of a whole tensor.
Shape shape_of_one(const StorageLayout& layout, const Shape& shape) {
  switch (layout.one_scale) {
    case OneScale::scalar: return {};
    case OneScale::vector: return {1};
    case OneScale::as_tensor: break;
  }
  return Shape(shape.size(), 1);
}

Shape scale_shape(const StorageLayout& layout, const Shape& shape, ScaleRule rule) {
  if (rule == ScaleRule::number || rule == ScaleRule::amax || rule == ScaleRule::pow2 || rule == ScaleRule::minmax)
    return shape_of_one(layout, shape);
  const std::uint64_t columns = shape.empty() ? 1 : shape.back();
  const auto in_blocks = [](std::uint64_t extent, std::uint64_t of) {
    return std::max<std::uint64_t>((extent + of - 1) / of, 1);
  };
  if (rule == ScaleRule::tile_128x128 || rule == ScaleRule::nvfp4_16x16) {
    const std::size_t rank = shape.size();
    const std::uint64_t of = block_length(rule), rows = rank < 2 ? 1 : shape[rank - 2];
    Shape grid(shape.begin(), rank < 2 ? shape.begin() : shape.end() - 2);  // matrices, each with tiles of its own
    grid.push_back(in_blocks(rows, of));
    grid.push_back(in_blocks(columns, of));
    return grid;
  }
  if (layout.padded_scales) return padded_grid(rows_of(shape), in_blocks(columns, block_length(rule)));
  Shape grid(shape.begin(), shape.empty() ? shape.end() : shape.end() - 1);
  grid.push_back(rule == ScaleRule::row || rule == ScaleRule::minmax_row ? 1 : in_blocks(columns, block_length(rule)));
  return grid;
}

/// Codes in a tensor's own dtype, or packed.
struct CodesEntry {
  std::string name, dtype;
  Shape shape;
};

/// @throws ulpscope::Error where the layout has none for a tensor of that name and shape
CodesEntry codes_entry(const StorageLayout& layout, const std::string& name, const Shape& shape, emu::Format format,
                       ScaleRule rule) {
  const bool has_4_bits = format.bits() == 4;
  const std::uint64_t columns = shape.empty() ? 1 : shape.back();
  const auto check_rows = [&](std::uint64_t unit) {
    if (columns % unit == 0) return;
    throw Error("its rows of " + std::to_string(columns) + " elements are no multiple of " + std::to_string(unit));
  };
  if (layout.whole_blocks && clamps(rule)) check_rows(block_length(rule));
  if (const std::uint64_t rows = rows_of(shape); layout.padded_scales && rows % block_length(rule) != 0)
    throw Error("its " + std::to_string(rows) + " rows are no multiple of " + std::to_string(block_length(rule)));
  CodesEntry entry{layout.stem_of(name) + std::string(has_4_bits ? layout.codes_of_4_bits : layout.codes), {}, shape};
  if (has_zero_point(rule)) return {layout.stem_of(name) + std::string(layout.codes), signed_dtype, shape};
  if (are_in_words(layout, format, rule)) {
    if (shape.size() != 2) throw Error("it is no matrix");
    check_rows(rule == ScaleRule::row ? 8 : block_length(rule));
    return {entry.name, words_dtype, {shape.front(), columns / 8}};
  }
  if (!has_4_bits || !layout.bytes_of_codes) return entry;
  const std::uint64_t unit = layout.blocks_apart ? block_length(rule) : 2;
  check_rows(unit);
  entry.dtype = bytes_dtype;
  if (layout.blocks_apart) {
    entry.shape.back() = columns / unit;
    entry.shape.push_back(unit / 2);
  } else {
    entry.shape.back() = columns / 2;
  }
  return entry;
}

/// Calls act(first, size) for parts of a piece, in parallel.
template <class Act>
void in_parts(std::size_t size, Act act) {
  constexpr std::size_t part = 1 << 13;
  tensors::for_each_index((size + part - 1) / part, 0, [&](std::size_t i) { act(i * part, std::min(part, size - i * part)); });
}

/// What is stored of a block; `none` of rows without elements.
template <class T>
T value_at(const std::vector<T>& stored, std::uint64_t number, T none) {
  return number < stored.size() ? stored[static_cast<std::size_t>(number)] : none;
}

constexpr int all_threads = 0;

tensors::Producer<emu::Code> plain_codes(const tensors::Tensor& tensor, const Quantizing& how) {
  return [tensor, how](std::uint64_t first, std::span<emu::Code> out) {
    in_parts(out.size(), [&](std::size_t begin, std::size_t size) {
      tensors::Caster(tensor, how.format, how.options, emu::RandomBits{how.seed})
          .codes(first + begin, out.subspan(begin, size));
      if (how.made_finite) how.made_finite(made_finite_without_scales(tensor, how.format, first + begin, size));
    });
  };
}

}  // namespace

void QuantizedOne::begin(const tensors::Tensor& tensor, const Quantizing& how) {
  if (of_ == tensor.source.get()) return;
  held_ = {};
  of_ = nullptr;  // until all of this is found
  how_ = how;
  layout_ = ScaleMap::laid_out(how.scaling, tensor);
  at_once_ =
      layout_->whole_rows(std::max<std::uint64_t>(most_blocks_, layout_->block_rows() > 1 ? layout_->blocks_per_row() : 1));
  Scaling& scaling = how_.scaling;
  if (at_once_ < layout_->blocks() && has_tensor_scale(scaling.rule) && !scaling.shared_amax)
    scaling.shared_amax = amax_of(tensor, {}, all_threads);
  of_ = tensor.source.get();
}

const QuantizedOne::Part& QuantizedOne::with_element(const tensors::Tensor& tensor, const Quantizing& how,
                                                     std::uint64_t index) {
  begin(tensor, how);
  return with_block(tensor, how, layout_->block_of(index));
}

const QuantizedOne::Part& QuantizedOne::with_block(const tensors::Tensor& tensor, const Quantizing& how, std::uint64_t number) {
  begin(tensor, how);
  number = std::min<std::uint64_t>(number, layout_->blocks() - 1);
  if (held_.quantized != nullptr && number >= held_.blocks.first && number < held_.blocks.end) return held_;
  held_ = {};  // before the next one takes memory
  const std::uint64_t first = number / at_once_ * at_once_, end = std::min<std::uint64_t>(first + at_once_, layout_->blocks());
  const bool is_all = first == 0 && end == layout_->blocks();
  Part part{{first, end}, layout_->elements_of({first, end}, tensor.count())};
  part.quantized = std::make_shared<const QuantizedTensor>(tensor, how_.format, how_.options, how_.scaling, how_.seed,
                                                           is_all ? std::nullopt : std::optional(part.blocks), all_threads);
  held_ = std::move(part);
  return held_;
}

const ScaleMap& QuantizedOne::layout(const tensors::Tensor& tensor, const Quantizing& how) {
  begin(tensor, how);
  return *layout_;
}

float QuantizedOne::tensor_scale(const tensors::Tensor& tensor, const Quantizing& how) {
  begin(tensor, how);
  return with_block(tensor, how, held_.blocks.first).quantized->tensor_scale();
}

std::string obstacle_in(const StorageLayout& layout, const std::string& name, const std::vector<std::uint64_t>& shape,
                        emu::Format format, ScaleRule rule) {
  if (rule == ScaleRule::none) return {};
  try {
    codes_entry(layout_for(layout, rule), name, shape, format, rule);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<tensors::NamedCodes> entries_of(const StorageLayout& of_name, const std::string& name,
                                            const tensors::Tensor& tensor, const Quantizing& how,
                                            const std::shared_ptr<QuantizedOne>& quantized) {
  const ScaleRule rule = how.scaling.rule;
  const StorageLayout& layout = layout_for(of_name, rule);
  const auto refuse = [&](const std::string& why) {
    throw Error(tensor.label + ": layout " + std::string(layout.name) + " does not store " + emu::format_name(how.format) +
                " under " + how.scaling.word + why);
  };
  if (!layout.stores(how.format, rule)) refuse("; it stores " + stored_words(layout));
  if (rule == ScaleRule::none) return {{name, how.format, tensor.shape, plain_codes(tensor, how)}};
  if (const std::string why = obstacle_in(layout, name, tensor.shape, how.format, rule); !why.empty()) refuse(": " + why);
  const CodesEntry codes = codes_entry(layout, name, tensor.shape, how.format, rule);
  std::vector<tensors::NamedCodes> entries;
  const bool zero_points = has_zero_point(rule);
  const bool in_words = are_in_words(layout, how.format, rule);
  // Integers with a zero point are bytes in two's complement already, and those in words are of 4 bits.
  constexpr emu::Format byte = emu::float8_e8m0fnu, nibble = emu::e2m1;
  entries.push_back({codes.name,
                     zero_points ? byte
                     : in_words  ? nibble
                                 : how.format,
                     codes.shape,
                     [tensor, how, quantized, in_words](std::uint64_t first, std::span<emu::Code> out) {
                       while (!out.empty()) {
                         const QuantizedOne::Part& held = quantized->with_element(tensor, how, first);
                         const std::uint64_t left = held.elements.first + held.elements.count - first;
                         const auto here = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, out.size())));
                         in_parts(here.size(), [&](std::size_t begin, std::size_t size) {
                           std::vector<double> values(size);
                           const MadeFinite found = held.quantized->read(first + begin, values, here.subspan(begin, size));
                           if (how.made_finite) how.made_finite(found);
                           if (!in_words) return;
                           for (emu::Code& code : here.subspan(begin, size))
                             code = (emu::twos_complement(how.format, code) + 8) & 15;
                         });
                         first += here.size();
                         out = out.subspan(here.size());
                       }
                     },
                     codes.dtype});
  const bool two_levels = is_nvfp4(rule);
  const emu::Format format = two_levels ? emu::e4m3 : clamps(rule) ? emu::float8_e8m0fnu : emu::float32;
  const std::string stem = layout.stem_of(name);
  const Shape grid = scale_shape(layout, tensor.shape, rule);
  const std::uint64_t padded = layout.padded_scales ? grid.back() : 0, rows = rows_of(tensor.shape);
  entries.push_back({stem + std::string(layout.scale), format, grid,
                     [tensor, how, quantized, format, padded, rows](std::uint64_t first, std::span<emu::Code> out) {
                       const std::uint64_t blocks_of_row = padded == 0 ? 0 : quantized->layout(tensor, how).blocks_per_row();
                       for (std::size_t i = 0; i < out.size(); ++i) {
                         std::uint64_t block = first + i;
                         if (padded != 0) {
                           const std::uint64_t row = block / padded, column = block % padded;
                           out[i] = 0;
                           if (row >= rows || column >= blocks_of_row) continue;
                           block = row * blocks_of_row + column;
                         }
                         const QuantizedOne::Part& held = quantized->with_block(tensor, how, block);
                         const double scale = value_at(held.quantized->scales(), block - held.blocks.first, 1.0F);
                         out[i] = emu::round_to(format, scale, {}).code;
                       }
                     },
                     layout.bytes_of_scales && format == emu::float8_e8m0fnu ? bytes_dtype : ""});
  if (in_words)
    entries.push_back({stem + std::string(layout.shape_of_words),
                       emu::float64,  // of 64 bits
                       {tensor.shape.size()},
                       [shape = tensor.shape](std::uint64_t first, std::span<emu::Code> out) {
                         std::copy_n(shape.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
                       },
                       shape_dtype});
  if (zero_points)
    entries.push_back({stem + std::string(layout.zero_point), byte, scale_shape(layout, tensor.shape, rule),
                       [tensor, how, quantized](std::uint64_t first, std::span<emu::Code> out) {
                         for (std::size_t i = 0; i < out.size(); ++i) {
                           const QuantizedOne::Part& held = quantized->with_block(tensor, how, first + i);
                           const std::int8_t zero_point =
                               value_at(held.quantized->zero_points(), first + i - held.blocks.first, std::int8_t{0});
                           out[i] = static_cast<std::uint8_t>(zero_point);
                         }
                       },
                       signed_dtype});
  if (!two_levels) return entries;
  entries.push_back({stem + std::string(layout.tensor_scale), emu::float32,
                     layout.one_scale == OneScale::vector ? Shape{1} : Shape{},
                     [tensor, how, quantized, is = layout.tensor_scale_is](std::uint64_t, std::span<emu::Code> out) {
                       if (is == TensorScale::amax) {
                         const double greatest =
                             std::max(how.scaling.shared_amax.value_or(0), amax_of(tensor, {}, all_threads));
                         out.front() = std::bit_cast<std::uint32_t>(static_cast<float>(greatest));
                         return;
                       }
                       const float divisor = quantized->tensor_scale(tensor, how);
                       out.front() = std::bit_cast<std::uint32_t>(is == TensorScale::divisor ? divisor : 1 / divisor);
                     }});
  return entries;
}

}  // namespace ulpscope::studies
