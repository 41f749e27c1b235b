// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a matrix kernel as data, and what a kernel of that arithmetic returns: any order of K, any accumulator, any
// place and kind of rounding. Slower than emu/engine_matmul.hpp, which it calls where a chain of an engine's steps is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "emu/split_product.hpp"
#include "emu/summation.hpp"
#include "products/product.hpp"
#include "verify/explain/replay_data.hpp"
#include "verify/explain/replay_order.hpp"
#include "verify/explain/wrong_tiles.hpp"

namespace ulpscope::verify {

/// Where the elements of an operand are fetched from.
enum class Layout : std::uint8_t {
  stored,   ///< where they are
  misread,  ///< the buffer of a matrix of r by c is taken for one of c by r, and that is transposed
  tiles,    ///< every square tile is transposed in its place
};

/// An operand that lags along K: tiles are read from a buffer before the copy into it has ended, so that what is there was due
/// earlier.
struct Lag {
  std::size_t by = 0;       ///< elements along K: a tile, or several; 0: none
  bool zero_first = false;  ///< the first `by` are zeros; else they are there in time
};

/// Tiles at the end of a matrix, as it is stored, of which the first row is where it should be and the others are not.
struct LastTiles {
  std::size_t row = 0, column = 0;  ///< where they begin
  std::size_t height = 1;           ///< rows of a tile
  std::size_t stride = 0;           ///< elements between two rows of a tile, in the place of the matrix's columns

  /// Whether they have an element of the matrix.
  bool has(std::size_t i, std::size_t j) const noexcept { return i >= row && j >= column; }
  /// Where an element that they have is in a matrix of so many columns, in elements from its beginning; beyond its end it may
  /// be.
  std::size_t place(std::size_t i, std::size_t j, std::size_t columns) const noexcept {
    const std::size_t in_tile = (i - row) % height;
    return (i - in_tile) * columns + in_tile * stride + j;
  }
};

/// Matrices of a batch whose operand is read in the place of others'.
struct OtherMatrices {
  std::vector<std::size_t> of = {};  ///< for each matrix of the batch, whose is read
  std::uint64_t choices = 0;         ///< bits that say so
};

/// What an operand goes through before it is multiplied.
struct OperandPath {
  std::shared_ptr<const OtherMatrices> elements = {};   ///< of which matrices they are read; null: each its own
  std::shared_ptr<const OtherMatrices> scales = {};     ///< likewise
  Layout layout = Layout::stored;                       ///< how its elements are read
  std::size_t tile = 0;                                 ///< extent, for Layout::tiles; divides both extents
  Lag lag = {};                                         ///< what is read for something else
  std::optional<LastTiles> last = {};                   ///< read with another leading dimension; zeros beyond the buffer
  bool is_transposed = false;                           ///< whether `last` is of the transpose
  std::vector<products::InputRounding> roundings = {};  ///< one after another; the last one's format is that of the operand
  std::optional<emu::Format> read_as = {};              ///< codes of that format are taken for codes of this one

