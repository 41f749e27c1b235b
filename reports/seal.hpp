// SPDX-License-Identifier: Apache-2.0
// JSON that says what its own bytes are: one that a disk or a hand has changed is not taken for what was written.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

/// The text of a JSON object, which is not empty, with one more member before the others: `"sha256"`, that of the text as it was given.
std::string sealed(std::string_view object);

/// Whether a text is one that sealed() has made, to the last byte.
bool is_sealed(std::string_view text);

}  // namespace ulpscope::reports
