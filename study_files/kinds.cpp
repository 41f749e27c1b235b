// SPDX-License-Identifier: Apache-2.0
// One line for each kind of study.
#include "study_files/kinds.hpp"

#include <algorithm>
#include <concepts>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "studies/accumulation/accumulation_page.hpp"
#include "studies/accumulation/accumulation_request.hpp"
#include "studies/attention/attention.hpp"
#include "studies/breaks/breaks.hpp"
#include "studies/census/block_findings.hpp"
#include "studies/census/census_request.hpp"
#include "studies/census/sqnr_heat_map.hpp"
#include "studies/census/sweep_figures.hpp"
#include "studies/choose/choose.hpp"
#include "studies/claims/claims.hpp"
#include "studies/devices/device_check_request.hpp"
#include "studies/diff/diff_findings.hpp"
#include "studies/diff/diff_request.hpp"
#include "studies/matmul/matmul_request.hpp"
#include "studies/probe/probe_request.hpp"
#include "studies/product_sizes/product_sizes.hpp"
#include "studies/quantization/quantization.hpp"
#include "training/outcomes/outcomes.hpp"
#include "training/scale/scale_study.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_request.hpp"
#include "verify/check_study.hpp"
#include "verify/conform/conform_request.hpp"
#include "verify/evidence/evidence_request.hpp"
#include "verify/explain/explain_request.hpp"
#include "verify/generate/generated_request.hpp"
#include "verify/grouped/grouped_request.hpp"
#include "verify/invariance/invariance_request.hpp"
#include "verify/matmul_request.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::study_files {
namespace {

template <class Request>
constexpr bool is_check = requires(const Request& request) {
  { verify::resolve(request) } -> std::convertible_to<const verify::ResolvedCheck&>;
};

// Each request's own functions, wherever they are.
template <class Request>
studies::StudyResult run_request(const Request& request, const studies::Progress& progress) {
  return run(request, progress);
}
template <class Request>
studies::Work work_of_request(const Request& request) {
  return work_of(request);
}

template <class Request>
class StudyOf final : public Study {
 public:
  requests::Fields fields() override { return requests::fields_of(request_); }
  std::unique_ptr<Study> copy() const override { return std::make_unique<StudyOf>(*this); }
  studies::StudyResult run(const studies::Progress& progress) const override {
    if constexpr (is_check<Request>)
      return verify::run_check(request_, threads(), progress);
    else
      return run_request(request_, progress);
  }
  studies::Work work() const override {
    if constexpr (is_check<Request>)
      return {.operations = tensors::open_one(request_.output.output, {}).count(), .rows = 1};
    else
      return work_of_request(request_);
  }

 private:
  int threads() const {
    if constexpr (requires { request_.product.threads; })
      return request_.product.threads;
    else
      return request_.threads;
  }

  Request request_;
};

template <class Operation>
using InvarianceOf = verify::InvarianceRequest<Operation>;

template <class Request>
std::unique_ptr<Study> make() {
  return std::make_unique<StudyOf<Request>>();
}

std::vector<reports::Figure> census_figures(const std::vector<reports::Table>& tables) {
  const reports::Table& table = tables.front();
  if (table.has("growth_binades")) return studies::history_figures(table);
  if (table.has("sqnr_min_db")) return studies::block_figures(table);
  return studies::census_figures(table);
}

std::vector<reports::Figure> sweep_figures(const std::vector<reports::Table>& tables) {
  return studies::sweep_figures(tables.front());
}

std::vector<reports::Figure> diff_figures(const std::vector<reports::Table>& tables) {
  return studies::diff_figures(tables.front());
}

std::vector<reports::Figure> accumulation_figures(const std::vector<reports::Table>& tables) {
  return studies::accumulation_figures(tables.front());
}

}  // namespace

