// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that requests find by a word.
#include "tensors/held.hpp"

#include <catch2/catch_test_macros.hpp>

#include "emu/error.hpp"

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
    CHECK(tensor.shape == std::vector<std::uint64_t>{2, 3});
    std::vector<float> values(6);
    tensor.source->read(0, std::span(values));
    CHECK(values[5] == 6);
  }
  CHECK_THROWS_AS(tensors::open(word), Error);
  CHECK_FALSE(tensors::held("x.npy").has_value());
}

}  // namespace
