// SPDX-License-Identifier: Apache-2.0
// A check whose inputs and options can be changed, so that what another kernel would return is the exact result of the changed
// request: what the mutants of all operations beside the product are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/held.hpp"
#include "tensors/tensor.hpp"
#include "verify/audit/mutants.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::verify {

/// An input in place of another of its role.
struct InputChange {
  std::string role;                       ///< CheckInput::role
  std::optional<tensors::Tensor> tensor;  ///< none: the input is not given
};

/// A check without an output of a kernel, and the output that is correct. Not copied: what it judges is held under a word.
class OperationSource : public CorrectOutput {
 public:
  /// `asked` names inputs and options, `--out` among them; what it says of an output is not looked at.
  /// @throws ulpscope::Error where it does not resolve, or its output is empty
  OperationSource(const CheckOperation& operation, const Check& asked, std::uint64_t seed);

  const std::string& name() const { return operation_.name; }  ///< of the operation: `rms_norm`
  /// The check. Its output holds ones, and zeros where elements are not judged.
  const ResolvedCheck& check() const { return check_; }
  /// Its request, whose fields are read.
  requests::Fields fields() const { return asked_->fields(); }

  /// The inputs that the operation cannot do without, in the order of the command line: those of a formula are all such.
  std::vector<const CheckInput*> operands() const;
  /// The inputs that were given and that the operation can do without: their roles, or the fields of numbers in their place.
  std::vector<std::string> dispensable() const;
  /// The input of a role; null where a number stands in its place.
  const CheckInput* input(std::string_view role) const;

  /// The exact output with other inputs, rounded once; nothing where the request does not resolve or gives another shape.
  std::optional<std::vector<double>> with(const std::vector<InputChange>& changes) const;
  /// The same with other words of options; no words: the option is not given.
  std::optional<std::vector<double>> with_options(const std::map<std::string, std::vector<std::string>>& options) const;
  /// An output in which the elements that are not judged are those of the correct one.
  std::optional<std::vector<double>> judged(std::optional<std::vector<double>> output) const;

 private:
  using Options = std::map<std::string, std::vector<std::string>>;  // words by field

  /// Keeps what is drawn, of which every mutant is made again.
  void hold_synthetic();
  bool is_needed(const CheckInput& input) const;
  /// The words of all fields that change. Tensors are put into `held`.
  Options options_of(const std::vector<InputChange>& changes, std::vector<std::unique_ptr<tensors::Held>>& held) const;
  /// Nothing where there is no such request.
  std::optional<ResolvedCheck> resolved(const Options& options) const;

  const CheckOperation& operation_;
  std::unique_ptr<Check> asked_;  ///< with a placeholder for an output
  std::unique_ptr<tensors::Held> placeholder_ = {};
  std::vector<std::unique_ptr<tensors::Held>> synthetic_ = {};
  ResolvedCheck check_ = {};
  std::vector<std::size_t> unjudged_ = {};  ///< elements that stay as they are
};

/// The elements of an input as its file has them; of integers the numbers that are computed with.
std::vector<double> elements_of(const CheckInput& input);
/// The numbers of an input as they are computed with: rounded to its format.
std::vector<double> numbers_of(const CheckInput& input);
/// A tensor in place of an input: elements_of(), changed.
tensors::Tensor tensor_like(const CheckInput& input, const std::vector<double>& values);

}  // namespace ulpscope::verify
