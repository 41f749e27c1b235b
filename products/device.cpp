// SPDX-License-Identifier: Apache-2.0
// Stores operands as codes, runs chains on the unit and lets the epilogue follow.
#include "products/device.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "emu/bulk.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/matmul_epilogue.hpp"
#include "emu/names.hpp"
#include "products/scales.hpp"

namespace ulpscope::products {
namespace {

/// How far a chain is filled up: with products of zeros as far as the engine's steps go, which its model has too, and to the
/// end of the instruction with products that are -0, since those leave a sum of -0 alone (IEEE 754-2019, 6.3).
struct Filled {
  std::size_t positive, all;  ///< products with those added

  Filled(std::size_t products, std::size_t step, std::size_t instruction)
      : positive(up_to_multiple(products, step)), all(up_to_multiple(positive, instruction)) {}

 private:
  static std::size_t up_to_multiple(std::size_t n, std::size_t of) { return of == 0 ? n : (n + of - 1) / of * of; }
};

/// The columns [begin, end) of A or the rows of B as stored codes, row-major, filled up along K.
template <class Float>
std::vector<std::byte> stored_codes(const emu::EngineOperand<Float>& operand, std::size_t begin, std::size_t end,
                                    const Filled& filled, MatmulSide side) {
  const bool is_a = side == MatmulSide::a;
  const std::size_t lines = is_a ? operand.rows() : operand.columns();
  std::vector<std::byte> codes(lines * filled.all * gpu::bytes_per_code(operand.format));
  const emu::Code fill = is_a ? emu::encode(operand.format, -0.0) : 0;
  for (std::size_t line = 0; line < lines; ++line)
    for (std::size_t k = 0; k < filled.all; ++k) {
      const std::size_t at = is_a ? line * filled.all + k : k * lines + line;
      const auto value = [&] { return is_a ? operand.at(line, begin + k) : operand.at(begin + k, line); };
      const emu::Code code = k < end - begin ? emu::encode(operand.format, value()) : k < filled.positive ? 0 : fill;
      gpu::store_code(operand.format, codes.data(), at, code);
    }
  return codes;
}

/// One chain for every element of D.
template <class Float>
std::vector<Float> chains(const MatmulDevice& device, const emu::EngineMatmul<Float>& problem, std::size_t begin,
                          std::size_t end, std::span<const Float> c) {
  const std::size_t m = problem.a.rows(), n = problem.b.columns();
  const emu::Format accumulator = device.operation.accumulator;
  const Filled filled(end - begin, static_cast<std::size_t>(problem.engine.products), device.operation.products);
  const auto a = stored_codes(problem.a, begin, end, filled, MatmulSide::a),
             b = stored_codes(problem.b, begin, end, filled, MatmulSide::b);
  std::vector<std::byte> start(c.size() * gpu::bytes_per_code(accumulator));
  for (std::size_t i = 0; i < c.size(); ++i) gpu::store_code(accumulator, start.data(), i, emu::encode(accumulator, c[i]));
  std::vector<std::byte> sums(m * n * gpu::bytes_per_code(accumulator));
  device.unit->multiply_matrices(
      device.operation,
      {{problem.a.format, m, filled.all, a}, {problem.b.format, filled.all, n, b}, {accumulator, m, n, start}}, sums);
  std::vector<Float> values(m * n);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<Float>(emu::decode(accumulator, gpu::load_code(accumulator, sums.data(), i)));
  return values;
}

}  // namespace

MatmulDevice choose_device(const std::string& id, const std::string& instruction, const emu::EngineRequest& formats,
                           const std::vector<std::string>& engines) {
  return choose_device(gpu::open_device(id), instruction, formats, engines);
}

MatmulDevice choose_device(const gpu::Device& device, const std::string& instruction, const emu::EngineRequest& formats,
                           const std::vector<std::string>& engines) {
  const std::string& id = device.description.id;
  if (device.unit == nullptr) throw Error(id + " multiplies no matrices");
  std::vector<gpu::Operation> fitting;
  std::set<std::string> others;
  for (const gpu::Operation& o : device.unit->operations()) {
    if (o.scales != emu::EngineScales::none || o.instruction.find(instruction) == std::string::npos) continue;
    if (o.a == formats.a && o.b == formats.b && o.accumulator == formats.accumulator) fitting.push_back(o);
    others.insert(emu::format_name(o.a) + " x " + emu::format_name(o.b) + " into " + emu::format_name(o.accumulator));
  }
  if (fitting.empty()) {
    std::string words;
    for (const std::string& other : others) words += (words.empty() ? "" : ", ") + other;
    throw Error(id + (instruction.empty() ? "" : " (" + instruction + ")") + " does not multiply " +
                emu::format_name(formats.a) + " x " + emu::format_name(formats.b) + " into " +
                emu::format_name(formats.accumulator) + "; it has " + (words.empty() ? "nothing of that name" : words));
  }
  for (const std::string& engine : engines)
    for (const gpu::Operation& o : fitting)
      if (o.engine == engine) return {id, device.unit, o};
  const auto most =
      std::max_element(fitting.begin(), fitting.end(), [](const auto& x, const auto& y) { return x.products < y.products; });
  return {id, device.unit, *most};
}

template <class Float>
void device_matmul(const MatmulDevice& device, const emu::EngineMatmul<Float>& problem, std::span<Float> d) {
  const emu::Epilogue<Float> epilogue(problem);
  const auto parts = emu::parts_of(problem);
  const bool from_c = epilogue.chain_starts_with_c(), along_k = emu::software_scales(problem).along_k;
  const std::size_t n = problem.b.columns();
  const auto finish = [&](std::size_t at, Float total) { d[at] = epilogue.finish(total, at / n, at % n); };
  if (parts.size() == 1 && !along_k) {
    const auto sums =
        chains(device, problem, parts.front().begin, parts.front().end, from_c ? problem.c : std::span<const Float>{});
    for (std::size_t at = 0; at < sums.size(); ++at) finish(at, sums[at]);
  } else {
    std::vector<emu::Total<Float>> totals;
    for (std::size_t at = 0; at < problem.a.rows() * n; ++at) totals.emplace_back(from_c ? problem.c[at] : Float{0});
    for (const emu::Part& part : parts) {
      const auto sums = chains(device, problem, part.begin, part.end, {});
      for (std::size_t at = 0; at < sums.size(); ++at) totals[at].add(epilogue, part, sums[at], at / n, at % n);
    }
    for (std::size_t at = 0; at < totals.size(); ++at) finish(at, totals[at].value());
  }
  constexpr emu::Format storage = sizeof(Float) == sizeof(float) ? emu::float32 : emu::float64;
  if (problem.out != storage) emu::round_to(problem.out, std::span<const Float>(d), d);
}

template void device_matmul(const MatmulDevice&, const emu::EngineMatmul<float>&, std::span<float>);
template void device_matmul(const MatmulDevice&, const emu::EngineMatmul<double>&, std::span<double>);

}  // namespace ulpscope::products
