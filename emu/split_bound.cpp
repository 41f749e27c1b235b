// SPDX-License-Identifier: Apache-2.0
// Adds up what the splitting leaves out, what the engine loses of the parts' products, and what joins them.
#include "emu/split_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/split_matmul.hpp"

namespace ulpscope::emu {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Higham's gamma of n roundings to nearest.
double gamma_of(double n, double unit) noexcept { return n * unit < 1 ? n * unit / (1 - n * unit) : infinite; }

double largest_of(double given) noexcept { return std::min(given, decode(float32, float32.max_finite_code())); }

/// What parts are of a number, and what they leave of it.
struct PartSizes {
  double size[SplitProduct::most_parts] = {};  ///< |part i| <= size[i] |x| + 2 lost
  double rest = 0;                             ///< |x - all parts| <= rest |x| + lost
  double lost = 0;

  explicit PartSizes(const SplitProduct& split) {
    const int p = split.part.precision(), last = float32.fraction_bits;
    int exponent = 0;  // what is left is below 2^(exponent + 1), or that: of a number from 1 to 2
    for (int i = 0; i < split.count; ++i) {
      const bool cuts = split.roundings[static_cast<std::size_t>(i)] == Rounding::toward_zero;
      const bool is_exact = exponent + 1 + last <= p;
      size[i] = i > 0 ? power_of_two(exponent + 1) : cuts || is_exact ? 1 : 1 + power_of_two(-p);
      // What is cut off a multiple of the last bit is less than a unit by that.
      rest = is_exact ? 0 : cuts ? power_of_two(exponent - p + 1) - power_of_two(-last) : power_of_two(exponent - p);
      exponent -= cuts ? p : p + 1;
    }
    const bool cuts_last = split.roundings[static_cast<std::size_t>(split.count) - 1] == Rounding::toward_zero;
    if (split.part != float32) lost = power_of_two(split.part.min_spacing_exponent() - (cuts_last ? 0 : 1));
  }
};

/// Losses of one block: of P, and whatever P is.
struct BlockLosses {
  double relative = 0, absolute = 0, mean = 0, random = 0;
  double losses = 0, unit = 0;
};

class PartsBound {
 public:
  PartsBound(const SplitProduct& split, std::size_t k, const Chain& chain)
      : split_(split), sizes_(split), block_(split.block == 0 ? k : std::min(k, split.block)), k_(k) {
    largest_a_ = largest_of(chain.largest_a);
    largest_b_ = largest_of(chain.largest_b);
    for (int i = 0; i < split.pair_count; ++i) {
      const PartPair& pair = split.pairs[static_cast<std::size_t>(i)];
      const double size = sizes_.size[pair.a] * sizes_.size[pair.b];
      formed_ += size;
      last_ = size;
    }
    double all = 0;
    for (int i = 0; i < split.count; ++i)
      for (int j = 0; j < split.count; ++j) all += sizes_.size[i] * sizes_.size[j];
    left_out_ = split.pair_count == split.count * split.count ? 0 : all - formed_;
    left_out_ += sizes_.rest * (2 + sizes_.rest);
  }

  std::optional<ErrorBound> with(const Chain& chain) const {
    const auto block = split_.zeroes_nans ? two_chains() : one_chain();
    if (!block) return std::nullopt;
    const std::size_t count = (k_ + block_ - 1) / block_;
    const auto blocks = static_cast<double>(count);
    // In a tree the sum of a block goes through no more additions than it has bits.
    const double meets = split_.join.empty() ? blocks - 1 : std::min(blocks - 1, static_cast<double>(split_.join.size()));
    const double roundings = meets + (chain.has_c ? 1 : 0) + static_cast<double>(chain.epilogue);
    const double joining = gamma_of(roundings, 0x1p-24), magnitude = formed_ + block->relative;
    const double scale = chain.epilogue > 0 ? chain.largest_scale : 1;
    ErrorBound bound{};
    bound.relative = left_out_ + block->relative + joining * magnitude;
    bound.absolute = (lost_to_underflow() + blocks * block->absolute) * scale * (1 + joining) +
                     static_cast<double>(chain.epilogue) * power_of_two(float32.min_spacing_exponent());
    bound.mean_relative = left_out_ + block->mean;
    bound.random_relative = std::sqrt(block->random * block->random + roundings * 0x1p-48 * magnitude * magnitude);
    bound.losses = block->losses;
    bound.unit = block->unit;
    return bound;
  }

 private:
  /// Of a chain over the block for each of so many pairs, begun with c or not.
  std::optional<ErrorBound> on_engine(std::size_t pairs, bool has_c) const {
    const Chain chain{.has_c = has_c, .largest_a = 2 * largest_a_, .largest_b = 2 * largest_b_};
    const auto step = static_cast<std::size_t>(std::max(split_.model.products, 1));
    const std::size_t turn = split_.takes_turns ? products_of_turn(split_) : block_, turns = (block_ + turn - 1) / turn;
    if (split_.model.products != Stage::all)
      return engine_bound(split_.model, split_.part, split_.part, pairs * ((block_ + step - 1) / step * step), chain);
    // Sums of their own, each begun with the one before.
    Chain begun = chain;
    begun.has_c = true;
    auto bound = engine_bound(split_.model, split_.part, split_.part, std::min(turn, block_), begun);
    if (!bound) return bound;
    const auto sums = static_cast<double>(pairs * turns);
    const double growth = sums * bound->relative < 1 ? sums / (1 - sums * bound->relative) : infinite;
    bound->relative *= growth;
    bound->absolute *= growth;
    bound->mean_relative *= growth;
    bound->random_relative *= growth;
    bound->losses *= sums;
    return bound;
  }

