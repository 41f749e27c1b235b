// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error, whether a program was started with them or not.
#pragma once

namespace ulpscope::files {

/// Takes the numbers of those that are closed, so that no file that is opened later becomes one of them, in which what is
/// printed would land. Reading and writing them fails as before. To be called before anything is opened.
void hold_standard_descriptors() noexcept;

}  // namespace ulpscope::files
