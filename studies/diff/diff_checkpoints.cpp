// SPDX-License-Identifier: Apache-2.0
// Pairs tensors by name, then what is left by shape and numbers, and compares the pairs in parallel.
#include "studies/diff/diff_checkpoints.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "studies/diff/kept_diff.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

using tensors::Tensor;
using Named = std::map<std::string, const Tensor*>;

/// Two tensors to compare.
struct Pair {
  const Tensor* reference;
  const Tensor* output;
};

Named by_name(const std::vector<Tensor>& tensors) {
  Named named;
  for (const Tensor& tensor : tensors)
    if (!named.emplace(tensors::written_name(tensor), &tensor).second)
      throw Error(tensor.label + ": is the second tensor of that name; compare files one by one");
  return named;
}

/// Whether all numbers are the same, NaN being one of them and zeros having signs.
bool is_same(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape || a.opaque || b.opaque) return false;
  constexpr std::uint64_t piece = 1 << 16;
  std::vector<double> x, y;
  for (std::uint64_t first = 0; first < a.count(); first += piece) {
    emu::stop_if_asked();
    x.resize(static_cast<std::size_t>(std::min(piece, a.count() - first)));
    y.resize(x.size());
    if (a.is_integer() && a.dtype.name == b.dtype.name) {  // which may differ where the nearest doubles do not
      std::vector<emu::Code> m(x.size()), n(x.size());
      a.source->read_codes(first, std::span(m));
      b.source->read_codes(first, std::span(n));
      if (m != n) return false;
      continue;
    }
    a.source->read(first, std::span(x));
    b.source->read(first, std::span(y));
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i]) && !(x[i] != x[i] && y[i] != y[i]))
        return false;
  }
  return true;
}

/// Whether two tensors of a dtype that is not known are the same, bytes that a file has of them.
bool has_same_bytes(const Tensor& a, const Tensor& b) {
  const auto is_known = [](const Tensor& tensor) { return tensor.opaque && tensor.opaque->bytes; };
  if (!is_known(a) || !is_known(b) || a.dtype.name != b.dtype.name || a.shape != b.shape || a.opaque->bytes != b.opaque->bytes)
    return false;
  constexpr std::uint64_t piece = 1 << 16;
  std::vector<emu::Code> x, y;
  for (std::uint64_t first = 0; first < *a.opaque->bytes; first += piece) {
    emu::stop_if_asked();
    x.resize(static_cast<std::size_t>(std::min(piece, *a.opaque->bytes - first)));
    y.resize(x.size());
    a.source->read_codes(first, std::span(x));
    b.source->read_codes(first, std::span(y));
    if (x != y) return false;
  }
  return true;
}

/// Takes from both sides what was renamed.
std::vector<Pair> take_renamed(Named& missing, Named& added) {
  std::vector<Pair> renamed;
  for (auto from = missing.begin(); from != missing.end();) {
    std::vector<Named::iterator> same;
    for (auto to = added.begin(); to != added.end(); ++to)
      if (is_same(*from->second, *to->second)) same.push_back(to);
    if (same.size() != 1) {
      ++from;
      continue;
    }
    renamed.push_back({from->second, same.front()->second});
    added.erase(same.front());
    from = missing.erase(from);
  }
  return renamed;
}

std::vector<Tensor> tensors_of(const std::vector<Pair>& pairs) {
  std::vector<Tensor> all;
  for (const Pair& pair : pairs) all.insert(all.end(), {*pair.reference, *pair.output});
  return all;
}

/// The worse first: fewer decibels, and what has none at all.
bool is_worse(const DiffResult& a, const DiffResult& b) {
  const auto decibels = [](const DiffResult& r) {
    if (r.nonfinite_unlike != 0) return -std::numeric_limits<double>::infinity();
    return r.equal == r.count ? std::numeric_limits<double>::infinity() : r.sqnr_db;
  };
  return decibels(a) < decibels(b);
}

}  // namespace

CheckpointDiff diff_checkpoints(const std::vector<Tensor>& reference, const std::vector<Tensor>& output,
                                std::optional<emu::Format> format, const Tolerance& tolerance, const Progress& progress,
                                const OpenKeptRows& open_kept) {
  Named missing = by_name(reference), added = by_name(output);
  CheckpointDiff result;
  std::vector<Pair> pairs;
  for (auto one = missing.begin(); one != missing.end();) {
    const auto other = added.find(one->first);
    if (other == added.end()) {
      ++one;
      continue;
    }
    const Tensor &before = *one->second, &after = *other->second;
    if (has_same_bytes(before, after))
      result.same_bytes.push_back(before);
    else if (before.opaque || after.opaque)
      result.unmatched.push_back(
          {(before.opaque ? before : after).label, "unknown dtype", (before.opaque ? before : after).opaque->why});
    else if (before.shape != after.shape)
      result.unmatched.push_back(
          {before.label, "shape", tensors::shape_text(before.shape) + ", then " + tensors::shape_text(after.shape)});
    else
      pairs.push_back({&before, &after});
    added.erase(other);
    one = missing.erase(one);
  }
  for (const Pair& pair : take_renamed(missing, added)) {
    pairs.push_back(pair);
    result.unmatched.push_back({pair.reference->label, "renamed", pair.output->label});
  }
  for (const auto& [name, tensor] : missing) result.unmatched.push_back({tensor->label, "missing", {}});
  for (const auto& [name, tensor] : added) result.unmatched.push_back({tensor->label, "added", {}});

  std::uint64_t done = 0, total = 0;
  for (const Pair& pair : pairs) total += pair.reference->count();
  std::optional<KeptRows> kept;
  if (open_kept) kept = open_kept(tensors_of(pairs), pairs.size());
  std::mutex one_at_a_time;
  result.differences.resize(pairs.size());
  tensors::for_each_index(pairs.size(), 0, [&](std::size_t i) {
    const Tensor &before = *pairs[i].reference, &after = *pairs[i].output;
    const emu::Format of_ulps = format.value_or(format_of_ulps(before, after));
    if (const std::optional<std::string> line = kept ? kept->find(i) : std::nullopt) {
      result.differences[i] = unmeasured(before, after, of_ulps);
      read_diff_line(*line, result.differences[i]);
    } else {
      result.differences[i] = diff(before, after, of_ulps, tolerance);
      if (kept) kept->keep(i, diff_line(result.differences[i]));
    }
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(done += before.count(), total);
  });
  std::ranges::stable_sort(result.differences, is_worse);
  return result;
}

reports::Table diff_table(const CheckpointDiff& result) {
  reports::Table table = diff_table(DiffResult{});
  table.rows.clear();
  for (const DiffResult& difference : result.differences) table.rows.push_back(std::move(diff_table(difference).rows.front()));
  return table;
}

reports::Table unmatched_table(const CheckpointDiff& result) {
  reports::Table table{"unmatched", {"tensor", "problem", "note"}, {}};
  for (const Unmatched& unmatched : result.unmatched)
    table.rows.push_back({unmatched.tensor, unmatched.problem, unmatched.note});
  return table;
}

}  // namespace ulpscope::studies
