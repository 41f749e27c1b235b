// SPDX-License-Identifier: Apache-2.0
// Chains, joins and scales of one output, with chains kept for other models.
#include "studies/devices/product_prediction.hpp"

#include <algorithm>
#include <span>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"

namespace ulpscope::studies {
namespace {

using emu::Code, emu::Format;

std::vector<Code> rounded(Format from, const std::vector<Code>& codes, Format to, emu::Rounding rounding) {
  if (from == to) return codes;
  emu::RoundingOptions options;
  options.rounding = rounding;
  std::vector<Code> result;
  for (const Code code : codes) result.push_back(emu::convert(from, code, to, options).code);
  return result;
}

/// A chain of the engine from the number `from`.
double continued(const emu::Engine& engine, Format a_format, std::span<const Code> a, Format b_format, std::span<const Code> b,
                 double from, const emu::BlockScales& scales = {}) {
  const Format accumulator = engine.accumulator;
  return emu::decode(accumulator, emu::inner_product(engine, a_format, a, b_format, b, emu::encode(accumulator, from), scales));
}

/// x + y rounded to a format. The float64 sum of two numbers of at most 24 bits, rounded again to as many, is as if rounded
/// once (Figueroa, SIGNUM Newsletter 30(3), 1995).
double sum_in(Format format, double x, double y) { return emu::round_to(format, x + y).value; }

Format part_format(const ProductModel& model) { return model.promote > 0 ? emu::float32 : model.engine.engine.accumulator; }

}  // namespace

OutputOperands output_operands(const gpu::LibraryCall& call, const ProductOperands& product, std::size_t i, std::size_t j) {
  const gpu::MatrixProduct matrices = product.view();
  OutputOperands operands;
  for (std::size_t p = 0; p < matrices.k(); ++p) {
    operands.a.push_back(matrices.a.at(i, p));
    operands.b.push_back(matrices.b.at(p, j));
  }
  operands.a_scales = gpu::scales_of_line(call.scale_mode_a, gpu::OperandSide::a, product.scale_a.view(), i);
  operands.b_scales = gpu::scales_of_line(call.scale_mode_b, gpu::OperandSide::b, product.scale_b.view(), j);
  return operands;
}

emu::RoundingOptions result_rounding(Format d) {
  emu::RoundingOptions options;
  if (d.bits() == 8) options.policy = emu::Policy::saturating;
  return options;
}

OutputPredictor::OutputPredictor(const gpu::LibraryCall& call, OutputOperands operands)
    : call_(call), operands_(std::move(operands)) {}

OutputPredictor::Taken& OutputPredictor::taken(const TakenOperands& operands) {
  const auto found = taken_.find(operands.words);
  if (found != taken_.end()) return found->second;
  Taken taken{operands.a, operands.b, rounded(call_.a, operands_.a, operands.a, operands.rounding),
              rounded(call_.b, operands_.b, operands.b, operands.rounding)};
  return taken_.emplace(operands.words, std::move(taken)).first->second;
}

double OutputPredictor::chain(Taken& operands, const ProductModel& model, const KRange& range) {
  auto& chains = operands.chains[model.engine.words];
  const std::pair key{range.begin, range.end};
  if (const auto found = chains.find(key); found != chains.end()) return found->second;
  const std::size_t length = range.end - range.begin;
  emu::BlockScales scales;
  if (const gpu::ScaleModeFacts facts = gpu::facts_of(call_.scale_mode_a); facts.by_the_engine)
    scales = {facts.format, std::span(operands_.a_scales).subspan(range.begin / facts.products),
              std::span(operands_.b_scales).subspan(range.begin / facts.products)};
  const double sum = continued(model.engine.engine, operands.a_format, std::span(operands.a).subspan(range.begin, length),
                               operands.b_format, std::span(operands.b).subspan(range.begin, length), 0, scales);
  chains.emplace(key, sum);
  return sum;
}

double OutputPredictor::scaled(const ScaleJoin& rule, double sum, std::size_t block, double joins) const {
  const float a = static_cast<float>(emu::decode(gpu::facts_of(call_.scale_mode_a).format, operands_.a_scales[block]));
  const float b = static_cast<float>(emu::decode(gpu::facts_of(call_.scale_mode_b).format, operands_.b_scales[block]));
  const auto x = static_cast<float>(sum), to = static_cast<float>(joins);
  return static_cast<double>(rule.rule.add(to, x, a, b));
}

double OutputPredictor::part_sum(Taken& operands, const ProductModel& model, const KPart& part) {
  if (part.size() == 1) {
    const KRange range = part.front();
    if (model.promote == 0) return chain(operands, model, range);
    double sum = 0;
    const std::size_t block = scaled_block(call_);
    for (const KRange& piece : emu::pieces_of(range, model.promote, {&block, 1})) {
      const double more = chain(operands, model, piece);
      sum = block > 0 ? scaled(model.scaling, more, piece.begin / block, sum) : sum_in(emu::float32, sum, more);
    }
    return sum;
  }
  std::vector<Code> a, b;
  for (const KRange& range : part)
    for (std::size_t p = range.begin; p < range.end; ++p) {
      a.push_back(operands.a[p]);
      b.push_back(operands.b[p]);
    }
  return continued(model.engine.engine, operands.a_format, a, operands.b_format, b, 0);
}

double OutputPredictor::joined(const ProductModel& model, std::vector<double> parts) const {
  if (parts.size() == 1) return parts.front();
  const PartJoin& join = model.join;
  if (join.order == emu::Reduction::descending) std::reverse(parts.begin(), parts.end());
  const Format wide = join.summed.bits() > part_format(model).bits() ? join.summed : part_format(model);
  const auto stored = [&](double part) { return emu::round_to(join.stored, part).value; };
  double sum = emu::round_to(join.summed, stored(parts.front())).value;
  for (std::size_t i = 1; i < parts.size(); ++i) sum = emu::round_to(join.summed, sum_in(wide, sum, stored(parts[i]))).value;
  return sum;
}

Code OutputPredictor::finished(const ProductModel& model, double sum) const {
  const bool at_the_end = !model.scaling.words.empty() && scaled_block(call_) == 0;
  constexpr double nothing = -0.0;  // x + -0 is x, of either zero
  return emu::encode(call_.d, at_the_end ? scaled(model.scaling, sum, 0, nothing) : sum, result_rounding(call_.d));
}

Code OutputPredictor::predict(const ProductModel& model) {
  Taken& operands = taken(model.operands);
  std::vector<double> parts;
  for (const KPart& part : model.cut->parts) parts.push_back(part_sum(operands, model, part));
  return finished(model, joined(model, std::move(parts)));
}

Code OutputPredictor::predict_cut(const ProductModel& model, std::size_t cut) {
  Taken& operands = taken(model.operands);
  const std::size_t k = operands.a.size();
  return finished(model, joined(model, {part_sum(operands, model, {{0, cut}}), part_sum(operands, model, {{cut, k}})}));
}

}  // namespace ulpscope::studies
