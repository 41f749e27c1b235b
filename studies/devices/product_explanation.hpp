// SPDX-License-Identifier: Apache-2.0
// The search for the model that predicts an algorithm's products of one shape.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device_emulator.hpp"
#include "gpu/library.hpp"
#include "studies/devices/code_difference.hpp"
#include "studies/devices/deadline.hpp"
#include "studies/devices/product_models.hpp"
#include "studies/devices/product_operands.hpp"
#include "studies/devices/product_prediction.hpp"

namespace ulpscope::studies {

/// What was found out about an algorithm.
struct ProductExplanation {
  bool found = false;            ///< whether a model gives every code
  std::string words;             ///< of the model that fits; where none does, of the one that comes nearest
  std::size_t alternatives = 0;  ///< models that fit as well
  std::string also;              ///< the first of them
  CodeDifference difference;     ///< from that model
};

/// How much a search may cost.
struct ExplanationLimits {
  std::size_t most_on_host = 0;                   ///< multiply-adds
  const gpu::DeviceEmulator* emulator = nullptr;  ///< null: the host computes all predictions
  Deadline deadline = {};                         ///< nothing is explained after it
};

/// Explains algorithms of one call on products of one shape. What models predict is computed once for all algorithms.
class ProductExplainer {
 public:
  /// `products`: those that the library is asked for; the ones that tell most apart come first.
  ProductExplainer(const gpu::LibraryCall& call, std::vector<ProductModel> models, std::vector<ProductOperands> products,
                   const ExplanationLimits& limits);

  using Results = std::vector<std::vector<std::byte>>;  ///< stored codes of D, one for each of products()

  /// The operands that tell models apart best.
  const std::vector<ProductOperands>& products() const noexcept { return products_; }

  /// results: D of each product, stored. `parts`: how many parts of K the algorithm declares. @throws TimeRanOut
  ProductExplanation explain(const Results& results, std::size_t parts);

 private:
  /// One output of all products. Those of a block of neighbours follow each other.
  struct Sample {
    std::size_t row, column, block;
    std::vector<OutputPredictor> predictors;  ///< one for each product
  };
  using Codes = std::vector<emu::Code>;

  void choose_samples();
  emu::Code at(const Results& results, std::size_t product, std::size_t i, std::size_t j) const;
  emu::Code predicted(std::size_t model, std::size_t sample, std::size_t product);
  std::size_t sample_mismatches(std::size_t model, const Results& results, std::size_t most);
  CodeDifference difference(std::size_t model, const Results& results);
  /// All outputs of all products; nothing where they are too many.
  const std::optional<Codes>& whole(std::size_t model);
  std::optional<Codes> whole_on_device(const ProductModel& model) const;
  std::size_t nearest(const Results& results);
  std::optional<ProductExplanation> streamed(const Results& results);
  std::optional<std::string> cuts_of_blocks(const ProductModel& model, const Results& results);

  gpu::LibraryCall call_;
  std::vector<ProductModel> models_;
  std::vector<ProductOperands> products_;
  ExplanationLimits limits_;
  std::vector<Sample> samples_;
  std::size_t blocks_ = 0;
  std::vector<std::vector<std::optional<emu::Code>>> predicted_;  ///< of each model: sample by sample, product by product
  std::map<std::size_t, std::optional<Codes>> whole_;
};

}  // namespace ulpscope::studies
