// SPDX-License-Identifier: Apache-2.0
// Engines, accumulators, orders of K and what is left out of it.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;
using std::to_string;

/// The engine, unless it does not take the formats; it applies the claimed scales where it can.
std::optional<products::ChosenEngine> find(const Claim& claim, const std::string& word, Format a, Format b,
                                           Format accumulator) {
  try {
    return products::choose_engine(word, {a, b, accumulator}, claim.shape.k, claim.config.a.scales, claim.config.b.scales);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Cause engine_cause(const Claim& claim, const products::ChosenEngine& chosen, Format accumulator) {
  const bool same = accumulator == claim.config.acc;
  const std::string name = emu::format_name(accumulator);
  Cause cause{.word = "engine=" + chosen.word + (same ? "" : "/" + name),
              .sentence = (chosen.exact ? std::string("the exact sum, rounded once") : "the arithmetic of " + chosen.word) +
                          (same ? "" : " with a " + name + " accumulator"),
              .options = {{"--engine", chosen.word}, {"--acc", name}},
              .change =
                  [chosen, accumulator](Kernel& kernel) {
                    kernel.chain = {.engine = chosen.model, .accumulator = accumulator, .exact = chosen.exact};
                    kernel.c_format = accumulator;
                  },
              .also = {}};
  return cause;
}

/// The engine by another name.
void add_name(std::vector<Cause>& causes, const products::ChosenEngine& chosen, Format accumulator, Format claimed) {
  for (Cause& cause : causes) {
    Kernel kernel;
    kernel.chain.engine.reset();
    cause.change(kernel);
    if (kernel.chain.exact || kernel.chain.engine != chosen.model) continue;
    cause.also.push_back("engine=" + chosen.word + (accumulator == claimed ? "" : "/" + emu::format_name(accumulator)));
    cause.sentence += (cause.also.size() == 1 ? ", the same as " : ", ") + chosen.word;
  }
}

Cause order_cause(std::string word, std::string sentence, KOrder order) {
  return {"order=" + std::move(word), std::move(sentence), {}, [order](Kernel& kernel) {
            kernel.order.kind = order.kind;
            kernel.order.n = order.n;
          }};
}

Cause chain_cause(std::string word, std::string sentence, Chain chain) {
  return {"sum=" + std::move(word), std::move(sentence), {}, [chain](Kernel& kernel) { kernel.chain = chain; }};
}

/// `the last 3 products`, `products 32 to 63`.
std::string words_of(emu::KRange range, std::size_t k) {
  const std::size_t n = range.end - range.begin;
  if (n != 1 && range.begin != 0 && range.end != k)
    return "products " + to_string(range.begin) + " to " + to_string(range.end - 1);
  if (range.begin != 0 && range.end != k) return "product " + to_string(range.begin);
  return std::string("the ") + (range.end == k ? "last " : "first ") + (n == 1 ? "product" : to_string(n) + " products");
}

}  // namespace

std::vector<Cause> engine_causes(const Claim& claim, Format a, Format b) {
  std::vector<Cause> causes;
  std::vector<emu::Engine> seen;
  if (claim.kernel.chain.engine) seen.push_back(*claim.kernel.chain.engine);
  if (a != claim.a() || b != claim.b()) seen.clear();
  std::vector<Format> accumulators{claim.config.acc};
  for (const Format other : {emu::float32, emu::float16})
    if (other != claim.config.acc) accumulators.push_back(other);
  for (const Format accumulator : accumulators) {
    if (!emu::fits_float(accumulator) && accumulator != claim.config.acc) continue;
    if (emu::fits_float(accumulator) && !(emu::fits_float(a) && emu::fits_float(b))) continue;
    for (const std::string& name : emu::engine_names()) {
      const auto chosen = find(claim, name, a, b, accumulator);
      if (!chosen) continue;
      if (const auto same = std::find(seen.begin(), seen.end(), chosen->model); same != seen.end()) {
        add_name(causes, *chosen, accumulator, claim.config.acc);
        continue;
      }
      if (chosen->exact && (accumulator != claim.config.acc || claim.config.a.scales || claim.config.b.scales)) continue;
      seen.push_back(chosen->model);
      causes.push_back(engine_cause(claim, *chosen, accumulator));
    }
  }
  return causes;
}

std::vector<Cause> dequantized_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const auto &a = claim.config.a.scales, &b = claim.config.b.scales;
  if ((!a && !b) || claim.kernel.chain.split || claim.kernel.chain.exact) return causes;
  const bool has_whole = (a ? a->whole : 1) != 1 || (b ? b->whole : 1) != 1;
  for (const Format format : {emu::bfloat16, emu::float16, emu::float32}) {
    auto chosen = find(claim, claim.engine(), format, format, claim.config.acc);
    if (!chosen) chosen = find(claim, "fma", format, format, claim.config.acc);
    if (!chosen) continue;
    const std::string name = emu::format_name(format);
    for (const bool with_whole : {false, true}) {
      if (with_whole && !has_whole) continue;
      causes.push_back(
          {"scales=dequantized/" + name + (with_whole ? ":whole" : ""),
           std::string("operands multiplied by their scales") + (with_whole ? ", that of the whole included," : "") +
               " and rounded to " + name + ", multiplied on " + chosen->word,
           {},
           [chain = Chain{.engine = chosen->model, .accumulator = claim.config.acc}, format, with_whole](Kernel& kernel) {
             kernel.chain = chain;
             kernel.epilogue.dequantized = {format, with_whole};
           }});
    }
  }
  return causes;
}

