// SPDX-License-Identifier: Apache-2.0
// Lists engines, cuts and joins, the likeliest first.
#include "studies/devices/product_models.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "studies/devices/product_cuts.hpp"

namespace ulpscope::studies {
namespace {

using emu::Engine, emu::Format, emu::Rounding;
using emu::float16, emu::float32, emu::float64, emu::tf32;

constexpr std::array<std::size_t, 6> promotions{32, 64, 128, 256, 512, 1024};

/// The name of a device's engine without the variant: `sm_90/mma` is of sm_90.
std::string family(const std::string& engine) { return engine.substr(0, engine.find('/')); }

/// Whether two engines compute the same of terms that are not tiny and sums that do not overflow.
bool alike(Engine x, Engine y) {
  x.least_exponent = y.least_exponent;
  x.overflow_is_infinity = y.overflow_is_infinity;
  return x == y;
}

void add_engine(std::vector<NamedEngine>& engines, const std::string& words, const Engine& engine) {
  const bool known = std::any_of(engines.begin(), engines.end(), [&](const NamedEngine& e) { return alike(e.engine, engine); });
  if (!known) engines.push_back({words, engine});
}

/// The same alignment with other blocks and other bits kept.
void add_blocks(std::vector<NamedEngine>& engines, const Engine& base) {
  if (!emu::block_words(base)) return;
  for (const int bits : {0, -1, 1, -2})
    for (const int block : {1, 2, 4, -2}) {
      Engine engine = base;
      engine.products = block > 0 ? base.products / block : base.products * -block;
      engine.stages[0].terms = engine.products;
      engine.stages[0].fraction_bits += bits;
      if (engine.products > 1) add_engine(engines, *emu::block_words(engine), engine);
    }
}

emu::EngineScales scales_of_engine(const gpu::LibraryCall& call) {
  const gpu::ScaleModeFacts facts = gpu::facts_of(call.scale_mode_a);
  if (!facts.by_the_engine) return emu::EngineScales::none;
  return facts.format == emu::float8_e8m0fnu ? emu::EngineScales::products : emu::EngineScales::group_sums;
}

/// The modes of a named engine for the operands of a call.
void add_named(std::vector<NamedEngine>& engines, const std::string& name, const gpu::LibraryCall& call,
               const TakenOperands& operands, Format accumulator, const std::string& remark) {
  const emu::EngineScales scales = scales_of_engine(call);
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    const auto takes = [&](Format f) { return std::find(mode.inputs.begin(), mode.inputs.end(), f) != mode.inputs.end(); };
    const bool scaled = scales == emu::EngineScales::none || mode.scale_format == gpu::facts_of(call.scale_mode_a).format;
    if (mode.engine == name && mode.model.accumulator == accumulator && mode.model.scales == scales && scaled &&
        takes(operands.a) && takes(operands.b) && (operands.a == operands.b || mode.mixed))
      add_engine(engines, name + remark, mode.model);
  }
}

struct EngineChoice {
  std::vector<NamedEngine> engines;
  std::size_t named = 0;  ///< how many come first; variants follow
};

EngineChoice engines_for(const gpu::LibraryCall& call, const TakenOperands& operands, const std::string& device) {
  EngineChoice choice;
  std::vector<NamedEngine>& engines = choice.engines;
  std::vector<Format> accumulators{call.accumulator};
  if (call.accumulator == float16) accumulators.push_back(float32);  // more than was asked for
  std::vector<NamedEngine> own;
  for (const Format accumulator : accumulators) {
    const std::string remark = accumulator == call.accumulator ? "" : " with " + emu::format_name(accumulator);
    for (const std::string& name : {device, family(device), family(device) + "/mma"})
      add_named(own, name, call, operands, accumulator, remark);
    for (const NamedEngine& engine : own) add_engine(engines, engine.words, engine.engine);
    for (const char* name : {"sm_70", "sm_75", "sm_80", "sm_89", "sm_90", "sm_100"})
      add_named(engines, name, call, operands, accumulator, remark);
    if (scales_of_engine(call) == emu::EngineScales::none) add_engine(engines, "fma" + remark, emu::fma_chain(accumulator));
  }
  choice.named = engines.size();
  for (const NamedEngine& engine : own) add_blocks(engines, engine.engine);
  return choice;
}

/// The longest run of products of one chain without a gap.
std::size_t longest_range(const KCut& cut) {
  std::size_t longest = 0;
  for (const KPart& part : cut.parts)
    if (part.size() == 1) longest = std::max(longest, part.front().end - part.front().begin);
  return longest;
}

std::string own_words(const ProductModel& model) {
  std::string words = model.operands.words.empty() ? "" : model.operands.words + "; ";
  words += model.engine.words + (model.cut->parts.size() > 1 ? " chains; " + model.cut->words : " chain");
  if (model.promote > 0) words += "; promoted to float32 every " + std::to_string(model.promote);
  if (!model.scaling.words.empty()) words += "; " + model.scaling.words;
  if (model.cut->parts.size() > 1) words += "; " + model.join.words;
  return words;
}

/// The chains of a part without gaps: `0-128 128-256 `.
std::string chains_of(const KRange& range, std::size_t promote) {
  std::string words;
  for (const KRange& piece : emu::pieces_of(range, promote, {}))
    words += std::to_string(piece.begin) + "-" + std::to_string(piece.end) + " ";
  return words;
}

/// What is added to what: the same words for the same computation. Sums that grow in float32 from the first chain on are the
/// same whether a chain is promoted or a part is joined, unless a fused multiply-add promotes.
std::string computation(const ProductModel& model) {
  const auto& parts = model.cut->parts;
  const std::string chains = model.operands.words + "|" + model.engine.words + "|" + model.scaling.words + "|";
  if (longest_range(*model.cut) == 0) return chains + model.cut->words + model.join.words;
  const Format part = model.promote > 0 ? float32 : model.engine.engine.accumulator;
  const bool grows = parts.size() == 1 || (!model.scaling.rule.fused && model.join.order == emu::Reduction::ascending &&
                                           model.join.summed == float32 && model.join.stored == part);
  std::string words = grows ? chains : chains + model.join.words;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const KRange& range = parts[i].front();
    const bool several = model.promote > 0 && range.end - range.begin > model.promote;
    const std::string own = chains_of(range, model.promote);
    words += several && (i > 0 || !grows) ? "(" + own + ")" : own;
  }
  return words;
}

