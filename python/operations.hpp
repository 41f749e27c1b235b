// SPDX-License-Identifier: Apache-2.0
// Operations of a framework's model by name, as the laboratory does them on a tape.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "training/tape/operations.hpp"

namespace ulpscope::python {

using training::Variable;
using Variables = std::vector<Variable>;

/// Numbers of an operation that are no tensors: `eps`, `stride`, classes. Those that are missing have no default here.
class Settings {
 public:
  explicit Settings(std::map<std::string, std::vector<double>> values) : values_(std::move(values)) {}
  const std::vector<double>& list(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw Error("emulate: an operation without '" + key + "'");
    return found->second;
  }
  double number(const std::string& key) const { return list(key).at(0); }
  std::size_t whole(const std::string& key) const { return static_cast<std::size_t>(number(key)); }
  std::vector<std::size_t> wholes(const std::string& key) const { return {list(key).begin(), list(key).end()}; }
  std::optional<std::size_t> dimension() const {
    return values_.contains("dimension") ? std::optional(whole("dimension")) : std::nullopt;
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

/// What an operation made: the value that gradients come to is the last; before it stand the values that it is put together of,
/// where there are some.
template <class Real>
struct Made {
  Made(Variable one) : variables{one} {}  // NOLINT(google-explicit-constructor): most make one
  explicit Made(Variables all) : variables(std::move(all)) {}
  Variables variables;
  training::BatchStatistics<Real> statistics = {};  ///< of a batch norm
};
template <class Real>
using Operation = std::function<Made<Real>(training::Tape<Real>&, const Variables&, const Settings&)>;

/// By the names that recipes' rules have for them, or those of training/tape/operations.hpp. Real: float, or double for recipes
/// whose weights are wider.
template <class Real>
const std::map<std::string, Operation<Real>>& operations();

}  // namespace ulpscope::python
