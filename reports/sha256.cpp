// SPDX-License-Identifier: Apache-2.0
// SHA-256 by OpenSSL.
#include "reports/sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>

namespace ulpscope::reports {
namespace {

/// SHA-256 of bytes in memory fails for want of memory alone: every OpenSSL has it.
void require(int answer) {
  if (answer != 1) throw std::bad_alloc();
}

}  // namespace

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* held) const { EVP_MD_CTX_free(held); }
  };

  State() : context(EVP_MD_CTX_new()) {
    require(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1);
  }

  std::unique_ptr<EVP_MD_CTX, Free> context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) { require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size())); }

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace ulpscope::reports
