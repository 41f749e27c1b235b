// SPDX-License-Identifier: Apache-2.0
// The list of split products, and how their words are read.
#include "emu/split_product.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::emu {
namespace {

constexpr Rounding rz = Rounding::toward_zero, rna = Rounding::nearest_away, rne = Rounding::nearest_even;
constexpr int most_slices = 18, least_count = 2;
constexpr std::size_t most_join_bits = 10;

// GEMMul8's table, github.com/RIKEN-RCCS/GEMMul8.
constexpr std::array moduli{256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

constexpr bool are_coprime() {
  for (std::size_t i = 0; i < moduli.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::gcd(moduli[i], moduli[j]) != 1) return false;
  return true;
}
static_assert(are_coprime());

constexpr std::array entries{
    SplitEntry{"3xtf32", "2 parts of tf32; small x big, big x small, big x big, in turns of 8 products",
               "CUTLASS mma_tensor_op_fast_f32.h; doi 10.1177/10943420221090256"},
    SplitEntry{"tf32x3", "2 parts of tf32; 1x0, 0x1, then 0x0", "Triton tf32x3 (F32DotTC.cpp); XLA ALG_DOT_TF32_TF32_F32_X3"},
    SplitEntry{"bf16x3", "2 parts of bfloat16; 1x0, 0x1, then 0x0", "XLA ALG_DOT_BF16_BF16_F32_X3; arXiv 1904.06376"},
    SplitEntry{"bf16x6", "3 parts of bfloat16; 1x1, 2x0, 0x2, 1x0, 0x1, then 0x0",
               "XLA ALG_DOT_BF16_BF16_F32_X6; arXiv 1904.06376"},
    SplitEntry{"bf16x9", "3 parts of bfloat16; 2x2, 1x2, 2x1, 1x1, 2x0, 0x2, 1x0, 0x1, then 0x0",
               "XLA ALG_DOT_BF16_BF16_F32_X9; arXiv 1904.06376"},
    SplitEntry{"tf32x1", "1 part of tf32, ties away; one product", "XLA ALG_DOT_TF32_TF32_F32; PTX cvt.rna.tf32.f32"},
    SplitEntry{"bf16x1", "1 part of bfloat16; one product", "XLA ALG_DOT_BF16_BF16_F32"},
    SplitEntry{"f32x1", "the operand itself; one product", "XLA ALG_DOT_F32_F32_F32"},
    SplitEntry{"ozaki1:slices=N",
               "N int8 slices of 7 bits; products i x j with i + j <= N + 1, exact in int32, summed in float64",
               "ozIMMU; arXiv 2306.11975", "float32|float64", "float64"},
    SplitEntry{"ozaki2:moduli=N", "integers modulo N numbers up to 256, exact in int32, by the Chinese remainder theorem",
               "arXiv 2504.08009; moduli of GEMMul8", "float32|float64", "float64"},
};

/// The scheme of a name with everything but what the keys say.
SplitProduct parts_of_format(std::string_view name, Format part, int count, std::initializer_list<PartPair> pairs) {
  SplitProduct split;
  split.name = name;
  split.part = part;
  split.count = count;
  std::copy(pairs.begin(), pairs.end(), split.pairs.begin());
  split.pair_count = static_cast<int>(pairs.size());
  split.engine = "sm_90";
  return split;
}

SplitProduct tensor_floats() {
  SplitProduct split = parts_of_format("3xtf32", tf32, 2, {{1, 0}, {0, 1}, {0, 0}});
  split.roundings = {rz, rna, rne};
  split.takes_turns = true;
  return split;
}

/// Triton's: the small part is what the instruction reads of it.
SplitProduct tensor_floats_of_blocks() {
  SplitProduct split = parts_of_format("tf32x3", tf32, 2, {{1, 0}, {0, 1}, {0, 0}});
  split.roundings = {rna, rz, rne};
  split.zeroes_nans = true;
  return split;
}

SplitProduct single_product(std::string_view name, Format part) {
  SplitProduct split = parts_of_format(name, part, 1, {{0, 0}});
  if (part == tf32) split.roundings[0] = rna;
  if (part == float32) split.engine = "fma";
  return split;
}

SplitProduct brain_floats(std::string_view name, int count, std::initializer_list<PartPair> pairs) {
  SplitProduct split = parts_of_format(name, bfloat16, count, pairs);
  split.zeroes_nans = true;
  return split;
}

SplitProduct integers(std::string_view name, SplitScheme scheme) {
  SplitProduct split;
  split.scheme = scheme;
  split.name = name;
  return split;
}

std::string_view name_in(std::string_view words) { return words.substr(0, words.find(':')); }

SplitProduct named(std::string_view name) {
  if (name == "3xtf32") return tensor_floats();
  if (name == "bf16x3") return brain_floats(name, 2, {{1, 0}, {0, 1}, {0, 0}});
  if (name == "bf16x6") return brain_floats(name, 3, {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}});
  if (name == "bf16x9") return brain_floats(name, 3, {{2, 2}, {1, 2}, {2, 1}, {1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}});
  if (name == "tf32x3") return tensor_floats_of_blocks();
  if (name == "tf32x1") return single_product(name, tf32);
  if (name == "bf16x1") return single_product(name, bfloat16);
  if (name == "f32x1") return single_product(name, float32);
  if (name == "ozaki1") return integers(name, SplitScheme::slices);
  if (name == "ozaki2") return integers(name, SplitScheme::residues);
  std::string names;
  for (const SplitEntry& entry : entries) names += (names.empty() ? "" : ", ") + std::string(entry.words);
  throw Error("unknown split product '" + std::string(name) + "'; there are " + names);
}

std::size_t number(const SplitProduct& split, std::string_view key, std::string_view word, std::size_t least,
                   std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < least || value > most)
    throw Error(split.name + ": " + std::string(key) + "=" + std::string(word) + ": give an integer from " +
                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// Bits with dots between.
std::vector<std::uint8_t> join_of(const SplitProduct& split, std::string_view word) {
  std::vector<std::uint8_t> bits;
  for (std::size_t at = 0; at <= word.size(); at += 2) {
    const char digit = at < word.size() ? word[at] : ' ';
    const bool ends = at + 1 == word.size() || (at + 2 < word.size() && word[at + 1] == '.');
    if (digit < '0' || digit > '9' || !ends) break;
    bits.push_back(static_cast<std::uint8_t>(digit - '0'));
  }
  std::vector<std::uint8_t> sorted = bits;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = !bits.empty() && 2 * bits.size() == word.size() + 1 && bits.size() <= most_join_bits;
  for (std::size_t i = 0; i < sorted.size(); ++i) each_once = each_once && sorted[i] == i;
  if (!each_once)
    throw Error(split.name + ": join=" + std::string(word) + ": give the bits 0 to n - 1 of the blocks' numbers, each once, " +
                "n up to " + std::to_string(most_join_bits) + ", as in join=2.0.1");
  return bits;
}

void set(SplitProduct& split, std::string_view key, std::string_view word) {
  const bool parts = split.scheme == SplitScheme::parts;
  if (parts && key == "engine") {
    split.engine = word;
  } else if (parts && key == "k") {
    split.block = number(split, key, word, 1, std::size_t{1} << 24);
  } else if (parts && key == "join") {
    split.join = join_of(split, word);
  } else if (split.scheme == SplitScheme::slices && key == "slices") {
    split.count = static_cast<int>(number(split, key, word, least_count, most_slices));
  } else if (split.scheme == SplitScheme::residues && key == "moduli") {
    split.count = static_cast<int>(number(split, key, word, least_count, moduli.size()));
  } else {
    const char* const keys = parts                                 ? "engine, k and join, as in bf16x9:engine=sm_100,k=64"
                             : split.scheme == SplitScheme::slices ? "slices, as in ozaki1:slices=8"
                                                                   : "moduli, as in ozaki2:moduli=15";
    throw Error(split.name + ": unknown key '" + std::string(key) + "'; it has " + keys);
  }
}

/// The engine of the parts, and whether what must be said is.
void complete(SplitProduct& split) {
  if (split.scheme != SplitScheme::parts) {
    if (split.count == 0)
      throw Error(split.name + (split.scheme == SplitScheme::slices ? ": say slices, as in ozaki1:slices=8"
                                                                    : ": say moduli, as in ozaki2:moduli=15"));
    return;
  }
  split.model = parse_engine(split.engine, {split.part, split.part, float32});
  if (!split.join.empty() && split.block == 0)
    throw Error(split.name + ": join: say k, the products of a block, as in bf16x3:k=32,join=2.0.1");
}

}  // namespace

std::span<const SplitEntry> split_entries() { return entries; }

std::span<const int> ozaki_moduli() noexcept { return moduli; }

bool is_split(std::string_view words) noexcept {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const SplitEntry& entry) { return name_in(entry.words) == name_in(words); });
}

