// SPDX-License-Identifier: Apache-2.0
// Requests of operations over tensors in memory, and their mutants by name, for the tests of audits.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/format.hpp"
#include "tensors/held.hpp"
#include "tensors/tensor.hpp"
#include "verify/audit/mutants_of_operation.hpp"
#include "verify/audit/operation_audit.hpp"
#include "verify/check_operations.hpp"

namespace ulpscope::audits {

using Doubles = std::vector<double>;
using Shape = std::vector<std::uint64_t>;

/// Whole numbers from -7 to 7, times `scale`.
inline Doubles smalls(std::size_t count, std::uint64_t seed = 0, double scale = 1) {
  Doubles values(count);
  std::uint64_t state = 2 * seed + 12345;
  for (double& x : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    x = scale * (static_cast<double>((state >> 33) % 15) - 7);
  }
  return values;
}

/// Tensors in memory, and a request of their words.
struct Asked {
  std::string operation;
  std::map<std::string, std::vector<std::string>> options;
  std::vector<std::unique_ptr<tensors::Held>> held = {};

  Asked(std::string of, std::map<std::string, std::vector<std::string>> words = {})
      : operation(std::move(of)), options(std::move(words)) {
    options.try_emplace("out", std::vector<std::string>{"float32"});
  }
  Asked& add(const std::string& field, const Shape& shape, const Doubles& values, const std::string& prefix = {}) {
    return add(field, tensors::from_values(field, shape, std::vector<float>(values.begin(), values.end())), prefix);
  }
  Asked& add(const std::string& field, tensors::Tensor tensor, const std::string& prefix = {}) {
    held.push_back(std::make_unique<tensors::Held>(std::move(tensor)));
    options[field].push_back(prefix + held.back()->word());
    return *this;
  }
  verify::OperationAuditRequest request() const {
    verify::OperationAuditRequest request(verify::find_check_operation(operation));
    requests::Fields fields = request.check->fields();
    for (const auto& [name, words] : options) fields.at(name).set(words);
    return request;
  }
  std::unique_ptr<const verify::OperationSource> source(std::uint64_t seed = 0) const {
    const verify::OperationAuditRequest asked = request();
    return std::make_unique<verify::OperationSource>(*asked.operation, *asked.check, seed);
  }
};

/// Truth values, as files of numpy hold them.
class Truths final : public tensors::Source {
 public:
  explicit Truths(Doubles values) : values_(std::move(values)) {}
  void read(std::uint64_t first, std::span<float> out) const override { copy(first, out); }
  void read(std::uint64_t first, std::span<double> out) const override { copy(first, out); }
  void read_codes(std::uint64_t first, std::span<emu::Code> out) const override { copy(first, out); }

 private:
  template <class T>
  void copy(std::uint64_t first, std::span<T> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values_[static_cast<std::size_t>(first) + i]);
  }
  Doubles values_;
};

inline tensors::Tensor integers(const std::string& dtype, const Shape& shape, const Doubles& values) {
  return {dtype, {}, {dtype, {}}, shape, std::make_shared<Truths>(values)};
}

inline std::vector<std::string> names_of(const verify::OperationSource& source) {
  std::vector<std::string> names;
  for (const verify::OperationMutant& kind : verify::mutants_of(source)) names.push_back(kind.name);
  return names;
}

inline bool has(const std::vector<std::string>& names, const std::string& name) { return std::ranges::count(names, name) == 1; }

inline verify::Mutant mutant_named(const verify::OperationSource& source, const std::string& name, double severity = 0) {
  const std::vector<verify::OperationMutant> kinds = verify::mutants_of(source);
  const auto found = std::ranges::find(kinds, name, &verify::MutantName::name);
  REQUIRE(found != kinds.end());
  verify::Mutant mutant = verify::make_mutant(source, *found, severity);
  mutant.kind = nullptr;
  return mutant;
}

inline Doubles output_named(const verify::OperationSource& source, const std::string& name, double severity = 0) {
  return mutant_named(source, name, severity).output;
}

}  // namespace ulpscope::audits
