// SPDX-License-Identifier: Apache-2.0
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
                 double from) {
  const Format accumulator = engine.accumulator;
  return emu::decode(accumulator, emu::inner_product(engine, a_format, a, b_format, b, emu::encode(accumulator, from)));
}

/// x + y rounded to a format. The float64 sum of two numbers of at most 24 bits, rounded again to as many, is as if rounded
/// once (Figueroa, SIGNUM Newsletter 30(3), 1995).
double sum_in(Format format, double x, double y) { return emu::round_to(format, x + y).value; }

Format part_format(const ProductModel& model) { return model.promote > 0 ? emu::float32 : model.engine.engine.accumulator; }

}  // namespace

OutputOperands output_operands(const gpu::MatrixProduct& product, std::size_t i, std::size_t j) {
  OutputOperands operands;
  for (std::size_t p = 0; p < product.k(); ++p) {
    operands.a.push_back(product.a.at(i, p));
    operands.b.push_back(product.b.at(p, j));
  }
  return operands;
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
  const double sum = continued(model.engine.engine, operands.a_format, std::span(operands.a).subspan(range.begin, length),
                               operands.b_format, std::span(operands.b).subspan(range.begin, length), 0);
  chains.emplace(key, sum);
  return sum;
}

double OutputPredictor::part_sum(Taken& operands, const ProductModel& model, const KPart& part) {
  if (part.size() == 1) {
    const KRange range = part.front();
    if (model.promote == 0) return chain(operands, model, range);
    double sum = 0;
    for (std::size_t begin = range.begin; begin < range.end; begin += model.promote)
      sum = sum_in(emu::float32, sum, chain(operands, model, {begin, std::min(begin + model.promote, range.end)}));
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
  if (join.descending) std::reverse(parts.begin(), parts.end());
  const Format wide = join.summed.bits() > part_format(model).bits() ? join.summed : part_format(model);
  const auto stored = [&](double part) { return emu::round_to(join.stored, part).value; };
  double sum = emu::round_to(join.summed, stored(parts.front())).value;
  for (std::size_t i = 1; i < parts.size(); ++i) sum = emu::round_to(join.summed, sum_in(wide, sum, stored(parts[i]))).value;
  return sum;
}

Code OutputPredictor::predict(const ProductModel& model) {
  Taken& operands = taken(model.operands);
  std::vector<double> parts;
  for (const KPart& part : model.cut->parts) parts.push_back(part_sum(operands, model, part));
  return emu::encode(call_.d, joined(model, std::move(parts)));
}

Code OutputPredictor::predict_cut(const ProductModel& model, std::size_t cut) {
  Taken& operands = taken(model.operands);
  const std::size_t k = operands.a.size();
  return emu::encode(call_.d, joined(model, {part_sum(operands, model, {{0, cut}}), part_sum(operands, model, {{cut, k}})}));
}

}  // namespace ulpscope::studies
