// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that requests find by a word.
#include "tensors/held.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "tensors/elements.hpp"

namespace {

using namespace ulpscope;

TEST_CASE("a held tensor is opened by its word, as long as it is held") {
  std::string word;
  {
    const tensors::Held held(tensors::from_values("x", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
    const tensors::Held other(tensors::from_values("y", {1}, std::vector<float>{7}));
    word = held.word();
    CHECK(word != other.word());
    const tensors::Tensor tensor = tensors::open_one(word);
    CHECK(tensor.label == "x");
    CHECK(tensors::written_name(tensor) == "x");
    CHECK(tensor.shape == std::vector<std::uint64_t>{2, 3});
    std::vector<float> values(6);
    tensor.source->read(0, std::span(values));
    CHECK(values[5] == 6);
  }
  CHECK_THROWS_AS(tensors::open(word), Error);
  CHECK_FALSE(tensors::held("x.npy").has_value());
}

TEST_CASE("unsigned integers in memory are codes where that is said") {
  const std::vector<std::uint8_t> codes{0x38, 0x40, 0xb8};
  const auto bytes = tensors::bytes_in_memory(std::as_bytes(std::span(codes)), nullptr);
  const auto held_as = [&](tensors::Layout::Kind kind, const std::string& dtype) {
    return tensors::Tensor{"x", {}, {dtype, {}}, {3}, tensors::make_source({bytes, 0, 3, {dtype, {}}, {kind, 8, false}})};
  };
  const tensors::Held words(held_as(tensors::Layout::Kind::unsigned_integer, "uint8"));
  const tensors::Held integers(held_as(tensors::Layout::Kind::signed_integer, "int8"));

  const tensors::Tensor tensor = tensors::open_one(words.word(), {.dtype = emu::e4m3});
  std::vector<float> values(3);
  tensor.source->read(0, std::span(values));

  CHECK(tensor.dtype.format == emu::e4m3);
  CHECK(values == std::vector<float>{1, 2, -1});
  CHECK_THROWS_AS(tensors::open(words.word(), {.dtype = emu::bf16}), Error);
  CHECK_THROWS_AS(tensors::open(integers.word(), {.dtype = emu::e4m3}), Error);
  CHECK(tensors::open_one(words.word()).is_integer());
}

}  // namespace
