// SPDX-License-Identifier: Apache-2.0
// Checks of the operations beside matmul as people ask for them. The members mean what their fields' help says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/study.hpp"
#include "verify/check_request.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {

/// What all of them have: formats of the input and of the output.
struct OperationRequest {
  /// What the fields of these names say in the help of `ulpscope verify`.
  ///@{
  std::string in, out;
  requests::ReadingRequest reading;
  int threads = 0;
  OutputRequest output;
  ///@}

  /// Names the formats, the seed and the threads.
  void describe_input(requests::Fields& fields);
  /// Names the output and how it is judged.
  void describe_output(requests::Fields& fields);
};

/// Those that compute: the format of their arithmetic.
struct ArithmeticRequest {
  /// What the fields of these names say in the help of `ulpscope verify`.
  ///@{
  std::string acc = "float32", acc_rounding = "nearest_even";
  std::optional<std::uint64_t> sum_depth;
  double function_ulp = 2;
  ///@}

  /// Names what concerns sums.
  void describe_sums(requests::Fields& fields);
  /// Names what concerns functions.
  void describe_functions(requests::Fields& fields);
  /// The same, understood. @throws ulpscope::Error
  KernelArithmetic arithmetic() const;
};

/// `ulpscope verify sum`
struct SumRequest : OperationRequest, ArithmeticRequest {
  std::string x, axis = "last";  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify dot`
struct DotRequest : OperationRequest, ArithmeticRequest {
  std::string a, b, axis = "last";  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify conv`
struct ConvRequest : OperationRequest, ArithmeticRequest {
  /// As its help says.
  ///@{
  std::string x, w, bias;
  std::vector<std::uint64_t> stride{1}, padding{0}, dilation{1};
  std::uint64_t groups = 1;
  ///@}
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify cast`
struct CastRequest : OperationRequest {
  std::string x;  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify elementwise`
struct ElementwiseRequest : OperationRequest, ArithmeticRequest {
  std::string function, x;  ///< as its help says
  double function_abs = 0;  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify softmax`
struct SoftmaxRequest : OperationRequest, ArithmeticRequest {
  /// As its help says.
  ///@{
  std::string x, shifted, exponentials, sums, fully_masked;
  std::uint64_t block = 16;
  ///@}
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify rms_norm`
struct RmsNormRequest : OperationRequest, ArithmeticRequest {
  /// As its help says.
  ///@{
  std::string x, weight, bias, normalized;
  double eps = 1e-5;
  ///@}
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);

 protected:
  /// Names the inputs.
  void describe_own(requests::Fields& fields);
  /// Names what follows the inputs.
  void describe_rest(requests::Fields& fields);
};

/// `ulpscope verify layer_norm`
struct LayerNormRequest : RmsNormRequest {
  std::string variance = "centred";  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify attention`
struct AttentionRequest : OperationRequest, ArithmeticRequest {
  /// As its help says.
  ///@{
  std::string q, k, v, mask, layout = "bhld", causal = "none", window, sinks, scores, probabilities, fully_masked, lse;
  std::string q_descale, k_descale, v_descale, block_table, key_lengths, query_starts, key_starts;
  std::optional<double> scale, softcap;
  double function_abs = 0;
  std::uint64_t block = 16;
  ///@}
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope verify expr`
struct ExprRequest : OperationRequest, ArithmeticRequest {
  std::string formula;                  ///< as its help says
  std::vector<std::string> input, let;  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// `ulpscope explain expr`
struct ExplainExprRequest {
  ExprRequest claim;                        ///< the formula, its tensors, the output
  std::vector<std::string> points{"bf16"};  ///< as its help says
  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Opens inputs and output, and looks for the roundings of the kernel. @throws ulpscope::Error
studies::StudyResult run(const ExplainExprRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const ExplainExprRequest& request);

/// Opens inputs and output. @throws ulpscope::Error
ResolvedCheck resolve(const ExprRequest& request);
ResolvedCheck resolve(const SumRequest& request);
ResolvedCheck resolve(const DotRequest& request);
ResolvedCheck resolve(const ConvRequest& request);
ResolvedCheck resolve(const CastRequest& request);
ResolvedCheck resolve(const ElementwiseRequest& request);
ResolvedCheck resolve(const SoftmaxRequest& request);
ResolvedCheck resolve(const RmsNormRequest& request);
ResolvedCheck resolve(const LayerNormRequest& request);
ResolvedCheck resolve(const AttentionRequest& request);

}  // namespace ulpscope::verify
