// SPDX-License-Identifier: Apache-2.0
// Lays operands out for an instruction and runs inner products and panels of products.
#include "gpu/cuda/unit.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gpu/cuda/runtime.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Code;

/// How many scales a row of a, and one of b, has.
std::size_t scales_each(const Operation& operation, std::size_t products) {
  return operation.scale_products == 0 ? 0 : products / operation.scale_products;
}

void check_inner_products(const Operation& operation, const InnerProducts& problem, std::span<const Code> d) {
  const std::size_t codes = problem.c.size() * problem.products;
  if (problem.products % operation.products != 0)
    throw Error(operation.instruction + ": " + std::to_string(problem.products) + " products are no multiple of " +
                std::to_string(operation.products));
  if (problem.a.size() != codes || problem.b.size() != codes || d.size() != problem.c.size())
    throw Error(operation.instruction + ": operands of inner products do not fit each other");
  const std::size_t scales = problem.c.size() * scales_each(operation, problem.products);
  if (problem.a_scales.size() != scales || problem.b_scales.size() != scales)
    throw Error(operation.instruction + ": takes " + std::to_string(scales) + " scales of a and of b here, not " +
                std::to_string(problem.a_scales.size()) + " and " + std::to_string(problem.b_scales.size()));
}

/// Columns [first, first + count) of a matrix, or all of it as it is.
std::vector<std::byte> columns_of(const ConstMatrix& matrix, std::size_t first, std::size_t count) {
  const std::size_t bytes = bytes_per_code(matrix.format);
  std::vector<std::byte> columns(matrix.rows * count * bytes);
  for (std::size_t i = 0; i < matrix.rows; ++i)
    std::copy_n(matrix.codes.data() + (i * matrix.columns + first) * bytes, count * bytes, columns.data() + i * count * bytes);
  return columns;
}

/// Rows [first, first + count).
ConstMatrix rows_of(const ConstMatrix& matrix, std::size_t first, std::size_t count) {
  const std::size_t row_bytes = matrix.columns * bytes_per_code(matrix.format);
  return {matrix.format, count, matrix.columns, matrix.codes.subspan(first * row_bytes, count * row_bytes)};
}

/// Some rows and columns of D, with what they are made of; b has those columns already.
struct Panel {
  std::size_t first_row, rows, first_column, columns;
};

std::vector<std::byte> multiply_panel(const Instruction& instruction, const MatrixProduct& product, const Panel& panel,
                                      const Buffer<std::byte>& b) {
  const std::size_t bytes = bytes_per_code(instruction.operation.accumulator);
  const Buffer<std::byte> a(rows_of(product.a, panel.first_row, panel.rows).codes);
  std::optional<Buffer<std::byte>> c;
  if (!product.c.codes.empty()) {
    const auto codes = columns_of(rows_of(product.c, panel.first_row, panel.rows), panel.first_column, panel.columns);
    c.emplace(std::span<const std::byte>(codes));
  }
  Buffer<std::byte> d(panel.rows * panel.columns * bytes);
  instruction.matrices({.m = panel.rows,
                        .n = panel.columns,
                        .k = product.k(),
                        .a = a.data(),
                        .b = b.data(),
                        .c = c ? c->data() : nullptr,
                        .d = d.data()});
  std::vector<std::byte> result(d.size());
  finish(instruction.operation.instruction);
  d.copy_to(result);
  return result;
}

}  // namespace

CudaUnit::CudaUnit(std::string name, int ordinal, std::vector<Instruction> instructions, std::size_t portion_bytes)
    : name_(std::move(name)), ordinal_(ordinal), instructions_(std::move(instructions)), portion_bytes_(portion_bytes) {}

std::vector<Operation> CudaUnit::operations() const {
  std::vector<Operation> operations;
  for (const Instruction& instruction : instructions_) operations.push_back(instruction.operation);
  return operations;
}

const Instruction& CudaUnit::find(const Operation& operation) const {
  const auto found = std::find_if(instructions_.begin(), instructions_.end(),
                                  [&](const Instruction& i) { return i.operation.instruction == operation.instruction; });
  if (found == instructions_.end()) throw NoDevice(name_ + " has no instruction " + operation.instruction);
  return *found;
}

void CudaUnit::multiply(const Operation& operation, const InnerProducts& problem, std::span<Code> d) const {
  const Instruction& instruction = find(operation);
  check_inner_products(instruction.operation, problem, d);
  const OnDevice device(ordinal_);
  const std::size_t k = problem.products, scales = scales_each(instruction.operation, k);
  std::vector<Code> results(d.size());
  in_portions(d.size(), (2 * k + 2 * scales + 2) * sizeof(Code), portion_bytes_, [&](std::size_t first, std::size_t count) {
    const auto part = [&](std::span<const Code> codes, std::size_t each) { return codes.subspan(first * each, count * each); };
    const std::array operands{part(problem.a, k), part(problem.b, k), part(problem.c, 1), part(problem.a_scales, scales),
                              part(problem.b_scales, scales)};
    workspace_.run(instruction.operation.instruction, operands, std::span(results).subspan(first, count),
                   [&](const auto& on_device, Code* sums) {
                     const auto [a, b, c, a_scales, b_scales] = on_device;
                     instruction.inner_products({.products = k,
                                                 .count = count,
                                                 .a = a,
                                                 .b = b,
                                                 .c = c,
                                                 .d = sums,
                                                 .a_scales = a_scales,
                                                 .b_scales = b_scales,
                                                 .scales_each = scales});
                   });
  });
  std::copy(results.begin(), results.end(), d.begin());
}

void CudaUnit::multiply_matrices(const Operation& operation, const MatrixProduct& product, std::span<std::byte> d) const {
  const Instruction& instruction = find(operation);
  check_shapes(instruction.operation, product, d);
  if (instruction.matrices == nullptr)
    throw Error(instruction.operation.instruction + ": whole matrices are not multiplied by it on the device");
  const OnDevice device(ordinal_);
  const std::size_t bytes = bytes_per_code(instruction.operation.accumulator), n = product.n();
  std::vector<std::byte> results(d.size());
  // Half of the memory for columns of B, half for rows of A, C and D beside them.
  in_portions(
      n, product.k() * bytes_per_code(product.b.format), portion_bytes_ / 2,
      [&](std::size_t first_column, std::size_t columns) {
        const std::vector<std::byte> b_columns = columns_of(product.b, first_column, columns);
        const Buffer<std::byte> b{std::span<const std::byte>(b_columns)};
        const std::size_t row_bytes = product.k() * bytes_per_code(product.a.format) + 2 * columns * bytes;
        in_portions(product.m(), row_bytes, portion_bytes_ / 2, [&](std::size_t first_row, std::size_t rows) {
          const std::vector<std::byte> part = multiply_panel(instruction, product, {first_row, rows, first_column, columns}, b);
          for (std::size_t i = 0; i < rows; ++i)
            std::copy_n(part.data() + i * columns * bytes, columns * bytes,
                        results.data() + ((first_row + i) * n + first_column) * bytes);
        });
      });
  std::copy(results.begin(), results.end(), d.begin());
}

}  // namespace ulpscope::gpu::cuda
