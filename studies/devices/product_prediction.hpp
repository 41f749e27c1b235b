// SPDX-License-Identifier: Apache-2.0
// The outputs that a model of a product predicts, by the letter of emu/engine_step.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "gpu/library.hpp"
#include "studies/devices/product_models.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {

/// The operands of one output: a row of A and a column of B, as they are stored, and their scales, block after block.
struct OutputOperands {
  std::vector<emu::Code> a, b;                          ///< ascending in k
  std::vector<emu::Code> a_scales = {}, b_scales = {};  ///< ascending in k; empty where there are none
};
/// Those of output (i, j).
OutputOperands output_operands(const gpu::LibraryCall& call, const ProductOperands& product, std::size_t i, std::size_t j);

/// How a library rounds to D: to nearest even. fp8 saturates, as the only conversions to it do (PTX ISA, cvt: .satfinite).
emu::RoundingOptions result_rounding(emu::Format d);

/// Predicts one output under many models: chains that models have in common are computed once.
class OutputPredictor {
 public:
  /// Of a call's output; `operands` are kept.
  OutputPredictor(const gpu::LibraryCall& call, OutputOperands operands);

  /// The code of D, for alpha = 1 and no C.
  emu::Code predict(const ProductModel& model);
  /// The same where K is cut in two at `cut`, a multiple of the engine's step; the model's own cut does not count.
  emu::Code predict_cut(const ProductModel& model, std::size_t cut);

 private:
  /// One pair of operands as an engine takes them.
  struct Taken {
    emu::Format a_format, b_format;
    std::vector<emu::Code> a, b;
    /// Sums of chains from 0, by engine and range.
    std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, double>> chains = {};
  };
  Taken& taken(const TakenOperands& operands);
  double chain(Taken& operands, const ProductModel& model, const KRange& range);
  /// What the scales of a block make of a sum; `joins` is what it is added to.
  double scaled(const ScaleJoin& rule, double sum, std::size_t block, double joins) const;
  emu::Code finished(const ProductModel& model, double sum) const;
  double part_sum(Taken& operands, const ProductModel& model, const KPart& part);
  double joined(const ProductModel& model, std::vector<double> parts) const;

  gpu::LibraryCall call_;
  OutputOperands operands_;
  std::map<std::string, Taken> taken_;
};

}  // namespace ulpscope::studies