/// Adds the models of an engine under a cut.
class ModelMaker {
 public:
  ModelMaker(const gpu::LibraryCall& call, std::vector<ProductModel>& models) : call_(call), models_(models) {}

  void add(const TakenOperands& operands, const NamedEngine& engine, const std::shared_ptr<const KCut>& cut, bool promoted) {
    if (!fits_scales(*cut)) return;
    const std::size_t block = scaled_block(call_), longest = longest_range(*cut);
    ProductModel model{operands, engine, cut, 0, {}};
    for (ScaleJoin rule : scale_rules(call_)) {
      model.scaling = std::move(rule);
      model.promote = 0;
      if (block == 0) add_promoted(model);
      if (!promoted || engine.engine.accumulator == float64) continue;
      for (const std::size_t promote : promotions) {
        const bool used = block > 0 ? promote <= block : promote < longest;
        if (!used || promote % static_cast<std::size_t>(engine.engine.products) != 0) continue;
        model.promote = promote;
        add_promoted(model);
      }
    }
  }

 private:
  /// Scales along K want parts without gaps; those of the engine, parts that begin where a block begins.
  bool fits_scales(const KCut& cut) const {
    const gpu::ScaleModeFacts facts = gpu::facts_of(call_.scale_mode_a);
    return facts.products == 0 || std::all_of(cut.parts.begin(), cut.parts.end(), [&](const KPart& part) {
             return part.size() == 1 && (!facts.by_the_engine || part.front().begin % facts.products == 0);
           });
  }
  void add_promoted(ProductModel model) {
    if (model.cut->parts.size() == 1) return add_new(std::move(model));
    const Format part = model.promote > 0 ? float32 : model.engine.engine.accumulator;
    for (PartJoin& join : part_joins(call_, part, model.cut->parts.size())) {
      model.join = std::move(join);
      add_new(model);
    }
  }
  void add_new(ProductModel model) {
    const auto [known, is_new] = known_.emplace(computation(model), models_.size());
    if (is_new)
      models_.push_back(std::move(model));
    else
      models_[known->second].same.emplace_back(model.cut->parts.size(), own_words(model));
  }

