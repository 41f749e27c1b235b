// SPDX-License-Identifier: Apache-2.0
// Runs tests and products on the device in portions, and joins their counts.
#include "gpu/cuda/emulator.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "emu/names.hpp"
#include "gpu/cuda/aligned_product.hpp"
#include "gpu/cuda/chain_product.hpp"
#include "gpu/cuda/events.hpp"
#include "gpu/cuda/instruction.hpp"
#include "gpu/cuda/interpreter.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/test_kernels.hpp"
#include "gpu/emulated_product.hpp"

namespace ulpscope::gpu::cuda {
namespace {

using emu::Code;

constexpr std::size_t portion_bytes = std::size_t{1} << 28;  ///< of device memory that a portion of tests may take

/// What became of the tests of a portion, on the device.
class Verdicts {
 public:
  explicit Verdicts(std::size_t most) : mismatches_(1), wrong_(most) {}

  void clear() { mismatches_.clear(); }
  unsigned long long* mismatches() noexcept { return mismatches_.data(); }
  std::uint8_t* wrong() noexcept { return wrong_.data(); }

  /// Waits for the device; adds a portion of `count` tests from number `begin` on.
  void add_to(Tally& tally, std::uint64_t begin, std::size_t count) const {
    unsigned long long mismatches = 0;
    mismatches_.copy_to({&mismatches, 1});
    tally.tests += count;
    tally.mismatches += mismatches;
    if (mismatches == 0 || tally.first.size() == Tally::most_kept) return;
    std::vector<std::uint8_t> wrong(wrong_.size());
    wrong_.copy_to(wrong);
    for (std::size_t i = 0; i < count && tally.first.size() < Tally::most_kept; ++i)
      if (wrong[i] != 0) tally.first.push_back(begin + i);
  }

 private:
  Buffer<unsigned long long> mismatches_;
  Buffer<std::uint8_t> wrong_;
};

/// Calls run(begin, count) for portions of at most `most` tests.
template <class Run>
void in_portions(const TestRange& tests, std::size_t most, Run run) {
  for (std::uint64_t done = 0; done < tests.count; done += most)
    run(tests.begin + done, static_cast<std::size_t>(std::min<std::uint64_t>(most, tests.count - done)));
}
std::size_t portion(const TestRange& tests, std::size_t bytes_each) {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(tests.count, 1, portion_bytes / bytes_each));
}

Instruction find_instruction(int capability, const Operation& operation) {
  for (const Instruction& each : instructions(capability)) {
    const Operation& o = each.operation;
    if (o.instruction == operation.instruction && o.a == operation.a && o.b == operation.b &&
        o.accumulator == operation.accumulator && each.inner_products != nullptr)
      return each;
  }
  throw NoDevice("compute capability " + std::to_string(capability) + " has no instruction " + operation.instruction + " of " +
                 emu::format_name(operation.a) + " by " + emu::format_name(operation.b));
}

ElementInstruction find_element_instruction(int capability, const ElementOperation& operation) {
  for (const ElementInstruction& each : element_instructions(capability))
    if (each.operation.instruction == operation.instruction && each.operation.model.from == operation.model.from &&
        each.operation.model.to == operation.model.to)
      return each;
  throw NoDevice("compute capability " + std::to_string(capability) + " has no instruction " + operation.instruction);
}

/// By the fast kernel, and what it could not do again by the interpreter. @returns seconds.
double multiply_aligned(const AlignedPlan& plan, InterpretedMatrices product) {
  const DeviceMatrices& x = product.matrices;
  const std::size_t blocks = blocks_of(plan, product.parts);
  AlignedOperands rows(plan, Side::rows, {product.a_format, x.a, x.m, x.k, x.k, 1}, blocks);
  AlignedOperands columns(plan, Side::columns, {product.b_format, x.b, x.n, x.k, 1, x.n}, blocks);
  Buffer<std::uint8_t> redo(x.m * x.n);
  const Stopwatch watch;
  rows.prepare();
  columns.prepare();
  start(AlignedProduct{plan, product.parts, rows.view(), columns.view(), x.c, x.d, redo.data()});
  product.only = redo.data();
  start(product);
  return watch.seconds();
}

/// A thread for each output. @returns seconds.
double multiply_by_threads(const InterpretedMatrices& product) {
  const Stopwatch watch;
  is_plain_chain(product.engine, product.a_format, product.b_format) ? start_chains(product) : start(product);
  return watch.seconds();
}

class CudaEmulator final : public DeviceEmulator {
 public:
  CudaEmulator(int ordinal, int capability) : ordinal_(ordinal), capability_(capability) {}

  Tally check(const Operation& operation, const emu::Engine& engine, const TestRange& tests) const override;
  Tally sweep(const ElementOperation& operation, const TestRange& tests) const override;
  void inner_products(const emu::Engine& engine, const Operation& operation, const InnerProducts& problem,
                      std::span<Code> d) const override;
  void multiply(const EmulatedProduct& product, std::span<std::byte> d) const override;
  double last_seconds() const override { return last_seconds_; }

