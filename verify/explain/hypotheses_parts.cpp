// SPDX-License-Identifier: Apache-2.0
// How K is cut into parts: split K, promotion, several accumulators, and parts in whole tiles.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;
using std::to_string;

std::string reduction_words(Reduction reduction) {
  if (reduction == Reduction::descending) return ", the parts added descending";
  return reduction == Reduction::pairwise ? ", the parts added pairwise" : "";
}
std::string reduction_suffix(Reduction reduction) {
  if (reduction == Reduction::descending) return ",descending";
  return reduction == Reduction::pairwise ? ",pairwise" : "";
}
constexpr std::array reductions{Reduction::ascending, Reduction::descending, Reduction::pairwise};

Cause split_cause(std::size_t parts, Reduction reduction) {
  Cause cause{"split-k=" + to_string(parts) + reduction_suffix(reduction),
              "split-K = " + to_string(parts) + reduction_words(reduction),
              {},
              [parts, reduction](Kernel& kernel) {
                kernel.parts.split = parts;
                kernel.parts.lanes = 1;
                kernel.parts.reduction = reduction;
              }};
  if (reduction == Reduction::ascending) cause.options = {{"--split-k", to_string(parts)}};
  return cause;
}

Cause lanes_cause(std::size_t lanes, std::size_t run, Reduction reduction) {
  const std::string block = run == 1 ? "" : "x" + to_string(run);
  return {"accumulators=" + to_string(lanes) + block + reduction_suffix(reduction),
          to_string(lanes) + " accumulators that take turns" + (run == 1 ? "" : " every " + to_string(run) + " products") +
              reduction_words(reduction),
          {},
          [lanes, run, reduction](Kernel& kernel) {
            kernel.parts.split = 1;
            kernel.parts.lanes = lanes;
            kernel.parts.run = run;
            kernel.parts.reduction = reduction;
          }};
}

Cause promote_cause(std::size_t length) {
  return {"promote=" + to_string(length),
          "promotion every " + to_string(length) + " products",
          {{"--promote", to_string(length)}},
          [length](Kernel& kernel) { kernel.parts.promote = length; }};
}

constexpr std::array<std::size_t, 10> promotions{4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};

std::vector<Cause> promote_causes(const Claim& claim) {
  std::vector<Cause> causes;
  for (const std::size_t length : promotions)
    if (length < claim.shape.k && length != claim.kernel.parts.promote) causes.push_back(promote_cause(length));
  return causes;
}

std::vector<Cause> equal_part_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const std::size_t k = claim.shape.k;
  const Parts& own = claim.kernel.parts;
  for (const Reduction reduction : reductions)
    for (const std::size_t parts : std::initializer_list<std::size_t>{2, 3, 4, 6, 8, 12, 16, 32, 64})
      if (parts <= k && (parts > 2 || reduction == Reduction::ascending || !claim.kernel.epilogue.beta) &&
          (parts != own.split || reduction != Reduction::ascending))
        causes.push_back(split_cause(parts, reduction));
  return causes;
}

/// Parts that are added onto a D of 16 bits, one after another, as atomic additions do (PTX: red.add.noftz): each is rounded to
/// its format first, or, where a kernel loads what is there, the sum alone is.
std::vector<Cause> added_causes(const Claim& claim, Format narrow) {
  const Format out = claim.config.out;
  const bool is_out = narrow == out;
  if (!is_out && out.bits() <= narrow.bits()) return {};
  const std::string name = emu::format_name(narrow);
  std::vector<Cause> causes;
  for (const bool rounded : {true, false})
    for (const Reduction reduction : {Reduction::ascending, Reduction::descending})
      for (const std::size_t split : std::initializer_list<std::size_t>{2, 3, 4, 8, 16, 32}) {
        const bool is_other = reduction == Reduction::ascending || is_out;  // where the format is a guess, one order is enough
        const bool is_rounded_last =
            rounded && split == 2 && is_out && !claim.config.c;  // as rounded parts that D is the sum of
        if (split > claim.shape.k || !is_other || is_rounded_last) continue;
        causes.push_back(
            {"split-k=" + to_string(split) + (rounded ? "/" + name + ",added" : ",added/" + name) + reduction_suffix(reduction),
             "split-K = " + to_string(split) + (rounded ? ", the parts rounded to " : ", the parts added in ") + name +
                 (rounded ? " and added in it" : "") + " one after another" +
                 (reduction == Reduction::descending ? ", descending" : ""),
             {},
             [=](Kernel& kernel) {
               kernel.parts = {.split = split, .promote = kernel.parts.promote, .reduction = reduction};
               kernel.parts.added_in = narrow;
               if (rounded) kernel.parts.sum_format = narrow;
             }});
      }
  return causes;
}

