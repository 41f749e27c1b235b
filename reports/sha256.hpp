// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) of bytes as they come.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ulpscope::reports {

/// Takes bytes piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  /// The next bytes.
  void add(std::string_view bytes);
  /// The digest of all, in lower-case hex. Nothing is added behind it.
  std::string hex();
  /// The same in base64, as pages name a script that may run.
  std::string base64();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 in lower-case hex.
std::string sha256(std::string_view bytes);

}  // namespace ulpscope::reports
