// SPDX-License-Identifier: Apache-2.0
// Each recipe as a function from the amax of a block to its factors.
#include "studies/census/scaling.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/magnitude.hpp"
#include "emu/names.hpp"
#include "studies/census/in_order_kernels.hpp"
#include "tensors/chunk.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

struct RuleWord {
  std::string_view word;
  ScaleRule rule;
  ScaleForm form = ScaleForm::multiply;
};
constexpr RuleWord rule_words[]{{"none", ScaleRule::none},
                                {"amax", ScaleRule::amax},
                                {"pow2", ScaleRule::pow2},
                                {"row", ScaleRule::row},
                                {"row:pow2", ScaleRule::row, ScaleForm::pow2},
                                {"row:divide", ScaleRule::row, ScaleForm::divide},
                                {"row:reciprocal", ScaleRule::row, ScaleForm::reciprocal},
                                {"1x128", ScaleRule::tile_1x128},
                                {"1x128:pow2", ScaleRule::tile_1x128, ScaleForm::pow2},
                                {"1x128:divide", ScaleRule::tile_1x128, ScaleForm::divide},
                                {"1x128:reciprocal", ScaleRule::tile_1x128, ScaleForm::reciprocal},
                                {"128x128", ScaleRule::tile_128x128},
                                {"128x128:pow2", ScaleRule::tile_128x128, ScaleForm::pow2},
                                {"128x128:divide", ScaleRule::tile_128x128, ScaleForm::divide},
                                {"128x128:reciprocal", ScaleRule::tile_128x128, ScaleForm::reciprocal},
                                {"minmax", ScaleRule::minmax},
                                {"minmax:row", ScaleRule::minmax_row},
                                {"minmax:1x128", ScaleRule::minmax_1x128},
                                {"mx:floor", ScaleRule::mx_floor},
                                {"mx:ceil", ScaleRule::mx_ceil},
                                {"mx:rceil", ScaleRule::mx_rceil},
                                {"mx:even", ScaleRule::mx_even},
                                {"nvfp4", ScaleRule::nvfp4},
                                {"nvfp4:16x16", ScaleRule::nvfp4_16x16}};

constexpr float float_max = std::numeric_limits<float>::max();

/// floor(log2 x) of a finite positive double.
int floor_log2(double x) { return std::ilogb(x); }

/// Transformer Engine's scale from an amax, which is a float32: float32 division; no usable amax gives 1.
float amax_scale(emu::Format format, double amax) {
  const auto largest = static_cast<float>(amax);
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  const float scale = static_cast<float>(emu::max_finite(format)) / largest;
  return std::isfinite(scale) ? (scale > 0 ? scale : std::numeric_limits<float>::denorm_min()) : float_max;
}

/// The greatest power of two that is no greater.
float power_below(float scale) { return static_cast<float>(emu::power_of_two(floor_log2(static_cast<double>(scale)))); }

/// What is stored of the scale of a row or of a tile.
float formed_scale(ScaleForm form, emu::Format format, double amax) {
  if (form == ScaleForm::multiply) return amax_scale(format, amax);
  if (form == ScaleForm::pow2) return power_below(amax_scale(format, amax));
  const auto largest = static_cast<float>(amax);
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  return std::max(largest / static_cast<float>(emu::max_finite(format)), std::numeric_limits<float>::denorm_min());
}

/// log2 of the e8m0 scale that a block with this amax gets; the block is divided by it.
int mx_exponent(ScaleRule rule, emu::Format format, double amax) {
  if (amax == 0) return emu::e8m0.min_exponent();
  amax = std::min(amax, static_cast<double>(float_max));  // greater ones have the greatest scale anyway
  const int element_exponent = format.max_exponent();
  const int exponent = floor_log2(amax);
  switch (rule) {
    case ScaleRule::mx_floor: return exponent - element_exponent;
    case ScaleRule::mx_ceil: return exponent - element_exponent + (amax == emu::power_of_two(exponent) ? 0 : 1);
    case ScaleRule::mx_even: {
      const double half_ulp = emu::power_of_two(std::max(exponent - format.fraction_bits - 1, -1074));
      return floor_log2(amax + half_ulp) - element_exponent;
    }
    default: {  // rceil: amax times the float32 reciprocal of the largest finite value, as the kernel forms it
      const float ratio = static_cast<float>(amax) * (1.0F / static_cast<float>(emu::max_finite(format)));
      if (ratio == 0) return emu::e8m0.min_exponent();
      const int below = floor_log2(static_cast<double>(ratio));
      return below + (static_cast<double>(ratio) == emu::power_of_two(below) ? 0 : 1);
    }
  }
}

