// SPDX-License-Identifier: Apache-2.0
// Rings and trees.
#include "training/state/all_reduce.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "emu/bulk.hpp"
#include "emu/error.hpp"

namespace ulpscope::training {
namespace {

template <class Real>
void add_to(std::span<Real> sum, std::span<const Real> other, const Storage& storage) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  emu::round_to(storage.format, std::span<const Real>(sum), sum, storage.options, {});
}

}  // namespace

ReduceOrder parse_reduce_order(std::string_view word) {
  if (word == "ring") return ReduceOrder::ring;
  if (word == "tree") return ReduceOrder::tree;
  throw Error("unknown order '" + std::string(word) + "'; known: ring, tree");
}

template <class Real>
std::vector<Real> all_reduce(const std::vector<std::vector<Real>>& workers, ReduceOrder order, const Storage& storage) {
  if (workers.empty()) throw Error("all-reduce: no worker");
  const std::size_t count = workers.size(), size = workers.front().size();
  for (const auto& numbers : workers)
    if (numbers.size() != size)
      throw Error("all-reduce: " + std::to_string(numbers.size()) + " numbers of a worker, " + std::to_string(size) +
                  " of another");
  if (order == ReduceOrder::tree) {
    std::vector<std::vector<Real>> sums = workers;
    for (std::size_t apart = 1; apart < count; apart *= 2)
      for (std::size_t w = 0; w + apart < count; w += 2 * apart)
        add_to<Real>(sums[w], std::span<const Real>(sums[w + apart]), storage);
    return std::move(sums.front());
  }
  std::vector<Real> sum(size);
  const std::size_t part = (size + count - 1) / count;
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t begin = std::min(size, c * part), length = std::min(size, begin + part) - begin;
    const auto of = [&](std::size_t w) { return std::span<const Real>(workers[(c + w) % count]).subspan(begin, length); };
    const std::span<Real> out = std::span<Real>(sum).subspan(begin, length);
    std::copy_n(of(1).begin(), length, out.begin());
    for (std::size_t w = 2; w <= count; ++w) add_to(out, of(w), storage);
  }
  return sum;
}

std::uint64_t bytes_moved(std::size_t workers, std::size_t numbers, emu::Format format) {
  return 2 * (workers - 1) * ((static_cast<std::uint64_t>(numbers) * static_cast<std::uint64_t>(format.bits()) + 7) / 8);
}

template std::vector<float> all_reduce(const std::vector<std::vector<float>>&, ReduceOrder, const Storage&);
template std::vector<double> all_reduce(const std::vector<std::vector<double>>&, ReduceOrder, const Storage&);

}  // namespace ulpscope::training
