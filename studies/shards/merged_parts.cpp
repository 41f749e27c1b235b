// SPDX-License-Identifier: Apache-2.0
// Pieces are put in order by what the parts say of them before any is read.
#include "studies/shards/merged_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>

#include "emu/error.hpp"
#include "emu/visible.hpp"

namespace ulpscope::studies {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) { throw Error(emu::visible(name + ": " + why)); }

bool is_one_tensor(const tensors::Tensor& a, const tensors::Tensor& b) {
  return a.label == b.label && a.name == b.name && a.dtype.name == b.dtype.name && a.shape == b.shape;
}

/// Of which tensor a part has read other numbers than those of these samples; empty where it has not.
std::string other_numbers(const PartTensors& part, const std::vector<std::string>& samples) {
  for (std::size_t t = 0; t < part.samples.size(); ++t)
    if (part.samples[t] != samples[t]) return "has read other numbers of " + part.tensors[t].label;
  return {};
}

/// What makes two parts no parts of one request; empty where nothing does.
std::string unlike(const PartHead& a, const PartHead& b) {
  if (a.command != b.command || a.request != b.request) return "asks something else";
  if (a.remarks != b.remarks) return "has left out other tensors";
  if (a.all == b.all) return {};
  if (!std::ranges::equal(a.all->tensors, b.all->tensors, is_one_tensor)) return "is of other tensors";
  return other_numbers(*b.all, a.all->samples);
}

/// A tensor whose numbers are too large has none: NaN.
bool is_one_scale(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Whether sums of one format and scale can be added to those of another part: all are exact, or none.
bool are_alike(const std::vector<PartialSums>& a, const std::vector<PartialSums>& b) {
  const auto is_exact = [](const PartialSums& sums) { return sums.chunks().empty(); };
  return std::ranges::equal(a, b, {}, is_exact, is_exact);
}

/// Whether blocks of each format are those behind the ones before.
bool follow(const std::vector<BlockSums>& before, const std::vector<BlockSums>& next) {
  return std::ranges::equal(before, next,
                            [](const BlockSums& a, const BlockSums& b) { return a.first + a.counts.blocks == b.first; });
}

}  // namespace

MergedParts::MergedParts(std::vector<PartReader> parts) : parts_(std::move(parts)) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (const std::string why = unlike(head(), parts_[i].head()); !why.empty())
      refuse(parts_[i].name(), why + " than " + name());
    for (const Piece& piece : parts_[i].head().pieces) places_.push_back({i, piece});
  }
  std::ranges::sort(places_, {}, [](const Place& at) { return std::tuple(at.piece.tensor, at.piece.range.first, at.part); });
  check_complete();
}

void MergedParts::check_complete() const {
  auto place = places_.begin();
  for (std::size_t t = 0; t < head().all->tensors.size(); ++t) {
    const tensors::Tensor& tensor = head().all->tensors[t];
    std::uint64_t next = 0;
    const auto missing = [&] { refuse(tensor.label + ", elements from " + std::to_string(next) + " on", "are in no part"); };
    for (; place != places_.end() && place->piece.tensor == t; ++place) {
      const ElementRange& range = place->piece.range;
      if (range.first > next) missing();
      if (range.first < next)
        refuse(parts_[place->part].name(), "has elements of " + tensor.label + " that another part has, too");
      next = range.first + range.count;
    }
    if (next != tensor.count()) missing();
  }
}

void MergedParts::for_each(const std::function<void(std::size_t tensor, const TensorPart& whole)>& take,
                           const SumCounts& most) {
  auto place = places_.begin();
  for (std::size_t t = 0; t < head().all->tensors.size(); ++t) {
    const std::string& label = head().all->tensors[t].label;
    TensorPart whole;
    for (bool first = true; place != places_.end() && place->piece.tensor == t; ++place, first = false) {
      PartReader& reader = parts_[place->part];
      const TensorPart part = reader.next(most);
      if (!first && !(are_alike(whole.census, part.census) && are_alike(whole.sweep, part.sweep)))
        refuse(reader.name(), "has sums of " + label + " for other formats, or that were formed otherwise");
      if (!first && !follow(whole.blocks, part.blocks))
        refuse(reader.name(), "has blocks of " + label + " that do not follow those of the part before");
      if (!first && !std::ranges::equal(whole.tensor_scales, part.tensor_scales, is_one_scale))
        refuse(reader.name(), "has other scales for " + label + ": it read other numbers");
      whole.merge(part);
    }
    take(t, whole);
  }
}

std::vector<double> merged_amax(std::vector<PartReader> parts, const std::vector<tensors::Tensor>& tensors,
                                const std::vector<std::string>& samples) {
  for (const PartReader& part : parts)
    if (part.head().command != "amax") refuse(part.name(), "holds no magnitudes; make it by --pass amax");
  const PartReader& first = parts.front();
  if (!std::ranges::equal(first.head().all->tensors, tensors, is_one_tensor))
    refuse(first.name(), "is of other tensors than these inputs");
  if (const std::string why = other_numbers(*first.head().all, samples); !why.empty())
    refuse(first.name(), why + " than these inputs hold");
  std::vector<double> all;
  const auto take = [&](std::size_t, const TensorPart& whole) { all.push_back(whole.amax.value_or(0)); };
  MergedParts(std::move(parts)).for_each(take, {.census = 0, .sweep = 0});
  return all;
}

void check_blocks(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling, std::size_t formats,
                  const std::string& name) {
  const std::uint64_t blocks = tensor.count() == 0 ? 0 : ScaleMap::laid_out(scaling, tensor).blocks();
  const auto is_all = [&](const BlockSums& sums) { return sums.first == 0 && sums.counts.blocks == blocks; };
  if (tensor.count() == 0 ? !whole.blocks.empty()
                          : whole.blocks.size() != formats || !std::ranges::all_of(whole.blocks, is_all))
    refuse(name, "has not the blocks of " + tensor.label + " that it was asked for");
}

void check_tensor_scales(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling,
                         const std::vector<emu::Format>& formats, const std::string& name) {
  if (!has_tensor_scale(scaling.rule) || tensor.count() == 0) return;
  Scaling known = scaling;
  known.shared_amax = magnitude_met(whole);
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const double scale = ScaleMap(known, formats[i], std::array{0.0F}, 1).of_tensor(scaling.rule);
    if (i >= whole.tensor_scales.size() || !is_one_scale(whole.tensor_scales[i], scale))
      refuse(name, "has a scale for " + tensor.label + " that does not follow from its numbers");
  }
}

}  // namespace ulpscope::studies
