// SPDX-License-Identifier: Apache-2.0
// Reads scales by a kernel's layout, and changes those that it does not take as they are.
#include "verify/explain/replay_scales.hpp"

#include "emu/bulk.hpp"
#include "emu/error.hpp"

namespace ulpscope::verify {

template <class Float>
SeenScales<Float>::SeenScales(const MatmulData& data, const Kernel& kernel, const Region& region)
    : data_(data),
      kernel_(kernel),
      region_(region),
      any_(kernel.epilogue.scales != ScaleUse::none && (!data.scale_a.empty() || !data.scale_b.empty())) {}

template <class Float>
typename SeenScales<Float>::Scales SeenScales<Float>::at(std::size_t i, std::size_t j, std::size_t k) const {
  const Epilogue& epilogue = kernel_.epilogue;
  if (!any_) return {1, 1};
  const std::size_t row = region_.rows[i], column = region_.columns[j];
  const auto read = [&](const DataScales& scales, std::size_t matrix, std::size_t line, ScaleLayout layout) {
    return static_cast<Float>(scales.of(matrix, scales.read_for(scales.block_of(line, k), layout)));
  };
  const auto of_a = [&](std::size_t line) {
    return read(data_.scale_a, data_.shape.a_of[kernel_.a.scales_of(region_.matrix)], line, epilogue.layout_a);
  };
  const auto of_b = [&](std::size_t line) {
    return read(data_.scale_b, data_.shape.b_of[kernel_.b.scales_of(region_.matrix)], line, epilogue.layout_b);
  };
  if (epilogue.scales == ScaleUse::swapped) return {of_b(row), of_a(column)};
  const Scales own{of_a(row), of_b(column)};
  switch (epilogue.scales) {
    case ScaleUse::none_a: return {1, own.b};
    case ScaleUse::none_b: return {own.a, 1};
    case ScaleUse::reciprocal: return {1 / own.a, 1 / own.b};
    case ScaleUse::reciprocal_a: return {1 / own.a, own.b};
    case ScaleUse::reciprocal_b: return {own.a, 1 / own.b};
    case ScaleUse::twice_a: return once_more(own, false);
    case ScaleUse::twice_b: return once_more(own, true);
    default: break;
  }
  return epilogue.block ? with_block(own, row, column, k) : own;
}

template <class Float>
typename SeenScales<Float>::Scales SeenScales<Float>::once_more(Scales scales, bool of_b) const {
  Float& scale = of_b ? scales.b : scales.a;
  if (kernel_.epilogue.twice_at == TwiceAt::scale)
    scale *= scale;
  else
    scales.again = scale;
  return scales;
}

template <class Float>
typename SeenScales<Float>::Scales SeenScales<Float>::with_block(Scales scales, std::size_t row, std::size_t column,
                                                                 std::size_t k) const {
  const BlockScale& off = *kernel_.epilogue.block;
  const DataScales& all = off.of_b ? data_.scale_b : data_.scale_a;
  if (all.block_of(off.of_b ? column : row, k) != off.block) return scales;
  if (off.twice) return once_more(scales, off.of_b);
  const std::size_t matrix = (off.of_b ? data_.shape.b_of : data_.shape.a_of)[region_.matrix];
  (off.of_b ? scales.b : scales.a) = off.other ? static_cast<Float>(all.of(matrix, *off.other)) : Float{1};
  return scales;
}

template <class Float>
Float SeenScales<Float>::whole_of(const DataScales& scales) const noexcept {
  return any_ && kernel_.epilogue.dequantized->with_whole ? static_cast<Float>(scales.whole()) : Float{1};
}

template <class Float>
Float SeenScales<Float>::whole() const noexcept {
  const Epilogue& epilogue = kernel_.epilogue;
  if (!any_ || (epilogue.dequantized && epilogue.dequantized->with_whole)) return 1;
  const auto whole = static_cast<Float>(data_.scale_a.whole() * data_.scale_b.whole());
  switch (epilogue.whole) {
    case WholeUse::none: return 1;
    case WholeUse::reciprocal: return 1 / whole;
    case WholeUse::twice: return whole * whole;
    case WholeUse::declared: break;
  }
  return whole;
}

template <class Float>
ChainScales SeenScales<Float>::of_engine(const emu::Engine& engine, std::size_t k) const {
  const auto block = static_cast<std::size_t>(engine.scale_products), blocks = (k + block - 1) / block;
  const auto& scales = data_.scale_a.scales ? data_.scale_a.scales : data_.scale_b.scales;
  if (!scales) throw Error("no scales");
  ChainScales given{.format = scales->format, .block = block, .a = {}, .b = {}};
  const auto once = [](const Scales& of, Float scale) {
    if (of.again) throw Error("an engine applies scales once");
    return static_cast<float>(scale);
  };
  for (std::size_t i = 0; i < region_.rows.size(); ++i)
    for (std::size_t x = 0; x < blocks; ++x) {
      const Scales of = at(i, 0, x * block);
      given.a.push_back(once(of, of.a));
    }
  for (std::size_t x = 0; x < blocks; ++x)
    for (std::size_t j = 0; j < region_.columns.size(); ++j) {
      const Scales of = at(0, j, x * block);
      given.b.push_back(once(of, of.b));
    }
  for (std::vector<float>* values : {&given.a, &given.b})
    emu::round_to(given.format, std::span<const float>(*values), std::span<float>(*values), {}, {});
  return given;
}

template class SeenScales<float>;
template class SeenScales<double>;

}  // namespace ulpscope::verify
