// SPDX-License-Identifier: Apache-2.0
// Claims kept, broken and vacuous, and the causes that are named.
#include "verify/explain/explain.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/rounding.hpp"
#include "reports/render.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/explain_plants.hpp"
#include "verify/explain/replay.hpp"

namespace {

using namespace ulpscope;
using verify::ExplainVerdict;

products::MatmulOperand operand(const std::string& words, std::uint64_t seed, emu::Format format) {
  return {{tensors::open_one(words, {.dtype = {}, .seed = seed})}, {format}, {}};
}

products::Product config(const std::string& engine, emu::Format in, emu::Format out, std::size_t promote = 0,
                         std::size_t split_k = 1) {
  return {.engine = engine,
          .a = operand("normal:0,1:12x128", 1, in),
          .b = operand("normal:0,1:128x10", 2, in),
          .c = {},
          .acc = emu::float32,
          .out = out,
          .beta = {},
          .promote = promote,
          .split_k = split_k};
}

std::vector<double> values(const tensors::Tensor& tensor) {
  std::vector<double> out(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(out));
  return out;
}

verify::ExplainResult explain(const products::Product& claimed, const products::Product& computed) {
  return verify::explain({claimed, products::multiply(computed)});
}

std::int64_t total(const reports::Table& table, const std::string& column, bool unknown) {
  std::size_t at = 0;
  while (table.columns[at] != column) ++at;
  std::int64_t sum = 0;
  for (const auto& row : table.rows)
    if (std::get<std::string>(row.front()).starts_with("unknown: ") == unknown) sum += std::get<std::int64_t>(row[at]);
  return sum;
}

void check_plants(std::size_t trials, std::uint64_t seed) {
  const reports::Table table = verify::explain_plants_table(trials, seed);
  WARN(reports::to_text(table));

  const std::int64_t planted = total(table, "trials", false), unknown = total(table, "trials", true);
  REQUIRE(planted > 0);
  REQUIRE(unknown > 0);
  const std::int64_t found = total(table, "named", false) + total(table, "grouped", false);
  CHECK(100 * found >= 95 * planted);
  CHECK(total(table, "wrong", true) == 0);
}

}  // namespace

TEST_CASE("the replay of a claim is the product that products::multiply computes", "[verify]") {
  const std::string engine = GENERATE("fma", "pairwise", "sm_90", "sm_80", "cdna3", "exact");
  const emu::Format in = GENERATE(emu::float16, emu::bfloat16), out = GENERATE(emu::float32, emu::bfloat16);
  const bool with_c = GENERATE(false, true), scaled = GENERATE(false, true);
  const std::size_t promote = engine == "pairwise" ? 0 : GENERATE(as<std::size_t>(), 0, 32),
                    split_k = GENERATE(as<std::size_t>(), 1, 3);
  CAPTURE(engine, with_c, scaled, promote, split_k);
  products::Product product = config(engine, in, out, promote, split_k);
  if (with_c) product.c = tensors::open_one("normal:0,1:10", {.dtype = {}, .seed = 3});
  if (with_c && split_k == 3) product.alpha = 0.75, product.beta = -1.25;
  if (scaled && engine == "exact") return;
  if (scaled)
    product.a.scales = products::fit_scales(tensors::open_one("uniform:1,2:12x4"), product.a.input, products::MatmulSide::a);

  const verify::Kernel kernel = verify::declared_kernel(product);
  verify::Region all;
  for (std::size_t i = 0; i < 12; ++i) all.rows.push_back(i);
  for (std::size_t j = 0; j < 10; ++j) all.columns.push_back(j);
  const std::vector<double> replayed = verify::replay(verify::load_matmul(product), kernel, all);

  CHECK(replayed == values(products::multiply(product)));
}

TEST_CASE("the replay of a claimed split product is the product that products::multiply computes", "[verify]") {
  const std::string engine = GENERATE("3xtf32", "bf16x3:k=32", "bf16x9:engine=sm_80", "ozaki1:slices=4", "ozaki2:moduli=8");
  const emu::Format out = GENERATE(emu::float32, emu::bfloat16);
  const bool with_c = GENERATE(false, true);
  CAPTURE(engine, with_c);
  products::Product product = config(engine, emu::float32, out);
  if (with_c) product.c = tensors::open_one("normal:0,1:10", {.dtype = {}, .seed = 3});
  verify::Region all;
  for (std::size_t i = 0; i < 12; ++i) all.rows.push_back(i);
  for (std::size_t j = 0; j < 10; ++j) all.columns.push_back(j);

  const std::vector<double> replayed = verify::replay(verify::load_matmul(product), verify::declared_kernel(product), all);

  CHECK(replayed == values(products::multiply(product)));
}

