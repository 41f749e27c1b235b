// SPDX-License-Identifier: Apache-2.0
// Reads few elements of each tensor: a node of many need not read what is measured on others.
#include "studies/shards/sample.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "emu/format.hpp"
#include "emu/visible.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t sampled_at_once = 256;

/// Fowler, Noll and Vo's FNV-1a of 64 bits.
class Digest {
 public:
  void add(emu::Code code) {
    for (int shift = 0; shift < 64; shift += 8) state_ = (state_ ^ (code >> shift & 0xff)) * 0x100000001b3;
  }
  std::string text() const {
    std::string digits(16, '0');
    for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = "0123456789abcdef"[state_ >> (60 - 4 * i) & 0xf];
    return digits;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Codes that a tensor's source gives: bytes of one whose dtype is not known, where they can be had.
std::uint64_t codes_of(const tensors::Tensor& tensor) {
  return tensor.opaque ? tensor.opaque->bytes.value_or(0) : tensor.count();
}

std::string sample_of(const tensors::Tensor& tensor) {
  const std::uint64_t count = codes_of(tensor), size = std::min(count, sampled_at_once);
  Digest digest;
  std::vector<emu::Code> codes(static_cast<std::size_t>(size));
  for (const std::uint64_t first : {std::uint64_t{0}, (count - size) / 2, count - size}) {
    if (size != 0) tensor.source->read_codes(first, codes);
    for (const emu::Code code : codes) digest.add(code);
  }
  return digest.text();
}

}  // namespace

std::vector<std::string> samples_of(const std::vector<tensors::Tensor>& tensors, int threads) {
  std::vector<std::string> samples(tensors.size());
  tensors::for_each_index(tensors.size(), threads, [&](std::size_t i) { samples[i] = sample_of(tensors[i]); });
  return samples;
}

std::string sample_lines(const std::vector<tensors::Tensor>& tensors, int threads) {
  const std::vector<std::string> samples = samples_of(tensors, threads);
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    text += emu::visible(tensors[i].label + ", " + tensors[i].dtype.name);
    for (const std::uint64_t extent : tensors[i].shape) text += " " + std::to_string(extent);
    text += ", sample " + samples[i] + "\n";
  }
  return text;
}

std::string digest_of(std::string_view text) {
  Digest digest;
  for (const char byte : text) digest.add(static_cast<unsigned char>(byte));
  return digest.text();
}

bool is_sample(std::string_view word) {
  return word.size() == 16 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace ulpscope::studies
