// SPDX-License-Identifier: Apache-2.0
// JSON that says what its own bytes are: one that a disk or a hand has changed is not taken for what was written.
#pragma once

#include <string>
#include <string_view>

#include "reports/sha256.hpp"

namespace ulpscope::reports {

/// Makes the last member of a JSON object that is written piece by piece.
class Seal {
 public:
  /// The next bytes of the object, which is not empty, without the brace that closes it.
  void add(std::string_view bytes) { digest_.add(bytes); }
  /// The end of the text: the member `"sha256"`, which is that of all bytes before its comma, and the brace.
  std::string end();

 private:
  Sha256 digest_;
};

/// Whether bytes that come piece by piece are those of an object and its Seal, to the last one.
class SealCheck {
 public:
  /// The next bytes.
  void add(std::string_view bytes);
  /// Once all are there.
  bool holds();

 private:
  Seal seal_;
  std::string last_;  ///< bytes, as many as an end has
};

/// The text of a JSON object, which is not empty, with its seal.
std::string sealed(std::string_view object);

/// Whether a text is one that sealed() has made, to the last byte.
bool is_sealed(std::string_view text);

/// Whether a text begins as those did whose seal came first.
bool has_former_seal(std::string_view text);

}  // namespace ulpscope::reports
