// SPDX-License-Identifier: Apache-2.0
// Tiles at the end of a matrix that are read or written with another leading dimension, as where a kernel takes the extent of
// a tile, or of another matrix, for that of this one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"
#include "verify/explain/replay.hpp"

namespace ulpscope::verify {

/// Where the last tile of 8, 16, .. 256 begins in an extent, each place once, the last one first; not 0.
std::vector<std::size_t> last_tile_starts(std::size_t extent);
/// Heights of tiles that begin with the first row, of 8, 16, .. 256 rows or of all.
std::vector<std::size_t> tile_heights(std::size_t rows);
/// Leading dimensions that are tried in the place of `columns`: up to 64 more or less, and the product's extents.
std::vector<std::size_t> other_strides(std::size_t columns, const products::MatmulShape& shape);
/// `last-rows:64,stride:504` and `the last 64 rows of A read with a leading dimension of 504`, of a matrix of rows by columns.
///@{
std::string word_of(const LastTiles& tiles, std::size_t rows, std::size_t columns);
std::string sentence_of(const LastTiles& tiles, std::size_t rows, std::size_t columns, const std::string& matrix_is);
///@}

/// Last tiles of A and B: those that leave right what is right of D, as far as whole rows and columns of it say so.
std::vector<Cause> last_tile_causes(const Claim& claim, const ReplayedOutputs& outputs);

}  // namespace ulpscope::verify
