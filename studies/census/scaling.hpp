// SPDX-License-Identifier: Apache-2.0
// Which factor each element of a tensor is multiplied by before it is rounded, and divided by afterwards: loss scales and the
// published block-scaling recipes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// x becomes round(x * multiply / divide) * numerator / denominator; finite x under a numerator of 0, the stored scale of a
/// block too small for its format, become 0. Integers with a zero point lie from `low` to `low` + 2^N - 1 before that.
struct ElementScale {
  double multiply = 1;     ///< before rounding
  double divide = 1;       ///< likewise; where it is not 1, `multiply` is
  double numerator = 1;    ///< after rounding
  double denominator = 1;  ///< after rounding
  double low = 0;          ///< the least integer less the zero point: -2^(N - 1) - zero point

  /// x with its scale, rounded to Float.
  template <class Float>
  Float onto(Float x) const noexcept {
    return divide != 1 ? x / static_cast<Float>(divide) : x * static_cast<Float>(multiply);
  }
};

/// How scales follow from the elements.
enum class ScaleRule : std::uint8_t {
  none,
  number,  ///< one given factor
  amax,    ///< largest finite / largest magnitude of the tensor, in float32 (Transformer Engine, current scaling)
  pow2,    ///< amax rounded down to a power of two
  row,     ///< amax for each row (the last dimension)
  tile_1x128,
  tile_128x128,  ///< tiles of the matrices of the last two dimensions: none lies in two of them
  /// Integers of N bits with a zero point z: a number x becomes round(x / s) + z in -2^(N - 1) .. 2^(N - 1) - 1, where s is the
  /// range of the elements, with 0 in it, over 2^N - 1, and z takes its lower end to -2^(N - 1) (torch's MinMaxObserver,
  /// torchao's choose_qparams_affine, ASYMMETRIC). Of a tensor, a row, or 128 neighbours of a row.
  ///@{
  minmax,
  minmax_row,
  minmax_1x128,
  ///@}
  mx_floor,     ///< blocks of 32 of a row, e8m0 scale: OCP MX 1.0, 6.3; torchao FLOOR
  mx_ceil,      ///< torchao CEIL
  mx_rceil,     ///< 2^ceil(log2(amax / largest finite)): Transformer Engine MXFP8, torchao RCEIL
  mx_even,      ///< amax rounded to the element's precision first: torchao EVEN
  nvfp4,        ///< blocks of 16 with an e4m3 scale and one float32 scale for the tensor: Transformer Engine NVFP4
  nvfp4_16x16,  ///< the same with blocks of 16 by 16, as Transformer Engine has for weights (NVFP4BlockScaling)
};

/// What is made of the greatest magnitude of a row or of a tile, amax, in float32; M is the largest finite value.
enum class ScaleForm : std::uint8_t {
  multiply,    ///< x times S = M / amax, and S is stored (Transformer Engine, Float8CurrentScaling)
  pow2,        ///< x times S, which is rounded down to a power of two (Transformer Engine, Float8BlockScaling)
  divide,      ///< x divided by s = amax / M, and s is stored (DeepSeek-V3, inference/kernel.py, act_quant)
  reciprocal,  ///< x times 1 / s, and s is stored (DeepGEMM, deep_gemm/utils/math.py)
};

/// Whether it is one of the two of NVFP4.
constexpr bool is_nvfp4(ScaleRule rule) noexcept { return rule == ScaleRule::nvfp4 || rule == ScaleRule::nvfp4_16x16; }

/// Whether integers have a zero point.
constexpr bool has_zero_point(ScaleRule rule) noexcept {
  return rule == ScaleRule::minmax || rule == ScaleRule::minmax_row || rule == ScaleRule::minmax_1x128;
}

/// Whether a scale is for a part of one row, so that a tensor and its transpose have different scales.
constexpr bool is_of_row_parts(ScaleRule rule) noexcept {
  return rule == ScaleRule::tile_1x128 || rule == ScaleRule::minmax_1x128 || rule == ScaleRule::nvfp4 ||
         (rule >= ScaleRule::mx_floor && rule <= ScaleRule::mx_even);
}