 private:
  int ordinal_, capability_;
  mutable std::atomic<double> last_seconds_ = 0;
};

Tally CudaEmulator::check(const Operation& operation, const emu::Engine& engine, const TestRange& tests) const {
  const Instruction instruction = find_instruction(capability_, operation);
  const OnDevice current(ordinal_);
  const TestShape shape(operation);
  const std::size_t k = shape.products, scales = shape.blocks();
  const std::size_t most = portion(tests, (2 * k + 2 * scales + 2) * sizeof(Code) + 1);
  Buffer<Code> a(most * k), b(most * k), c(most), d(most), a_scales(most * scales), b_scales(most * scales);
  Verdicts verdicts(most);
  Tally tally;
  in_portions(tests, most, [&](std::uint64_t begin, std::size_t count) {
    const DeviceInnerProducts problem{.products = k,
                                      .count = count,
                                      .a = a.data(),
                                      .b = b.data(),
                                      .c = c.data(),
                                      .d = d.data(),
                                      .a_scales = a_scales.data(),
                                      .b_scales = b_scales.data(),
                                      .scales_each = scales};
    verdicts.clear();
    make_products(shape, tests.seed, begin, count, {a.data(), b.data(), c.data(), a_scales.data(), b_scales.data()});
    instruction.inner_products(problem);
    start_comparison({engine, operation.a, operation.b, problem, operation.scale_format}, verdicts.mismatches(),
                     verdicts.wrong());
    finish(operation.instruction + " beside its engine");
    verdicts.add_to(tally, begin, count);
  });
  return tally;
}

Tally CudaEmulator::sweep(const ElementOperation& operation, const TestRange& tests) const {
  const ElementInstruction instruction = find_element_instruction(capability_, operation);
  const OnDevice current(ordinal_);
  const auto operands = static_cast<std::size_t>(operands_of(operation.model.kind));
  const std::size_t most = portion(tests, (operands + 1) * sizeof(Code) + 1);
  Buffer<Code> a(most), b(operands > 1 ? most : 0), c(operands > 2 ? most : 0), d(most);
  Verdicts verdicts(most);
  Tally tally;
  in_portions(tests, most, [&](std::uint64_t begin, std::size_t count) {
    const DeviceElements elements{count, a.data(), b.data(), c.data(), d.data()};
    verdicts.clear();
    make_operands(operation.model, tests.seed, begin, count, a.data(), b.data(), c.data());
    instruction.run(elements);
    compare_elements(operation.model, elements, verdicts.mismatches(), verdicts.wrong());
    finish(operation.instruction + " beside its model");
    verdicts.add_to(tally, begin, count);
  });
  return tally;
}

void CudaEmulator::inner_products(const emu::Engine& engine, const Operation& operation, const InnerProducts& problem,
                                  std::span<Code> d) const {
  const OnDevice current(ordinal_);
  const Buffer<Code> a(problem.a), b(problem.b), c(problem.c), a_scales(problem.a_scales), b_scales(problem.b_scales);
  Buffer<Code> results(d.size());
  start(InterpretedProducts{engine,
                            operation.a,
                            operation.b,
                            {.products = problem.products,
                             .count = d.size(),
                             .a = a.data(),
                             .b = b.data(),
                             .c = c.data(),
                             .d = results.data(),
                             .a_scales = a_scales.data(),
                             .b_scales = b_scales.data(),
                             .scales_each = TestShape(operation, problem.products).blocks()},
                            operation.scale_format});
  finish("the interpreter");
  results.copy_to(d);
}

void CudaEmulator::multiply(const EmulatedProduct& product, std::span<std::byte> d) const {
  check_shapes(product, d.size());
  const auto& [a, b, c] = product.product;
  const std::size_t m = a.rows, n = b.columns, k = a.columns;
  last_seconds_ = 0;
  if (m == 0 || n == 0) return;
  const OnDevice current(ordinal_);
  const Buffer<std::byte> left(a.codes), right(b.codes), addend(c.codes);
  Buffer<std::byte> results(d.size());
  const InterpretedMatrices all{
      product.engine, parts_of(product),      a.format,
      b.format,       result_format(product), {m, n, k, left.data(), right.data(), addend.data(), results.data()}};

  const auto plan = aligned_plan(product.engine, a.format, b.format, capability_);
  last_seconds_ = plan ? multiply_aligned(*plan, all) : multiply_by_threads(all);
  results.copy_to(d);
}

}  // namespace

std::shared_ptr<const DeviceEmulator> make_device_emulator(int ordinal, int capability) {
  return std::make_shared<CudaEmulator>(ordinal, capability);
}

}  // namespace ulpscope::gpu::cuda