std::vector<Cause> block_causes(const Claim& claim) {
  std::vector<Cause> causes;
  if (!claim.kernel.chain.engine) return causes;
  const emu::Engine& own = *claim.kernel.chain.engine;
  if (claim.kernel.chain.exact || own.stage_count != 1 || own.stages[0].summing != emu::Summing::aligned) return causes;
  const auto add = [&](emu::Engine engine) {
    const auto words = emu::block_words(engine);
    if (!words || engine == own) return;
    causes.push_back({"engine=" + *words, "the step " + *words, {{"--engine", *words}}, [engine](Kernel& kernel) {
                        kernel.chain.engine = engine;
                      }});
  };
  for (const int products : {4, 8, 16, 32, 64}) {
    emu::Engine engine = own;
    engine.products = engine.stages[0].terms = products;
    add(engine);
  }
  for (const int bits : {13, 22, 23, 24, 25, 26, 27}) {
    emu::Engine engine = own;
    engine.stages[0].fraction_bits = bits;
    add(engine);
  }
  emu::Engine nearest = own, full = own;
  nearest.stages[0].rounding = emu::Rounding::nearest_even;
  full.result_fraction_bits = -1;
  add(nearest);
  add(full);
  return causes;
}

std::vector<Cause> width_causes(const Claim& claim) {
  std::vector<Cause> causes;
  if (claim.config.acc != emu::float32 || claim.kernel.wide() || !emu::fits_float(claim.a()) || !emu::fits_float(claim.b()))
    return causes;
  constexpr int least_bits = 6, most_bits = 27;
  const std::vector<Cause> known = block_causes(claim);
  for (int bits = most_bits; bits >= least_bits; --bits)
    for (const int products : {4, 8, 16, 32, 64}) {
      const std::string words = "block:n=" + to_string(products) + ",f=" + to_string(bits) + ",out=rz";
      const emu::Engine engine = emu::parse_engine(words, {claim.a(), claim.b(), claim.config.acc});
      if (claim.kernel.chain.engine && engine == *claim.kernel.chain.engine) continue;
      if (std::ranges::find(known, "engine=" + words, &Cause::word) != known.end()) continue;
      causes.push_back({"engine=" + words,
                        "an accumulator that " + to_string(products) + " products at a time are aligned to, with " +
                            to_string(bits) + " fraction bits, the rest cut off",
                        {{"--engine", words}},
                        [engine](Kernel& kernel) { kernel.chain = {.engine = engine}; }});
    }
  return causes;
}