/// What elements are multiplied by: a power of two of e8m0's, which are float32's.
float mx_scale(ScaleRule rule, emu::Format format, double amax) {
  if (!std::isfinite(amax)) return std::numeric_limits<float>::quiet_NaN();  // which makes the block NaN (MX 1.0, 6.3)
  const int exponent = std::clamp(mx_exponent(rule, format, amax), emu::e8m0.min_exponent(), emu::e8m0.max_exponent());
  return static_cast<float>(emu::power_of_two(-exponent));
}

/// NVFP4: `tensor_scale` is S_enc; the block's scale is stored in e4m3.
float nvfp4_stored(emu::Format format, float tensor_scale, double amax) {
  const float target = static_cast<float>(emu::max_finite(format));
  const float wanted = static_cast<float>(amax) * (tensor_scale * (1.0F / target));
  return static_cast<float>(emu::round_to(emu::e4m3, wanted, {.policy = emu::Policy::saturating}).value);
}

/// Scale and zero point of numbers of which the greatest is `above` and the least is -`below`, as torch computes them in
/// float32.
struct Affine {
  float scale;
  int zero_point;
};
Affine affine(int bits, double above, double below) {
  const int last = (1 << bits) - 1, least = -(1 << (bits - 1));
  const float range = static_cast<float>(above) + static_cast<float>(below);
  if (!std::isfinite(range)) return {1, 0};  // as where an amax is infinite
  const float scale = std::max(range / static_cast<float>(last), std::numeric_limits<float>::epsilon());
  const int steps = static_cast<int>(std::nearbyint(static_cast<float>(below) / scale));
  return {scale, std::clamp(least + steps, least, least + last)};
}

/// The greatest magnitude of neighbours.
float greatest_of(std::span<const float> values) { return amax_of(values); }
double greatest_of(std::span<const double> values) { return emu::greatest_magnitude(values); }

/// Calls act(first, values) for a part of a tensor, piece by piece, on `threads` threads, which stay near each other: a file is
/// read from its beginning to its end.
template <class Float, class Act>
void for_each_piece(const tensors::Tensor& tensor, const ElementRange& part, int threads, Act act) {
  constexpr std::uint64_t piece = 1 << 16, at_once = piece << 9;
  for (std::uint64_t begin = 0; begin < part.count; begin += at_once) {
    const std::uint64_t end = std::min(begin + at_once, part.count);
    tensors::for_each_index(static_cast<std::size_t>((end - begin + piece - 1) / piece), threads, [&](std::size_t i) {
      const std::uint64_t done = begin + i * piece, first = part.first + done;
      const auto size = static_cast<std::size_t>(std::min(piece, end - done));
      act(first, tensors::Chunk<Float>(tensor, first, size).values());
    });
  }
  tensor.source->check();
}

/// The same, of floats where the tensor's numbers are.
template <class Act>
void for_each_piece(const tensors::Tensor& tensor, const ElementRange& part, int threads, Act act) {
  if (tensor.dtype.fits_float())
    for_each_piece<float>(tensor, part, threads, act);
  else
    for_each_piece<double>(tensor, part, threads, act);
}

