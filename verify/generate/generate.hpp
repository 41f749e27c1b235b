// SPDX-License-Identifier: Apache-2.0
// Operands of matrix products that provoke what random ones miss, and what comes out of a right kernel. docs/generate.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"

namespace ulpscope::verify {

/// A condition number of `cancellation` that tells right kernels from wrong ones: with u half an ulp of 1 in the accumulator,
/// 2^-6 / (u sqrt(k)), for which sums in any order are off by some 6% of the results; k where that is more, since the data has
/// no less.
double usual_condition(std::size_t k, emu::Format accumulator);
/// The greatest k, a power of two, for which sums can be told from zeros with that.
std::size_t usual_products(emu::Format accumulator);

/// What a case is made for.
struct CaseRequest {
  std::size_t m = 64, n = 64, k = 256;                         ///< extents
  emu::Format a = emu::float16, b = emu::float16;              ///< of the operands; every element is a number of them
  emu::Format accumulator = emu::float32, out = emu::float16;  ///< of the kernel that is to be tested
  double condition = usual_condition(k, accumulator);          ///< `cancellation`: 2 sum |a||b| / |sum a b|
  std::uint64_t seed = 0;                                      ///< of everything that is drawn
};

/// Something measured about a case.
struct CaseFact {
  std::string name;     ///< in the manifest of a case
  double value;         ///< the number
  std::string meaning;  ///< in words
};

/// Operands, row-major, and what their product is.
struct MatmulCase {
  std::vector<float> a, b;           ///< m by k, and k by n
  std::vector<float> c = {};         ///< where the chain starts, row-major as the result; empty: zeros
  std::vector<float> expected = {};  ///< the exact product, rounded once to the output format, to nearest even
  /// Whether every partial sum in any order and grouping is a number of the accumulator, so that a kernel that rounds only to
  /// it and to the output format returns `expected` to the bit.
  bool any_order_is_exact = false;
  std::vector<CaseFact> facts = {};  ///< measured on the operands
};

/// A way to make operands.
struct CaseKind {
  std::string_view name;                               ///< as the command line has it
  std::string_view provokes;                           ///< what is in the data, one sentence
  std::string_view returns;                            ///< what a right kernel returns
  std::string_view catches;                            ///< wrong kernels that random data lets pass
  MatmulCase (*generate)(const CaseRequest& request);  ///< operands and facts
};

/// All kinds, in the order of their documentation.
std::span<const CaseKind> case_kinds();

/// @throws ulpscope::Error with the closest names
const CaseKind& find_case_kind(std::string_view name);

/// What a right kernel returns for a case of this kind, one sentence.
std::string right_result(const CaseKind& kind, const MatmulCase& made);

/// The operands with `expected`: the same bytes on every machine for the same request.
/// @throws ulpscope::Error where the shape or the formats do not suffice for the kind: what is needed instead
MatmulCase generate_case(const CaseKind& kind, const CaseRequest& request);

}  // namespace ulpscope::verify