/// A rule, and its number.
struct Scaling {
  ScaleRule rule = ScaleRule::none;  ///< which
  double number = 1;                 ///< for ScaleRule::number
  ScaleForm form = ScaleForm::multiply;  ///< for rows, tiles of 1x128 and of 128x128
  std::string word = "none";         ///< the option as given
  /// The largest magnitude of a set of tensors that share the scale that amax, pow2 and nvfp4 have for a whole tensor, or of
  /// the tensor where it is known; none: it is looked for.
  std::optional<double> shared_amax = {};
};

/// Reads `none`, a positive finite number (decimal, hexfloat, or 2^K), or a rule's word. @throws ulpscope::Error
Scaling parse_scaling(std::string_view word);

/// @throws ulpscope::Error where the rule is not for numbers of the format: only integers have zero points
void check_format(const Scaling& scaling, emu::Format format);

/// The formats that elements have by the definition of a rule: MX (OCP MX 1.0, table 1) and NVFP4. Empty: a rule for any.
std::vector<emu::Format> element_formats(ScaleRule rule);

/// A sentence that names those of `formats` that the rule by its definition does not have; empty where there are none.
std::string outside_rule(const Scaling& scaling, std::span<const emu::Format> formats);

/// The words of all rules.
std::vector<std::string> scaling_words();

/// Bits of one stored scale: float32, with a zero point of 8 bits beside it, e8m0 (MX) or e4m3 (NVFP4); 0 where there is none,
/// or one that everybody knows.
int scale_bits(ScaleRule rule) noexcept;

/// Whether it has one scale for a whole tensor, alone or above those of blocks.
constexpr bool has_tensor_scale(ScaleRule rule) noexcept {
  return rule == ScaleRule::amax || rule == ScaleRule::pow2 || is_nvfp4(rule);
}

/// What NVFP4 multiplies a tensor of this greatest magnitude by before its blocks have scales (Transformer Engine's S_enc).
float nvfp4_tensor_scale(emu::Format format, double amax);

/// Whether the published rule clamps elements to the largest finite value (MX 1.0, 6.3; NVFP4).
bool clamps(ScaleRule rule) noexcept;

/// Neighbours among the elements of a tensor.
struct ElementRange {
  std::uint64_t first, count;  ///< in row-major order
};

/// Neighbours among the blocks of a tensor that have a scale of their own.
struct BlockRange {
  std::uint64_t first, end;  ///< by their numbers
};

/// The largest magnitude of a part of a tensor, or of all of it, as the rules find it: a NaN is passed over, an infinity is
/// not. Of no numbers 0.
double amax_of(const tensors::Tensor& tensor, std::optional<ElementRange> part = {}, int threads = 1);

/// How many elements of a tensor lie in so many blocks that have a scale of their own, all of them where there are no more.
std::uint64_t elements_of_blocks(ScaleRule rule, const tensors::Tensor& tensor, std::uint64_t blocks);

/// The scales of one tensor for one format, block by block.
class ScaleMap {
 public:
  /// Reads the tensor once where the rule needs magnitudes, on so many threads: all of it, or where no scale is for more than a
  /// block, or that one is known, what has the scales of a part, outside which they are not to be used.
  ScaleMap(const Scaling& scaling, emu::Format format, const tensors::Tensor& tensor, int threads = 1,
           std::optional<ElementRange> part = {});
  /// The same of numbers in memory, row-major, in rows of `columns`.
  ScaleMap(const Scaling& scaling, emu::Format format, std::span<const float> values, std::size_t columns);
  /// Where the blocks of a tensor lie, without their scales, which are not to be used.
  static ScaleMap laid_out(const Scaling& scaling, const tensors::Tensor& tensor);

