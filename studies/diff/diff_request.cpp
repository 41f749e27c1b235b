// SPDX-License-Identifier: Apache-2.0
// From a request to two tensors and their difference.
#include "studies/diff/diff_request.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "emu/error.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/cast/layouts.hpp"
#include "studies/diff/diff_checkpoints.hpp"
#include "studies/diff/diff_findings.hpp"
#include "tensors/checkpoint.hpp"
#include "tensors/hadamard.hpp"
#include "tensors/inputs.hpp"
#include "tensors/only_dtypes.hpp"

namespace ulpscope::studies {
namespace {

/// How the reference is read, and the output.
struct Sides {
  tensors::OpenOptions reference, output;
  std::optional<emu::Format> ulps;  ///< whose count, where it is said
};

Sides sides_of(const DiffRequest& request) {
  const std::vector<std::string>& words = request.dtype;
  if (words.size() > 2) throw Error("--dtype: give one format, or one each for REF and OUT");
  Sides sides{.reference = request.reading.options(), .output = request.reading.options(), .ulps = {}};
  if (words.empty()) return sides;
  sides.reference.dtype = requests::parse_format(words.front());
  sides.output.dtype = requests::parse_format(words.back());
  if (words.size() == 1) sides.ulps = sides.reference.dtype;
  return sides;
}

tensors::Opened opened_as(const std::string& input, const tensors::OpenOptions& wanted) {
  try {
    return tensors::open_listed(input, wanted);
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find("add --dtype", input.size()) == std::string::npos) throw;
    throw Error(text + "; F,F for REF and OUT");
  }
}

/// Of an input that may be codes of a format, or say itself what it holds.
tensors::Opened opened(const std::string& input, const tensors::OpenOptions& wanted) {
  if (!wanted.dtype) return opened_as(input, wanted);
  try {
    return tensors::open_listed(input, wanted);
  } catch (const Error&) {
    return opened_as(input, {std::nullopt, wanted.seed});
  }
}

/// Whether it is a whole checkpoint, whose tensors have names even where there is one.
bool is_checkpoint(const std::string& input) { return tensors::file_of(input) == input && tensors::checkpoint_of(input); }

/// How what has scales in a checkpoint was rotated before it was rounded.
std::optional<tensors::Hadamard> rotation_of(const std::string& input) {
  const std::string word = hadamard_of({input});
  return word.empty() ? std::nullopt
                      : std::optional(tensors::parse_hadamard(word, input + ": its __metadata__ has ulpscope_hadamard"));
}

/// The one tensor of an input; where it is codes whose scales lie beside them in its file, their values.
tensors::Tensor with_scales(const std::string& input, const std::vector<tensors::Tensor>& one,
                            const tensors::OpenOptions& wanted, std::vector<std::string>& remarks) {
  const Dequantized all = dequantized(input, one, wanted, rotation_of(input));
  if (all.put_together != 0) remarks.push_back(one.front().label + ": is codes under scales, compared by their values");
  return all.tensors.front();
}

std::map<std::string, const tensors::Tensor*> by_written_name(const Dequantized& opened,
                                                              const std::vector<tensors::Tensor>& stored) {
  std::map<std::string, const tensors::Tensor*> named;
  for (const tensors::Tensor& tensor : stored) named.emplace(tensors::written_name(tensor), &tensor);
  for (std::size_t i = 0; i < opened.codes.size(); ++i)
    named.insert_or_assign(tensors::written_name(opened.values[i]), &opened.codes[i]);
  return named;
}

/// Leaves the tensors that the reference stores in one of these dtypes, on both sides; one that the reference has not counts by
/// its own. Scales go with their codes. @throws ulpscope::Error
void choose_dtypes(const std::vector<std::string>& words, Dequantized& before, const std::vector<tensors::Tensor>& reference,
                   Dequantized& after, const std::vector<tensors::Tensor>& output) {
  if (words.empty()) return;
  const auto stored = by_written_name(before, reference), added = by_written_name(after, output);
  const std::vector<tensors::Tensor> all = before.tensors;
  tensors::OnlyDtypes only(words);
  std::set<std::string> taken;
  for (const tensors::Tensor& tensor : all)
    if (const std::string name = tensors::written_name(tensor); only.takes(*stored.at(name))) taken.insert(name);
  only.check();
  const auto is_left_out = [&](const tensors::Tensor& tensor) {
    const std::string name = tensors::written_name(tensor);
    return stored.contains(name) ? !taken.contains(name) : !only.takes(*added.at(name));
  };
  for (Dequantized* const side : {&before, &after}) {
    std::erase_if(side->tensors, is_left_out);
    side->put_together = static_cast<std::size_t>(
        std::ranges::count_if(side->values, [&](const tensors::Tensor& value) { return !is_left_out(value); }));
  }
}

/// `3 tensors of OUT are codes under scales`, where there are any.
void tell_quantized(const std::string& input, const Dequantized& opened, std::vector<std::string>& remarks) {
  if (opened.put_together == 0) return;
  remarks.push_back(input + ": " + std::to_string(opened.put_together) +
                    (opened.put_together == 1 ? " tensor is codes" : " tensors are codes") +
                    " under scales, compared by their values");
}

StudyResult compare_checkpoints(const DiffRequest& request, const std::vector<tensors::Tensor>& reference,
                                const std::vector<tensors::Tensor>& output, const Tolerance& tolerance,
                                const Progress& progress, const OpenKeptRows& open_kept) {
  const Sides sides = sides_of(request);
  Dequantized before = dequantized(request.reference, reference, sides.reference, rotation_of(request.reference)),
              after = dequantized(request.output, output, sides.output, rotation_of(request.output));
  choose_dtypes(request.reading.only_dtype, before, reference, after, output);
  const CheckpointDiff result = diff_checkpoints(before.tensors, after.tensors, sides.ulps, tolerance, progress, open_kept);
  const bool fails = !result.unmatched.empty() ||
                     std::ranges::any_of(result.differences, [&](const DiffResult& r) { return r.fails(tolerance); });
  const bool is_vacuous = result.differences.empty();
  StudyResult out{.tables = {diff_table(result), is_vacuous ? worst_elements({}) : worst_elements(result.differences.front()),
                             unmatched_table(result)},
                  .findings = diff_findings(result, request.tolerance),
                  .outcome = fails ? StudyOutcome::failed : StudyOutcome::done};
  const auto equal = std::ranges::count_if(result.differences, [](const DiffResult& r) { return r.equal == r.count; });
  tell_quantized(request.reference, before, out.remarks);
  tell_quantized(request.output, after, out.remarks);
  if (!result.same_bytes.empty()) out.remarks.push_back("the same byte for byte: " + tensors::unknown_words(result.same_bytes));
  const auto renamed = std::ranges::count(result.unmatched, "renamed", &Unmatched::problem);
  out.remarks.push_back(std::to_string(result.differences.size()) + " tensors compared, " + std::to_string(equal) +
                        " of them equal; " + (renamed == 0 ? "" : std::to_string(renamed) + " renamed, ") +
                        std::to_string(std::ssize(result.unmatched) - renamed) + " without the like on the other side");
  if (!is_vacuous && result.differences.front().equal != result.differences.front().count)
    out.remarks.push_back("the worst elements are those of " + result.differences.front().reference);
  return out;
}

}  // namespace

