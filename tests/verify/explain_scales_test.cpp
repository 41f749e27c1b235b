// SPDX-License-Identifier: Apache-2.0
// Scales of blocks that the engine applies: products written as plain loops over codes, and what went wrong with their scales.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/engines.hpp"
#include "emu/philox.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;
using emu::Code;
using verify::ExplainVerdict;

/// A scaled product as its buffers are.
struct Scaled {
  emu::Format in, scale;
  std::size_t block, m, n, k;
  std::vector<Code> a, b;              ///< M by K, and N by K
  std::vector<Code> scale_a, scale_b;  ///< M by blocks, N by blocks
  float whole_a = 1, whole_b = 1;
  emu::Format out = emu::float32;

  std::size_t blocks() const { return (k + block - 1) / block; }
};

/// Random ones: elements of any code that is a number, scales between 2^-8 and 2^8, of e4m3 2^-2 and 2^2.
Scaled drawn(bool nvfp4, std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed) {
  Scaled p{.in = nvfp4 ? emu::float4_e2m1fn : emu::float8_e4m3fn,
           .scale = nvfp4 ? emu::float8_e4m3fn : emu::float8_e8m0fnu,
           .block = nvfp4 ? std::size_t{16} : std::size_t{32},
           .m = m,
           .n = n,
           .k = k,
           .a = {},
           .b = {},
           .scale_a = {},
           .scale_b = {}};
  std::uint64_t next = 0;
  const auto word = [&] { return emu::philox4x32(seed, next++).word[0]; };
  const auto fill = [&](std::vector<Code>& codes, std::size_t count) {
    while (codes.size() < count)
      if (const Code code = word() & p.in.code_mask(); !std::isnan(emu::decode(p.in, code))) codes.push_back(code);
  };
  const int range = nvfp4 ? 2 : 8;
  const auto fill_scales = [&](std::vector<Code>& codes, std::size_t count) {
    while (codes.size() < count)
      codes.push_back(emu::encode(p.scale, std::ldexp(1 + (word() >> 8) * 0x1p-24,
                                                      static_cast<int>(word() % static_cast<unsigned>(2 * range)) - range)));
  };
  fill(p.a, m * k), fill(p.b, n * k);
  fill_scales(p.scale_a, m * p.blocks()), fill_scales(p.scale_b, n * p.blocks());
  if (nvfp4) p.whole_a = 0.0123F, p.whole_b = 0.37F;
  return p;
}

/// What the tensor core makes of products [begin, end) of output (i, j).
float chain(const Scaled& p, std::size_t i, std::size_t j, std::size_t begin, std::size_t end) {
  static const emu::Engine nvfp4 = emu::parse_engine("sm_100", {emu::float4_e2m1fn, emu::float4_e2m1fn, emu::float32,
                                                                emu::EngineScales::group_sums, emu::float8_e4m3fn}),
                           mx = emu::parse_engine("sm_100", {emu::float8_e4m3fn, emu::float8_e4m3fn, emu::float32,
                                                             emu::EngineScales::products, emu::float8_e8m0fnu});
  const auto part = [&](const std::vector<Code>& all, std::size_t line, std::size_t width, std::size_t from, std::size_t to) {
    return std::vector<Code>(all.begin() + static_cast<std::ptrdiff_t>(line * width + from),
                             all.begin() + static_cast<std::ptrdiff_t>(line * width + to));
  };
  const std::size_t first = begin / p.block, last = (end + p.block - 1) / p.block;
  const std::vector<Code> a = part(p.a, i, p.k, begin, end), b = part(p.b, j, p.k, begin, end),
                          sa = part(p.scale_a, i, p.blocks(), first, last), sb = part(p.scale_b, j, p.blocks(), first, last);
  return static_cast<float>(emu::decode(
      emu::float32, emu::inner_product(p.in == emu::float4_e2m1fn ? nvfp4 : mx, p.in, a, p.in, b, 0, {p.scale, sa, sb})));
}

using Kernel = std::function<float(const Scaled&, std::size_t, std::size_t)>;

/// The sum times the scales of whole operands.
float whole_sum(const Scaled& p, float sum) { return sum * (p.whole_a * p.whole_b); }
float plain(const Scaled& p, std::size_t i, std::size_t j) { return whole_sum(p, chain(p, i, j, 0, p.k)); }