/// Raises a number that others raise as well.
template <class Float>
void raise(Float& number, Float to) {
  const std::atomic_ref<Float> shared(number);
  Float known = shared.load(std::memory_order_relaxed);
  while (known < to && !shared.compare_exchange_weak(known, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

float nvfp4_tensor_scale(emu::Format format, double amax) {
  const auto range = static_cast<float>(emu::max_finite(emu::e4m3) * emu::max_finite(format));
  const float scale = std::min(range / static_cast<float>(amax), float_max);
  return !(amax > 0) || !std::isfinite(amax) || scale == 0 ? 1 : scale;
}

double amax_of(const tensors::Tensor& tensor, std::optional<ElementRange> part, int threads) {
  double amax = 0;
  for_each_piece(tensor, part.value_or(ElementRange{0, tensor.count()}), threads,
                 [&](std::uint64_t, auto values) { raise(amax, static_cast<double>(greatest_of(values))); });
  return amax;
}

Scaling parse_scaling(std::string_view word) {
  for (const auto& [name, rule, form] : rule_words)
    if (name == word) return {.rule = rule, .form = form, .word = std::string(word)};
  if (word.starts_with("2^")) {
    int exponent = 0;
    const char* const last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data() + 2, last, exponent);
    const double power = std::ldexp(1.0, std::clamp(exponent, -2000, 2000));
    if (error == std::errc{} && end == last && power > 0 && std::isfinite(power))
      return {.rule = ScaleRule::number, .number = power, .word = std::string(word)};
  }
  const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  const std::string_view digits = word.substr(hexadecimal ? 2 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc{} && end == digits.data() + digits.size() && number > 0 && std::isfinite(number))
    return {.rule = ScaleRule::number, .number = number, .word = std::string(word)};
  std::string known;
  for (const auto& [name, rule, form] : rule_words) known += std::string(known.empty() ? "" : ", ") + std::string(name);
  throw Error("--scale '" + std::string(word) + "': give a positive number, 2^K or one of " + known);
}

void check_format(const Scaling& scaling, emu::Format format) {
  constexpr int most_bits = 8;
  if (has_zero_point(scaling.rule) && (!format.is_integer() || format.bits() > most_bits))
    throw Error("scaling '" + scaling.word + "': is for integers, int3 to int8, not for " + emu::format_name(format));
}

std::vector<emu::Format> element_formats(ScaleRule rule) {
  if (is_nvfp4(rule)) return {emu::e2m1};
  if (clamps(rule)) return {emu::e5m2, emu::e4m3, emu::e3m2, emu::e2m3, emu::e2m1, emu::integer(8)};
  return {};
}

std::string outside_rule(const Scaling& scaling, std::span<const emu::Format> formats) {
  const std::vector<emu::Format> of_rule = element_formats(scaling.rule);
  std::string known, others;
  for (const emu::Format format : of_rule) known += (known.empty() ? "" : ", ") + emu::format_name(format);
  for (const emu::Format format : formats)
    if (std::ranges::find(of_rule, format) == of_rule.end()) others += (others.empty() ? "" : ", ") + emu::format_name(format);
  if (of_rule.empty() || others.empty()) return {};
  const std::string name = is_nvfp4(scaling.rule) ? "NVFP4" : "MX";
  return "--scale " + scaling.word + ": " + name + " is of " + known + "; what " + others + " holds under its scales is no " +
         name;
}

std::vector<std::string> scaling_words() {
  std::vector<std::string> words;
  for (const auto& [name, rule, form] : rule_words) words.emplace_back(name);
  return words;
}

int scale_bits(ScaleRule rule) noexcept {
  if (rule == ScaleRule::none || rule == ScaleRule::number) return 0;
  if (is_nvfp4(rule)) return emu::e4m3.bits();
  constexpr int of_zero_point = 8;
  if (has_zero_point(rule)) return emu::float32.bits() + of_zero_point;
  return clamps(rule) ? emu::e8m0.bits() : emu::float32.bits();
}

bool clamps(ScaleRule rule) noexcept { return rule >= ScaleRule::mx_floor; }

std::optional<int> ScaleMap::log2_uniform() const noexcept {
  if (!is_uniform() || has_zero_points()) return std::nullopt;
  const ElementScale& scale = uniform();
  if (!(scale.multiply >= 0x1p-500 && scale.multiply <= 0x1p500)) return std::nullopt;
  const int exponent = floor_log2(scale.multiply);
  if (scale.multiply != emu::power_of_two(exponent) || scale.denominator != scale.multiply || scale.numerator != 1 ||
      scale.divide != 1)
    return std::nullopt;
  // A product in float32 may lose bits to underflow. It cannot overflow: such scales bring no number beyond the format's
  // largest.
  if (in_float_ && exponent < 0) return std::nullopt;
  return exponent;
}

void ScaleMap::store(const ElementRange& read) {
  first_stored_ = read.count == 0 ? 0 : block_of(read.first);
  stored_.resize(read.count == 0 ? 1 : block_of(read.first + read.count - 1) - first_stored_ + 1);
}

template <class Float>
void ScaleMap::scale_by_amax(const Scaling& scaling, emu::Format format, std::span<const Float> amax) {
  const ScaleRule rule = scaling.rule;
  const bool is_shared = scaling.shared_amax && !is_nvfp4(rule) && has_tensor_scale(rule);
  is_nvfp4_ = is_nvfp4(rule);
  if (is_nvfp4_) {
    const auto of_blocks = static_cast<double>(*std::max_element(amax.begin(), amax.end()));
    tensor_scale_ = nvfp4_tensor_scale(format, std::max(scaling.shared_amax.value_or(0), of_blocks));
  }
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const double of_block = is_shared ? *scaling.shared_amax : static_cast<double>(amax[i]);
    if (is_nvfp4_)
      stored_[i] = nvfp4_stored(format, tensor_scale_, of_block);
    else if (clamps(rule))
      stored_[i] = mx_scale(rule, format, of_block);
    else if (rule == ScaleRule::pow2)
      stored_[i] = power_below(amax_scale(format, of_block));
    else
      stored_[i] = formed_scale(scaling.form, format, of_block);
  }
  make_uniform();
}

void ScaleMap::make_uniform() {
  if (!is_uniform()) return;
  blocks_ = 0;  // for block() to make it
  uniform_ = block(0);
  blocks_ = 1;
}

template <class Float>
void ScaleMap::scale_by_ends(emu::Format format, const tensors::Tensor& tensor, const ElementRange& read, int threads) {
  Ends<Float> ends{std::vector<Float>(stored_.size()), std::vector<Float>(stored_.size())};
  for_each_piece<Float>(tensor, read, threads,
                        [&](std::uint64_t first, std::span<const Float> values) { take_ends(first, values, ends); });
  scale_by_ends(format, ends);
}

template <class Float>
void ScaleMap::scale_by_ends(emu::Format format, const Ends<Float>& ends) {
  const int bits = zero_point_bits_ = format.bits();
  low_.resize(stored_.size());
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const Affine found = affine(bits, static_cast<double>(ends.above[i]), static_cast<double>(ends.below[i]));
    stored_[i] = found.scale;
    low_[i] = static_cast<std::int16_t>(-(1 << (bits - 1)) - found.zero_point);
  }
  make_uniform();
}

