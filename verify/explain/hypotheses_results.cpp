// SPDX-License-Identifier: Apache-2.0
// What may happen to a finished sum.
#include <array>
#include <span>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

using emu::Format;

Cause epilogue_cause(std::string word, std::string sentence, std::function<void(Epilogue&)> change) {
  return {std::move(word), std::move(sentence), {}, [change](Kernel& kernel) { change(kernel.epilogue); }};
}

void add_c(std::vector<Cause>& causes, const Claim& claim) {
  if (!claim.config.c) return;
  const auto add = [&](const char* word, const char* sentence, CUse use) {
    causes.push_back(epilogue_cause(word, sentence, [use](Epilogue& epilogue) { epilogue.c = use; }));
  };
  if (claim.config.beta && *claim.config.beta != 1)
    causes.push_back(epilogue_cause("beta=none", "beta not applied", [](Epilogue& epilogue) { epilogue.beta = 1; }));
  add("c=none", "C not added", CUse::none);
  add("c=twice", "C added twice", CUse::twice);
  add("c=at-end", "C added at the end, not where the sum starts", CUse::at_end);
  add("c=after-rounding", "C added after the sum is rounded to the output format", CUse::after_rounding);
  for (const Format format : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::float32})
    if (format != claim.config.acc)
      causes.push_back(
          {"c=" + emu::format_name(format), "C rounded to " + emu::format_name(format), {}, [format](Kernel& kernel) {
             kernel.c_format = format;
           }});
}

void add_alpha(std::vector<Cause>& causes, const Claim& claim) {
  const bool c = claim.config.c.has_value(), alpha = claim.config.alpha != 1;
  const auto add = [&](const char* word, const char* sentence, AlphaUse use) {
    causes.push_back(epilogue_cause(word, sentence, [use](Epilogue& epilogue) { epilogue.alpha_use = use; }));
  };
  if (alpha) add("alpha=none", "alpha not applied", AlphaUse::none);
  if (alpha)
    add("alpha=after-rounding", "alpha applied after the sum is rounded to the output format", AlphaUse::after_rounding);
  if (alpha && c) add("alpha=of-everything", "alpha applied to C too", AlphaUse::of_everything);
  if (c && (alpha || claim.config.beta))
    add("alpha=separate", "alpha and beta by multiply and add, not fma", AlphaUse::separate);
  if (alpha && claim.config.beta)
    causes.push_back(epilogue_cause("alpha=beta", "alpha and beta exchanged", [](Epilogue& epilogue) {
      const double alpha_was = epilogue.alpha;
      epilogue.alpha = *epilogue.beta;
      epilogue.beta = alpha_was;
    }));
}

void add_scales(std::vector<Cause>& causes, const Claim& claim) {
  if (!claim.config.a.scales && !claim.config.b.scales) return;
  const auto add = [&](const char* word, const char* sentence, ScaleUse use) {
    causes.push_back(epilogue_cause(word, sentence, [use](Epilogue& epilogue) { epilogue.scales = use; }));
  };
  add("scales=none", "scales not applied", ScaleUse::none);
  add("scales=reciprocal", "divided by the scales, not multiplied", ScaleUse::reciprocal);
  if (claim.config.a.scales && claim.config.b.scales) {
    add("scales/a=none", "the scales of A not applied", ScaleUse::none_a);
    add("scales/b=none", "the scales of B not applied", ScaleUse::none_b);
    add("scales/a=reciprocal", "divided by the scales of A, not multiplied", ScaleUse::reciprocal_a);
    add("scales/b=reciprocal", "divided by the scales of B, not multiplied", ScaleUse::reciprocal_b);
  }
  for (const bool of_b : {false, true})
    if (of_b ? claim.config.b.scales : claim.config.a.scales)
      for (const auto& [at, suffix, words] : twice_ways(claim))
        causes.push_back(epilogue_cause(std::string("scales=twice/") + (of_b ? "b" : "a") + suffix,
                                        std::string("the scales of ") + (of_b ? "B" : "A") + " applied twice" + words,
                                        [of_b, at](Epilogue& epilogue) {
                                          epilogue.scales = of_b ? ScaleUse::twice_b : ScaleUse::twice_a;
                                          epilogue.twice_at = at;
                                        }));
  if (claim.shape.m == claim.shape.n) add("scales=swapped", "scales of rows and columns exchanged", ScaleUse::swapped);
  if (claim.kernel.engine_scales()) return;
  add("scales=one-by-one", "the two scales multiplied on one after the other", ScaleUse::one_by_one);
  add("scales=by-inverse", "divided by the rounded inverse of the scale", ScaleUse::by_inverse);
}

