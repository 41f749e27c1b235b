// SPDX-License-Identifier: Apache-2.0
// One line for each operation.
#include "verify/check_operations.hpp"

#include <algorithm>
#include <sstream>
#include <type_traits>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "verify/expressions/known_formulas.hpp"
#include "verify/generate/generated_request.hpp"
#include "verify/grouped/grouped_request.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::verify {
namespace {

template <class Request>
class CheckOf final : public Check {
 public:
  std::unique_ptr<Check> copy() const override { return std::make_unique<CheckOf>(*this); }
  requests::Fields fields() override { return requests::fields_of(request_); }
  ResolvedCheck resolve() const override { return verify::resolve(request_); }
  const OutputRequest& output() const override { return request_.output; }
  int threads() const override {
    if constexpr (requires { request_.product.threads; })
      return request_.product.threads;
    else
      return request_.threads;
  }
  const MatmulRequest* matmul() const override {
    if constexpr (std::is_same_v<Request, MatmulRequest>)
      return &request_;
    else
      return nullptr;
  }

 private:
  Request request_;
};

template <class Request>
std::unique_ptr<Check> make() {
  return std::make_unique<CheckOf<Request>>();
}

std::string function_names() {
  std::string names;
  for (const std::string& word : elementwise_words()) names += (names.empty() ? "" : " ") + word;
  return names;
}

std::string formula_names() {
  std::string names;
  for (const KnownFormula& known : known_formulas()) names += (names.empty() ? "" : " ") + known.name;
  return names;
}

}  // namespace

const std::vector<CheckOperation>& check_operations() {
  static const std::vector<CheckOperation> all{
      {"matmul", "D = A.B + C", make<MatmulRequest>},
      {"grouped_matmul", "rows of A, dealt out to groups, each by its group's matrix of B, as experts are",
       make<GroupedMatmulRequest>},
      {"softmax", "softmax along the last axis", make<SoftmaxRequest>},
      {"layer_norm", "layer normalisation along the last axis", make<LayerNormRequest>},
      {"rms_norm", "RMS norm along the last axis", make<RmsNormRequest>},
      {"attention", "softmax(scale Q K^T + mask) V", make<AttentionRequest>},
      {"sum", "sums along the last axis, or of all elements", make<SumRequest>},
      {"dot", "sums of products of two tensors of one shape", make<DotRequest>},
      {"conv", "convolution (cross-correlation) in 1 to 3 dimensions", make<ConvRequest>},
      {"cast", "a conversion: one rounding, --out-rounding, and --out-policy", make<CastRequest>},
      {"elementwise", "a function of each element: " + function_names(), make<ElementwiseRequest>},
      {"expr", "a formula over tensors; known by name: " + formula_names(), make<ExprRequest>},
      {"generated", "a case of `ulpscope generate matmul` whose kind says more than a bound: cancellation, order, ...",
       make<GeneratedRequest>}};
  return all;
}

std::vector<std::string> words_in(const requests::Field& field, const std::string& text) {
  if (!field.is_list()) return {text};
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

const CheckOperation& find_check_operation(std::string_view name) {
  const auto found = std::ranges::find(check_operations(), name, &CheckOperation::name);
  if (found != check_operations().end()) return *found;
  std::vector<std::string> names;
  for (const CheckOperation& operation : check_operations()) names.push_back(operation.name);
  throw Error("unknown operation '" + std::string(name) +
              "'; nearest: " + emu::comma_separated(emu::closest_words(name, names)));
}

std::pair<std::string, std::string> CheckOperation::field_of(const std::string& role, const std::string& word) const {
  if (name == "expr") return {"input", role + "=" + word};
  constexpr std::string_view whole = "_whole";
  if (role.starts_with("scale_") && role.ends_with(whole)) return {role.substr(0, role.size() - whole.size()), word};
  return {field_name(role), word};
}

}  // namespace ulpscope::verify
