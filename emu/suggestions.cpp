// SPDX-License-Identifier: Apache-2.0
// A table of words from elsewhere, and edit distance for all others.
#include "emu/suggestions.hpp"

#include <algorithm>
#include <array>

#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {
namespace {

/// Words for one thing, separated by spaces, in lower case.
template <class Meaning>
struct Elsewhere {
  Meaning meaning;
  std::string_view words;
};

// CUDA's conversions (ru, rd), OpenCL (rte, rtz, rtp, rtn), RISC-V (rne, rtz, rup, rdn, rmm), MPFR (rndn, ...), mathematics.
constexpr std::array<Elsewhere<Rounding>, 7> roundings_elsewhere{{{Rounding::nearest_even, "rte rtne rndn"},
                                                                  {Rounding::nearest_away, "ra rmm rnda"},
                                                                  {Rounding::toward_zero, "rtz rndz chop trunc truncate"},
                                                                  {Rounding::upward, "ru rup rtp rndu ceil ceiling"},
                                                                  {Rounding::downward, "rd rdn rtn rndd floor"},
                                                                  {Rounding::to_odd, "ro"},
                                                                  {Rounding::stochastic, "sr"}}};

// The compute capabilities that NVIDIA lists for its devices (developer.nvidia.com/cuda-gpus), the nearest engine where a
// device has none of its own; AMD's products by architecture (rocm.docs.amd.com, GPU specifications); Intel's by what they have
// first (Intel ISE 319433, 1.2).
constexpr std::array<Elsewhere<std::string_view>, 19> devices{
    {{"sm_70", "v100 titanv volta"},
     {"sm_75", "t4 rtx2080 rtx2070 rtx2060 turing"},
     {"sm_80", "a100 a800 a30 ampere"},
     {"sm_86", "a40 a10 a16 a2 a6000 rtxa6000 rtx3090 rtx3080 rtx3070 rtx3060 sm87 orin"},
     {"sm_89", "l40 l40s l4 rtx4090 rtx4080 rtx4070 rtx4060 ada lovelace"},
     {"sm_90", "h100 h200 h800 h20 gh200 hopper sm90a"},
     {"sm_100", "b100 b200 gb200 b300 gb300 blackwell sm100a sm103 sm103a sm110 thor"},
     {"sm_120", "rtx5090 rtx5080 rtx5070 rtx5060 sm120a sm121 gb10 spark"},
     {"cdna1", "mi100 gfx908"},
     {"cdna2", "mi200 mi210 mi250 mi250x gfx90a"},
     {"cdna3", "mi300 mi300x mi300a mi325 mi325x gfx942"},
     {"cdna4", "mi350 mi350x mi355 mi355x gfx950"},
     {"rdna3", "rx7900xtx rx7900xt rx7800xt gfx1100 gfx1151"},
     {"rdna4", "rx9070 rx9070xt gfx1200 gfx1201"},
     {"tpu", "tpuv4 tpuv5e tpuv5p tpuv6e trillium ironwood"},
     {"apple_gpu", "apple metal"},
     {"amx_bf16", "amx sapphirerapids"},
     {"amx_fp16", "graniterapids"},
     {"amx_fp8", "diamondrapids"}}};

/// Lower-case letters and digits alone: `RTX-4090` is rtx4090.
std::string bare(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool holds(std::string_view words, std::string_view word) {
  return !word.empty() && (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

}  // namespace

std::vector<std::string> closest_roundings(std::string_view word, std::size_t most) {
  for (const auto& [rounding, words] : roundings_elsewhere)
    if (holds(words, bare(word))) return {std::string(name_of(rounding))};
  return closest_words(word, rounding_words(), most);
}

std::vector<std::string> closest_engines(std::string_view word, std::size_t most) {
  const std::vector<std::string> names = engine_names();
  const std::string wanted = bare(word);
  for (const auto& [engine, words] : devices)
    if (holds(words, wanted)) return {std::string(engine)};
  for (const std::string& name : names)  // SM90, SM-90
    if (bare(name) == wanted) return {name};
  return closest_words(word, names, most);
}

std::string comma_separated(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

}  // namespace ulpscope::emu