TEST_CASE("a product that claims float32 and is made of narrower ones is told from one that is not, and from each other",
          "[verify]") {
  const std::string made_of = GENERATE(
      "3xtf32:engine=sm_90", "3xtf32:engine=sm_80,k=32", "bf16x3:engine=sm_90", "bf16x6:engine=sm_90", "bf16x9:engine=sm_80",
      "bf16x6:engine=sm_90,k=64", "tf32x3:engine=sm_90,k=64", "bf16x6:engine=sm_90,k=8", "bf16x3:engine=sm_90,k=16,join=2.0.1",
      "bf16x6:engine=sm_90,k=8,join=2.3.0.1", "tf32x3:engine=sm_90,k=32,join=1.0", "tf32x1:engine=sm_90,k=32",
      "tf32x1:engine=sm_90,k=8,join=3.0.2.1", "bf16x9:engine=fma", "tf32x3:engine=fma", "bf16x6:engine=avx512_bf16",
      "bf16x3:engine=amx_bf16", "ozaki1:slices=3", "ozaki2:moduli=8");
  CAPTURE(made_of);

  const auto result = explain(config("fma", emu::float32, emu::float32), config(made_of, emu::float32, emu::float32));

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "engine=" + made_of);
  CHECK(result.findings.front().matched == result.count);
}

TEST_CASE("parts of bfloat16 whose products are multiply-adds in float32 are named", "[verify]") {
  struct Case {
    const char* word;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // in their order; docs/split-products.md
  };
  const Case x = GENERATE(Case{"bf16x3:engine=fma", {{1, 0}, {0, 1}, {0, 0}}},
                          Case{"bf16x6:engine=fma", {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}});
  CAPTURE(x.word);
  const products::Product claimed = config("fma", emu::float32, emu::float32);
  const std::vector<double> a = values(claimed.a.input.tensor), b = values(claimed.b.input.tensor);
  const std::size_t m = 12, n = 10, k = 128;
  const auto part = [](double number, std::size_t index) {  // what the parts before it leave is exact
    for (;; --index) {
      const double rounded = emu::round_to(emu::bfloat16, number).value;
      if (index == 0) return static_cast<float>(rounded);
      number -= rounded;
    }
  };
  std::vector<float> d(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (const auto& [of_a, of_b] : x.pairs)
        for (std::size_t at = 0; at < k; ++at)
          d[i * n + j] = std::fma(part(a[i * k + at], of_a), part(b[at * n + j], of_b), d[i * n + j]);

  const auto result = verify::explain({claimed, tensors::from_values("D", {m, n}, d)});

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == std::string("engine=") + x.word);
  CHECK(result.findings.front().matched == result.count);
}

TEST_CASE("parts of a split K that meet in a tree are named, with the command that adds them so", "[verify]") {
  struct Case {
    const char *engine, *computed;
    emu::Format in;
    const char *word, *option;
  };
  const Case x = GENERATE(
      Case{"sm_90", "bf16x1:engine=sm_90,k=16,join=2.0.1", emu::bfloat16, "split-k=8,join=2.0.1",
           "bf16x1:engine=sm_90,k=16,join=2.0.1"},
      Case{"fma", "f32x1:k=8,join=3.0.2.1", emu::float32, "split-k=16,join=3.0.2.1", "f32x1:engine=fma,k=8,join=3.0.2.1"},
      Case{"sm_90", "tf32x1:k=32,join=1.0", emu::tf32, "split-k=4,join=1.0", "tf32x1:engine=sm_90,k=32,join=1.0"});
  CAPTURE(x.computed);

  const auto result = explain(config(x.engine, x.in, emu::float32), config(x.computed, x.in, emu::float32));

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == x.word);
  CHECK(result.findings.front().matched == result.count);
  CHECK(result.findings.front().hypothesis.causes.front().options ==
        std::vector<verify::MatmulOption>{{"--engine", x.option}, {"--split-k", "1"}});
}

