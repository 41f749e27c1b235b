// SPDX-License-Identifier: Apache-2.0
// Cuts the bits of all tensors into equal parts, and moves each cut to the next chunk.
#include "studies/shards/shard.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "studies/census/binade_sums.hpp"

namespace ulpscope::studies {
namespace {

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

using Environment = std::function<const char*(const char*)>;

std::optional<std::uint64_t> value_of(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  return text == nullptr ? std::nullopt : whole_number(text);
}

/// The place of this process among those of a launcher; nothing where it has not started this one.
std::optional<Shard> place_in(const Environment& environment, const char* index, const char* count) {
  const auto i = value_of(environment, index), n = value_of(environment, count);
  return i && n && *i < *n ? std::optional(Shard{*i, *n}) : std::nullopt;
}

/// Slurm's job arrays count from any number in any step. @throws ulpscope::Error where numbers are missing, as of tasks that
/// are run again: they have places in an array that this one knows nothing of
std::optional<Shard> place_in_array(const Environment& environment) {
  const auto id = value_of(environment, "SLURM_ARRAY_TASK_ID"), least = value_of(environment, "SLURM_ARRAY_TASK_MIN"),
             most = value_of(environment, "SLURM_ARRAY_TASK_MAX"), count = value_of(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::uint64_t every = std::max<std::uint64_t>(value_of(environment, "SLURM_ARRAY_TASK_STEP").value_or(1), 1);
  if (!id || !least || !count) return std::nullopt;
  const bool is_range = !most || (*most >= *least && (*most - *least) / every + 1 == *count);
  if (!is_range || *id < *least || (*id - *least) % every != 0 || (*id - *least) / every >= *count)
    throw Error("--shard auto: task " + std::to_string(*id) + " is of an array of " + std::to_string(*count) + " tasks from " +
                std::to_string(*least) + (most ? " to " + std::to_string(*most) : "") + " in steps of " +
                std::to_string(every) + ", which says no place of N; give each task its own: --shard I/N -o PART/I-of-N");
  return Shard{(*id - *least) / every, *count};
}

Shard automatic(const Environment& environment) {
  constexpr std::array<std::pair<const char*, const char*>, 3> launchers{
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}}};
  std::optional<Shard> task;
  for (const auto& [index, count] : launchers)
    if (!task) task = place_in(environment, index, count);
  const std::optional<Shard> array = place_in_array(environment);
  if (!task && !array)
    throw Error(
        "--shard auto: no place among others is in the environment of this process (Slurm's, Open MPI's or PMI's variables); "
        "give I/N");
  const Shard inner = task.value_or(Shard{}), outer = array.value_or(Shard{});
  return {outer.index * inner.count + inner.index, outer.count * inner.count};
}

/// Of an element in a file, in 64ths: blocks of a .gguf share scales.
std::uint64_t weight_of(const tensors::Tensor& tensor) {
  return static_cast<std::uint64_t>(std::lround(tensors::stored_bits(tensor) * 64));
}

}  // namespace

Shard parse_shard(const std::string& word, const std::function<const char*(const char*)>& environment) {
  if (word == "auto") return automatic(environment);
  constexpr std::uint64_t most = 1'000'000;
  const std::size_t slash = word.find('/');
  const auto index = whole_number(std::string_view(word).substr(0, slash)),
             count = slash == std::string::npos ? std::nullopt : whole_number(std::string_view(word).substr(slash + 1));
  if (!index || !count || *count > most || *index >= *count)
    throw Error("--shard '" + word + "': give I/N, I from 0 to N - 1, or auto");
  return {*index, *count};
}

std::vector<ElementRange> ranges_of(const std::vector<tensors::Tensor>& tensors, const Shard& shard) {
  Int128 total = 0, before = 0;
  for (const tensors::Tensor& tensor : tensors) total += static_cast<Int128>(tensor.count()) * weight_of(tensor);
  std::vector<ElementRange> ranges;
  for (const tensors::Tensor& tensor : tensors) {
    const std::uint64_t of_element = weight_of(tensor);
    // The first chunk that begins at the cut before this shard, or later; then at that behind it.
    const auto chunk_at = [&](std::uint64_t index) {
      const Int128 cut = total * index, chunk = static_cast<Int128>(of_element) * chunk_elements * shard.count;
      const Int128 from = cut - before * shard.count;
      return from <= 0 ? std::uint64_t{0} : static_cast<std::uint64_t>((from + chunk - 1) / chunk);
    };
    const auto element_at = [&](std::uint64_t index) {
      const Int128 element = static_cast<Int128>(index == shard.count ? ~std::uint64_t{0} : chunk_at(index)) * chunk_elements;
      return static_cast<std::uint64_t>(std::min<Int128>(element, tensor.count()));
    };
    const std::uint64_t first = element_at(shard.index), end = element_at(shard.index + 1);
    ranges.push_back(first == end ? ElementRange{0, 0} : ElementRange{first, end - first});
    before += static_cast<Int128>(tensor.count()) * of_element;
  }
  return ranges;
}

}  // namespace ulpscope::studies