  /// Rows of blocks, and blocks in a row: block (i, j) has the scale number i * blocks_per_row() + j. The rows of blocks of a
  /// tensor's matrices (its last two dimensions) follow one another.
  std::size_t blocks_per_row() const noexcept { return static_cast<std::size_t>(blocks_per_row_); }
  /// Elements of a row, and extents of a block.
  ///@{
  std::uint64_t columns() const noexcept { return columns_; }
  std::uint64_t block_rows() const noexcept { return block_rows_; }
  std::uint64_t block_columns() const noexcept { return block_columns_; }
  /// The row of blocks in which a row lies, and how many rows from it on do.
  std::uint64_t row_of_blocks(std::uint64_t row) const noexcept {
    if (block_rows_ == 1) return row;
    return row / matrix_rows_ * ((matrix_rows_ + block_rows_ - 1) / block_rows_) + row % matrix_rows_ / block_rows_;
  }
  std::uint64_t rows_from(std::uint64_t row) const noexcept {
    const std::uint64_t in_matrix = row % matrix_rows_;
    return std::min(block_rows_ - in_matrix % block_rows_, matrix_rows_ - in_matrix);
  }
  /// The first row of a row of blocks.
  std::uint64_t first_row(std::uint64_t row_of_blocks) const noexcept {
    const std::uint64_t of_matrix = (matrix_rows_ + block_rows_ - 1) / block_rows_;
    return row_of_blocks / of_matrix * matrix_rows_ + row_of_blocks % of_matrix * block_rows_;
  }
  /// How many blocks have their first element before this one: those of the lowest numbers.
  std::uint64_t blocks_before(std::uint64_t index) const noexcept;
  /// The number of the block of element `index`.
  std::size_t block_of(std::uint64_t index) const noexcept;
  /// From the first element of the first of these blocks to that of the next one, in a tensor of `count` elements: all of
  /// theirs and no others, where blocks have one row or these are whole rows of them.
  ElementRange elements_of(const BlockRange& blocks, std::uint64_t count) const noexcept;
  /// So many blocks that no row of blocks lies in two parts of that size, where it is no longer; at least one.
  std::uint64_t whole_rows(std::uint64_t blocks) const noexcept;
  ///@}
  /// A scale by its number.
  ElementScale block(std::size_t number) const noexcept {
    if (is_uniform()) return uniform_;
    const std::size_t place = number - first_stored_;
    const float stored = stored_[place];
    if (is_nvfp4_) return nvfp4(stored, tensor_scale_);
    if (form_ == ScaleForm::divide) return {.divide = static_cast<double>(stored), .numerator = static_cast<double>(stored)};
    if (form_ == ScaleForm::reciprocal)
      return {.multiply = static_cast<double>(inverse(stored)), .numerator = static_cast<double>(stored)};
    if (has_zero_points())
      return {.multiply = static_cast<double>(1.0F / stored),
              .numerator = static_cast<double>(stored),
              .low = static_cast<double>(low_[place])};
    return {.multiply = static_cast<double>(stored), .denominator = static_cast<double>(stored)};
  }
  /// How many scales there are.
  std::size_t blocks() const noexcept { return static_cast<std::size_t>(blocks_); }
  /// Whether all elements have one scale.
  bool is_uniform() const noexcept { return blocks_ == 1; }
  /// That scale. Precondition: is_uniform().
  const ElementScale& uniform() const noexcept { return uniform_; }
  /// What `rule` has for the whole tensor (has_tensor_scale()); else 1.
  double of_tensor(ScaleRule rule) const noexcept {
    return is_nvfp4(rule) ? static_cast<double>(tensor_scale_) : has_tensor_scale(rule) ? uniform().multiply : 1;
  }
  /// Whether elements are integers with a zero point, of so many bits; else 0.
  ///@{
  bool has_zero_points() const noexcept { return zero_point_bits_ != 0; }
  int zero_point_bits() const noexcept { return zero_point_bits_; }
  ///@}
  /// Whether products are formed in float32, as the kernels that publish the rule do.
  bool multiplies_in_float() const noexcept { return in_float_; }
  /// k where every element is multiplied by 2^k exactly, |k| <= 500.
  std::optional<int> log2_uniform() const noexcept;
  /// The scale of element `index` (row-major), and of how many from there on.
  struct Run {
    ElementScale scale;   ///< of each of them
    std::uint64_t count;  ///< how many elements from `index` on, in row-major order
  };
  /// The scale at an element, and how far it reaches.
  Run run(std::uint64_t index) const noexcept;
  /// Calls act(index, count, scale) for all that lies next to each other under one scale, from element `first` on.
  template <class Act>
  void for_each_run(std::uint64_t first, std::uint64_t count, Act act) const {
    for_each_block(first, count,
                   [&](std::uint64_t at, std::uint64_t size, std::size_t number) { act(at, size, block(number)); });
  }
  /// The scale of element `index`.
  ElementScale at(std::uint64_t index) const noexcept { return block(block_of(index)); }

