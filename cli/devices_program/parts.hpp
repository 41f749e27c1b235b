// SPDX-License-Identifier: Apache-2.0
// The results of a phase that several processes did one after the other, put together.
#pragma once

#include <string>

namespace ulpscope::cli {

/// Appends the rows of the CSV file `part`, or the sets of the recording `part`, to `whole`, which may not be there yet, and
/// removes `part`. Nothing where `part` is not there. @throws ulpscope::Error
void join_parts(const std::string& whole, const std::string& part);

}  // namespace ulpscope::cli
