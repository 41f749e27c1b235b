// SPDX-License-Identifier: Apache-2.0
// Wrong outputs, made of a correct one: what kernels with known bugs return. A check is worth what it rejects of these. Every
// mutant depends on the problem and the seed alone. Here are those of a matrix product, and what all operations have in common.
// The list with its reasons: docs/audit.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A correct output, of whatever operation: what mutants that need nothing else are made of.
struct CorrectOutput {
  emu::Format out = {};                ///< of the output
  std::size_t rows = 0, columns = 0;   ///< of one matrix of the output
  std::vector<double> correct = {};    ///< matrix by matrix, row-major, numbers of `out`
  std::vector<double> reference = {};  ///< the exact result, rounded once to `out`
  std::uint64_t seed = 0;              ///< of places and noise
};

/// A product and its correct output: what mutants are made of.
struct MutationSource : CorrectOutput {
  products::Product config = {};       ///< computed on its engine
  products::MatmulShape shape = {};    ///< extents and batch
  MutableOperand a = {}, b = {};       ///< rounded to their formats
  std::vector<double> c = {};          ///< as the tensor has it; empty where there is none
};

/// Computes the product on its engine. @throws ulpscope::Error as products::multiply, and where D is empty.
MutationSource mutation_source(const products::Product& config, std::uint64_t seed);

/// D of the source's product with other operands; `k` and shapes are those of the source.
std::vector<double> product_of(const MutationSource& source, const MutableOperand& a, const MutableOperand& b);

/// What a way of being wrong is called, and its grades.
struct MutantName {
  std::string name;                ///< as tables have it
  std::string meaning;             ///< one clause: what the kernel does
  std::vector<double> severities;  ///< ascending; one 0 where there are no grades
  std::string_view unit;           ///< of a severity: `%`, `products`, `ulp`; empty where there are no grades

  /// Whether it has more than one severity.
  bool is_graded() const noexcept { return !unit.empty(); }
};

/// A way of being wrong that is made of a `Source`.
template <class Source>
struct MutantOf : MutantName {
  /// The least severity that every check must reject; infinity where it need not reject any.
  std::function<double(const Source& source)> required_from;
  /// The output; nothing where the problem does not have what the mutant changes.
  std::function<std::optional<std::vector<double>>(const Source& source, double severity)> make;
};

/// A way for a product to be wrong.
using MutantKind = MutantOf<MutationSource>;

/// All kinds of a product, those that every check must reject first.
std::span<const MutantKind> mutant_kinds();

/// A kind that needs the correct output alone, by its name. @throws std::out_of_range
const MutantOf<CorrectOutput>& output_mutant(std::string_view name);

/// One mutant of one problem.
struct Mutant {
  const MutantName* kind = nullptr;  ///< not owned
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

/// The mutant that `output` is; not applicable where there is none.
Mutant mutant_of(const CorrectOutput& source, const MutantName& kind, double severity, bool required,
                 std::optional<std::vector<double>> output);

/// Makes it. Without what it changes it is not applicable.
template <class Source>
Mutant make_mutant(const Source& source, const MutantOf<Source>& kind, double severity) {
  return mutant_of(source, kind, severity, severity >= kind.required_from(source), kind.make(source, severity));
}

}  // namespace ulpscope::verify
