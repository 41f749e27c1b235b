// SPDX-License-Identifier: Apache-2.0
// Rounds under scales in pieces, and keeps the codes beside the values.
#include "studies/quantization/quantized.hpp"

#include <algorithm>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "studies/census/round_and_count.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t piece = 1 << 16;

template <class Float>
void round_all(const tensors::Tensor& tensor, const ScaleMap& scales, const emu::RoundingOptions& options, std::uint64_t seed,
               QuantizedTensor& out) {
  std::vector<Float> values(piece);
  for (std::uint64_t first = 0; first < tensor.count(); first += piece) {
    const auto at = static_cast<std::size_t>(first);
    const std::size_t size = std::min<std::size_t>(piece, out.codes.size() - at);
    const std::span<Float> in = std::span(values).first(size);
    tensor.source->read(first, in);
    round_and_unscale(std::span<const Float>(in), first, out.format, scales, tensor.dtype, options, seed,
                      std::span(out.values).subspan(at, size), std::span(out.codes).subspan(at, size));
  }
}

}  // namespace

QuantizedTensor quantize(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options,
                         const Scaling& scaling, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(tensor.count());
  const ScaleMap map(scaling, format, tensor);
  QuantizedTensor out{.format = format,
                      .shape = tensor.shape,
                      .codes = std::vector<emu::Code>(count),
                      .values = std::vector<double>(count),
                      .scale_format = {},
                      .scale_shape = {},
                      .scales = {}};
  if (tensor.dtype.fits_float())
    round_all<float>(tensor, map, options, seed, out);
  else
    round_all<double>(tensor, map, options, seed, out);
  if (scaling.rule == ScaleRule::none) return out;
  const bool two_levels = is_nvfp4(scaling.rule);
  out.scale_format = emu::format_name(two_levels ? emu::e4m3 : clamps(scaling.rule) ? emu::float8_e8m0fnu : emu::float32);
  if (map.blocks() != 1 || tensor.shape.size() > 1)
    out.scale_shape = {map.blocks() / map.blocks_per_row(), map.blocks_per_row()};
  if (map.is_uniform() && scaling.rule <= ScaleRule::pow2) out.scale_shape.clear();
  for (std::size_t i = 0; i < map.blocks(); ++i) {
    const ElementScale& scale = map.block(i);
    out.scales.push_back(two_levels ? static_cast<float>(scale.numerator)
                                    : static_cast<float>(scale.numerator / scale.denominator));
    if (two_levels) out.tensor_scale = static_cast<float>(scale.denominator);
  }
  return out;
}

}  // namespace ulpscope::studies
