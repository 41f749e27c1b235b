// SPDX-License-Identifier: Apache-2.0
// The fields of `evidence`, and the study that they ask for.
#include "verify/evidence/evidence_request.hpp"

#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "requests/parts.hpp"
#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::verify {

void EvidenceRequest::describe(requests::Fields& fields) {
  constexpr requests::WholeBounds counts{.most = 1'000'000'000};
  fields.add("products", products, "correct products to judge").whole(counts).shown();
  fields.add("plants", plants, "kernels with a planted cause, for explain to find").whole(counts).shown();
  fields.add("false_alarm", false_alarm, "stated for the probabilistic bound").real({0, 1}).shown();
  fields.add("k", k, "lengths of sums whose errors are held against the bound").as_value("LO:HI").shown();
  fields.add("public", public_checks, "ask the checks of public kernel tests instead, about wrong and right outputs");
  fields.add("lines", lines, "with --public: rows of A and columns of B that are drawn of each product, at most")
      .whole({.least = 1, .most = 4096})
      .shown();
  requests::describe_seed(fields, seed, "key of all operands");
  requests::describe_threads(fields, threads);
}

PublicConfig resolve_public(const EvidenceRequest& request) {
  return {.sample = {.lines = static_cast<std::size_t>(request.lines), .seed = request.seed}, .threads = request.threads};
}

EvidenceConfig resolve_evidence(const EvidenceRequest& request) {
  if (!(request.false_alarm > 0 && request.false_alarm < 1))
    throw Error("--false-alarm: a probability between 0 and 1, e.g. 0.01");
  return {.products = request.products,
          .plants = request.plants,
          .false_alarm = request.false_alarm,
          .lengths = studies::parse_lengths(request.k),
          .seed = request.seed,
          .threads = request.threads};
}

studies::StudyResult run(const EvidenceRequest& request, const studies::Progress& progress) {
  if (request.public_checks) {
    PublicConfig config = resolve_public(request);
    config.progress = progress;
    const std::vector<PublicResult> results = ask_public_checks(config);
    const std::vector<KernelVerdict> kernels = judge_written_kernels(config.sample.seed, config.threads);
    studies::StudyResult result{.tables = public_tables(results), .findings = public_findings(results)};
    result.tables.push_back(kernels_table(kernels));
    for (reports::Finding& finding : kernels_findings(kernels)) result.findings.push_back(std::move(finding));
    return result;
  }
  EvidenceConfig config = resolve_evidence(request);
  if (progress) config.progress = [&](std::string_view, std::uint64_t done, std::uint64_t total) { progress(done, total); };
  const Evidence evidence = gather(config);
  return {.tables = evidence_tables(evidence), .findings = evidence_findings(evidence)};
}

studies::Work work_of(const EvidenceRequest& request) {
  if (request.public_checks) {
    const std::size_t checks = public_checks().size();
    return {.operations = checks * request.lines * request.lines, .rows = checks};
  }
  const EvidenceConfig config = resolve_evidence(request);
  return {.operations = config.products + config.plants, .rows = config.lengths.size()};
}

}  // namespace ulpscope::verify