template <class Float>
void ScaleMap::take_ends(std::uint64_t first, std::span<const Float> values, Ends<Float>& ends) const {
  for_each_block(first, values.size(), [&](std::uint64_t at, std::uint64_t count, std::size_t block) {
    Float above = 0, below = 0;
    for (const Float x : values.subspan(static_cast<std::size_t>(at - first), static_cast<std::size_t>(count))) {
      above = x > above ? x : above;  // a NaN is passed over
      below = -x > below ? -x : below;
    }
    raise(ends.above[block - first_stored_], above);
    raise(ends.below[block - first_stored_], below);
  });
}

ScaleMap::ScaleMap(const Scaling& scaling, emu::Format format, const tensors::Tensor& tensor, int threads,
                   std::optional<ElementRange> part) {
  check_format(scaling, format);
  if (!lay_out(scaling, tensor)) return;
  const std::uint64_t count = tensor.count();
  const bool is_known = has_tensor_scale(scaling.rule) && scaling.shared_amax;
  ElementRange read = part && (is_known || !has_tensor_scale(scaling.rule)) ? in_blocks(*part) : ElementRange{0, count};
  read.count = is_known && !is_nvfp4(scaling.rule) ? 0 : std::min(read.count, count - read.first);
  in_float_ = tensor.dtype.fits_float();
  store(read);
  if (has_zero_point(scaling.rule)) {
    if (in_float_)
      scale_by_ends<float>(format, tensor, read, threads);
    else
      scale_by_ends<double>(format, tensor, read, threads);
    return;
  }
  if (in_float_) {
    scale_by_amax(scaling, format, tensor, read, threads, std::span(stored_));
  } else {
    std::vector<double> amax(stored_.size());
    scale_by_amax(scaling, format, tensor, read, threads, std::span(amax));
  }
}

ScaleMap::ScaleMap(const Scaling& scaling, emu::Format format, std::span<const float> values, std::size_t columns) {
  check_format(scaling, format);
  if (!lay_out(scaling, values.size(), columns, 0)) return;
  in_float_ = true;
  store({0, values.size()});
  if (has_zero_point(scaling.rule)) {
    Ends<float> ends{std::vector<float>(stored_.size()), std::vector<float>(stored_.size())};
    take_ends(0, values, ends);
    scale_by_ends(format, ends);
    return;
  }
  take_amax(0, values, std::span(stored_));
  scale_by_amax(scaling, format, std::span<const float>(stored_));
}

template <class Float>
void ScaleMap::scale_by_amax(const Scaling& scaling, emu::Format format, const tensors::Tensor& tensor,
                             const ElementRange& read, int threads, std::span<Float> amax) {
  for_each_piece<Float>(tensor, read, threads,
                        [&](std::uint64_t first, std::span<const Float> values) { take_amax(first, values, amax); });
  scale_by_amax(scaling, format, std::span<const Float>(amax));
}

template <class Float>
void ScaleMap::take_amax(std::uint64_t first, std::span<const Float> values, std::span<Float> amax) const {
  for_each_block(first, values.size(), [&](std::uint64_t at, std::uint64_t count, std::size_t block) {
    raise(
        amax[block - first_stored_],
        static_cast<Float>(greatest_of(values.subspan(static_cast<std::size_t>(at - first), static_cast<std::size_t>(count)))));
  });
}

}  // namespace ulpscope::studies
