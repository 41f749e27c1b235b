// SPDX-License-Identifier: Apache-2.0
// How the request of an operation becomes a check: its files are opened and described one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "emu/visible.hpp"
#include "verify/check_request.hpp"
#include "verify/operations/integers.hpp"
#include "verify/operations/operation_requests.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Whether there is a bound for random roundings.
enum class RandomRoundings : std::uint8_t { derived, not_derived };

/// A check in the making: the output is open, inputs are read one by one.
class Making {
 public:
  /// Opens the output. `request` must outlive it. @throws ulpscope::Error
  Making(const OperationRequest& request, std::string operation, RandomRoundings random = RandomRoundings::not_derived);

  LastRounding last() const { return check_.last; }                ///< of the output
  const tensors::Tensor& output() const { return check_.output; }  ///< the kernel's

  /// A tensor, rounded to --in or left in its own format.
  Values read(const std::string& name, const std::string& word);
  /// A tensor that is given as NAME=FILE: the same, but where it `keeps_numbers`, as integers and truth values always do, --in
  /// does not round it.
  Values read_named(const std::string& name, const std::string& word, bool keeps_numbers);
  /// The same; none where the word is empty.
  std::optional<Values> read_if_given(const std::string& name, const std::string& word);
  /// A tensor that no matrix unit reads: in its own format, or rounded to float32 where that is wider. None where the word is
  /// empty.
  std::optional<Values> read_own(const std::string& name, const std::string& word);
  /// The same, or a number.
  std::optional<Values> read_own_or_number(const std::string& name, const std::string& word);
  /// A mask: as read_own(), or truth values (integers 0 and 1, too), of which those that are true are 0 and others -inf.
  std::optional<Values> read_mask(const std::string& name, const std::string& word);
  /// Whole numbers; none where the word is empty. `option` begins errors.
  std::optional<Integers> read_integers_if_given(const std::string& option, const std::string& word);

  /// Adds a line to the heading.
  void say(const std::string& line) { check_.heading += emu::visible(line) + "\n"; }
  /// Adds another output of the kernel, one of CheckOperation::further.
  void add_output(FurtherOutput output) { check_.further.push_back(std::move(output)); }

  /// The check. This is used up.
  ResolvedCheck made(std::unique_ptr<Expectation> expectation);

 private:
  tensors::Tensor open(const std::string& word) const;
  Values read(const std::string& name, CheckInput input, const std::string& in);
  void list(const std::string& name, CheckInput input, const std::string& dtype);

  const OperationRequest& request_;
  ResolvedCheck check_;
};

/// None where the word is empty. @throws ulpscope::Error naming the closest known words
std::optional<emu::Format> format_if_given(const std::string& word);

}  // namespace ulpscope::verify