tensors::Tensor computed(const Scaled& p, const Kernel& kernel) {
  std::vector<float> d;
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j) d.push_back(static_cast<float>(emu::round_to(p.out, kernel(p, i, j)).value));
  return tensors::from_values("D", {p.m, p.n}, d);
}

products::Product claimed(const Scaled& p) {
  const auto numbers = [](emu::Format format, const std::vector<Code>& codes) {
    std::vector<float> values;
    for (const Code code : codes) values.push_back(static_cast<float>(emu::decode(format, code)));
    return values;
  };
  const auto operand = [&](const char* name, const std::vector<Code>& codes, std::size_t lines, bool transposed) {
    products::MatmulInput input{tensors::from_values(name, {lines, p.k}, numbers(p.in, codes))};
    input.transposed = transposed;
    return products::MatmulOperand{input, {p.in}, {}};
  };
  const auto scales = [&](const std::vector<Code>& codes, std::size_t lines, float whole, const products::MatmulInput& input,
                          products::MatmulSide side) {
    tensors::Tensor tensor = tensors::from_values("scales", {lines, p.blocks()}, numbers(p.scale, codes));
    tensor.dtype.format = p.scale;
    products::MatmulScales fitted = products::fit_scales(tensor, input, side);
    fitted.whole = whole;
    return fitted;
  };
  products::Product product{.engine = "sm_100",
                            .a = operand("A", p.a, p.m, false),
                            .b = operand("B", p.b, p.n, true),
                            .c = {},
                            .acc = emu::float32,
                            .out = p.out,
                            .beta = {}};
  product.a.scales = scales(p.scale_a, p.m, p.whole_a, product.a.input, products::MatmulSide::a);
  product.b.scales = scales(p.scale_b, p.n, p.whole_b, product.b.input, products::MatmulSide::b);
  return product;
}

verify::ExplainResult explained(const Scaled& p, const Kernel& kernel) {
  return verify::explain({claimed(p), computed(p, kernel)});
}

/// Scales of one operand in their buffer, each changed by its place.
using Change =
    std::function<Code(const std::vector<Code>&, std::size_t line, std::size_t block, std::size_t lines, std::size_t blocks)>;

std::vector<Code> changed(const std::vector<Code>& scales, std::size_t lines, const Change& change) {
  std::vector<Code> out;
  const std::size_t blocks = scales.size() / lines;
  for (std::size_t i = 0; i < lines; ++i)
    for (std::size_t x = 0; x < blocks; ++x) out.push_back(change(scales, i, x, lines, blocks));
  return out;
}

/// The engine given other scales.
Kernel with_scales(bool of_a, bool of_b, const Change& change) {
  const auto other = std::make_shared<std::optional<Scaled>>();
  return [=](const Scaled& p, std::size_t i, std::size_t j) {
    if (!*other) {
      *other = p;
      if (of_a) (*other)->scale_a = changed(p.scale_a, p.m, change);
      if (of_b) (*other)->scale_b = changed(p.scale_b, p.n, change);
    }
    return plain(**other, i, j);
  };
}

/// Where the scale of a line and a block of a 128 by 4 tile lies, as cuBLAS and PTX have it: 32 rows of 16, of which each has
/// four scales of four lines that are 32 apart.
std::size_t in_tiles(std::size_t line, std::size_t block, std::size_t blocks) {
  const std::size_t tile = line / 128 * (blocks / 4) + block / 4;
  return tile * 512 + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
}

struct Plant {
  std::string word;
  bool of_mx, of_nvfp4;
  Kernel kernel;
};

float number(const Scaled& p, bool of_b, std::size_t line, std::size_t k) {
  return static_cast<float>(emu::decode(p.in, (of_b ? p.b : p.a)[line * p.k + k]));
}
float scale(const Scaled& p, bool of_b, std::size_t line, std::size_t k) {
  return static_cast<float>(emu::decode(p.scale, (of_b ? p.scale_b : p.scale_a)[line * p.blocks() + k / p.block]));
}

