// SPDX-License-Identifier: Apache-2.0
// The study's settings, from words.
#include <charconv>
#include <optional>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/names.hpp"
#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::size_t longest_sum = std::size_t{1} << 24, most_rows = 4096;

std::optional<std::size_t> whole_number(std::string_view word, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > most) return std::nullopt;
  return value;
}

Accumulation split_accumulation(std::string_view words, emu::Format in, emu::Format acc, std::size_t promote) {
  const std::string engine = "--engine " + std::string(words);
  if (in != emu::float32) throw Error(engine + ": split products are of float32, not of " + emu::format_name(in));
  if (acc != emu::float32 || promote != 0)
    throw Error(engine + ": split products have sums of their own; leave out --acc and --promote");
  const emu::SplitProduct split = emu::parse_split(words);
  emu::Engine engine_of_parts = split.model;
  if (split.scheme != emu::SplitScheme::parts) engine_of_parts.accumulator = emu::float64;
  return {.name = std::string(words),
          .evidence = std::string(emu::name_of(emu::Evidence::published)),
          .engine = engine_of_parts,
          .in = in,
          .split = split};
}

}  // namespace

Accumulation find_accumulation(std::string_view engine, emu::Format in, emu::Format acc, std::size_t promote) {
  if (acc != emu::float32 && acc != emu::float16)
    throw Error("--acc " + emu::format_name(acc) + ": the study has accumulators in float32 and float16");
  if (in.precision() > emu::ExactMatrix::most_precision && in != emu::float32)
    throw Error("--in " + emu::format_name(in) + ": the exact product takes formats of at most " +
                std::to_string(emu::ExactMatrix::most_precision) + " significand bits, and float32");
  if (emu::is_split(engine)) return split_accumulation(engine, in, acc, promote);
  const emu::EngineRequest request{.a = in, .b = in, .accumulator = acc};
  Accumulation found{std::string(engine), {}, emu::parse_engine(engine, request), in, promote};
  const auto step = static_cast<std::size_t>(found.engine.products);
  if (promote != 0 && step != 0 && promote % step != 0)
    throw Error("--promote " + std::to_string(promote) + ": engine " + found.name + " takes " + std::to_string(step) +
                " products in a step; give a multiple of that");
  const bool named = !engine.starts_with("block:");
  found.evidence = emu::name_of(named ? emu::evidence_of(emu::find_engine(emu::engine_name(engine), request), engine)
                                      : emu::Evidence::definition);
  return found;
}

std::vector<Accumulation> standard_accumulations() {
  constexpr std::size_t deepseek = 128;  // products between promotions: arXiv 2412.19437, 3.3.2
  struct Words {
    std::string_view engine;
    emu::Format in, acc;
    std::size_t promote = 0;
  };
  std::vector<Accumulation> out;
  for (const Words& words : {Words{"sm_90", emu::e4m3, emu::float32}, Words{"sm_90", emu::e4m3, emu::float32, deepseek},
                             Words{"sm_90", emu::e5m2, emu::float32}, Words{"sm_90", emu::e5m2, emu::float32, deepseek},
                             Words{"sm_100", emu::e4m3, emu::float32}, Words{"sm_90", emu::float16, emu::float16},
                             Words{"fp16_chain", emu::float16, emu::float16}, Words{"sm_70", emu::float16, emu::float32},
                             Words{"sm_80", emu::float16, emu::float32}, Words{"sm_90", emu::float16, emu::float32},
                             Words{"sm_90", emu::bfloat16, emu::float32}, Words{"sm_90", emu::tf32, emu::float32},
                             Words{"fma", emu::float16, emu::float32}, Words{"pairwise", emu::float16, emu::float32}})
    out.push_back(find_accumulation(words.engine, words.in, words.acc, words.promote));
  return out;
}

std::vector<std::size_t> parse_lengths(std::string_view word) {
  const auto refuse = [&](const std::string& why) {
    return Error("--k '" + std::string(word) + "': " + why +
                 "; give one number or LO:HI, e.g. 64:65536 for 64, 128, ... 65536");
  };
  const std::size_t colon = word.find(':');
  const auto low = whole_number(word.substr(0, colon), longest_sum);
  const auto high = colon == std::string_view::npos ? low : whole_number(word.substr(colon + 1), longest_sum);
  if (!low || !high) throw refuse("not whole numbers from 1 to " + std::to_string(longest_sum));
  if (*low > *high) throw refuse("LO is above HI");
  std::vector<std::size_t> out;
  for (std::size_t k = *low; k <= *high; k *= 2) out.push_back(k);
  return out;
}

OutputShape parse_output_shape(std::string_view word) {
  const std::size_t by = word.find('x');
  const auto rows = whole_number(word.substr(0, by), most_rows);
  const auto columns = by == std::string_view::npos ? std::nullopt : whole_number(word.substr(by + 1), most_rows);
  if (!rows || !columns)
    throw Error("--shape '" + std::string(word) + "': give MxN, each from 1 to " + std::to_string(most_rows) + ", e.g. 32x32");
  return {*rows, *columns};
}

}  // namespace ulpscope::studies
