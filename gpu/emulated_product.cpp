// SPDX-License-Identifier: Apache-2.0
// Checks shapes, and finds the ends of parts.
#include "gpu/emulated_product.hpp"

#include <algorithm>
#include <string>

#include "emu/error.hpp"

namespace ulpscope::gpu {

ProductParts parts_of(const EmulatedProduct& product) {
  ProductParts parts;
  const std::size_t depth = product.product.k();
  parts.step = product.engine.products == emu::Stage::all ? std::max<std::size_t>(depth, 1)
                                                          : static_cast<std::size_t>(std::max(product.engine.products, 1));
  if (product.promote % parts.step != 0)
    throw Error("promote " + std::to_string(product.promote) + ": the engine takes " + std::to_string(parts.step) +
                " products in a step; give a multiple of that");
  if (product.split_k == 0) throw Error("split_k 0: give 1 or more");
  const auto extent = [](std::size_t size, std::size_t count) { return (size + count - 1) / count; };
  parts.steps = extent(depth, parts.step);
  parts.chain = std::max<std::size_t>(extent(extent(depth, product.split_k), parts.step), 1);
  parts.promote = product.promote / parts.step;
  return parts;
}

emu::Format result_format(const EmulatedProduct& product) {
  const emu::Format accumulator = product.engine.accumulator;
  if (!parts_of(product).added()) return accumulator;
  return accumulator == emu::float64 ? emu::float64 : emu::float32;
}

void check_shapes(const EmulatedProduct& product, std::size_t result_bytes) {
  const auto& [a, b, c] = product.product;
  if (product.engine.product_exponent != 0)
    throw Error("an engine that scales products is emulated on the processor alone: nothing multiplies its sums back here");
  if (a.columns != b.rows)
    throw Error("A has " + std::to_string(a.columns) + " columns and B " + std::to_string(b.rows) + " rows");
  const auto check = [](const char* name, std::size_t codes, std::size_t bytes, std::size_t have) {
    if (have != codes * bytes)
      throw Error(std::string(name) + " has " + std::to_string(have) + " bytes, its " + std::to_string(codes) + " codes take " +
                  std::to_string(codes * bytes));
  };
  check("A", a.rows * a.columns, bytes_per_code(a.format), a.codes.size());
  check("B", b.rows * b.columns, bytes_per_code(b.format), b.codes.size());
  if (!c.codes.empty()) {
    if (c.format != product.engine.accumulator) throw Error("C is not in the format of the engine's accumulator");
    check("C", a.rows * b.columns, bytes_per_code(c.format), c.codes.size());
  }
  check("D", a.rows * b.columns, bytes_per_code(result_format(product)), result_bytes);
}

}  // namespace ulpscope::gpu