TEST_CASE("numbers of tf32 with ties away from zero are told from others, in one chain and in a tree", "[verify]") {
  // Half of them ties.
  std::vector<float> ties;
  for (std::size_t i = 0; i < std::size_t{12} * 128; ++i)
    ties.push_back(std::sin(static_cast<float>(i)) >= 0 ? 1 + static_cast<float>(i % 700) * 0x1p-10F + 0x1p-11F
                                                        : -1 - static_cast<float>(i % 900) * 0x1p-10F);
  const auto with_ties = [&](products::Product product) {
    product.a.input.tensor = tensors::from_values("A", {12, 128}, ties);
    return product;
  };
  const auto plain = with_ties(config("fma", emu::float32, emu::float32));
  const auto cut = with_ties(config("sm_90", emu::tf32, emu::float32));

  CHECK(explain(plain, with_ties(config("tf32x1", emu::float32, emu::float32))).findings.front().hypothesis.word() ==
        "in=tf32:nearest_away + engine=sm_90");
  CHECK(explain(cut, with_ties(config("tf32x1:k=16,join=2.0.1", emu::float32, emu::float32)))
            .findings.front()
            .hypothesis.word() == "in:nearest_away + split-k=8,join=2.0.1");
  CHECK(explain(plain, with_ties(config("tf32x1:k=16,join=2.0.1", emu::float32, emu::float32)))
            .findings.front()
            .hypothesis.word() == "engine=tf32x1:engine=sm_90,k=16,join=2.0.1");
}

TEST_CASE("pairs of products in turn, as fp8 comes to float16 tensor cores, are named", "[verify]") {
  const auto claimed = config("sm_90", emu::float16, emu::float32);
  const std::vector<double> a = values(claimed.a.input.tensor), b = values(claimed.b.input.tensor);
  std::vector<float> moved_a(a.size()), moved_b(b.size());
  for (std::size_t k = 0; k < 128; ++k) {
    // Fours of a block of 32 give two products each to its first half, and two to its second.
    const std::size_t four = k % 32 / 4, place = k - k % 32 + (k % 4 < 2 ? 0 : 16) + 2 * four + k % 2;
    for (std::size_t i = 0; i < 12; ++i) moved_a[i * 128 + place] = static_cast<float>(a[i * 128 + k]);
    for (std::size_t j = 0; j < 10; ++j) moved_b[place * 10 + j] = static_cast<float>(b[k * 10 + j]);
  }
  auto computed = claimed;
  computed.a.input.tensor = tensors::from_values("A", {12, 128}, moved_a);
  computed.b.input.tensor = tensors::from_values("B", {128, 10}, moved_b);

  const auto result = explain(claimed, computed);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "order=pairs:32");
}

TEST_CASE("orders of trees are those that reductions of XLA have had", "[verify]") {
  using Order = std::vector<std::uint8_t>;
  const auto has = [](const std::vector<Order>& orders, const Order& order) {
    return std::count(orders.begin(), orders.end(), order) == 1;
  };
  CHECK(has(verify::join_orders(3), {2, 0, 1}));
  CHECK(has(verify::join_orders(5), {3, 4, 0, 2, 1}));
  CHECK(has(verify::join_orders(6), {4, 5, 1, 0, 3, 2}));
  for (std::size_t bits = 1; bits <= verify::most_join_bits; ++bits) {
    const std::vector<Order> orders = verify::join_orders(bits);
    CHECK(orders.size() <= 12);
    for (const Order& order : orders) {
      CHECK(std::count(orders.begin(), orders.end(), order) == 1);
      Order sorted = order;
      std::sort(sorted.begin(), sorted.end());
      CHECK((sorted.size() == bits && sorted.front() == 0 && sorted.back() == bits - 1));
      CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    }
    CHECK(std::is_sorted(orders.front().begin(), orders.front().end()));
  }
  CHECK(verify::join_word({3, 4, 0, 2, 1}) == "3.4.0.2.1");
}

TEST_CASE("a claimed split product is told from float32's own", "[verify]") {
  const auto result = explain(config("bf16x9", emu::float32, emu::float32), config("fma", emu::float32, emu::float32));

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "engine=x86_fma");  // the first of those alike
  CHECK(explain(config("bf16x9", emu::float32, emu::float32), config("bf16x9", emu::float32, emu::float32)).verdict ==
        ExplainVerdict::holds);
}

TEST_CASE("a claim that is kept holds, and one whose data tells nothing apart is vacuous", "[verify]") {
  const auto product = config("sm_90", emu::bfloat16, emu::float32);
  CHECK(explain(product, product).verdict == ExplainVerdict::holds);

  auto zeros = product;
  zeros.a = {{tensors::from_values("A", {12, 128}, std::vector<float>(std::size_t{12} * 128))}, {emu::bfloat16}, {}};
  CHECK(explain(zeros, zeros).verdict == ExplainVerdict::vacuous);
  auto one = product;
  one.a = operand("normal:0,1:12x1", 1, emu::bfloat16), one.b = operand("normal:0,1:1x10", 2, emu::bfloat16);
  CHECK(explain(one, one).verdict == ExplainVerdict::vacuous);
}

TEST_CASE("a cause is named with its command where there is one", "[verify]") {
  const auto result = explain(config("sm_90", emu::bfloat16, emu::float32), config("sm_90", emu::bfloat16, emu::float32, 0, 4));
  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "split-k=4");
  CHECK(result.findings.front().matched == result.count);

  const auto table = verify::explain_table(result, [](const verify::Hypothesis& h) { return h.word(); });
  CHECK(std::get<std::string>(table.rows[1].back()) == "split-k=4");
}

