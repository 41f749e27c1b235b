// SPDX-License-Identifier: Apache-2.0
// Products of float32 and float64 that were made of narrower ones.
#include <algorithm>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

std::vector<Cause> split_causes(const Claim& claim) {
  const products::Product& config = claim.config;
  const bool wide = claim.a() == emu::float64 || claim.b() == emu::float64;
  const bool plain = !config.a.scales && !config.b.scales && config.promote == 0 && config.split_k == 1;
  // Operands of fewer bits than a split takes apart are what its first part is.
  if (!plain || std::max(claim.a().precision(), claim.b().precision()) < emu::float32.precision()) return {};
  std::vector<std::string> words;
  for (const std::string name : {"3xtf32", "bf16x3", "bf16x6", "bf16x9"})
    for (const std::string engine : {"sm_90", "sm_80"})
      for (const std::string block : {"", ",k=16", ",k=32", ",k=64", ",k=128"})
        words.push_back(name + ":engine=" + engine + block);
  for (const std::string name : {"bf16x3", "bf16x6", "bf16x9"}) words.push_back(name + ":engine=amx_bf16");
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