std::vector<Plant> plants() {
  const auto squared = [](emu::Format format) {
    return [format](const std::vector<Code>& s, std::size_t i, std::size_t x, std::size_t, std::size_t blocks) {
      const double value = emu::decode(format, s[i * blocks + x]);
      return emu::encode(format, value * value);
    };
  };
  const auto one = [](emu::Format format) {
    return [format](const std::vector<Code>&, std::size_t, std::size_t, std::size_t, std::size_t) {
      return emu::encode(format, 1.0);
    };
  };
  const auto inverse = [](emu::Format format) {
    return [format](const std::vector<Code>& s, std::size_t i, std::size_t x, std::size_t, std::size_t blocks) {
      return emu::encode(format, 1 / emu::decode(format, s[i * blocks + x]));
    };
  };
  const Change transposed = [](const std::vector<Code>& s, std::size_t i, std::size_t x, std::size_t lines, std::size_t) {
    return s[x * lines + i];
  };
  const auto wholly = [](const std::function<float(const Scaled&)>& factor) {
    return [factor](const Scaled& p, std::size_t i, std::size_t j) { return chain(p, i, j, 0, p.k) * factor(p); };
  };
  // bfloat16 elements, multiplied on the tensor core.
  const auto dequantized = [](bool with_whole) {
    return [with_whole](const Scaled& p, std::size_t i, std::size_t j) {
      static const emu::Engine engine = emu::parse_engine("sm_100", {emu::bfloat16, emu::bfloat16, emu::float32});
      std::vector<Code> a, b;
      for (std::size_t k = 0; k < p.k; ++k) {
        a.push_back(
            emu::encode(emu::bfloat16, number(p, false, i, k) * (scale(p, false, i, k) * (with_whole ? p.whole_a : 1))));
        b.push_back(emu::encode(emu::bfloat16, number(p, true, j, k) * (scale(p, true, j, k) * (with_whole ? p.whole_b : 1))));
      }
      const auto sum =
          static_cast<float>(emu::decode(emu::float32, emu::inner_product(engine, emu::bfloat16, a, emu::bfloat16, b, 0)));
      return with_whole ? sum : whole_sum(p, sum);
    };
  };
  const emu::Format e4m3 = emu::float8_e4m3fn, e8m0 = emu::float8_e8m0fnu;
  return {
      {"scales=none", false, true,
       [one, e4m3](const Scaled& p, std::size_t i, std::size_t j) {
         Scaled bare = p;
         bare.scale_a = changed(p.scale_a, p.m, one(e4m3)), bare.scale_b = changed(p.scale_b, p.n, one(e4m3));
         return chain(bare, i, j, 0, p.k);
       }},
      {"scales=none", true, false, with_scales(true, true, one(e8m0))},
      {"scales=reciprocal", true, false, with_scales(true, true, inverse(e8m0))},
      {"scales=reciprocal", false, true, with_scales(true, true, inverse(e4m3))},
      {"scales/a=none", true, false, with_scales(true, false, one(e8m0))},
      {"scales/b=none", false, true, with_scales(false, true, one(e4m3))},
      {"scales/a=reciprocal", true, false, with_scales(true, false, inverse(e8m0))},
      {"scales/b=reciprocal", false, true, with_scales(false, true, inverse(e4m3))},
      {"scales=twice/a", true, false, with_scales(true, false, squared(e8m0))},
      {"scales=twice/b", false, true, with_scales(false, true, squared(e4m3))},
      {"scales=swapped", true, true,
       [](const Scaled& p, std::size_t i, std::size_t j) {
         Scaled other = p;
         std::swap(other.scale_a, other.scale_b);
         return plain(other, i, j);
       }},
      {"scales/a=transposed", true, true, with_scales(true, false, transposed)},
      {"scales=transposed", true, true, with_scales(true, true, transposed)},
      {"whole=none", false, true, wholly([](const Scaled&) { return 1.0F; })},
      {"whole=reciprocal", false, true, wholly([](const Scaled& p) { return 1 / (p.whole_a * p.whole_b); })},
      {"whole=twice", false, true, wholly([](const Scaled& p) { return (p.whole_a * p.whole_b) * (p.whole_a * p.whole_b); })},
      {"scale/a[3,1]=none", true, true,
       [](const Scaled& p, std::size_t i, std::size_t j) {
         Scaled other = p;
         other.scale_a[3 * p.blocks() + 1] = emu::encode(p.scale, 1.0);
         return plain(other, i, j);
       }},
      {"split-k=2", true, false,
       [](const Scaled& p, std::size_t i, std::size_t j) {
         return whole_sum(p, chain(p, i, j, 0, p.k / 2) + chain(p, i, j, p.k / 2, p.k));
       }},
      {"dropped=last:32", true, true,
       [](const Scaled& p, std::size_t i, std::size_t j) { return whole_sum(p, chain(p, i, j, 0, p.k - 32)); }},
      {"dropped=last:8", true, true,
       [](const Scaled& p, std::size_t i, std::size_t j) { return whole_sum(p, chain(p, i, j, 0, p.k - 8)); }},
      {"dropped=first:8", true, true,
       [](const Scaled& p, std::size_t i, std::size_t j) {
         Scaled other = p;
         for (std::size_t line = 0; line < p.m; ++line)
           for (std::size_t k = 0; k < 8; ++k) other.a[line * p.k + k] = 0;
         for (std::size_t line = 0; line < p.n; ++line)
           for (std::size_t k = 0; k < 8; ++k) other.b[line * p.k + k] = 0;
         return plain(other, i, j);
       }},
      {"scales=dequantized/bfloat16", true, false, dequantized(false)},
      {"scales=dequantized/bfloat16:whole", false, true, dequantized(true)},
  };
}

}  // namespace

