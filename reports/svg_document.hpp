// SPDX-License-Identifier: Apache-2.0
// A figure as an SVG file of its own, for documents and slides.
#pragma once

#include <string>

namespace ulpscope::reports {

/// `figure`, one of Drawings::svgs, as a file: with the namespace of SVG, its own background, and light or dark as the reader
/// prefers. Loads nothing.
std::string svg_document(const std::string& figure);

}  // namespace ulpscope::reports