  /// What underflowing parts add to the magnitudes that the engine sums, in a block.
  double underflow_in_block() const {
    const double lost = 2 * sizes_.lost, pairs = split_.pair_count;
    return static_cast<double>(block_) * pairs * lost * (2 * (largest_a_ + largest_b_) + lost);
  }
  /// And what they leave out of all of K: less than that of all pairs, and of what all parts leave.
  double lost_to_underflow() const {
    const double lost = 2 * sizes_.lost, pairs = static_cast<double>(split_.count) * split_.count + 2;
    return static_cast<double>(k_) * pairs * lost * (2 * (largest_a_ + largest_b_) + lost);
  }

  std::optional<BlockLosses> one_chain() const {
    const auto all = on_engine(static_cast<std::size_t>(split_.pair_count), false);
    if (!all) return std::nullopt;
    return BlockLosses{.relative = all->relative * formed_,
                       .absolute = all->absolute + all->relative * underflow_in_block(),
                       .mean = all->mean_relative * formed_,
                       .random = all->random_relative * formed_,
                       .losses = all->losses,
                       .unit = all->unit};
  }

  /// All pairs but the last, and then the last, which begins with their sum.
  std::optional<BlockLosses> two_chains() const {
    const auto small = on_engine(static_cast<std::size_t>(split_.pair_count) - 1, false), great = on_engine(1, true);
    if (!small || !great) return std::nullopt;
    const double before = formed_ - last_, begun = last_ + before * (1 + small->relative);
    const double of_small = small->random_relative * before, of_great = great->random_relative * begun;
    return BlockLosses{.relative = small->relative * before + great->relative * begun,
                       .absolute = small->absolute + great->absolute + great->relative * small->absolute +
                                   (small->relative + great->relative * (1 + small->relative)) * underflow_in_block(),
                       .mean = small->mean_relative * before + great->mean_relative * begun,
                       .random = std::sqrt(of_small * of_small + of_great * of_great),
                       .losses = great->losses,
                       .unit = great->unit};
  }

  const SplitProduct& split_;
  PartSizes sizes_;
  std::size_t block_, k_;
  double largest_a_, largest_b_;
  double formed_ = 0, last_ = 0;  ///< magnitudes of the products that are formed, and of the last pair's, of |x||y|
  double left_out_ = 0;           ///< at most that of |x||y| is not formed
};

double power_below(double x) noexcept { return x > 0 && std::isfinite(x) ? power_of_two(std::ilogb(x)) : x; }

/// What integers leave out of k products, whatever these are.
double left_out_by_integers(const SplitProduct& split, std::size_t k, const Chain& chain) {
  const auto products = static_cast<double>(k);
  if (split.scheme == SplitScheme::slices)
    return products * split.count * power_of_two(4 - 7 * split.count) * power_below(chain.largest_a) *
           power_below(chain.largest_b);
  double moduli = 1;
  for (int m = 0; m < split.count; ++m) moduli *= ozaki_moduli()[static_cast<std::size_t>(m)];
  const double root = std::sqrt((moduli - 1) / 2) * (1 - 0x1p-40);
  return 4 * products * std::sqrt(products) * chain.largest_a * chain.largest_b / root * (1 + 0x1p-40);
}

ErrorBound integers_bound(const SplitProduct& split, std::size_t k, const Chain& chain) {
  const int pairs = split.count * (split.count + 1) / 2;
  const double additions = split.scheme == SplitScheme::slices ? pairs - 1 : 1;
  const double roundings = additions + (chain.has_c ? 1 : 0) + static_cast<double>(chain.epilogue), unit = 0x1p-53;
  ErrorBound bound{};
  bound.relative = gamma_of(roundings, unit);
  const double underflow = power_of_two(float64.min_spacing_exponent());
  const double scale = chain.epilogue > 0 ? chain.largest_scale : 1;
  bound.absolute = (left_out_by_integers(split, k, chain) + underflow) * scale * (1 + bound.relative) +
                   static_cast<double>(chain.epilogue) * underflow;
  bound.random_relative = std::sqrt(roundings) * unit * (1 + bound.relative);
  bound.losses = roundings;
  bound.unit = unit;
  return bound;
}

}  // namespace

std::optional<ErrorBound> split_bound(const SplitProduct& split, std::size_t k, const Chain& chain) {
  if (k == 0) return ErrorBound{};
  if (split.scheme == SplitScheme::parts) return PartsBound(split, k, chain).with(chain);
  return integers_bound(split, k, chain);
}

}  // namespace ulpscope::emu