TEST_CASE("a buffer that is read as its transpose's is named, in shapes that are no squares", "[verify]") {
  const auto claimed = config("sm_90", emu::bfloat16, emu::float32);
  const bool of_a = GENERATE(true, false);
  const std::size_t rows = of_a ? 12 : 128, columns = of_a ? 128 : 10;
  const std::vector<double> stored = values(of_a ? claimed.a.input.tensor : claimed.b.input.tensor);
  std::vector<double> read;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) read.push_back(stored[j * rows + i]);
  auto computed = claimed;
  (of_a ? computed.a : computed.b).input.tensor = tensors::from_values("misread", {rows, columns}, read);

  const auto result = explain(claimed, computed);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == (of_a ? "A=transposed" : "B=transposed"));
}

TEST_CASE("tiles along K that are read before they are there are named", "[verify]") {
  // One float32 fma after another, K = 200 (which no tile divides), A, B or both of a tile that was due earlier.
  constexpr std::size_t m = 12, n = 10, k = 200;
  const bool of_a = GENERATE(true, false), of_b = GENERATE(true, false), zero = GENERATE(false, true);
  const std::size_t tile = GENERATE(as<std::size_t>(), 32, 48);
  if (!of_a && !of_b) return;
  if (of_a && of_b && zero) return;
  products::Product claimed = config("fma", emu::bfloat16, emu::float32);
  claimed.a = operand("normal:0,1:12x200", 1, emu::bfloat16), claimed.b = operand("normal:0,1:200x10", 2, emu::bfloat16);
  std::vector<double> a = values(claimed.a.input.tensor), b = values(claimed.b.input.tensor);
  for (auto* operand : {&a, &b})
    for (double& x : *operand) x = emu::round_to(emu::bfloat16, x).value;
  std::vector<float> d;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t at = 0; at < k; ++at) {
        const bool early = at < tile;
        const std::size_t late = early ? at : at - tile;
        const double x = of_a ? (early && zero ? 0 : a[i * k + late]) : a[i * k + at];
        const double y = of_b ? (early && zero ? 0 : b[late * n + j]) : b[at * n + j];
        sum = std::fma(static_cast<float>(x), static_cast<float>(y), sum);
      }
      d.push_back(sum);
    }
  const verify::ExplainResult result = verify::explain({claimed, tensors::from_values("d", {m, n}, d)});
  const std::string name = of_a && of_b ? "inputs" : of_a ? "A" : "B";
  CAPTURE(name, tile, zero);
  CHECK(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == name + "=lags:" + std::to_string(tile) + (zero ? ",zero" : ""));
  CHECK(result.findings.front().matched == m * n);
}

TEST_CASE("few elements that are one ulp away decide nothing", "[verify]") {
  const auto product = config("fma", emu::bfloat16, emu::bfloat16);
  const auto truncated = products::multiply(product);
  std::vector<float> d(static_cast<std::size_t>(truncated.count()));
  truncated.source->read(0, std::span(d));
  d[7] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(d[7]) + 0x10000U);

  const auto result = verify::explain({product, tensors::from_values("D", {12, 10}, d)});

  CHECK((result.verdict == ExplainVerdict::unexplained || result.verdict == ExplainVerdict::undecided));
}

TEST_CASE("blocks of K end where OpenBLAS ends them", "[verify]") {
  using Ends = std::vector<std::size_t>;  // by driver/level3/level3.c and level3_thread.c
  CHECK(verify::block_ends({.length = 320, .halved_to = 8}, 300) == Ends{300});
  CHECK(verify::block_ends({.length = 320, .halved_to = 8}, 320) == Ends{320});
  CHECK(verify::block_ends({.length = 320, .halved_to = 8}, 512) == Ends{256, 512});
  CHECK(verify::block_ends({.length = 320, .halved_to = 8}, 640) == Ends{320, 640});
  CHECK(verify::block_ends({.length = 448, .halved_to = 16}, 1003) == Ends{448, 736, 1003});
  CHECK(verify::block_ends({.length = 448, .halved_to = 1}, 1003) == Ends{448, 726, 1003});
  CHECK(verify::block_ends({.length = 192, .halved_to = 0}, 400) == Ends{192, 384, 400});
}

TEST_CASE("planted causes are named, unknown ones are not", "[verify]") { check_plants(100, 1); }

TEST_CASE("of a thousand planted causes 95 of 100 are named, and no unknown one", "[verify][exhaustive]") {
  check_plants(1000, 2);
}
