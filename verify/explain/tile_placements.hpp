// SPDX-License-Identifier: Apache-2.0
// Tiles that are not where, or not what, they should be: of zeros, doubled, transposed, another's, or with another's added; one
// or several of one size, each in the same way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/explain/hypotheses.hpp"
#include "verify/explain/placements.hpp"
#include "verify/explain/wrong_tiles.hpp"

namespace ulpscope::verify {

/// Those after which `claimed` is `d`, of the first of wrong_tiles() that has any.
std::vector<Placement> tile_placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed);

/// `one 64x128 tile (rows 0..63, columns 128..255)`.
std::string sentence_of(const Claim& claim, const WrongTiles& tiles);
/// Limits the causes beside it to these tiles: `D=tile:64x128`.
Cause only_in(const Claim& claim, const WrongTiles& tiles);

}  // namespace ulpscope::verify
