// SPDX-License-Identifier: Apache-2.0
// `verify matmul` as people ask for it, and the expectation that the request, or a test in C++, becomes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "products/request.hpp"
#include "requests/field.hpp"
#include "verify/check_request.hpp"
#include "verify/engine_output.hpp"
#include "verify/integer_sums.hpp"

namespace ulpscope::verify {

/// The members mean what their fields' help says.
struct MatmulRequest {
  /// What the fields of these names say in the help of `ulpscope verify matmul`.
  ///@{
  products::ProductRequest product;
  std::string engine, acc_rounding = "nearest_even", reduction_order = "ascending", acc_overflow = "wrap";
  ///@}
  OutputRequest output;  ///< the output and how it is judged

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// A check of a matrix product whose files are open.
struct ResolvedMatmul : ResolvedCheck {
  products::Product product;  ///< `out` is the output's format
  bool sums_integers = false;  ///< in int32: the product's formats are of floats that hold them
};

/// Opens inputs and output. @throws ulpscope::Error
ResolvedMatmul resolve(const MatmulRequest& request);

/// What is declared of the kernel, and what its output is held to.
struct Declaration {
  bool bitwise = false;                              ///< the bits of the product's engine; else the exact value and a bound
  ReductionOrder order = ReductionOrder::ascending;  ///< where `bitwise`
  emu::Rounding sums = emu::Rounding::nearest_even;  ///< of additions without an engine: nearest_even or toward_zero
  std::optional<double> false_alarm = {};            ///< probability that a correct output is rejected; none: 0
  emu::Policy overflow = emu::Policy::nonsaturating;  ///< of the last rounding, where `bitwise`
  bool flushes_results = false;                       ///< subnormal products, sums and outputs may become zero
};

/// The operands A and B, C, and their scales. `scale_a` is the first of two, `scale_a_whole` the other.
std::vector<CheckInput> inputs_of(const products::ProductRequest& request, const products::ProductInputs& inputs);

/// The product that is judged: without an engine `--flush-subnormals` is of what the kernel computes, and inputs stay as they
/// are.
products::ProductRequest product_of(const MatmulRequest& request);
/// What a request whose accumulator is int32 declares of it. @throws ulpscope::Error where it asks for what such sums have not
IntegerOverflow overflow_of_integers(const MatmulRequest& request);
/// What a request declares. @throws ulpscope::Error
Declaration declaration_of(const MatmulRequest& request);
/// `--in` of what both operands are rounded to.
std::string in_words(const products::Product& product);

/// @throws ulpscope::Error where they contradict each other
std::unique_ptr<Expectation> expectation_of(const products::Product& product, const Declaration& declared);

}  // namespace ulpscope::verify