SplitProduct parse_split(std::string_view words) {
  const std::string_view name = name_in(words);
  SplitProduct split = named(name);
  std::string_view keys = words.substr(std::min(words.size(), name.size() + 1));
  if (keys.empty() && name.size() != words.size()) throw Error(split.name + ": nothing follows the colon");
  if (keys.ends_with(',')) throw Error(split.name + ": nothing follows the last comma");
  std::vector<std::string_view> seen;
  while (!keys.empty()) {
    const std::string_view pair = keys.substr(0, keys.find(','));
    keys.remove_prefix(std::min(keys.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) throw Error(split.name + ": '" + std::string(pair) + "' is not key=value");
    const std::string_view key = seen.emplace_back(pair.substr(0, equals));
    if (std::find(seen.begin(), seen.end() - 1, key) != seen.end() - 1)
      throw Error(split.name + ": " + std::string(key) + " is given twice");
    set(split, key, pair.substr(equals + 1));
  }
  complete(split);
  return split;
}

std::string split_words(const SplitProduct& split) {
  switch (split.scheme) {
    case SplitScheme::slices: return split.name + ":slices=" + std::to_string(split.count);
    case SplitScheme::residues: return split.name + ":moduli=" + std::to_string(split.count);
    case SplitScheme::parts: break;
  }
  std::string words = split.name + ":engine=" + split.engine;
  if (split.block > 0) words += ",k=" + std::to_string(split.block);
  for (std::size_t i = 0; i < split.join.size(); ++i) words += (i == 0 ? ",join=" : ".") + std::to_string(split.join[i]);
  return words;
}

std::size_t blocks_of_join(const SplitProduct& split) noexcept { return std::size_t{1} << split.join.size(); }

std::size_t products_of_turn(const SplitProduct& split) noexcept {
  constexpr std::size_t instruction = 8;  // mma.sync.m16n8k8
  const auto step = static_cast<std::size_t>(std::max(split.model.products, 1));
  return (instruction + step - 1) / step * step;
}

}  // namespace ulpscope::emu
