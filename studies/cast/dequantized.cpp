// SPDX-License-Identifier: Apache-2.0
// Finds codes and scales by their names, and reads both together.
#include "studies/cast/dequantized.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "studies/cast/code_values.hpp"
#include "studies/cast/layouts.hpp"

namespace ulpscope::studies {
namespace {

using tensors::Tensor;

std::uint64_t blocks_of(std::uint64_t extent, std::uint64_t of) { return (extent + of - 1) / of; }

/// The extent of blocks that makes so many of an extent, more than one.
std::optional<std::uint64_t> block_extent(std::uint64_t extent, std::uint64_t blocks) {
  if (blocks == extent) return 1;
  for (const std::uint64_t of : {std::uint64_t{16}, std::uint64_t{32}, std::uint64_t{64}, std::uint64_t{128}})
    if (blocks_of(extent, of) == blocks) return of;
  return std::nullopt;
}

/// The grid that scales of this shape lay over a tensor.
std::optional<CodeGrid> grid_of(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& scales) {
  CodeGrid grid{.columns = shape.empty() ? 1 : shape.back()};
  std::uint64_t rows = 1, block_rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  for (std::size_t i = 0; i + 1 < scales.size(); ++i) block_rows *= scales[i];
  grid.blocks_per_row = scales.empty() ? 1 : scales.back();
  if (grid.columns == 0 || rows == 0) return grid;  // no element is read
  const auto block_columns =
      grid.blocks_per_row == 1 ? std::optional(grid.columns) : block_extent(grid.columns, grid.blocks_per_row);
  // Tiles of each matrix of a batch; or of all rows, one below the other.
  const std::size_t rank = shape.size();
  const bool is_batch = rank > 2 && scales.size() == rank && std::equal(shape.begin(), shape.end() - 2, scales.begin());
  grid.matrix_rows = is_batch ? shape[rank - 2] : rows;
  const std::uint64_t down = is_batch ? scales[rank - 2] : block_rows;
  const auto rows_of_block = down == 1 ? std::optional(grid.matrix_rows) : block_extent(grid.matrix_rows, down);
  if (!block_columns || !rows_of_block) return std::nullopt;
  grid.block_columns = *block_columns;
  grid.block_rows = *rows_of_block;
  return grid;
}

/// Of blocks of 32, in NVFP4 of 16, whose scales fill up tiles.
std::optional<CodeGrid> padded_grid_of(const CodeParts& parts) {
  const std::uint64_t block = parts.is_packed ? 16 : 32, columns = parts.shape.empty() ? 1 : parts.shape.back();
  std::uint64_t rows = 1;
  for (std::size_t i = 0; i + 1 < parts.shape.size(); ++i) rows *= parts.shape[i];
  if (columns % block != 0 || parts.scales.shape != padded_grid(rows, std::max<std::uint64_t>(columns / block, 1)))
    return std::nullopt;
  return CodeGrid{.columns = columns, .block_columns = block, .blocks_per_row = parts.scales.shape.back(), .matrix_rows = rows};
}

bool is_of_bytes(const Tensor& tensor) { return tensor.dtype.name == "uint8"; }

class Finder {
 public:
  Finder(const std::vector<Tensor>& tensors, std::set<std::string> wide) : wide_(std::move(wide)) {
    for (const Tensor& tensor : tensors) named_.emplace(tensor.name, &tensor);
  }

  /// The parts of what these scales belong to, under one layout.
  std::optional<CodeParts> parts_of(const Tensor& scales, const StorageLayout& layout) const {
    if (scales.opaque || !scales.name.ends_with(layout.scale)) return std::nullopt;
    const std::string base = scales.name.substr(0, scales.name.size() - layout.scale.size());
    if (layout.has_leaves && layout.name_of(base).empty()) return std::nullopt;
    for (const std::string_view ending : {layout.codes_of_4_bits, layout.codes}) {
      const Tensor* const codes = find(base + std::string(ending));
      if (codes == nullptr) continue;
      CodeParts parts{.codes = *codes, .scales = scales, .tensor_scale = {}, .shape = codes->shape, .grid = {}};
      parts.is_packed = layout.bytes_of_codes && is_of_bytes(*codes) && ending == layout.codes_of_4_bits;
      if (layout.bytes_of_scales && is_of_bytes(scales))
        parts.scale_bytes = parts.is_packed && layout.padded_scales ? emu::e4m3 : emu::float8_e8m0fnu;
      if (!layout.shape_of_words.empty() && ending == layout.codes_of_4_bits && codes->dtype.name == "int32") {
        const Tensor* const said = find(base + std::string(layout.shape_of_words));
        if (said == nullptr || !take_words(*said, parts)) continue;
      }
      if (!layout.groups_of_columns.empty() && find(base + std::string(layout.groups_of_columns)) != nullptr) continue;
      if (!is_quantized(parts, layout)) continue;
      if (parts.is_packed && !unpack(layout, parts)) continue;
      const std::optional<CodeGrid> grid = layout.padded_scales ? padded_grid_of(parts) : grid_of(parts.shape, scales.shape);
      if (!grid) continue;
      parts.grid = *grid;
      const Tensor* const second = layout.tensor_scale.empty() ? nullptr : find(base + std::string(layout.tensor_scale));
      // Bytes of TransformerEngine's do not say whether they are codes of 8 bits or two of 4, but the latter have an amax.
      if (layout.padded_scales && parts.is_packed && second == nullptr) continue;
      if (second != nullptr && (second->opaque || second->count() != 1)) continue;
      if (second != nullptr) parts.tensor_scale = *second;
      const Tensor* const zeros = layout.zero_point.empty() ? nullptr : find(base + std::string(layout.zero_point));
      if (zeros != nullptr && (zeros->opaque || zeros->shape != scales.shape)) continue;
      if (zeros != nullptr) parts.zero_points = *zeros;
      parts.second = layout.tensor_scale_is;
      return parts;
    }
    return std::nullopt;
  }

