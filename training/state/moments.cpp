// SPDX-License-Identifier: Apache-2.0
// Moments block by block.
#include "training/state/moments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/suggestions.hpp"
#include "requests/parts.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::training {
namespace {

constexpr std::size_t block_size = 256;  // of both packages, by default
constexpr float least_amax = 1e-12F;     // torchao's, under which a block keeps its scale

template <class Real>
void round_in_place(std::span<Real> values, const MomentStorage& storage) {
  emu::round_to(storage.format, std::span<const Real>(values), values, storage.options);
}

/// NaN where a number is not finite.
template <class Real>
float amax_of(std::span<const Real> block) {
  float amax = 0;
  for (const Real x : block) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    amax = std::max(amax, static_cast<float>(std::fabs(x)));
  }
  return amax;
}

template <class Real>
void store_scaled(std::span<Real> values, const MomentStorage& storage) {
  const tensors::Tensor tensor =
      tensors::from_values("moment", {values.size()}, std::vector<float>(values.begin(), values.end()));
  const studies::ScaleMap map(storage.scaling, storage.format, tensor);
  for (std::size_t first = 0; first < values.size();) {
    const studies::ScaleMap::Run run = map.run(first);
    const std::span<Real> block =
        values.subspan(first, static_cast<std::size_t>(std::min<std::uint64_t>(run.count, values.size() - first)));
    for (Real& x : block) x = run.scale.onto(x);
    round_in_place(block, storage);
    for (Real& x : block) x = static_cast<Real>(static_cast<double>(x) * run.scale.numerator / run.scale.denominator);
    first += block.size();
  }
}

template <class Real>
void store_divided(std::span<Real> block, const MomentStorage& storage) {
  const auto scale =
      static_cast<Real>(std::max(amax_of<Real>(block), least_amax) / static_cast<float>(emu::max_finite(storage.format)));
  for (Real& x : block) x /= scale;
  round_in_place(block, storage);
  for (Real& x : block) x *= scale;
}

template <class Real>
void store_in_map(std::span<Real> block, MapSigns signs) {
  const DynamicMap& map = dynamic_map(signs);
  const float amax = amax_of<Real>(block);
  for (Real& x : block) {
    std::size_t place = nearest_in(map, amax == 0 ? 0 : static_cast<float>(x) / amax);
    if (signs == MapSigns::both && std::signbit(x) && map[place] == 0) --place;
    x = static_cast<Real>(map[place] * amax);
  }
}

}  // namespace

MomentStorage parse_moment_storage(const std::string& format, const std::string& scaling, std::size_t least) {
  if (format == "dynamic8") {
    if (scaling != "none") throw Error("scaling '" + scaling + "': dynamic8 has scales of its own; give none");
    return {.codes = MomentCodes::dynamic8, .least = least};
  }
  MomentStorage storage{.format = requests::parse_format(format), .least = least};
  if (scaling == "blocks256") {
    storage.codes = MomentCodes::blocks256;
  } else {
    try {
      storage.scaling = studies::parse_scaling(scaling);
    } catch (const Error&) {
      throw Error("scaling '" + scaling + "': give a positive number, blocks256 or one of " +
                  emu::comma_separated(studies::scaling_words()));
    }
  }
  studies::check_format(storage.scaling, storage.format);
  if (storage.format.bits() <= 8 || studies::clamps(storage.scaling.rule)) storage.options.policy = emu::Policy::saturating;
  return storage;
}

bool is_left(const MomentStorage& storage, std::size_t elements) noexcept {
  return elements < storage.least || (storage.codes == MomentCodes::blocks256 && elements % block_size != 0);
}

std::uint64_t stored_bits(const MomentStorage& storage, std::size_t elements) noexcept {
  return stored_bits(storage, 1, elements);
}

std::uint64_t stored_bits(const MomentStorage& storage, std::size_t rows, std::size_t columns) noexcept {
  using studies::ScaleRule;
  const std::size_t elements = rows * columns;
  const auto bits = [&](int of_each, int of_scale, std::uint64_t scales) {
    return elements * static_cast<std::uint64_t>(of_each) + scales * static_cast<std::uint64_t>(of_scale);
  };
  const auto begun = [](std::size_t extent, std::size_t block) { return (extent + block - 1) / block; };
  if (is_left(storage, elements)) return bits(emu::float32.bits(), 0, 0);
  if (storage.codes == MomentCodes::dynamic8) return bits(8, emu::float32.bits(), begun(elements, block_size));
  const int each = storage.format.bits();
  if (storage.codes == MomentCodes::blocks256) return bits(each, emu::float32.bits(), begun(elements, block_size));
  const ScaleRule rule = storage.scaling.rule;
  const int of_scale = studies::scale_bits(rule);
  const auto of_tensor = static_cast<std::uint64_t>(studies::is_nvfp4(rule) ? emu::float32.bits() : 0);
  switch (rule) {
    case ScaleRule::none:
    case ScaleRule::number:
    case ScaleRule::amax:
    case ScaleRule::minmax:
    case ScaleRule::pow2: return bits(each, of_scale, 1);
    case ScaleRule::minmax_row:
    case ScaleRule::row: return bits(each, of_scale, rows);
    case ScaleRule::minmax_1x128:
    case ScaleRule::tile_1x128: return bits(each, of_scale, rows * begun(columns, 128));
    case ScaleRule::tile_128x128: return bits(each, of_scale, begun(rows, 128) * begun(columns, 128));
    case ScaleRule::nvfp4: return bits(each, of_scale, rows * begun(columns, 16)) + of_tensor;
    case ScaleRule::nvfp4_16x16: return bits(each, of_scale, begun(rows, 16) * begun(columns, 16)) + of_tensor;
    default: return bits(each, of_scale, rows * begun(columns, 32));
  }
}

template <class Real>
void store_moment(std::vector<Real>& values, const MomentStorage& storage, MapSigns signs) {
  const std::span<Real> all(values);
  if (values.empty() || is_left(storage, values.size())) return;
  if (storage.codes == MomentCodes::format)
    return storage.scaling.rule == studies::ScaleRule::none ? round_in_place(all, storage) : store_scaled(all, storage);
  for (std::size_t first = 0; first < values.size(); first += block_size) {
    const std::span<Real> block = all.subspan(first, std::min(block_size, values.size() - first));
    storage.codes == MomentCodes::dynamic8 ? store_in_map(block, signs) : store_divided(block, storage);
  }
}

template void store_moment(std::vector<float>&, const MomentStorage&, MapSigns);
template void store_moment(std::vector<double>&, const MomentStorage&, MapSigns);

}  // namespace ulpscope::training
