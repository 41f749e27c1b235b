// SPDX-License-Identifier: Apache-2.0
// The colours of the figures. Figures carry the light ones; the style sheet of a page gives each its dark counterpart, so every
// light colour occurs once.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "reports/figure.hpp"

namespace ulpscope::reports {

/// A colour on a light page and its counterpart on a dark one.
struct Colour {
  std::string_view light;  ///< `#rrggbb`
  std::string_view dark;   ///< `#rrggbb`
};

namespace palette {

inline constexpr Colour page{"#ffffff", "#14171b"};   ///< behind everything
inline constexpr Colour ink{"#1c2025", "#e3e6ea"};    ///< text and axes
inline constexpr Colour bars{"#3d6fa8", "#6a9fd8"};   ///< bars of histograms
inline constexpr Colour grid{"#dcdfe4", "#363c45"};   ///< lines of grids
inline constexpr Colour track{"#eef0f3", "#22272e"};  ///< the length of a strip

// Regions of a format; dark text is legible on the light ones, light text on the dark ones.
inline constexpr Colour becomes_zero{"#f4a9a8", "#84343a"};  ///< magnitudes that become zero
inline constexpr Colour subnormal{"#f7d98b", "#6d5317"};     ///< magnitudes that become subnormal
inline constexpr Colour normal{"#b5dcc3", "#28583f"};        ///< magnitudes that stay normal
inline constexpr Colour overflow{"#cfb6ea", "#5a3c82"};      ///< magnitudes that overflow

/// Shades of a heat map, by HeatMap::Shade; the text on them is that of the page.
inline constexpr std::array shades{Colour{"#f1f2f4", "#23282f"}, Colour{"#cfe9d8", "#1f4730"}, Colour{"#fbe3a6", "#5c4710"},
                                   Colour{"#d9e4f5", "#27405f"}, Colour{"#fbdcd8", "#4d2724"}, Colour{"#f5b3ac", "#7a2f2a"},
                                   Colour{"#ec8178", "#a8352d"}};
/// That of a cell.
constexpr Colour of_shade(HeatMap::Shade shade) { return shades[static_cast<std::size_t>(shade)]; }

// One for each format, told apart by people who do not see red or green as well: they also differ in lightness.
/// Curves and names of formats, by of_format().
inline constexpr std::array formats{
    Colour{"#0b62a8", "#66b5f5"}, Colour{"#c2570c", "#fb9a4b"}, Colour{"#16803f", "#56d98a"}, Colour{"#a31caf", "#e986f7"},
    Colour{"#8a6a00", "#f2ce3a"}, Colour{"#0e7f95", "#3fd3ea"}, Colour{"#bd1240", "#fb7d93"}, Colour{"#55595f", "#c3c8cf"},
};

inline constexpr std::array shared{bars, grid, track, becomes_zero, subnormal, normal, overflow};  ///< all but the formats'

/// The n-th format's; they repeat when there are more formats than colours.
constexpr Colour of_format(std::size_t n) { return formats[n % formats.size()]; }

}  // namespace palette
}  // namespace ulpscope::reports
