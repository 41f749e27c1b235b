// SPDX-License-Identifier: Apache-2.0
// Finds scales, and rounds under them.
#include "studies/quantization/quantized.hpp"

#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/census/round_and_count.hpp"

namespace ulpscope::studies {
namespace {

/// Of the whole tensor.
bool has_one_scale(ScaleRule rule) { return rule <= ScaleRule::pow2 || rule == ScaleRule::minmax; }

/// Rows of blocks, and blocks of a row, of a tensor without elements.
std::vector<std::uint64_t> scales_of_nothing(const ScaleMap& map, ScaleRule rule, const std::vector<std::uint64_t>& shape) {
  const std::uint64_t columns = shape.empty() ? 1 : shape.back(), rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  std::uint64_t matrices = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) matrices *= shape[i];
  const auto in_blocks = [](std::uint64_t extent, std::uint64_t of) { return (extent + of - 1) / of; };
  const bool of_rows = rule == ScaleRule::row || rule == ScaleRule::minmax_row;
  return {matrices * in_blocks(rows, map.block_rows()), of_rows ? 1 : in_blocks(columns, map.block_columns())};
}

/// The elements of blocks, unless these are all.
std::optional<ElementRange> part_of(const Scaling& scaling, const tensors::Tensor& tensor,
                                    const std::optional<BlockRange>& blocks) {
  if (!blocks) return std::nullopt;
  return ScaleMap::laid_out(scaling, tensor).elements_of(*blocks, tensor.count());
}

}  // namespace

bool is_storable(const Scaling& scaling) noexcept {
  return scaling.rule != ScaleRule::number || std::isnormal(static_cast<float>(1 / scaling.number));
}

void check_storable(const Scaling& scaling) {
  if (is_storable(scaling)) return;
  throw Error("--scale '" + scaling.word + "': its reciprocal, which is stored, is no normal float32; give 2^-127 to 2^126");
}

QuantizedTensor::QuantizedTensor(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options,
                                 const Scaling& scaling, std::uint64_t seed, const std::optional<BlockRange>& part, int threads)
    : tensor_(tensor),
      format_(format),
      options_(options),
      map_(scaling, format, tensor, threads, part_of(scaling, tensor, part)),
      seed_(seed) {
  if (scaling.rule == ScaleRule::none) return;
  check_storable(scaling);
  const bool two_levels = is_nvfp4(scaling.rule);
  scale_format_ = emu::format_name(two_levels ? emu::e4m3 : clamps(scaling.rule) ? emu::float8_e8m0fnu : emu::float32);
  if (map_.blocks() != 1 || tensor.shape.size() > 1)
    scale_shape_ = {map_.blocks() / map_.blocks_per_row(), map_.blocks_per_row()};
  if (map_.is_uniform() && has_one_scale(scaling.rule)) scale_shape_.clear();
  std::size_t blocks = map_.blocks();
  if (tensor.count() == 0 && !has_one_scale(scaling.rule)) {
    scale_shape_ = scales_of_nothing(map_, scaling.rule, tensor.shape);
    blocks = static_cast<std::size_t>(scale_shape_[0] * scale_shape_[1]);
  }
  const auto first = static_cast<std::size_t>(part ? part->first : 0);
  if (part) blocks = static_cast<std::size_t>(part->end - part->first);
  scales_.reserve(blocks);
  if (map_.has_zero_points()) zero_points_.reserve(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const ElementScale scale = map_.block(first + i);
    scales_.push_back(two_levels ? static_cast<float>(scale.numerator)
                                 : static_cast<float>(scale.numerator / scale.denominator));
    if (map_.has_zero_points())
      zero_points_.push_back(static_cast<std::int8_t>(-(1 << (format.bits() - 1)) - static_cast<int>(scale.low)));
    if (two_levels) tensor_scale_ = static_cast<float>(scale.denominator);
  }
}

MadeFinite QuantizedTensor::read(std::uint64_t first, std::span<double> values, std::span<emu::Code> codes) const {
  MadeFinite made_finite;
  const auto read_as = [&]<class Float>(Float) {
    std::vector<Float> in(codes.size());
    tensor_.source->read(first, std::span<Float>(in));
    round_and_unscale(std::span<const Float>(in), first, format_, map_, tensor_.dtype, options_, seed_, values, codes);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (values[i] - values[i] == 0) made_finite.add(in[i]);
  };
  if (tensor_.dtype.fits_float())
    read_as(float{});
  else
    read_as(double{});
  // A block whose stored scale is 0 stands for zeros, and zeros are stored, not what the kernels that publish the rule divide
  // by 0.
  if (map_.has_zero_points()) return made_finite;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (values[i] == 0) codes[i] &= format_.sign_mask();
  return made_finite;
}

}  // namespace ulpscope::studies
