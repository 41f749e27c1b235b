// SPDX-License-Identifier: Apache-2.0
// A matrix engine of one's own, beside those that exist: what a wider alignment would have saved.
#include <cstdio>
#include <span>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"

int main() {
  using namespace ulpscope::emu;
  constexpr std::size_t k = 65536;
  const std::vector<float> ones(k, 1.0F);

  // 32 products a step as on sm_90, but aligned with 16 fraction bits, and rounded to nearest even instead of cut.
  Engine wider = block_fma(32, 16, float32, Rounding::nearest_even);
  wider.result_fraction_bits = 16;

  EngineMatmul<float> product{};
  product.a = {e4m3, ones, {1, k}};
  product.b = {e4m3, ones, {k, 1}};
  for (const auto& [name, engine] : {std::pair{"sm_90", find_engine("sm_90", {e4m3, e4m3}).model}, std::pair{"wider", wider}}) {
    product.engine = engine;
    product.promote = 0;
    float whole = 0, promoted = 0;
    engine_matmul(product, std::span(&whole, 1));
    product.promote = 128;
    engine_matmul(product, std::span(&promoted, 1));
    std::printf("%s: %zu ones add up to %.0f, with promotion every 128 to %.0f\n", name, k, static_cast<double>(whole),
                static_cast<double>(promoted));
  }
}
