// SPDX-License-Identifier: Apache-2.0
// What many requests have in common: formats, a rounding, the reading of tensors, threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "requests/field.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::requests {

/// More than any tensor has elements, and far from where sums of such numbers overflow.
inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

/// Several formats.
struct FormatList {
  std::vector<std::string> to{"fp16", "bf16", "e4m3", "e5m2"};  ///< words for emu::parse_format
  bool integers = false;                                        ///< whether `intN`, symmetric integers, may be among them

  /// Names the members, for the command line, study files and the schema.
  void describe(Fields& fields);
  /// Each once, in order. @throws ulpscope::Error
  std::vector<emu::Format> formats() const;
};

/// How numbers are rounded to a format.
struct RoundingRequest {
  std::string rounding = "nearest_even", policy;               ///< empty policy: the one that options() is given
  int random_bits = 32;                                        ///< of stochastic rounding, 1 to 32
  bool flush_subnormals = false, subnormals_are_zero = false;  ///< as emu::RoundingOptions

  /// Names the members, for the command line, study files and the schema.
  void describe(Fields& fields);
  /// @throws ulpscope::Error naming the nearest words
  emu::RoundingOptions options(emu::Policy otherwise = emu::Policy::nonsaturating) const;
};

/// How tensors are read and made.
struct ReadingRequest {
  std::string dtype;       ///< of codes in files that do not name it; empty: none
  std::uint64_t seed = 0;  ///< key of synthetic tensors
  std::string hadamard;    ///< how tensors are rotated first; empty: not
  std::vector<std::string> only_dtype;  ///< dtypes of the tensors that are meant; none: all

  /// Names the members, for the command line, study files and the schema.
  void describe(Fields& fields);
  /// The same for tensors::open(). @throws ulpscope::Error naming the nearest format
  tensors::OpenOptions options() const;
};

/// tensors::open_one() of an input for which another option says what `--dtype` says of others: errors name that one.
tensors::Tensor open_one_by(const std::string& option, const std::string& input, const tensors::OpenOptions& options);
/// For `--dtype` that is of no input, of which the first is `tensor`. @throws ulpscope::Error
[[noreturn]] void refuse_dtype(const std::string& words, const tensors::Tensor& tensor);

/// `--seed`, unless the request has one already.
void describe_seed(Fields& fields, std::uint64_t& seed, const std::string& help);

/// Adds `--hadamard` to a request: a word of tensors::parse_hadamard(), or nothing.
void describe_hadamard(Fields& fields, std::string& word);

/// Adds `--only-dtype` to a request; `help` says what becomes of the tensors that are of none.
void describe_only_dtype(Fields& fields, std::vector<std::string>& words, const std::string& help);

/// Adds `--threads` to a request.
void describe_threads(Fields& fields, int& threads);

/// @throws ulpscope::Error naming the closest known words
emu::Format parse_format(const std::string& word);
/// A format, or symmetric integers `intN`. @throws ulpscope::Error naming the closest known words
emu::Format parse_format_or_integer(const std::string& word);

/// @throws ulpscope::Error naming the closest known words
emu::Rounding parse_rounding(const std::string& word);
/// The same of an overflow policy.
emu::Policy parse_policy(const std::string& word);

}  // namespace ulpscope::requests