/// What may become of the scales of whole operands where blocks have theirs.
void add_whole_scales(std::vector<Cause>& causes, const Claim& claim) {
  const auto whole = [](const auto& scales) { return scales ? scales->whole : 1.0F; };
  if (whole(claim.config.a.scales) == 1 && whole(claim.config.b.scales) == 1) return;
  const auto add = [&](const char* word, const char* sentence, WholeUse use) {
    causes.push_back(epilogue_cause(std::string("whole=") + word, std::string("the scales of whole operands ") + sentence,
                                    [use](Epilogue& epilogue) { epilogue.whole = use; }));
  };
  add("none", "not applied", WholeUse::none);
  add("reciprocal", "taken for their reciprocals", WholeUse::reciprocal);
  add("twice", "applied twice", WholeUse::twice);
}

/// Scales of blocks that are read in another layout than they are in.
void add_scale_layouts(std::vector<Cause>& causes, const Claim& claim) {
  const DataScales of_a{claim.config.a.scales}, of_b{claim.config.b.scales};
  const auto is_grid = [](const DataScales& scales) {
    return !scales.empty() && scales.scales->for_lines > 1 && scales.scales->for_k > 1;
  };
  const auto add = [&](const char* word, const char* sentence, ScaleLayout layout, const auto& may_have) {
    const bool a = may_have(of_a), b = may_have(of_b);
    const auto add_of = [&](const std::string& place, const std::string& words, bool changes_a, bool changes_b) {
      causes.push_back(epilogue_cause(place + "=" + word, "the scales" + words + sentence, [=](Epilogue& epilogue) {
        if (changes_a) epilogue.layout_a = layout;
        if (changes_b) epilogue.layout_b = layout;
      }));
    };
    if (a && b) add_of("scales", " of both operands", true, true);
    if (a) add_of("scales/a", " of A", true, false);
    if (b) add_of("scales/b", " of B", false, true);
  };
  const auto in_tiles = [&](const DataScales& scales) { return is_grid(scales) && scales.in_tiles(); };
  add("transposed", ", whose buffer is taken for that of the transposed grid", ScaleLayout::transposed, is_grid);
  add("as-tiles", ", which lie line by line, read as tiles of 128 by 4", ScaleLayout::as_tiles, in_tiles);
  add("from-tiles", ", which lie in tiles of 128 by 4, read line by line", ScaleLayout::from_tiles, in_tiles);
}

}  // namespace

std::span<const TwiceWay> twice_ways(const Claim& claim) {
  static constexpr std::array<TwiceWay, 5> ways{
      {{TwiceAt::scale, "", ""},
       {TwiceAt::both, ":both", ", once to the product of both scales"},
       {TwiceAt::before, ":before", ", once to the sum before the others"},
       {TwiceAt::after, ":after", ", once to the scaled sum"},
       {TwiceAt::after_rounded, ":after-rounded", ", once to the scaled sum, rounded before it is added"}}};
  return std::span(ways).first(claim.kernel.engine_scales() ? 1 : ways.size());
}

std::vector<Cause> result_causes(const Claim& claim) {
  std::vector<Cause> causes;
  const Format out = claim.config.out;
  for (const auto mode : {emu::Rounding::toward_zero, emu::Rounding::nearest_away, emu::Rounding::upward,
                          emu::Rounding::downward, emu::Rounding::to_odd})
    causes.push_back(epilogue_cause("out:" + std::string(emu::name_of(mode)),
                                    "D rounded by " + std::string(emu::name_of(mode)) + ", not to nearest even",
                                    [mode](Epilogue& epilogue) { epilogue.rounding.rounding = mode; }));
  causes.push_back(epilogue_cause("out:saturating", "overflow saturates",
                                  [](Epilogue& epilogue) { epilogue.rounding.policy = emu::Policy::saturating; }));
  causes.push_back(epilogue_cause("out:flush", "subnormal results flushed to zero",
                                  [](Epilogue& epilogue) { epilogue.rounding.flush_subnormals = true; }));
  for (const Format format : {emu::bfloat16, emu::float16, emu::tf32, emu::float32, emu::float8_e4m3fn, emu::float8_e5m2}) {
    const std::string name = emu::format_name(format);
    if (format == out || (format == emu::float32 && !claim.kernel.wide())) continue;
    causes.push_back(epilogue_cause("via=" + name, "an extra rounding to " + name + " before the last",
                                    [format](Epilogue& epilogue) { epilogue.between.push_back(format); }));
  }
  for (const Format format : {emu::float32, emu::bfloat16, emu::float16, emu::tf32})
    if (format != out) {
      causes.push_back(epilogue_cause("out=" + emu::format_name(format), "D rounded to " + emu::format_name(format) + " only",
                                      [format](Epilogue& epilogue) { epilogue.out = format; }));
      causes.back().options = {{"--out", emu::format_name(format)}};
    }
  return causes;
}

std::vector<Cause> epilogue_causes(const Claim& claim) {
  std::vector<Cause> causes;
  add_c(causes, claim);
  add_alpha(causes, claim);
  add_scales(causes, claim);
  add_whole_scales(causes, claim);
  add_scale_layouts(causes, claim);
  return causes;
}

}  // namespace ulpscope::verify
