// SPDX-License-Identifier: Apache-2.0
// Counts what is not finite, and says what became of it.
#include "studies/cast/made_finite.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <vector>

#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t at_once = std::uint64_t{1} << 16;

template <class Float>
MadeFinite not_finite(const tensors::Source& source, std::uint64_t first, std::uint64_t count) {
  std::vector<Float> values(static_cast<std::size_t>(std::min(at_once, count)));
  MadeFinite found;
  for (const std::uint64_t end = first + count; first < end; first += values.size()) {
    values.resize(static_cast<std::size_t>(std::min<std::uint64_t>(values.size(), end - first)));
    source.read(first, std::span(values));
    for (const Float x : values) found.add(x);
  }
  return found;
}

/// `2 NaN and 3 infinities`
std::string counts_words(const MadeFinite& counts) {
  std::string words = counts.nan == 0 ? "" : std::to_string(counts.nan) + " NaN";
  if (counts.infinite == 0) return words;
  return words + (words.empty() ? "" : " and ") + std::to_string(counts.infinite) +
         (counts.infinite == 1 ? " infinity" : " infinities");
}

}  // namespace

MadeFinite not_finite_in(const tensors::Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  if (tensor.is_integer() || count == 0) return {};
  return tensor.dtype.fits_float() ? not_finite<float>(*tensor.source, first, count)
                                   : not_finite<double>(*tensor.source, first, count);
}

MadeFinite made_finite_without_scales(const tensors::Tensor& tensor, emu::Format format, std::uint64_t first,
                                      std::uint64_t count) {
  if (format.has_nan()) return {};
  const MadeFinite found = not_finite_in(tensor, first, count);
  return {found.nan, format.has_infinity() ? 0 : found.infinite};
}

bool is_finite(const tensors::Tensor& tensor) {
  std::atomic<bool> all = true;
  tensors::for_each_index(static_cast<std::size_t>((tensor.count() + at_once - 1) / at_once), 0, [&](std::size_t i) {
    const std::uint64_t first = i * at_once;
    if (all && !not_finite_in(tensor, first, std::min(at_once, tensor.count() - first)).empty()) all = false;
  });
  return all;
}

std::function<void(const MadeFinite&)> MadeFiniteCounts::of(const std::string& label,
                                                              const requests::RoundingRequest& rounding) {
  const bool saturates = rounding.options().policy == emu::Policy::saturating;
  OfTensor& tensor = tensors_.emplace_back(OfTensor{label, {}});
  return [this, &tensor, saturates](const MadeFinite& more) {
    if (more.empty()) return;
    const std::lock_guard lock(one_at_a_time_);
    tensor.counts.nan += more.nan;
    if (!saturates) tensor.counts.infinite += more.infinite;
  };
}

std::string MadeFiniteCounts::words() const {
  constexpr std::size_t most_named = 3;
  std::string words;
  std::size_t found = 0;
  for (const OfTensor& tensor : tensors_) {
    if (tensor.counts.empty() || ++found > most_named) continue;
    words += (found == 1 ? "" : "; ") + counts_words(tensor.counts) + " of " + tensor.label;
  }
  if (found == 0) return {};
  if (found > most_named)
    words += "; and some of " + std::to_string(found - most_named) + (found == most_named + 1 ? " more tensor" : " more tensors");
  return "became finite numbers, for their codes have no others: " + words;
}

}  // namespace ulpscope::studies