 private:
  ScaleMap() = default;
  /// Calls act(index, count, number of the block) for the parts of rows that lie in one block, from element `first` on.
  template <class Act>
  void for_each_block(std::uint64_t first, std::uint64_t count, Act act) const {
    if (is_uniform()) {
      if (count > 0) act(first, count, std::size_t{0});
      return;
    }
    std::uint64_t row = first / columns_, column = first % columns_, block = column / block_columns_;
    std::uint64_t left_of_block = std::min(block_columns_ - column % block_columns_, columns_ - column);
    std::uint64_t first_of_row = row_of_blocks(row) * blocks_per_row_;
    for (const std::uint64_t end = first + count; first < end;) {
      const std::uint64_t size = std::min(left_of_block, end - first);
      act(first, size, static_cast<std::size_t>(first_of_row + block));
      first += size;
      column += size;
      ++block;
      if (column == columns_) first_of_row = row_of_blocks(++row) * blocks_per_row_, column = block = 0;
      left_of_block = std::min(block_columns_, columns_ - column);
    }
  }
  /// What lies in the blocks that a part touches.
  ElementRange in_blocks(const ElementRange& part) const noexcept;
  /// The scale of a block whose own, of e4m3, is `stored`, below that of the tensor.
  static ElementScale nvfp4(float stored, float tensor_scale) noexcept {
    return {.multiply = static_cast<double>(inverse(stored * (1.0F / tensor_scale))),
            .numerator = static_cast<double>(stored),
            .denominator = static_cast<double>(tensor_scale)};
  }
  /// 1 / x in float32, and no infinity.
  static float inverse(float x) noexcept { return std::min(1.0F / x, std::numeric_limits<float>::max()); }
  /// Raises the greatest magnitudes of the stored blocks to those of elements from `first` on.
  template <class Float>
  void take_amax(std::uint64_t first, std::span<const Float> values, std::span<Float> amax) const;
  /// Makes room for the scales of the blocks in these elements.
  void store(const ElementRange& read);
  /// Lays blocks out over rows of `columns`, so many of which are a matrix. @returns whether their scales follow from the
  /// elements
  bool lay_out(const Scaling& scaling, std::uint64_t count, std::uint64_t columns, std::uint64_t matrix_rows);
  bool lay_out(const Scaling& scaling, const tensors::Tensor& tensor);
  /// Scales from the greatest magnitudes of blocks, which may stand in the places of what is stored.
  template <class Float>
  void scale_by_amax(const Scaling& scaling, emu::Format format, std::span<const Float> amax);
  template <class Float>
  void scale_by_amax(const Scaling& scaling, emu::Format format, const tensors::Tensor& tensor, const ElementRange& read,
                     int threads, std::span<Float> amax);
  /// The scale of all elements, where there is one block.
  void make_uniform();
  /// Scales and zero points from the ends of blocks: the greatest of 0 and of the elements, and of 0 and what they are negated.
  template <class Float>
  struct Ends {
    std::vector<Float> above, below;
  };
  template <class Float>
  void take_ends(std::uint64_t first, std::span<const Float> values, Ends<Float>& ends) const;
  template <class Float>
  void scale_by_ends(emu::Format format, const Ends<Float>& ends);
  template <class Float>
  void scale_by_ends(emu::Format format, const tensors::Tensor& tensor, const ElementRange& read, int threads);

  std::uint64_t columns_ = 1, matrix_rows_ = 1, block_rows_ = 1, block_columns_ = 1, blocks_per_row_ = 1, blocks_ = 1;
  bool in_float_ = false, is_nvfp4_ = false;
  ScaleForm form_ = ScaleForm::multiply;  ///< of rows and tiles
  float tensor_scale_ = 1;     ///< of NVFP4
  ElementScale uniform_;       ///< where there is one block
  int zero_point_bits_ = 0;    ///< of the integers that have one
  std::size_t first_stored_ = 0;   ///< the first block of the part whose scales these are
  std::vector<std::int16_t> low_;  ///< of each block of integers, ElementScale::low
  std::vector<float> stored_;      ///< of each block what its scale follows from: four bytes, for a tensor may have 2^30 blocks
};

}  // namespace ulpscope::studies
