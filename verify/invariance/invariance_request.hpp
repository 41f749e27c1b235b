// SPDX-License-Identifier: Apache-2.0
// `invariance OP`: the request of `verify OP`, with several outputs in the place of one.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "products/product.hpp"
#include "requests/field.hpp"
#include "studies/study.hpp"
#include "verify/check_request.hpp"
#include "verify/invariance/invariance.hpp"
#include "verify/matmul_request.hpp"
#include "verify/operations/operation_requests.hpp"

namespace ulpscope::verify {

/// `NAME=FILE`, and `@ROW` behind the file where it holds some rows of the result from that one on.
struct ConditionWords {
  std::string name, file;       ///< what was different, and where the output lies
  std::uint64_t first_row = 0;  ///< of the result, that the file's first is
  bool has_row = false;         ///< whether that was said
};
/// @throws ulpscope::Error
ConditionWords parse_condition(const std::string& word);

/// A request whose files are open.
struct ResolvedInvariance {
  ResolvedCheck check;                       ///< of the first output; the others are judged alike
  std::vector<Condition> conditions;         ///< all of them
  bool rows_are_elements = false;            ///< of sums along the last axis
  std::optional<products::Product> product;  ///< that explains the outputs, where there is one
  std::optional<SumRequest> sums;            ///< of sums: their request
  double seconds = 0;                        ///< for the explanations of products, all together; 0: none
  int threads = 0;                           ///< 0: all
};

/// Compares and judges the outputs and says why those of moved pairs are what they are. @throws ulpscope::Error
InvarianceResult judged(const ResolvedInvariance& invariance, const studies::Progress& progress);
/// The table, the findings, failed where something moved or is wrong.
studies::StudyResult study_of(const InvarianceResult& result);

/// The members mean what their fields' help says.
template <class Operation>
struct InvarianceRequest {
  Operation operation;              ///< what was computed, and how it is judged
  std::vector<std::string> output;  ///< as its help says
  double seconds = 5;               ///< likewise

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields) {
    operation.describe(fields);
    for (const char* const name : {"output", "at_most", "lse"}) fields.remove(name);
    fields.at("against").as_value("exact|engine").help = "exact: a bound derived from the inputs; engine: bit for bit";
    fields
        .add("output", output,
             "an output, and what was different; FILE@ROW: it holds some rows, from that one on; give two or more")
        .as_repeated()
        .as_value("NAME=FILE[@ROW]")
        .needed();
    fields.add("seconds", seconds, "to find out how the products that moved were computed, all together; 0: do not ask")
        .real({.least = 0})
        .shown();
  }
};

/// Opens inputs and outputs. @throws ulpscope::Error
template <class Operation>
ResolvedInvariance resolve(const InvarianceRequest<Operation>& request) {
  std::vector<ConditionWords> words;
  for (const std::string& word : request.output) words.push_back(parse_condition(word));
  if (words.size() < 2) throw Error("--output: give two or more, each as NAME=FILE");
  Operation operation = request.operation;
  operation.output.output = words.front().file;
  if (operation.output.is_against_file()) throw Error("--against '" + operation.output.against + "': give exact or engine");
  ResolvedInvariance all;
  if constexpr (std::same_as<Operation, MatmulRequest>) {
    ResolvedMatmul resolved = resolve(operation);
    if (!resolved.sums_integers) all.product = resolved.product;
    all.threads = operation.product.threads;
    all.check = std::move(resolved);
  } else {
    all.check = resolve(operation);
    if constexpr (requires { operation.threads; })
      all.threads = operation.threads;
    else
      all.threads = operation.product.threads;
  }
  if constexpr (std::same_as<Operation, SumRequest>) all.sums = operation;
  all.rows_are_elements = std::same_as<Operation, SumRequest> || std::same_as<Operation, DotRequest>;
  all.seconds = request.seconds;
  for (const ConditionWords& word : words)
    all.conditions.push_back(
        {word.name, operation.output.open(word.file, all.check.expectation->out()), word.first_row, word.has_row});
  return all;
}

/// @throws ulpscope::Error
template <class Operation>
studies::StudyResult run(const InvarianceRequest<Operation>& request, const studies::Progress& progress) {
  return study_of(judged(resolve(request), progress));
}
/// What it will cost, without running it. @throws ulpscope::Error
template <class Operation>
studies::Work work_of(const InvarianceRequest<Operation>& request) {
  std::uint64_t elements = 0;
  for (const std::string& word : request.output) elements += tensors::open_one(parse_condition(word).file, {}).count();
  return {.operations = elements, .rows = request.output.size() * (request.output.size() - 1) / 2};
}

}  // namespace ulpscope::verify
