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

namespace ulpscope::products {
namespace {

/// The columns [begin, end) of A or the rows of B as stored codes, row-major.
template <class Float>
std::vector<std::byte> stored_codes(const emu::EngineOperand<Float>& operand, std::size_t rows_begin, std::size_t rows_end,
                                    std::size_t columns_begin, std::size_t columns_end) {
  const std::size_t columns = columns_end - columns_begin;
  std::vector<std::byte> codes((rows_end - rows_begin) * columns * gpu::bytes_per_code(operand.format));
  for (std::size_t i = rows_begin; i < rows_end; ++i)
    for (std::size_t j = columns_begin; j < columns_end; ++j)
      gpu::store_code(operand.format, codes.data(), (i - rows_begin) * columns + (j - columns_begin),
                      emu::encode(operand.format, operand.at(i, j)));
  return codes;
}

/// One chain for every element of D.
template <class Float>
std::vector<Float> chains(const MatmulDevice& device, const emu::EngineMatmul<Float>& problem, std::size_t begin,
                          std::size_t end, std::span<const Float> c) {
  const std::size_t m = problem.a.rows(), n = problem.b.columns();
  const emu::Format accumulator = device.operation.accumulator;
  const auto a = stored_codes(problem.a, 0, m, begin, end), b = stored_codes(problem.b, begin, end, 0, n);
  std::vector<std::byte> start(c.size() * gpu::bytes_per_code(accumulator));
  for (std::size_t i = 0; i < c.size(); ++i) gpu::store_code(accumulator, start.data(), i, emu::encode(accumulator, c[i]));
  std::vector<std::byte> sums(m * n * gpu::bytes_per_code(accumulator));
  device.unit->multiply_matrices(
      device.operation,
      {{problem.a.format, m, end - begin, a}, {problem.b.format, end - begin, n, b}, {accumulator, m, n, start}}, sums);
  std::vector<Float> values(m * n);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<Float>(emu::decode(accumulator, gpu::load_code(accumulator, sums.data(), i)));
  return values;
}

}  // namespace

MatmulDevice choose_device(const std::string& id, const std::string& instruction, const emu::EngineRequest& formats,
                           const std::vector<std::string>& engines) {
  const gpu::Device device = gpu::open_device(id);
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
