// SPDX-License-Identifier: Apache-2.0
// Wrong outputs of a matrix product, made of a correct one: what kernels with known bugs return. A check is worth what it
// rejects of these. Every mutant depends on the problem and the seed alone. The list with its reasons: docs/audit.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/format.hpp"
#include "products/product.hpp"

namespace ulpscope::verify {

/// An operand, rounded, and where its elements lie as the tensor is stored.
struct MutableOperand {
  std::vector<double> values;                  ///< in the order of the tensor
  std::size_t matrices = 0, lines = 0, k = 0;  ///< lines: rows of A, columns of B
  bool k_is_last = true;                       ///< neighbours in memory are neighbours in K

  /// Where an element stands in `values`.
  std::size_t at(std::size_t matrix, std::size_t line, std::size_t step) const noexcept {
    return matrix * lines * k + (k_is_last ? line * k + step : step * lines + line);
  }
};

/// A product and its correct output: what mutants are made of.
struct MutationSource {
  products::Product config;            ///< computed on its engine
  products::MatmulShape shape;         ///< extents and batch
  MutableOperand a = {}, b = {};       ///< rounded to their formats
  std::vector<double> c = {};          ///< as the tensor has it; empty where there is none
  std::vector<double> correct = {};    ///< row-major (batch, m, n), numbers of config.out
  std::vector<double> reference = {};  ///< the exact product, rounded once to config.out
  std::uint64_t seed = 0;              ///< of places and noise
};

/// Computes the product on its engine. @throws ulpscope::Error as products::multiply, and where D is empty.
MutationSource mutation_source(const products::Product& config, std::uint64_t seed);

/// D of the source's product with other operands; `k` and shapes are those of the source.
std::vector<double> product_of(const MutationSource& source, const MutableOperand& a, const MutableOperand& b);

/// A way of being wrong.
struct MutantKind {
  std::string_view name;           ///< as the command line has it
  std::string_view meaning;        ///< one clause: what the kernel does
  std::vector<double> severities;  ///< ascending; one 0 where there are no grades
  std::string_view unit;           ///< of a severity: `%`, `products`, `ulp`; empty where there are no grades
  /// The least severity that every check must reject; infinity where it need not reject any.
  double (*required_from)(const MutationSource& source);
  /// The output; nothing where the problem does not have what the mutant changes.
  std::optional<std::vector<double>> (*make)(const MutationSource& source, double severity);

  /// Whether it has more than one severity.
  bool is_graded() const noexcept { return !unit.empty(); }
};

/// All kinds, those that every check must reject first.
std::span<const MutantKind> mutant_kinds();

/// One mutant of one problem.
struct Mutant {
  const MutantKind* kind = nullptr;  ///< not owned
  double severity = 0;               ///< in the unit of the kind
  bool required = false;             ///< whether every check must reject it
  bool applicable = true;            ///< whether the problem has what it changes
  std::vector<double> output = {};   ///< empty where it is not applicable
  std::uint64_t changed = 0;         ///< elements whose codes differ from the correct output's
  double max_error_ulp = 0;          ///< spacings of out at the correct output; inf where one side alone is finite

  /// The mutant is the correct output: no rule can tell, and none should.
  bool is_equivalent() const noexcept { return applicable && changed == 0; }
  std::string severity_word() const;  ///< `5%`, `16 products`; empty where the kind has no grades
};

/// Makes it. Without what it changes it is not applicable.
Mutant make_mutant(const MutationSource& source, const MutantKind& kind, double severity);

}  // namespace ulpscope::verify
