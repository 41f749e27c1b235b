// SPDX-License-Identifier: Apache-2.0
// Fills the arrays of many tests, one number after another.
#include "gpu/adversarial.hpp"

namespace ulpscope::gpu {

TestProblems test_problems(const TestShape& shape, std::uint64_t seed, std::uint64_t begin, std::size_t count) {
  TestProblems all;
  all.products = shape.products;
  all.a.resize(count * shape.products);
  all.b.resize(count * shape.products);
  all.c.resize(count);
  all.a_scales.resize(count * shape.blocks());
  all.b_scales.resize(count * shape.blocks());
  for (std::size_t i = 0; i < count; ++i)
    Adversary(shape, seed, begin + i)
        .make({all.a.data() + i * shape.products, all.b.data() + i * shape.products, all.c.data() + i,
               all.a_scales.data() + i * shape.blocks(), all.b_scales.data() + i * shape.blocks()});
  return all;
}

}  // namespace ulpscope::gpu