  const gpu::LibraryCall& call_;
  std::vector<ProductModel>& models_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace

bool has_parts(const ProductModel& model, std::size_t parts) {
  return model.cut->parts.size() == parts ||
         std::any_of(model.same.begin(), model.same.end(), [&](const auto& other) { return other.first == parts; });
}

std::string words_of(const ProductModel& model, std::size_t parts) {
  if (model.cut->parts.size() == parts) return own_words(model);
  for (const auto& [count, words] : model.same)
    if (count == parts) return words;
  return own_words(model);
}

std::vector<TakenOperands> taken_operands(const gpu::LibraryCall& call) {
  const auto with = [](Format format, Rounding rounding) {
    const std::string words = "operands rounded to " + emu::format_name(format) + " " + std::string(emu::name_of(rounding));
    return TakenOperands{words, format, format, rounding};
  };
  const TakenOperands themselves{"", call.a, call.b};
  const auto ends_with = [&](const char* word) { return call.compute.ends_with(word); };
  if (ends_with("FAST_TF32") || ends_with("FAST_16F") || ends_with("FAST_16BF")) {
    std::vector<TakenOperands> all;
    // "allows down-converting inputs to half or TF32" (cublas_api.h): tf32 is always possible.
    if (ends_with("FAST_16F")) all.push_back(with(float16, Rounding::nearest_even));
    if (ends_with("FAST_16BF")) all.push_back(with(emu::bfloat16, Rounding::nearest_even));
    for (const Rounding rounding : {Rounding::toward_zero, Rounding::nearest_away, Rounding::nearest_even})
      all.push_back(with(tf32, rounding));
    all.push_back(themselves);
    return all;
  }
  return {themselves};
}

std::size_t scaled_block(const gpu::LibraryCall& call) {
  const gpu::ScaleModeFacts facts = gpu::facts_of(call.scale_mode_a);
  return facts.by_the_engine ? 0 : facts.products;
}

std::vector<ScaleJoin> scale_rules(const gpu::LibraryCall& call) {
  using First = emu::ScaleRule::First;
  const gpu::ScaleModeFacts facts = gpu::facts_of(call.scale_mode_a);
  if (facts.by_the_engine || facts.lines == 0) return {{}};
  const std::array<std::pair<First, const char*>, 3> orders{{{First::both, "scaled by the product of both scales"},
                                                             {First::a, "scaled by A's scale, then by B's"},
                                                             {First::b, "scaled by B's scale, then by A's"}}};
  std::vector<ScaleJoin> rules;
  for (const bool fused : {true, false})
    for (const auto& [first, words] : orders)
      if (!fused || facts.products > 0) rules.push_back({std::string(words) + (fused ? " (fma)" : ""), {first, fused}});
  return rules;
}

std::vector<PartJoin> part_joins(const gpu::LibraryCall& call, Format part, std::size_t parts) {
  std::vector<PartJoin> joins;
  const auto add = [&](const std::string& words, Format stored, Format summed, bool symmetric) {
    for (const PartJoin& join : joins)
      if (join.stored == stored && join.summed == summed) return;
    joins.push_back({words, stored, summed});
    if (parts > 2 || !symmetric) joins.push_back({words + ", the last one first", stored, summed, emu::Reduction::descending});
  };
  add("joined in " + emu::format_name(part), part, part, true);
  add("stored in " + emu::format_name(call.d) + ", joined in " + emu::format_name(part), call.d, part, true);
  add("joined in place in " + emu::format_name(call.d), part, call.d, false);
  if (part == float32) add("stored in float16, joined in float32", float16, part, true);
  // Of two parts it is the same: a float32 sum of two float16 numbers, rounded to float16, is as if rounded once.
  if (part == float16 && parts > 2) add("stored in float16, joined in float32", part, float32, true);
  return joins;
}

std::vector<ProductModel> product_models(const gpu::LibraryCall& call, const ModelRequest& request) {
  const std::vector<std::string> names = emu::engine_names();
  if (std::find(names.begin(), names.end(), request.engine) == names.end()) throw Error("no engine named " + request.engine);
  std::vector<KCut> cuts{whole_k(request.k)};
  for (KCut& cut : k_cuts(request.k, request.split_k)) cuts.push_back(std::move(cut));
  const std::size_t declared = cuts.size();
  for (KCut& cut : k_cuts(request.k, std::array{2, 3, 4, 5, 6, 7, 8}))
    if (std::none_of(cuts.begin(), cuts.end(), [&](const KCut& c) { return c.parts == cut.parts; }))
      cuts.push_back(std::move(cut));

  std::vector<ProductModel> models;
  ModelMaker maker(call, models);
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    const auto cut = std::make_shared<const KCut>(std::move(cuts[c]));
    for (const TakenOperands& operands : taken_operands(call)) {
      const EngineChoice choice = engines_for(call, operands, request.engine);
      for (std::size_t e = 0; e < (c < declared ? choice.engines.size() : choice.named); ++e)
        maker.add(operands, choice.engines[e], cut, e < choice.named && (c < declared || call.a.bits() <= 8));
    }
  }
  return models;
}

}  // namespace ulpscope::studies
