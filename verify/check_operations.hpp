// SPDX-License-Identifier: Apache-2.0
// Every operation that outputs can be checked of, by its name: what the commands, ledgers and tests in C++ go through.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "requests/field.hpp"
#include "verify/check_request.hpp"
#include "verify/matmul_request.hpp"

namespace ulpscope::verify {

/// A request of `ulpscope verify OPERATION`.
class Check {
 public:
  virtual ~Check() = default;
  /// The same request again, to be changed.
  virtual std::unique_ptr<Check> copy() const = 0;
  /// Its fields, which refer to this.
  virtual requests::Fields fields() = 0;
  /// Opens inputs and output. @throws ulpscope::Error
  virtual ResolvedCheck resolve() const = 0;
  virtual const OutputRequest& output() const = 0;  ///< the output and how it is judged
  virtual int threads() const = 0;                  ///< 0: all
  /// The request, where it is that of a product: others than this know more of it.
  virtual const MatmulRequest* matmul() const { return nullptr; }
};

/// What can be checked.
struct CheckOperation {
  std::string name;                  ///< `rms_norm`
  std::string what;                  ///< a phrase
  std::unique_ptr<Check> (*make)();  ///< a request of standard values

  /// The field that an input is given by, and its words there: of a formula `input` and `x=FILE`. Two words of one field (a
  /// scale and one for the whole operand) have the roles `scale_a` and `scale_a_whole`.
  std::pair<std::string, std::string> field_of(const std::string& role, const std::string& word) const;
};

/// The words of a field that one text stands for: those of a list have commas between them.
std::vector<std::string> words_in(const requests::Field& field, const std::string& text);

/// In the order in which help lists them.
const std::vector<CheckOperation>& check_operations();

/// @throws ulpscope::Error naming the nearest
const CheckOperation& find_check_operation(std::string_view name);

}  // namespace ulpscope::verify
