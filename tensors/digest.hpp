// SPDX-License-Identifier: Apache-2.0
// By what files that were written are known again. The rooms above have the library that makes it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ulpscope::tensors {

/// SHA-256 of bytes as they come.
struct Digest {
  std::function<void(std::string_view bytes)> add;  ///< the next of them
  std::function<std::string()> hex;                 ///< of all; nothing is added behind it
};

/// Begins one.
using NewDigest = std::function<Digest()>;

}  // namespace ulpscope::tensors