/// A sum that is rounded every so many products: that of a block of scales before it is scaled, or the scaled one.
std::vector<Cause> rounded_sum_causes(const Claim& claim, Format narrow) {
  const std::string name = emu::format_name(narrow);
  const bool by_software = !claim.kernel.engine_scales();
  const std::size_t block = by_software ? common_k_block({claim.config.a.scales}, {claim.config.b.scales}) : 0;
  std::vector<Cause> causes;
  for (const std::size_t run : std::initializer_list<std::size_t>{8, 16, 32, 64, 128}) {
    if (run >= claim.shape.k || run % claim.step() != 0 || block % run != 0 || claim.kernel.parts.promote != 0) continue;
    const std::string word = "accumulator=" + name + "x" + to_string(run),
                      sentence = "the sum rounded to " + name + " every " + to_string(run) + " products";
    causes.push_back({word, sentence, {}, [run, narrow](Kernel& kernel) {
                        kernel.parts.promote = run;
                        kernel.parts.carried = narrow;
                      }});
    if (block == 0) continue;
    causes.push_back(
        {word + ",scaled", sentence + ", which are scaled before they are added", {}, [run, narrow](Kernel& kernel) {
           kernel.parts.promote = run;
           kernel.parts.kept = narrow;
         }});
  }
  return causes;
}

}  // namespace

std::vector<Cause> part_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const auto append = [&](std::vector<Cause> more) {
    causes.insert(causes.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  const std::size_t k = claim.shape.k;
  const Parts& own = claim.kernel.parts;
  if (own.promote != 0)
    causes.push_back({"promote=0", "no promotion", {{"--promote", "0"}}, [](Kernel& kernel) { kernel.parts.promote = 0; }});
  if (own.split != 1) causes.push_back(split_cause(1, Reduction::ascending));
  // GPU libraries document that they promote sums of 8-bit floats: that is named before as many parts of K.
  const bool promoted_first = claim.a().bits() <= 8 && claim.b().bits() <= 8;
  if (promoted_first) append(promote_causes(claim));
  append(equal_part_causes(claim));
  if (!promoted_first) append(promote_causes(claim));
  for (const Format narrow : {emu::bfloat16, emu::float16}) {
    const std::string name = emu::format_name(narrow);
    for (const std::size_t split : std::initializer_list<std::size_t>{2, 3, 4, 8, 16, 32})
      if (split <= k)
        causes.push_back({"split-k=" + to_string(split) + "/" + name,
                          "split-K = " + to_string(split) + ", the parts rounded to " + name,
                          {},
                          [split, narrow](Kernel& kernel) {
                            kernel.parts = {.split = split, .promote = kernel.parts.promote, .sum_format = narrow};
                          }});
    append(rounded_sum_causes(claim, narrow));
    append(added_causes(claim, narrow));
  }
  for (const Reduction reduction : {Reduction::ascending, Reduction::pairwise})
    for (const std::size_t lanes : std::initializer_list<std::size_t>{2, 4, 8, 16, 32})
      if (lanes <= k) causes.push_back(lanes_cause(lanes, 1, reduction));
  for (const std::size_t lanes : std::initializer_list<std::size_t>{2, 4, 8})
    for (const std::size_t run : std::initializer_list<std::size_t>{8, 16, 32, 64, 128})
      if ((lanes - 1) * run < k) causes.push_back(lanes_cause(lanes, run, Reduction::ascending));
  return causes;
}

std::vector<Cause> lost_part_causes(const Claim& claim, emu::KRange range) {
  constexpr std::size_t most_parts = 64;
  std::vector<Cause> causes;
  const auto add = [&](std::size_t parts) {
    const std::vector<emu::KRange> chains = emu::equal_chains(claim.shape.k, parts, claim.step());
    const auto found = std::find(chains.begin(), chains.end(), range);
    if (found == chains.end() || chains.size() < 2) return;
    const auto lost = static_cast<std::size_t>(found - chains.begin());
    causes.push_back({"split-k=" + to_string(parts) + ",lost=" + to_string(lost),
                      "split-K = " + to_string(parts) + " without the sum of part " + to_string(lost),
                      {},
                      [parts, lost](Kernel& kernel) {
                        kernel.parts.split = parts;
                        kernel.parts.lanes = 1;
                        kernel.parts.lost = lost;
                      }});
  };
  const std::size_t own = claim.kernel.parts.split;
  add(own);
  for (std::size_t parts = 2; parts <= most_parts; ++parts)
    if (parts != own) add(parts);
  return causes;
}

std::vector<Cause> tile_part_causes(const Claim& claim) {
  constexpr std::size_t most_parts = 32;
  const std::size_t k = claim.shape.k;
  std::vector<std::size_t> lengths;
  for (std::size_t parts = 2; parts <= most_parts; ++parts)
    for (const std::size_t tile : std::initializer_list<std::size_t>{32, 64, 128}) {
      const std::size_t length = ((k + parts - 1) / parts + tile - 1) / tile * tile;
      const bool listed = std::find(promotions.begin(), promotions.end(), length) != promotions.end() ||
                          std::find(lengths.begin(), lengths.end(), length) != lengths.end();
      if (length < k && length != claim.kernel.parts.promote && !listed) lengths.push_back(length);
    }
  std::vector<Cause> causes;
  for (const std::size_t length : lengths) {
    causes.push_back(promote_cause(length));
    causes.back().sentence += " (split-K = " + to_string((k + length - 1) / length) + " in whole tiles)";
  }
  return causes;
}

}  // namespace ulpscope::verify
