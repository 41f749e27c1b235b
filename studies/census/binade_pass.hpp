// SPDX-License-Identifier: Apache-2.0
// One read of float32 numbers for any number of formats and scales 2^k: the numbers are dealt out to their binades, and
// whenever there are enough of one binade they are summed as every format and scale asks. All sums are exact
// (studies/census/binade_sums.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/rounding.hpp"
#include "studies/census/aligned_allocator.hpp"
#include "studies/census/binade.hpp"
#include "studies/census/binade_kernels.hpp"
#include "studies/census/binade_sums.hpp"
#include "studies/census/window.hpp"

namespace ulpscope::studies {

/// What a pass is to find out.
struct BinadeQuestion {
  std::vector<ScaledFormat> formats;         ///< each is asked of each binade
  emu::RoundingOptions options;              ///< deterministic
  int input_least = Binade::least_exponent;  ///< see treat()
};

/// What is known of one binade.
struct BinadeTally {
  /// A way to round that one or more of the formats have in this binade.
  struct Rounding {
    Variant variant;   ///< bits dropped and direction
    Counted counted;   ///< what is to be counted
    VariantSums sums;  ///< what came of it
  };

  /// Asks what `question` asks, of one binade.
  BinadeTally(const BinadeQuestion& question, Binade binade);

  /// The sums of one of its roundings. Precondition: it is one of them.
  const VariantSums& of(const Variant& variant) const;
  /// Takes float32 codes; sums are formed when there are many.
  void add(std::span<const std::uint32_t> codes, Significands& scratch);
  /// Forms the sums of what is left.
  void finish(Significands& scratch);
  /// Precondition: both are finished.
  void merge(const BinadeTally& other);

  Binade binade;                    ///< the binade
  SignificandSums all;              ///< over all its numbers
  bool wants_reciprocals = false;   ///< whether some format needs the sum of 1 / x
  std::vector<Rounding, AlignedAllocator<Rounding>> roundings;  ///< each once

 private:
  std::size_t waiting_ = 0;
  std::array<std::uint32_t, Significands::capacity> codes_;
};

/// A magnitude, as float32 code, and the first place where it stands.
struct Place {
  std::uint32_t magnitude;  ///< code without sign
  std::uint64_t index;      ///< of the element in the tensor
};

/// Reads numbers once and deals them out to their binades.
class BinadePass {
 public:
  /// Begins without numbers.
  explicit BinadePass(const BinadeQuestion& question);

  /// Adds elements first, first + 1, ...
  void add(std::span<const float> values, std::uint64_t first);
  /// After the last add().
  void finish();
  /// Adds what another has found. Precondition: both are finished, and asked the same.
  void merge(const BinadePass& other);

  /// How many zeros there were, of either sign.
  std::uint64_t zeros() const noexcept { return zeros_; }
  /// How many infinities.
  std::uint64_t infinite() const noexcept { return infinite_; }
  /// How many NaNs.
  std::uint64_t nan() const noexcept { return nan_; }
  const Place& largest() const noexcept { return largest_; }    ///< finite; magnitude 0 if there is none
  const Place& smallest() const noexcept { return smallest_; }  ///< not zero; not finite if there is none
  /// What the windows have summed.
  const WindowSums& window() const noexcept { return window_; }
  /// Calls visit(tally) for every binade that has numbers.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& tally : tallies_)
      if (tally) visit(*tally);
  }

 private:
  static constexpr std::size_t exponents = Binade::last_exponent - Binade::least_exponent + 1;
  static constexpr std::size_t codes_of_exponent = 512;  ///< sign and exponent field
  static constexpr std::size_t subnormal_exponents = 23;
  static constexpr std::size_t binades = codes_of_exponent + 2 * subnormal_exponents;
  /// Elements of even and of odd place go to buffers of their own: each waits for the one before it in its buffer.
  static constexpr std::size_t ways = 2;
  static constexpr std::size_t buffer_size = 256;

  struct alignas(buffer_size * sizeof(std::uint32_t)) Buffer {
    std::array<std::uint32_t, buffer_size> codes;
  };

  MagnitudeRange add_block(std::span<const float, WindowBlock::size> block, const float* next);
  MagnitudeRange add_whole(std::span<const float> values);
  void deal(std::span<const float> values);
  void put(std::size_t binade, std::size_t way, std::uint32_t code);
  void empty(std::size_t buffer);
  void empty_special(std::span<const std::uint32_t> codes);
  void empty_subnormal(std::span<const std::uint32_t> codes);
  BinadeTally& tally(Binade binade);
  void place(std::span<const float> values, std::uint64_t first, MagnitudeRange range);

  const BinadeQuestion* question_;
  WindowSums window_;
  std::vector<Buffer, AlignedAllocator<Buffer>> buffers_;
  std::array<std::uint32_t*, ways * binades> next_;
  Significands scratch_;
  std::array<AlignedPointer<BinadeTally>, 2 * exponents> tallies_;
  std::uint64_t zeros_ = 0, infinite_ = 0, nan_ = 0;
  Place largest_{0, 0}, smallest_{0xffffffff, 0};
};

}  // namespace ulpscope::studies
