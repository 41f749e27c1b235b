// SPDX-License-Identifier: Apache-2.0
// Asks each algorithm of a call, has its results explained, and writes a row.
#include "studies/devices/library_products.hpp"

#include <optional>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "gpu/architecture.hpp"
#include "studies/devices/product_explanation.hpp"
#include "studies/devices/product_models.hpp"

namespace ulpscope::studies {
namespace {

using reports::Cell, reports::Table;

class Study {
 public:
  Study(const gpu::Library& library, const gpu::LibraryCall& call, const LibraryProductsConfig& config)
      : library_(library), call_(call), config_(config), table_(library_products_table()) {}

  Table run() {
    for (const ProductShape& shape : config_.shapes) study(shape);
    return std::move(table_);
  }

  void failed(const ProductShape& shape, const std::string& algorithm, const std::string& explained,
              const std::string& reason) {
    std::vector<Cell> row = first_cells(shape, algorithm);
    const CodeDifference nothing(call_.d);
    for (Cell cell :
         {Cell(explained), Cell(reason), reports::whole(0), Cell(""), reports::whole(0), reports::whole(0),
          Cell(nothing.mean_ulp()), Cell(nothing.mean_ulp()), Cell(nothing.equal_share()), Cell(nothing.relative())})
      row.push_back(std::move(cell));
    add_row(std::move(row));
  }
  Table table() { return std::move(table_); }

 private:
  void study(const ProductShape& shape) {
    const std::string shape_words =
        std::to_string(shape.m) + " by " + std::to_string(shape.n) + " by " + std::to_string(shape.k);
    std::vector<gpu::LibraryAlgorithm> algorithms;
    try {
      algorithms = library_.algorithms(call_, shape.m, shape.n, shape.k, config_.most_algorithms);
    } catch (const TimeRanOut& error) {
      return failed(shape, "", "not checked", error.what());
    } catch (const Error& error) {
      return failed(shape, "", "error", error.what());
    }
    ModelRequest request{config_.engine, shape.k};
    for (const gpu::LibraryAlgorithm& algorithm : algorithms) request.split_k.push_back(algorithm.split_k);
    std::vector<ProductOperands> products;
    for (const OperandKind kind : {OperandKind::cancelling, OperandKind::wide, OperandKind::normal})
      products.push_back(product_operands(kind, call_, shape, config_.seed));
    ProductExplainer explainer(call_, product_models(call_, request), std::move(products),
                               {config_.most_on_host, config_.emulator, config_.deadline});
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      if (config_.progress)
        config_.progress(library_.name() + " " + call_.compute + " " + shape_words + ": algorithm " + std::to_string(i + 1) +
                         " of " + std::to_string(algorithms.size()));
      explain(shape, algorithms[i], explainer);
    }
  }

  void explain(const ProductShape& shape, const gpu::LibraryAlgorithm& algorithm, ProductExplainer& explainer) {
    std::optional<ProductExplanation> found;
    try {
      found = explanation_of(shape, algorithm, explainer);
    } catch (const TimeRanOut& error) {
      return failed(shape, algorithm.words, "not checked", error.what());
    } catch (const Error& error) {
      return failed(shape, algorithm.words, "error", error.what());
    }
    const ProductExplanation& explanation = *found;
    const CodeDifference& difference = explanation.difference;
    std::vector<Cell> row = first_cells(shape, algorithm.words);
    for (Cell cell :
         {Cell(explanation.found ? "yes" : "no"), Cell(explanation.words), reports::whole(explanation.alternatives),
          Cell(explanation.also), reports::whole(difference.compared()), reports::whole(difference.mismatches()),
          Cell(difference.max_ulp()), Cell(difference.mean_ulp()), Cell(difference.equal_share()), Cell(difference.relative())})
      row.push_back(std::move(cell));
    add_row(std::move(row));
  }

  void add_row(std::vector<Cell> row) {
    for (std::string word : {std::string(gpu::facts_of(call_.scale_mode_a).name),
                             std::string(gpu::facts_of(call_.scale_mode_b).name), emu::format_name(call_.c_format())})
      row.emplace_back(std::move(word));
    table_.rows.push_back(std::move(row));
  }

  ProductExplanation explanation_of(const ProductShape& shape, const gpu::LibraryAlgorithm& algorithm,
                                    ProductExplainer& explainer) const {
    std::vector<std::vector<std::byte>> results;
    for (const ProductOperands& product : explainer.products()) {
      results.emplace_back(shape.m * shape.n * gpu::bytes_per_code(call_.d));
      library_.multiply(call_, algorithm, {product.view(), 1, 0, product.scale_a.view(), product.scale_b.view()},
                        results.back());
    }
    return explainer.explain(results, static_cast<std::size_t>(algorithm.split_k));
  }

  std::vector<Cell> first_cells(const ProductShape& shape, const std::string& algorithm) const {
    return {library_.name(),
            call_.function,
            call_.compute,
            emu::format_name(call_.a),
            emu::format_name(call_.b),
            emu::format_name(call_.d),
            call_.reduced_precision_reduction ? "yes" : "no",
            call_.fast_accumulation ? "yes" : "no",
            reports::whole(shape.m),
            reports::whole(shape.n),
            reports::whole(shape.k),
            algorithm};
  }

  const gpu::Library& library_;
  const gpu::LibraryCall& call_;
  const LibraryProductsConfig& config_;
  Table table_;
};

}  // namespace

std::vector<ProductShape> library_product_shapes(const gpu::Device& device) {
  if (device.description.id.starts_with("emulated:")) return {{16, 16, 512}};
  return {{64, 64, 512}, {64, 64, 8192}, {512, 512, 1024}, {16, 2048, 2048}};
}

Table library_products_table() {
  return {"library_products",
          {"library",
           "function",
           "compute",
           "a",
           "b",
           "d",
           "reduced_precision_reduction",
           "fast_accumulation",
           "m",
           "n",
           "k",
           "algorithm",
           "explained",
           "explanation",
           "alternatives",
           "also",
           "outputs",
           "mismatches",
           "max_ulp_difference",
           "mean_ulp_difference",
           "equal_share",
           "relative_difference",
           "scale_mode_a",
           "scale_mode_b",
           "c"},
          {}};
}

Table unexplained_products(const gpu::Library& library, const gpu::LibraryCall& call, const ProductShape& shape,
                           const std::string& explained, const std::string& reason) {
  const LibraryProductsConfig config;
  Study study(library, call, config);
  study.failed(shape, "", explained, reason);
  return study.table();
}

std::string engine_of_device(const gpu::Device& device) {
  const gpu::DeviceDescription& description = device.description;
  const std::string engine = gpu::engine_of(description.architecture);
  if (engine.empty()) throw Error(description.id + " is " + description.architecture + ", which no engine emulates");
  return engine;
}

Table library_products(const gpu::Library& library, const gpu::LibraryCall& call, const LibraryProductsConfig& config) {
  return Study(library, call, config).run();
}

}  // namespace ulpscope::studies
