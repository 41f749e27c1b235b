// SPDX-License-Identifier: Apache-2.0
// The object without its brace, and `,"sha256": "64 digits"}` behind it.
#include "reports/seal.hpp"

#include <algorithm>
#include <cstddef>

namespace ulpscope::reports {
namespace {

constexpr std::string_view seal_begin = ",\n\"sha256\": \"", seal_end = "\"}\n";
constexpr std::size_t seal_digits = 64, seal_size = seal_begin.size() + seal_digits + seal_end.size();

}  // namespace

std::string Seal::end() { return std::string(seal_begin) + digest_.hex() + std::string(seal_end); }

void SealCheck::add(std::string_view bytes) {
  const std::size_t have = last_.size() + bytes.size(), before_end = have - std::min(have, seal_size);
  const std::size_t of_last = std::min(before_end, last_.size()), of_bytes = before_end - of_last;
  seal_.add(std::string_view(last_).substr(0, of_last));
  seal_.add(bytes.substr(0, of_bytes));
  last_.erase(0, of_last).append(bytes.substr(of_bytes));
}

bool SealCheck::holds() { return last_ == seal_.end(); }

std::string sealed(std::string_view object) {
  std::string_view open = object.substr(0, object.rfind('}'));
  open = open.substr(0, open.find_last_not_of('\n') + 1);
  Seal seal;
  seal.add(open);
  return std::string(open) + seal.end();
}

bool is_sealed(std::string_view text) {
  SealCheck check;
  check.add(text);
  return check.holds();
}

bool has_former_seal(std::string_view text) { return text.starts_with(R"({"sha256": ")"); }

}  // namespace ulpscope::reports