std::vector<Cause> sum_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const bool wide = claim.kernel.wide(), narrow_inputs = emu::fits_float(claim.a()) && emu::fits_float(claim.b());
  const auto add = [&](const char* word, const char* sentence, Chain chain) {
    causes.push_back(chain_cause(word, sentence, chain));
  };
  if (wide || narrow_inputs)
    add("multiply-add/float64", "float64 products and sums", {.accumulator = emu::float64, .products = emu::Products::rounded});
  if (!narrow_inputs) return causes;
  constexpr auto rounded = emu::Products::rounded;
  const emu::RoundingOptions cut{.rounding = emu::Rounding::toward_zero};
  add("multiply-add", "products rounded to float32 before they are added (multiply, then add)", {.products = rounded});
  add("fma:toward_zero", "float32 fma, every addition rounded toward zero", {.rounding = cut});
  add("multiply-add:toward_zero", "float32 multiply, then add, all rounded toward zero",
      {.rounding = cut, .products = rounded});
  add("fma/bfloat16", "a bfloat16 accumulator (fma)", {.accumulator = emu::bfloat16});
  add("multiply-add/bfloat16", "a bfloat16 accumulator, products rounded first",
      {.accumulator = emu::bfloat16, .products = rounded});
  add("multiply-add/float16", "a float16 accumulator, products rounded first",
      {.accumulator = emu::float16, .products = rounded});
  add("fma/float16:toward_zero", "a float16 accumulator, truncated", {.accumulator = emu::float16, .rounding = cut});
  add("fma/bfloat16:toward_zero", "a bfloat16 accumulator, truncated", {.accumulator = emu::bfloat16, .rounding = cut});
  add("fma/tf32", "a tf32 accumulator", {.accumulator = emu::tf32});
  add("fma:flush", "float32 fma that flushes subnormal sums", {.rounding = {.flush_subnormals = true}});
  return causes;
}

std::vector<Cause> order_causes(const Claim& claim) {
  using Kind = KOrder::Kind;
  std::vector<Cause> causes{order_cause("descending", "K summed from the last product to the first", {Kind::descending})};
  const std::size_t k = claim.shape.k;
  for (const std::size_t n : std::initializer_list<std::size_t>{2, 4, 8, 16, 32})
    if (n < k)
      causes.push_back(order_cause(
          "strided:" + to_string(n),
          n == 2 ? "even products first, then the odd ones" : "products with equal k mod " + to_string(n) + " together",
          {Kind::strided, n}));
  if (k >= 4 && k % 2 == 0)
    causes.push_back(order_cause("halves", "the halves of K interleaved (0, K/2, 1, ...)", {Kind::strided, k / 2}));
  for (const std::size_t n : std::initializer_list<std::size_t>{16, 32, 64, 128, 256})
    if (n < k)
      causes.push_back(order_cause("blocks:" + to_string(n), "blocks of " + to_string(n) + " from the last to the first",
                                   {Kind::blocks_descending, n}));
  for (const std::size_t n : std::initializer_list<std::size_t>{2, 4, 8, 16, 32, 64})
    if (n < k)
      causes.push_back(order_cause("reversed:" + to_string(n), "K descending inside of blocks of " + to_string(n),
                                   {Kind::blocks_reversed, n}));
  // fp8 of neighbouring products, converted to float16 for mma.sync.m16n8k16: a thread has four of each 16 products.
  if (k > 16)
    causes.push_back(order_cause("pairs:32", "of every 32 products those with k mod 4 < 2 first, then the others",
                                 {Kind::pairs_in_turn, 32}));
  return causes;
}

Cause left_out(emu::KRange range, std::size_t k) {
  const std::string place = range.end == k     ? "last:" + to_string(k - range.begin)
                            : range.begin == 0 ? "first:" + to_string(range.end)
                                               : to_string(range.begin) + ":" + to_string(range.end);
  return {
      "dropped=" + place, words_of(range, k) + " of K left out", {}, [range](Kernel& kernel) { kernel.order.skipped = range; }};
}

Cause taken_twice(emu::KRange range, std::size_t k) {
  const std::size_t n = range.end - range.begin;
  const std::string word = range.end != k ? "twice=" + to_string(range.begin) + ":" + to_string(range.end)
                           : n == 1       ? "last-twice"
                                          : "last-twice:" + to_string(n);
  return {word, words_of(range, k) + " of K taken twice", {}, [range](Kernel& kernel) { kernel.order.twice = range; }};
}

std::vector<Cause> end_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const std::size_t k = claim.shape.k;
  std::vector<std::size_t> dropped{1, 2, 4, 8, 16, 32, 64, 128, 256};
  for (const std::size_t tile : std::initializer_list<std::size_t>{4, 8, 16, 32, 64, 128, 256}) dropped.push_back(k % tile);
  std::sort(dropped.begin(), dropped.end());
  dropped.erase(std::unique(dropped.begin(), dropped.end()), dropped.end());
  for (const std::size_t n : dropped)
    if (n != 0 && n < k) causes.push_back(left_out({k - n, k}, k)), causes.push_back(left_out({0, n}, k));
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 4, 8, 16, 32, 64, 128})
    if (n <= k) causes.push_back(taken_twice({k - n, k}, k));
  return causes;
}

}  // namespace ulpscope::verify