  const Tensor* find(const std::string& name) const {
    const auto found = named_.find(name);
    return found == named_.end() ? nullptr : found->second;
  }

 private:
  /// Codes of few bits, or of more that are said to be codes, under scales of floating point.
  bool is_quantized(const CodeParts& parts, const StorageLayout& layout) const {
    const tensors::DType& dtype = parts.codes.dtype;
    const bool is_wide = layout.stores_scaled(emu::float16, ScaleRule::amax) && wide_.contains(parts.codes.name);
    const bool has_codes = is_wide || (dtype.format ? dtype.format->bits() <= most_bits_of_codes
                                                    : parts.is_packed || parts.shape_of_words || dtype.name == "int8");
    return has_codes && !parts.codes.opaque && (parts.scales.dtype.format || parts.scale_bytes);
  }

  /// Takes codes as words, if the entry says the shape of a matrix that they fill.
  static bool take_words(const Tensor& said, CodeParts& parts) {
    if (said.opaque || said.dtype.format || said.shape != std::vector<std::uint64_t>{2} || parts.shape.size() != 2)
      return false;
    std::array<double, 2> extents{};
    said.source->read(0, std::span<double>(extents));
    parts.shape.back() *= 8;
    if (extents[0] != static_cast<double>(parts.shape[0]) || extents[1] != static_cast<double>(parts.shape[1])) return false;
    parts.shape_of_words = said;
    return true;
  }

  static bool unpack(const StorageLayout& layout, CodeParts& parts) {
    if (parts.shape.empty()) return false;
    parts.shape.back() *= 2;
    if (!layout.blocks_apart) return true;
    if (parts.shape.size() < 2) return false;
    const std::uint64_t of_block = parts.shape.back();
    parts.shape.pop_back();
    parts.shape.back() *= of_block;
    return true;
  }

