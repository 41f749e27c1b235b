// SPDX-License-Identifier: Apache-2.0
// SHA-256 by OpenSSL.
#include "reports/sha256.hpp"

// These functions take no memory. The newer ones (EVP_DigestInit) take some four thousand pieces before the first digest, and
// where one of them is not to be had, OpenSSL 3.0 ends the process by a signal.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>

namespace ulpscope::reports {

struct Sha256::State {
  State() { SHA256_Init(&context); }

  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest() {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
    SHA256_Final(bytes.data(), &context);
    return bytes;
  }

  SHA256_CTX context{};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::string Sha256::hex() {
  std::string text;
  for (const unsigned char byte : state_->digest()) text += fmt::format("{:02x}", byte);
  return text;
}

std::string Sha256::base64() {
  const std::array<unsigned char, SHA256_DIGEST_LENGTH> digest = state_->digest();
  std::array<unsigned char, std::size_t{2} * SHA256_DIGEST_LENGTH> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return std::string(text.begin(), text.begin() + length);
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace ulpscope::reports
