// SPDX-License-Identifier: Apache-2.0
// Split products of tensors: words, formats, batches, and what is refused.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "emu/split_matmul.hpp"
#include "products/product.hpp"
#include "tensors/tensor.hpp"

namespace {
using namespace ulpscope;

std::vector<double> numbers(std::size_t count, double first) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(std::sin(first + static_cast<double>(i)));
  return values;
}

products::MatmulOperand operand(std::vector<std::uint64_t> shape, double first, emu::Format format) {
  std::size_t count = 1;
  for (const std::uint64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return {{tensors::from_values("t", shape, numbers(count, first))}, {format}, {}};
}

products::Product product_of(const std::string& engine, emu::Format format, emu::Format acc) {
  return {
      .engine = engine, .a = operand({2, 3, 40}, 1, format), .b = operand({40, 5}, 2, format), .c = {}, .acc = acc, .out = acc};
}

template <class Float>
std::vector<double> by_hand(const std::string& words, emu::Format format, emu::Format out) {
  std::vector<Float> a, b;
  for (const double x : numbers(240, 1)) a.push_back(static_cast<Float>(emu::round_to(format, x).value));
  for (const double x : numbers(200, 2)) b.push_back(static_cast<Float>(emu::round_to(format, x).value));
  emu::EngineMatmul<Float> problem{.engine = {}, .a = {format, a, {6, 40}}, .b = {format, b, {40, 5}}, .out = out};
  std::vector<Float> d(30);
  emu::split_matmul(emu::parse_split(words), problem, std::span(d));
  return {d.begin(), d.end()};
}

std::vector<double> values(const tensors::Tensor& tensor) {
  std::vector<double> out(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(out));
  return out;
}

std::string answer(const products::Product& product) {
  try {
    products::multiply(product);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("split products of tensors are those of their matrices", "[products]") {
  for (const char* const words :
       {"3xtf32", "bf16x3", "bf16x9:k=16", "tf32x3:k=12", "f32x1:k=5,join=2.0.1", "ozaki1:slices=5", "ozaki2:moduli=9"}) {
    CAPTURE(words);
    CHECK(values(products::multiply(product_of(words, emu::float32, emu::float32))) ==
          by_hand<float>(words, emu::float32, emu::float32));
  }
  for (const char* const words : {"ozaki1:slices=8", "ozaki2:moduli=15"}) {
    CAPTURE(words);
    CHECK(values(products::multiply(product_of(words, emu::float64, emu::float64))) ==
          by_hand<double>(words, emu::float64, emu::float64));
  }
}

TEST_CASE("a split product says what it is, from where, and on what evidence", "[products]") {
  const products::ChosenEngine chosen = products::engine_of(product_of("bf16x9:k=32", emu::float32, emu::float32));
  CHECK(chosen.word == "bf16x9:k=32");
  CHECK(chosen.split == emu::parse_split("bf16x9:k=32"));
  CHECK(chosen.evidence_word() == "published");
  CHECK(chosen.source == "XLA ALG_DOT_BF16_BF16_F32_X9; arXiv 1904.06376");
}

TEST_CASE("operands, accumulators, scales and cuts of K that a split product does not take are refused", "[products]") {
  CHECK(answer(product_of("bf16x9", emu::float64, emu::float64)) ==
        "bf16x9: multiplies operands that float32 holds, and sums in float32; ozaki1 and ozaki2 take float64");
  CHECK(answer(product_of("bf16x9", emu::float32, emu::float16)).starts_with("bf16x9: multiplies operands that float32 holds"));
  CHECK(answer(product_of("ozaki1:slices=8", emu::float32, emu::float16)) ==
        "ozaki1:slices=8: sums in float64; --acc says whether C is float32 or float64");
  products::Product cut = product_of("bf16x9", emu::float32, emu::float32);
  cut.promote = 16;
  CHECK(answer(cut).starts_with("bf16x9: takes no scales, --promote or --split-k"));
  cut.promote = 0;
  cut.split_k = 2;
  CHECK(answer(cut).starts_with("bf16x9: takes no scales, --promote or --split-k"));
  CHECK(answer(product_of("bf16x3:k=8,join=1.0", emu::float32, emu::float32)) ==
        "bf16x3: K is 40, which makes more than the 4 blocks of k=8 that join says");
  CHECK_THROWS_AS(products::choose_engine("bf16x9", {emu::float32, emu::float32}, 4, {}, {}), Error);
}
