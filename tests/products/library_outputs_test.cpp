// SPDX-License-Identifier: Apache-2.0
// What XLA and Triton returned on an NVIDIA H200 (tests/outputs/README.md), bit for bit.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "products/product.hpp"
#include "tensors/tensor.hpp"

namespace {
using namespace ulpscope;

/// An output, and how it came about.
struct LibraryOutput {
  std::string name;                             ///< in the file, after that of its library
  std::string engine;                           ///< or split product
  products::InputRounding in = {emu::float32};  ///< of both operands
  std::size_t promote = 0;                      ///< products
  std::string another = {};                     ///< an engine that does not give these bits; empty: not tried
};

tensors::Tensor stored(const std::string& name) {
  return tensors::open_one(std::string(ULPSCOPE_TEST_OUTPUTS) + "/h200.safetensors:" + name, {});
}

std::vector<float> values_of(const tensors::Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

/// The place of the k-th product where of 32 products those with k mod 4 < 2 come first, then the others.
std::size_t place_of_pair(std::size_t k) { return k / 32 * 32 + k % 4 / 2 * 16 + k % 32 / 4 * 2 + k % 2; }

tensors::Tensor in_pairs(const tensors::Tensor& tensor, bool is_a) {
  const std::size_t rows = tensor.shape[0], columns = tensor.shape[1];
  const std::vector<float> values = values_of(tensor);
  std::vector<float> moved(values.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      moved[(is_a ? i : place_of_pair(i)) * columns + (is_a ? place_of_pair(j) : j)] = values[i * columns + j];
  return tensors::from_values("moved", tensor.shape, moved);
}

std::vector<std::uint32_t> codes_of_values(const tensors::Tensor& tensor) {
  std::vector<std::uint32_t> codes;
  for (const float x : values_of(tensor)) codes.push_back(std::bit_cast<std::uint32_t>(x));
  return codes;
}

std::vector<std::uint32_t> product_of_operands(const std::string& operands, const LibraryOutput& x, const std::string& engine) {
  const tensors::Tensor a = stored(operands + ".a"), b = stored(operands + ".b");
  return codes_of_values(products::multiply({.engine = engine,
                                             .a = {{a}, x.in, {}},
                                             .b = {{b}, x.in, {}},
                                             .c = {},
                                             .acc = emu::float32,
                                             .out = emu::float32,
                                             .beta = {},
                                             .promote = x.promote}));
}

void check_output(const std::string& operands, const std::string& library, const LibraryOutput& x) {
  CAPTURE(x.name, x.engine);
  const std::vector<std::uint32_t> recorded = codes_of_values(stored(library + "_" + x.name));
  CHECK(product_of_operands(operands, x, x.engine) == recorded);
  if (!x.another.empty()) CHECK(product_of_operands(operands, x, x.another) != recorded);
}

}  // namespace

TEST_CASE("XLA's products of float32 on an H200 are split products in every bit", "[products]") {
  for (const LibraryOutput& x : {
           LibraryOutput{.name = "F32_F32_F32_256", .engine = "f32x1:k=32,join=2.0.1", .another = "f32x1:k=32"},
           LibraryOutput{.name = "BF16_BF16_F32_256", .engine = "bf16x1:k=32,join=2.0.1", .another = "bf16x1:k=32"},
           LibraryOutput{.name = "BF16_BF16_F32_X3_256", .engine = "bf16x3:k=16", .another = "bf16x3:k=16,join=0.1.2.3"},
           LibraryOutput{
               .name = "BF16_BF16_F32_X6_256", .engine = "bf16x6:k=8,join=3.4.0.2.1", .another = "bf16x6:k=8,join=0.1.2.3.4"},
           // Not nine products.
           LibraryOutput{
               .name = "BF16_BF16_F32_X9_256", .engine = "tf32x1:k=8,join=3.4.0.2.1", .another = "bf16x9:k=8,join=3.4.0.2.1"},
           LibraryOutput{.name = "TF32_TF32_F32_256", .engine = "tf32x1:k=32,join=2.0.1", .another = "tf32x1:k=32"},
           LibraryOutput{.name = "TF32_TF32_F32_X3_256", .engine = "tf32x3:k=16", .another = "3xtf32:k=16"},
       })
    check_output("jax_256", "jax", x);
  for (const LibraryOutput& x : {
           LibraryOutput{.name = "F32_F32_F32_1024", .engine = "f32x1:k=64", .another = "f32x1"},
           LibraryOutput{.name = "BF16_BF16_F32_1024", .engine = "bf16x1:k=64", .another = "bf16x1:k=64,join=0.1.2.3"},
           LibraryOutput{.name = "BF16_BF16_F32_X3_1024",
           .engine = "bf16x3:k=32,join=3.4.0.2.1",
           .another = "bf16x3:k=32,join=3.4.2.1.0"},
           LibraryOutput{.name = "BF16_BF16_F32_X6_1024",
           .engine = "bf16x6:k=16,join=4.5.1.0.3.2",
           .another = "bf16x6:k=16,join=0.1.2.3.4.5"},
           LibraryOutput{.name = "BF16_BF16_F32_X9_1024",
           .engine = "tf32x1:k=16,join=4.5.1.0.3.2",
           .another = "bf16x9:k=16,join=4.5.1.0.3.2"},
           LibraryOutput{.name = "TF32_TF32_F32_1024", .engine = "tf32x1:k=64", .another = "tf32x1:k=32"},
           LibraryOutput{.name = "TF32_TF32_F32_X3_1024", .engine = "tf32x3:k=32,join=3.4.0.2.1", .another = "tf32x3:k=32"},
       })
    check_output("jax_1024", "jax", x);
}

TEST_CASE("numbers of XLA's tf32 products are rounded with ties away from zero", "[products]") {
  const products::InputRounding away{emu::tf32, {.rounding = emu::Rounding::nearest_away}};
  products::Product product{.engine = "sm_90",
                            .a = {{stored("jax_1024.a")}, away, {}},
                            .b = {{stored("jax_1024.b")}, away, {}},
                            .c = {},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {},
                            .split_k = 16};
  const std::vector<std::uint32_t> recorded = codes_of_values(stored("jax_TF32_TF32_F32_1024"));
  CHECK(codes_of_values(products::multiply(product)) == recorded);
  product.a.rounding.options.rounding = product.b.rounding.options.rounding = emu::Rounding::nearest_even;
  CHECK(codes_of_values(products::multiply(product)) != recorded);  // every row and column has a tie
}

TEST_CASE("Triton's products on an H200 are those of engines and split products in every bit", "[products]") {
  for (const std::string bk : {"32", "64"}) {
    const products::InputRounding cut{emu::tf32, {.rounding = emu::Rounding::toward_zero}, {}, true};
    for (const LibraryOutput& x : {
             LibraryOutput{.name = "ieee", .engine = "fma"},
             LibraryOutput{.name = "tf32", .engine = "sm_90", .in = cut, .another = "sm_80"},
             LibraryOutput{.name = "tf32x3", .engine = "tf32x3:k=" + bk, .another = "tf32x3"},
             LibraryOutput{.name = "bf16x3", .engine = "bf16x3:k=" + bk, .another = "bf16x3"},
             LibraryOutput{.name = "bf16x6", .engine = "bf16x6:k=" + bk, .another = "bf16x6"},
             LibraryOutput{.name = "bfloat16", .engine = "sm_90", .in = {emu::bfloat16}, .another = "sm_80"},
             LibraryOutput{.name = "float16", .engine = "sm_90", .in = {emu::float16}, .another = "sm_80"},
         }) {
      LibraryOutput of_block = x;
      of_block.name += "_bk" + bk;
      check_output("triton", "triton", of_block);
    }
  }
}

TEST_CASE("Triton's products of fp8 on an H200 are promoted as max_num_imprecise_acc says", "[products]") {
  for (const emu::Format format : {emu::float8_e4m3fn, emu::float8_e5m2})
    for (const std::string bk : {"64", "128"})
      for (const std::size_t every : std::initializer_list<std::size_t>{0, 32, 64, 128}) {
        if (every == 128 && bk == "64") continue;  // Triton refuses it
        const std::string limit = every == 0 ? "-1" : std::to_string(every);
        check_output(
            "triton", "triton",
            {.name = std::string(format == emu::float8_e5m2 ? "float8_e5m2" : "float8_e4m3fn") + "_bk" + bk + "_imp" + limit,
             .engine = "sm_90",
             .in = {format},
             .promote = every});
      }
}

TEST_CASE("Triton's products of fp8 that may not be imprecise are of float16, pairs of products in turn", "[products]") {
  for (const emu::Format format : {emu::float8_e4m3fn, emu::float8_e5m2})
    for (const std::string bk : {"64", "128"}) {
      const std::string name = std::string(format == emu::float8_e5m2 ? "float8_e5m2" : "float8_e4m3fn") + "_bk" + bk + "_imp0";
      const auto fp8 = [&](const std::string& operand, bool moved) {
        std::vector<float> values = values_of(stored("triton." + operand));
        for (float& value : values) value = static_cast<float>(emu::round_to(format, static_cast<double>(value)).value);
        const tensors::Tensor rounded = tensors::from_values(operand, stored("triton." + operand).shape, values);
        return moved ? in_pairs(rounded, operand == "a") : rounded;
      };
      const auto product = [&](bool moved) {
        return codes_of_values(products::multiply({.engine = "sm_90",
                                                   .a = {{fp8("a", moved)}, {emu::float16}, {}},
                                                   .b = {{fp8("b", moved)}, {emu::float16}, {}},
                                                   .c = {},
                                                   .acc = emu::float32,
                                                   .out = emu::float32,
                                                   .beta = {}}));
      };
      CAPTURE(name);
      CHECK(product(true) == codes_of_values(stored("triton_" + name)));
      if (format == emu::float8_e5m2) CHECK(product(false) != codes_of_values(stored("triton_" + name)));
    }
}