const std::vector<Kind>& kinds() {
  using Names = std::vector<std::string>;
  const Names none, of_sweep{"loss_scales"}, of_diff{"worst", "unmatched"}, of_conform{"examples"},
      of_evidence{"tightness",   "audit_power",    "explain_plants", "explain_roundings",
                  "norm_faults", "public_outputs", "public_kernels"},
      of_breaks{"curves", "limits", "sums"}, of_quantization{"recommendations"},
      of_attention{"probabilities", "distances", "exp2"}, of_scale{"scale_windows"},
      of_train{"summary", "tensors", "train_findings", "evaluations"}, of_claims{"measurements"},
      of_verdict{"histogram", "worst"}, of_attention_verdict{"histogram", "worst", "lse", "lse_histogram", "lse_worst"};
  static const std::vector<Kind> all{
      {"census", "what each format does to each tensor", "elements", 3e7, make<studies::CensusRequest>, none, census_figures},
      {"sweep", "the same at every loss scale 2^k", "elements", 5e7, make<studies::SweepRequest>, of_sweep, sweep_figures},
      {"matmul", "D = A.B + C on emulated engines, and what that costs", "products", 3e9, make<studies::MatmulRequest>},
      {"accumulation", "errors of products by engine, format, length and distribution", "products", 4e8,
       make<studies::AccumulationRequest>, none, accumulation_figures},
      {"diff", "how two tensors differ", "elements", 5e7, make<studies::DiffRequest>, of_diff, diff_figures},
      {"probe", "the numerical features of an engine, found by experiment", "instructions", 5, make<studies::ProbeRequest>},
      {"devices check", "a device beside the emulator, bit by bit", "inner products", 1e6, make<studies::DeviceCheckRequest>},
      {"conform", "somebody else's converter on every input", "inputs", 5e7, make<verify::ConformRequest>, of_conform},
      {"evidence", "what the checks of verify are worth: false alarms, power, tight bounds, causes named", "products", 3e3,
       make<verify::EvidenceRequest>, of_evidence},
      {"breaks", "where functions break as their inputs scale, and sums stop growing", "operations", 2e6,
       make<studies::BreaksRequest>, of_breaks, studies::breaks_figures},
      {"quantization", "formats and symmetric integers under their scales, ranked at equal bits", "elements", 1e7,
       make<studies::QuantizationRequest>, of_quantization, studies::quantization_figures},
      {"choose", "the narrowest format and scale of each tensor that keeps what is asked", "elements", 3e7,
       make<studies::ChooseRequest>},
      {"product_sizes", "errors of products of N by N matrices, the operands' and the engine's apart", "products", 3e8,
       make<studies::ProductSizesRequest>, none, studies::product_sizes_figures},
      {"attention", "caches, probabilities and 2^x of attention in low precision", "products", 3e8,
       make<studies::AttentionStudyRequest>, of_attention, studies::attention_figures},
      {"scale", "loss scalers on a recorded run", "elements", 2e7, make<training::ScaleRequest>, of_scale,
       training::scale_figures},
      {"train", "training under recipes: curves, losses, what went wrong and where", "products", 2e8,
       make<training::TrainRequest>, of_train, training::train_figures},
      {"outcomes", "what is known to happen to training in low precision, shown by small runs", "outcomes", 1,
       make<training::OutcomesRequest>, of_claims, studies::claims_figures},
      {"claims", "what articles say, beside the measurement", "claims", 5, make<studies::ClaimsRequest>, of_claims,
       studies::claims_figures},
      {"explain matmul", "why is D = A.B + C not what it claims to be?", "outputs", 1e4, make<verify::ExplainRequest>},
      {"explain expr", "where does a kernel round that computes a formula?", "outputs", 1e4, make<verify::ExplainExprRequest>},
      {"invariance matmul", "do rows of D = A.B + C depend on their batch?", "outputs", 1e6,
       make<InvarianceOf<verify::MatmulRequest>>},
      {"invariance softmax", "do rows of a softmax?", "outputs", 1e6, make<InvarianceOf<verify::SoftmaxRequest>>},
      {"invariance layer_norm", "do rows of a layer normalisation?", "outputs", 1e6,
       make<InvarianceOf<verify::LayerNormRequest>>},
      {"invariance rms_norm", "do rows of an RMS norm?", "outputs", 1e6, make<InvarianceOf<verify::RmsNormRequest>>},
      {"invariance attention", "do rows of an attention?", "outputs", 1e6, make<InvarianceOf<verify::AttentionRequest>>},
      {"invariance sum", "do sums of rows?", "outputs", 1e6, make<InvarianceOf<verify::SumRequest>>},
      {"invariance dot", "do inner products?", "outputs", 1e6, make<InvarianceOf<verify::DotRequest>>},
      {"invariance conv", "do rows of a convolution?", "outputs", 1e6, make<InvarianceOf<verify::ConvRequest>>},
      {"invariance cast", "do conversions?", "outputs", 1e6, make<InvarianceOf<verify::CastRequest>>},
      {"invariance elementwise", "do functions of elements?", "outputs", 1e6, make<InvarianceOf<verify::ElementwiseRequest>>},
      {"invariance grouped_matmul", "do rows of products of groups?", "outputs", 1e6,
       make<InvarianceOf<verify::GroupedMatmulRequest>>},
      {"invariance expr", "do rows of a formula's value?", "outputs", 1e6, make<InvarianceOf<verify::ExprRequest>>},
      {"verify matmul", "is D = A.B + C right?", "outputs", 1e6, make<verify::MatmulRequest>, of_verdict},
      {"verify grouped_matmul", "are products of rows with the matrices of their groups right?", "outputs", 1e6,
       make<verify::GroupedMatmulRequest>, of_verdict},
      {"verify softmax", "is a softmax right?", "outputs", 1e6, make<verify::SoftmaxRequest>, of_verdict},
      {"verify layer_norm", "is a layer normalisation right?", "outputs", 1e6, make<verify::LayerNormRequest>, of_verdict},
      {"verify rms_norm", "is an RMS norm right?", "outputs", 1e6, make<verify::RmsNormRequest>, of_verdict},
      {"verify attention", "is an attention right?", "outputs", 1e6, make<verify::AttentionRequest>, of_attention_verdict},
      {"verify sum", "are sums right?", "outputs", 1e6, make<verify::SumRequest>, of_verdict},
      {"verify dot", "are inner products right?", "outputs", 1e6, make<verify::DotRequest>, of_verdict},
      {"verify conv", "is a convolution right?", "outputs", 1e6, make<verify::ConvRequest>, of_verdict},
      {"verify cast", "is a conversion right?", "outputs", 1e6, make<verify::CastRequest>, of_verdict},
      {"verify elementwise", "is a function of each element right?", "outputs", 1e6, make<verify::ElementwiseRequest>,
       of_verdict},
      {"verify expr", "is a formula's value right?", "outputs", 1e6, make<verify::ExprRequest>, of_verdict},
      {"verify generated", "is the output of a generated case right?", "outputs", 1e6, make<verify::GeneratedRequest>,
       of_verdict},
  };
  return all;
}

const Kind& find_kind(std::string_view name) {
  const auto found = std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) { return kind.name == name; });
  if (found != kinds().end()) return *found;
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.name);
  throw Error("unknown kind '" + std::string(name) + "'; nearest: " + emu::comma_separated(emu::closest_words(name, names)));
}

}  // namespace ulpscope::study_files
