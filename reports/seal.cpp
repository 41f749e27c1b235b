// SPDX-License-Identifier: Apache-2.0
// {"sha256": "64 digits", and the rest of the object
#include "reports/seal.hpp"

#include <cstddef>

#include "reports/sha256.hpp"

namespace ulpscope::reports {
namespace {

constexpr std::string_view seal_begin = R"({"sha256": ")", seal_end = R"(",)";
constexpr std::size_t seal_digits = 64, seal_size = seal_begin.size() + seal_digits + seal_end.size();

}  // namespace

std::string sealed(std::string_view object) {
  std::string text(seal_begin);
  text += sha256(object);
  text += seal_end;
  text += object.substr(1);
  return text;
}

bool is_sealed(std::string_view text) {
  if (text.size() < seal_size || !text.starts_with(seal_begin) ||
      text.substr(seal_size - seal_end.size(), seal_end.size()) != seal_end)
    return false;
  Sha256 digest;
  digest.add("{");
  digest.add(text.substr(seal_size));
  return digest.hex() == text.substr(seal_begin.size(), seal_digits);
}

}  // namespace ulpscope::reports