StudyResult run(const DiffRequest& request, const Progress& progress) { return run(request, progress, {}); }

StudyResult run(const DiffRequest& request, const Progress& progress, const OpenKeptRows& open_kept) {
  const Tolerance tolerance = parse_tolerance(request.tolerance);
  const Sides sides = sides_of(request);
  const tensors::Opened reference_side = opened(request.reference, sides.reference),
                        output_side = opened(request.output, sides.output);
  const std::vector<tensors::Tensor>&before = reference_side.tensors, &after = output_side.tensors;
  std::vector<std::string> remarks;
  for (const tensors::Opened* const side : {&reference_side, &output_side})
    if (!side->unlisted.empty() && (side == &reference_side || request.output != request.reference))
      remarks.push_back(tensors::unlisted_words(side->unlisted));
  const auto is_one = [](const std::vector<tensors::Tensor>& all) { return all.size() == 1 && !all.front().opaque; };
  const bool are_checkpoints = is_checkpoint(request.reference) && is_checkpoint(request.output);
  for (const auto* const side : {&before, &after})
    if (side->size() == 1 && side->front().opaque && !side->front().opaque->bytes)
      throw Error(side->front().label + ": " + side->front().opaque->why);
  if (!is_one(before) || !is_one(after) || are_checkpoints) {
    StudyResult result = compare_checkpoints(request, before, after, tolerance, progress, open_kept);
    result.remarks.insert(result.remarks.begin(), remarks.begin(), remarks.end());
    return result;
  }
  tensors::of_dtypes(before, request.reading.only_dtype);
  const tensors::Tensor reference = with_scales(request.reference, before, sides.reference, remarks),
                        output = with_scales(request.output, after, sides.output, remarks);
  const DiffResult result = diff(reference, output, sides.ulps.value_or(format_of_ulps(reference, output)), tolerance);
  return {.tables = {diff_table(result), worst_elements(result)},
          .findings = diff_findings({.differences = {result}}, request.tolerance),
          .remarks = remarks,
          .outcome = result.fails(tolerance) ? StudyOutcome::failed : StudyOutcome::done};
}

Work work_of(const DiffRequest& request) {
  const std::vector<tensors::Tensor> tensors = opened(request.reference, sides_of(request).reference).tensors;
  std::uint64_t operations = 0;
  for (const tensors::Tensor& tensor : tensors) operations += tensor.count();
  return {.operations = operations, .rows = tensors.size()};
}

void DiffRequest::describe(requests::Fields& fields) {
  fields.add("reference", reference, "the reference: a tensor, or a checkpoint").as_input("REF").needed();
  fields.add("output", output, "what is compared with it: of a checkpoint, its tensors by name").as_input("OUT").needed();
  fields.add("tolerance", tolerance, "what may differ: ulp=N,abs=X,rel=X (any one suffices), frobenius=X").as_value("RULES");
  fields
      .add("dtype", dtype,
           "what the codes of an .npy or .npz are: one format, which is also that of ulps, or one each for REF and OUT")
      .as_commas()
      .as_value("F[,F]");
  requests::describe_seed(fields, reading.seed, "key of synthetic tensors");
  requests::describe_only_dtype(fields, reading.only_dtype, "of checkpoints, the tensors alone that have these dtypes in REF");
}

}  // namespace ulpscope::studies