  /// Whose elements, and whose scales, are read for a matrix of the batch.
  ///@{
  std::size_t elements_of(std::size_t matrix) const { return elements ? elements->of[matrix] : matrix; }
  std::size_t scales_of(std::size_t matrix) const { return scales ? scales->of[matrix] : matrix; }
  ///@}
  /// The format in which it is multiplied.
  emu::Format format() const { return read_as.value_or(roundings.back().format); }
};

/// How one chain of products is summed.
struct Chain {
  /// Its steps; without one every product is added on its own, by the three fields below.
  std::optional<emu::Engine> engine = {};
  emu::Format accumulator = emu::float32;         ///< of sums; with an engine that of the engine
  emu::RoundingOptions rounding = {};             ///< of every addition, and of every product where those are rounded
  emu::Products products = emu::Products::fused;  ///< whether products are rounded before they are added
  bool exact = false;  ///< no chain: the exact product rounded once to the output format (products/exact_product.hpp)
  std::optional<emu::SplitProduct> split = {};  ///< no chain: products of parts, whose sum `start` joins; without an engine
};

/// What becomes of scales. Where the engine applies them, what it is given is rounded to their format, and they are not applied
/// one by one or by their inverse. Those of one operand are without the scale of the whole operand.
enum class ScaleUse : std::uint8_t {
  declared,
  none,
  none_a,
  none_b,
  reciprocal,
  reciprocal_a,
  reciprocal_b,
  swapped,
  one_by_one,
  by_inverse,
  twice_a,
  twice_b
};

/// Scales of an operand that are multiplied onto its elements, in float32, before these are rounded.
struct Dequantized {
  emu::Format to;           ///< of the elements that are multiplied
  bool with_whole = false;  ///< the scales of blocks are multiplied by that of the whole operand first; else the sum is
};

/// What becomes of the scales of whole operands beside those of blocks.
enum class WholeUse : std::uint8_t { declared, none, reciprocal, twice };

/// Where a scale is rounded that is applied twice.
enum class TwiceAt : std::uint8_t {
  scale,         ///< its square is the scale
  both,          ///< the product of both operands' scales is multiplied by it
  before,        ///< the sum is, before the others
  after,         ///< the scaled sum is, and added in one fused multiply-add
  after_rounded  ///< likewise, and rounded before it is added
};

/// One block's scale, of A or of B, that is not applied as it should be.
struct BlockScale {
  bool of_b = false;      ///< whose; else A's
  ScaleBlock block = {};  ///< which
  bool twice = false;     ///< applied twice
  /// Whose scale is applied in its place; none, nor twice: it is left out.
  std::optional<ScaleBlock> other = {};
};

/// Where C enters.
enum class CUse : std::uint8_t {
  declared,        ///< the sum starts from it, unless there is a beta or scales: then at the end
  none,            ///< nowhere
  at_end,          ///< it is added to the finished sum
  after_rounding,  ///< it is added to the sum that is rounded to the output format, and the result is rounded again
  twice,           ///< as declared, and once more at the end
};

/// How alpha * sum + beta * c is rounded.
enum class AlphaUse : std::uint8_t {
  fused,           ///< fma(alpha, sum, beta * c)
  separate,        ///< every product and the sum are rounded
  after_rounding,  ///< the sum is rounded to the output format first
  none,            ///< alpha is taken for 1
  of_everything,   ///< alpha * (sum + beta * c)
};

/// What follows the sum.
struct Epilogue {
  ScaleUse scales = ScaleUse::declared;   ///< whether and where scales are applied
  ScaleLayout layout_a = ScaleLayout::stored, layout_b = ScaleLayout::stored;  ///< of scales of blocks
  std::optional<Dequantized> dequantized = {};                                 ///< before the products, in place of `scales`
  WholeUse whole = WholeUse::declared;                                         ///< of the scales of whole operands
  TwiceAt twice_at = TwiceAt::scale;      ///< of scales that are applied twice
  std::optional<BlockScale> block = {};   ///< one block that is off
  CUse c = CUse::declared;                ///< whether and where C is added
  AlphaUse alpha_use = AlphaUse::fused;   ///< how alpha and beta are applied
  double alpha = 1;                       ///< factor of the sum
  std::optional<double> beta = {};        ///< factor of C; none: 1
  double times = 1;                       ///< factor of all that
  std::vector<emu::Format> between = {};  ///< formats to which the result is rounded, to nearest even, before the last rounding
  emu::Format out = emu::float32;         ///< of D
  emu::RoundingOptions rounding = {};     ///< the last one
};

/// Tiles of the output, some of which a kernel cuts K for in another way, as the kernels of a library do at the edges of
/// theirs.
struct SomeTiles {
  std::size_t rows = 1, columns = 1;  ///< extents of a tile
  Parts parts = {};                   ///< how K is cut for some of them
};

/// The arithmetic of a kernel.
struct Kernel {
  OperandPath a, b;                     ///< what becomes of the operands
  bool operands_swapped = false;        ///< B A in the place of A B; square matrices
  bool result_transposed = false;       ///< D is stored transposed; square
  KOrder order;                         ///< in which products are added
  Parts parts;                          ///< how K is cut
  std::optional<SomeTiles> some = {};   ///< tiles for which it is cut otherwise; which ones D alone says
  /// Tiles outside of which all is as claimed; null: there are none. replay() does not look at it.
  std::shared_ptr<const WrongTiles> only = {};
  Chain chain;                          ///< how a part is summed
  emu::Format c_format = emu::float32;  ///< C is rounded to it first
  Epilogue epilogue;                    ///< what follows the sum

  /// Whether sums are kept in float64, not float32.
  bool wide() const;
  /// Whether its engine applies scales of blocks.
  bool engine_scales() const { return chain.engine && chain.engine->scales != emu::EngineScales::none; }
};

/// The arithmetic that a product's configuration declares, on its first engine.
/// @throws ulpscope::Error where it cannot be replayed: stochastic rounding, scales of exact sums.
Kernel declared_kernel(const products::Product& config);

/// Some outputs of one matrix of a batch: rows by columns.
struct Region {
  std::size_t matrix = 0;                  ///< of the batch
  std::vector<std::size_t> rows, columns;  ///< indices, ascending

  /// Outputs of the region.
  std::size_t count() const noexcept { return rows.size() * columns.size(); }
};

/// What a kernel returns there, row-major; it cuts K as `parts` says everywhere.
std::vector<double> replay(const MatmulData& data, const Kernel& kernel, const Region& region);

}  // namespace ulpscope::verify