  std::map<std::string, const Tensor*> named_;
  std::set<std::string> wide_;
};

/// The name of the whole: that of the codes without the layout's ending.
Tensor whole_of(const CodeParts& parts, const StorageLayout& layout) {
  const std::string &label = parts.scales.label, &of_scales = parts.scales.name;
  const std::string name = layout.name_of(of_scales.substr(0, of_scales.size() - layout.scale.size()));
  const std::string shown = emu::visible(of_scales);  // as labels have it
  return {label.ends_with(shown) ? label.substr(0, label.size() - shown.size()) + emu::visible(name) : label,
          name,
          {emu::format_name(emu::float64), emu::float64},
          parts.shape,
          values_of(parts)};
}

/// All tensors of a file, or of a checkpoint; none where they cannot all be opened: what is asked of one need not be right of
/// all.
std::vector<Tensor> of_whole_files(const std::string& file, const tensors::OpenOptions& options) {
  if (file.empty()) return {};
  const auto opened = [&](std::optional<emu::Format> dtype) -> std::optional<std::vector<Tensor>> {
    try {
      return tensors::open(file, {.dtype = dtype, .seed = options.seed});
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  std::optional<std::vector<Tensor>> all = opened(options.dtype);
  if (!all && options.dtype) all = opened(std::nullopt);  // a file that says itself what it holds
  return all.value_or(std::vector<Tensor>());
}

std::set<std::string> labels_of(const std::vector<Tensor>& tensors) {
  std::set<std::string> labels;
  for (const Tensor& tensor : tensors) labels.insert(tensor.label);
  return labels;
}

}  // namespace

Dequantized dequantized(const std::vector<Tensor>& tensors, std::set<std::string> wide,
                        const std::optional<tensors::Hadamard>& hadamard) {
  const Finder finder(tensors, std::move(wide));
  std::map<std::string, Tensor> wholes;  // by the name of their codes
  std::map<std::string, std::vector<Tensor>> scales;
  std::set<std::string> used;
  for (const Tensor& tensor : tensors)
    for (const StorageLayout& layout : layouts()) {
      const std::optional<CodeParts> parts = finder.parts_of(tensor, layout);
      if (!parts || used.contains(parts->codes.name) || used.contains(tensor.name)) continue;
      used.insert({parts->codes.name, parts->scales.name});
      if (parts->tensor_scale) used.insert(parts->tensor_scale->name);
      if (parts->zero_points) used.insert(parts->zero_points->name);
      if (parts->shape_of_words) used.insert(parts->shape_of_words->name);
      std::vector<Tensor>& of_codes = scales[parts->codes.name];
      of_codes.push_back(parts->scales);
      if (parts->tensor_scale) of_codes.push_back(*parts->tensor_scale);
      if (parts->zero_points) of_codes.push_back(*parts->zero_points);
      if (parts->shape_of_words) of_codes.push_back(*parts->shape_of_words);
      const Tensor whole = whole_of(*parts, layout);
      wholes.emplace(parts->codes.name, hadamard && hadamard->fits(whole) ? tensors::rotated_back(whole, *hadamard) : whole);
    }
  Dequantized result{.tensors = {}, .put_together = wholes.size(), .codes = {}, .values = {}, .scales = {}};
  for (const Tensor& tensor : tensors) {
    if (const auto whole = wholes.find(tensor.name); whole != wholes.end()) {
      result.tensors.push_back(whole->second);
      result.codes.push_back(tensor);
      result.values.push_back(whole->second);
      result.scales.push_back(scales.at(tensor.name));
    } else if (!used.contains(tensor.name)) {
      result.tensors.push_back(tensor);
    }
  }
  return result;
}

Dequantized dequantized(const std::string& input, const std::vector<Tensor>& tensors, const tensors::OpenOptions& options,
                        const std::optional<tensors::Hadamard>& hadamard) {
  const std::string file = tensors::file_of(input);
  const bool is_whole = file == input;
  Dequantized all = dequantized(is_whole ? tensors : of_whole_files(file, options), wide_codes_of(input), hadamard);
  if (is_whole) return all;
  const std::set<std::string> asked = labels_of(tensors);
  std::map<std::string, std::size_t> place;  // of codes that are asked for, by label
  std::set<std::string> of_these;            // their scales
  for (std::size_t i = 0; i < all.codes.size(); ++i) {
    if (!asked.contains(all.codes[i].label)) continue;
    place.emplace(all.codes[i].label, i);
    of_these.merge(labels_of(all.scales[i]));
  }
  Dequantized result{.tensors = {}, .put_together = place.size(), .codes = {}, .values = {}, .scales = {}};
  for (const Tensor& tensor : tensors) {
    if (const auto found = place.find(tensor.label); found != place.end()) {
      result.tensors.push_back(all.values[found->second]);
      result.codes.push_back(tensor);
      result.values.push_back(all.values[found->second]);
      result.scales.push_back(all.scales[found->second]);
    } else if (!of_these.contains(tensor.label)) {
      result.tensors.push_back(tensor);
    }
  }
  return result;
}

CodesUnderScales codes_under_scales(const std::vector<std::string>& inputs, const tensors::Inputs& opened,
                                    const tensors::OpenOptions& options) {
  std::set<std::string> asked = labels_of(opened.kept);
  asked.merge(labels_of(opened.integers));
  asked.merge(labels_of(opened.others));
  CodesUnderScales found;
  const auto take = [&](const Dequantized& all) {
    for (std::size_t i = 0; i < all.codes.size(); ++i) {
      if (asked.erase(all.codes[i].label) == 0) continue;
      found.codes.push_back(all.codes[i]);
      found.scales.push_back(all.scales[i]);
    }
  };
  std::set<std::string> files, wide;
  std::vector<Tensor> alone;  // without scales in their own input
  for (const std::string& input : inputs) {
    const std::string file = tensors::file_of(input);
    if (!files.insert(file).second) continue;
    std::set<std::string> own = wide_codes_of(file);
    const Dequantized all = dequantized(of_whole_files(file, options), own, {});
    take(all);
    const std::set<std::string> values = labels_of(all.values);
    for (const Tensor& tensor : all.tensors)
      if (!values.contains(tensor.label)) alone.push_back(tensor);
    wide.merge(own);
  }
  if (files.size() > 1) take(dequantized(alone, std::move(wide), {}));  // the files of one checkpoint
  return found;
}

std::string codes_counted(const std::vector<Tensor>& codes) {
  return tensors::named_words(codes, "tensor") + ": codes under scales, counted as they are, without these";
}

void refuse_codes(const CodesUnderScales& found, const std::string& advice,
                  const std::function<bool(const tensors::Tensor&)>& is_rounded) {
  for (std::size_t i = 0; i < found.codes.size(); ++i)
    if (is_rounded(found.codes[i]) || std::ranges::any_of(found.scales[i], is_rounded))
      throw Error(found.codes[i].label + ": is codes under scales, not values: " + advice);
}

}  // namespace ulpscope::studies
