// SPDX-License-Identifier: Apache-2.0
// What every check asks for: the kernel's output, what it is held to, its last rounding; and what a request becomes once its
// files are open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "requests/field.hpp"
#include "tensors/tensor.hpp"
#include "verify/expected.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {

/// The output of a kernel, and how it is judged. The members mean what their fields' help says.
struct OutputRequest {
  /// What the fields of these names say in the help of `ulpscope verify matmul`.
  ///@{
  std::string output, output_dtype, against = "exact";
  std::string out_rounding = "nearest_even", out_policy = "nonsaturating";
  std::optional<double> false_alarm;
  double at_most = 1.1;
  int out_random_bits = emu::RoundingOptions{}.random_bits;
  bool out_flush = false;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
  /// A FILE is an output that this one is no worse than.
  bool is_against_file() const { return against != "exact" && against != "engine"; }
  /// An output: the kernel's, or a baseline. Codes are of `output_dtype`, else of `out` where that is given. @throws
  /// ulpscope::Error where it holds something else, or `at_most` plays no part
  tensors::Tensor open(const std::string& file, std::optional<emu::Format> out) const;
  /// The last rounding to `out`. @throws ulpscope::Error
  LastRounding last_rounding(emu::Format out) const;
};

/// The format of an output: `out`, or its own. @throws ulpscope::Error where neither says it
emu::Format format_of_output(const tensors::Tensor& output, std::optional<emu::Format> out);

/// What the elements of an input are.
enum class InputKind : std::uint8_t {
  numbers,  ///< that are computed with
  truths,   ///< truth values of a mask
  whole     ///< lengths, places and groups
};

/// An input: what names it, and what it holds.
struct CheckInput {
  std::string role;         ///< `A` of a product, `x`, `weight`, ...: the field of the request, or the name in a formula
  std::string word;         ///< as typed
  tensors::Tensor tensor;   ///< what it holds
  std::string prefix = {};  ///< what is typed before the word in one argument: `x=` of `x=x.npy`
  std::optional<emu::Format> format = {};  ///< of the numbers that are computed with, where they are rounded to one
  InputKind kind = InputKind::numbers;     ///< of truth values `tensor` has 0 and -inf
};

/// What a kernel returns beside its output, judged by itself.
struct FurtherOutput {
  std::string name;                          ///< of the option that names it: `lse`
  std::string word;                          ///< as typed
  tensors::Tensor output;                    ///< the kernel's
  std::unique_ptr<Expectation> expectation;  ///< what it should be
  LastRounding last;                         ///< of the kernel
};

/// A check whose files are open and whose words are understood.
struct ResolvedCheck {
  std::string operation = {};                     ///< `matmul`
  std::string heading = {};                       ///< what is judged, in lines that end with LF
  std::vector<CheckInput> inputs = {};            ///< in the order of the command line
  tensors::Tensor output = {};                    ///< the kernel's
  std::unique_ptr<Expectation> expectation = {};  ///< what the output should be
  LastRounding last = {};                         ///< of the kernel
  std::vector<FurtherOutput> further = {};        ///< what else the kernel returned
  /// Options that say what the files said: put at the end of a command that reproduces the check from other files.
  std::vector<std::string> stated = {};
};

/// The field that a word of help or an option stands for: `x` of X, `key_lengths` of key-lengths.
std::string field_name(std::string word);

/// `--acc-rounding`: nearest_even or toward_zero. @throws ulpscope::Error
emu::Rounding parse_sum_rounding(const std::string& word);

}  // namespace ulpscope::verify
