// SPDX-License-Identifier: Apache-2.0
// Products of float32 and float64 that were made of narrower ones.
#include <algorithm>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

namespace {

/// Keys of 2 to 64 equal blocks of K: in turn, where the lengths that are always tried are others, and in trees. A product of
/// one part has no other place in the list of hypotheses.
std::vector<std::string> split_k_keys(std::size_t k, const std::string& name) {
  constexpr std::size_t least = 8;
  const bool single = name.ends_with("x1");
  std::vector<std::string> keys;
  for (std::size_t bits = 1; bits <= most_join_bits; ++bits) {
    const std::size_t parts = std::size_t{1} << bits, length = k / parts;
    if (k % parts != 0 || length < least) break;
    const std::string block = ",k=" + std::to_string(length);
    if (single || length < 16 || length > 128) keys.push_back(block);
    if (bits == 1) continue;  // in turn
    for (const std::vector<std::uint8_t>& order : join_orders(bits)) keys.push_back(block + ",join=" + join_word(order));
  }
  return keys;
}

}  // namespace

std::vector<Cause> split_causes(const Claim& claim) {
  const products::Product& config = claim.config;
  const bool wide = claim.a() == emu::float64 || claim.b() == emu::float64;
  const bool plain = !config.a.scales && !config.b.scales && config.promote == 0 && config.split_k == 1;
  // Operands of fewer bits than a split takes apart are what its first part is.
  if (!plain || std::max(claim.a().precision(), claim.b().precision()) < emu::float32.precision()) return {};
  std::vector<std::string> words;
  for (const std::string name : {"3xtf32", "tf32x3", "bf16x3", "bf16x6", "bf16x9"})
    for (const std::string engine : {"sm_90", "sm_80"})
      for (const std::string block : {"", ",k=16", ",k=32", ",k=64", ",k=128"})
        words.push_back(name + ":engine=" + engine + block);
  for (const std::string name : {"tf32x3", "bf16x3", "bf16x6", "bf16x9", "tf32x1", "bf16x1"})
    for (const std::string& keys : split_k_keys(claim.shape.k, name)) words.push_back(name + ":engine=sm_90" + keys);
  for (const std::string name : {"3xtf32", "tf32x3", "bf16x3", "bf16x6", "bf16x9"})
    for (const std::string engine : {"fma", "amx_bf16", "avx512_bf16"}) words.push_back(name + ":engine=" + engine);
  for (int slices = wide ? 4 : 3; slices <= 10; ++slices) words.push_back("ozaki1:slices=" + std::to_string(slices));
  for (int moduli = wide ? 10 : 6; moduli <= 18; ++moduli) words.push_back("ozaki2:moduli=" + std::to_string(moduli));
  std::vector<Cause> causes;
  for (const std::string& word : words) {
    try {
      const products::ChosenEngine chosen = products::choose_split(word, {claim.a(), claim.b(), config.acc});
      if (chosen.split == claim.kernel.chain.split || (chosen.split->block >= claim.shape.k)) continue;
      causes.push_back(
          {"engine=" + word,
           "the split product " + word,
           {{"--engine", word}},
           [split = *chosen.split, acc = config.acc](Kernel& kernel) { kernel.chain = {.accumulator = acc, .split = split}; }});
    } catch (const Error&) {  // it does not take these formats
    }
  }
  return causes;
}

}  // namespace ulpscope::verify