TEST_CASE("a product whose engine applies the scales of blocks holds, in any length of K", "[verify]") {
  const bool nvfp4 = GENERATE(false, true);
  const std::size_t k = GENERATE(as<std::size_t>(), 64, 136, 200);
  Scaled p = drawn(nvfp4, 9, 7, k, 1);
  p.out = GENERATE(emu::float32, emu::bfloat16);
  CAPTURE(nvfp4, k);

  const auto result = explained(p, plain);

  CHECK(result.verdict == ExplainVerdict::holds);
}

TEST_CASE("what becomes of scales that an engine applies is named", "[verify]") {
  const bool nvfp4 = GENERATE(false, true);
  const Scaled p = drawn(nvfp4, 12, 12, 256, 2);
  for (const Plant& plant : plants()) {
    if (!(nvfp4 ? plant.of_nvfp4 : plant.of_mx)) continue;
    CAPTURE(nvfp4, plant.word);

    const auto result = explained(p, plant.kernel);

    CHECK(result.verdict == ExplainVerdict::explained);
    CHECK(result.findings.front().matched == result.count);
    CHECK(std::any_of(result.findings.begin(), result.findings.end(), [&](const verify::Finding& finding) {
      return finding.explains && finding.group == 1 && finding.hypothesis.is(plant.word);
    }));
  }
}

TEST_CASE("scales in tiles of 128 by 4 that are read line by line are named, and the other way round", "[verify]") {
  const bool nvfp4 = GENERATE(false, true);
  const Scaled p = drawn(nvfp4, 256, 128, nvfp4 ? 128 : 256, 3);
  const Change as_tiles = [](const std::vector<Code>& s, std::size_t i, std::size_t x, std::size_t, std::size_t blocks) {
    return s[in_tiles(i, x, blocks)];
  };
  const Change from_tiles = [](const std::vector<Code>& s, std::size_t i, std::size_t x, std::size_t lines,
                               std::size_t blocks) {
    for (std::size_t line = 0; line < lines; ++line)
      for (std::size_t block = 0; block < blocks; ++block)
        if (in_tiles(line, block, blocks) == i * blocks + x) return s[line * blocks + block];
    return Code{0};
  };
  struct Case {
    const char* word;
    Kernel kernel;
  };
  const Case x = GENERATE_COPY(Case{"scales=as-tiles", with_scales(true, true, as_tiles)},
                               Case{"scales/a=as-tiles", with_scales(true, false, as_tiles)},
                               Case{"scales/b=from-tiles", with_scales(false, true, from_tiles)});
  CAPTURE(nvfp4, x.word);

  const auto result = explained(p, x.kernel);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == x.word);
  CHECK(result.findings.front().matched == result.count);
}
