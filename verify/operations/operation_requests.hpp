// SPDX-License-Identifier: Apache-2.0
// Checks of the operations beside matmul as people ask for them. The members mean what their fields' help says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "verify/check_request.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {

/// What all of them have: formats of the input and of the output.
struct OperationRequest {
  std::string in, out;
  requests::ReadingRequest reading;
  int threads = 0;
  OutputRequest output;

  void describe_input(requests::Fields& fields);
  void describe_output(requests::Fields& fields);
};

/// Those that compute: the format of their arithmetic.
struct ArithmeticRequest {
  std::string acc = "float32", acc_rounding = "nearest_even";
  std::uint64_t sum_depth = 0;
  double function_ulp = 2;

  void describe_sums(requests::Fields& fields);
  void describe_functions(requests::Fields& fields);
  KernelArithmetic arithmetic() const;
};

struct SumRequest : OperationRequest, ArithmeticRequest {
  std::string x, axis = "last";
  void describe(requests::Fields& fields);
};

struct DotRequest : OperationRequest, ArithmeticRequest {
  std::string a, b, axis = "last";
  void describe(requests::Fields& fields);
};

struct ConvRequest : OperationRequest, ArithmeticRequest {
  std::string x, w, bias;
  std::vector<std::uint64_t> stride{1}, padding{0}, dilation{1};
  std::uint64_t groups = 1;
  void describe(requests::Fields& fields);
};

struct CastRequest : OperationRequest {
  std::string x;
  void describe(requests::Fields& fields);
};

struct ElementwiseRequest : OperationRequest, ArithmeticRequest {
  std::string function, x;
  void describe(requests::Fields& fields);
};

struct SoftmaxRequest : OperationRequest, ArithmeticRequest {
  std::string x;
  std::uint64_t block = 16;
  void describe(requests::Fields& fields);
};

struct RmsNormRequest : OperationRequest, ArithmeticRequest {
  std::string x, weight, bias;
  double eps = 1e-5;
  void describe(requests::Fields& fields);

 protected:
  void describe_own(requests::Fields& fields);
  void describe_rest(requests::Fields& fields);
};

struct LayerNormRequest : RmsNormRequest {
  std::string variance = "centred";
  void describe(requests::Fields& fields);
};

struct AttentionRequest : OperationRequest, ArithmeticRequest {
  std::string q, k, v, mask, causal = "none", scores, probabilities;
  std::optional<double> scale;
  std::uint64_t block = 16;
  void describe(requests::Fields& fields);
};

/// Opens inputs and output. @throws ulpscope::Error
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
