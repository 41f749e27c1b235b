// SPDX-License-Identifier: Apache-2.0
// Compares codes, inputs and declarations of two entries.
#include "verify/ledger/ledger_compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t piece = 1 << 16;  // elements compared at a time

std::vector<emu::Code> codes_of(emu::Format format, const std::vector<double>& values) {
  std::vector<emu::Code> codes(values.size());
  emu::encode(format, std::span(values), std::span(codes));
  return codes;
}

/// `KEY: BEFORE -> AFTER` of all keys whose values differ; one that a side has not is `none` there.
void add_changes(std::vector<std::string>& changes, const std::map<std::string, std::string>& before,
                 const std::map<std::string, std::string>& after) {
  std::set<std::string> keys;
  for (const auto* side : {&before, &after})
    for (const auto& [key, value] : *side) keys.insert(key);
  const auto value_of = [](const std::map<std::string, std::string>& side, const std::string& key) {
    const auto at = side.find(key);
    return at == side.end() ? std::string("none") : at->second;
  };
  for (const std::string& key : keys)
    if (value_of(before, key) != value_of(after, key))
      changes.push_back(key + ": " + value_of(before, key) + " -> " + value_of(after, key));
}

std::string kind_text(const LedgerTensor& tensor) {
  return tensor.format + " " + (tensor.shape.empty() ? "scalar" : tensors::shape_text(tensor.shape));
}

std::string tensor_text(const LedgerTensor* tensor) {
  constexpr std::size_t digits = 12;
  return tensor == nullptr ? "none" : kind_text(*tensor) + " " + tensor->sha256.substr(0, digits);
}

void add_input_changes(std::vector<std::string>& changes, const LedgerEntry& before, const LedgerEntry& after) {
  std::map<std::string, std::pair<const LedgerTensor*, const LedgerTensor*>> by_role;
  for (const LedgerTensor& input : before.inputs) by_role[input.role].first = &input;
  for (const LedgerTensor& input : after.inputs) by_role[input.role].second = &input;
  for (const auto& [role, pair] : by_role) {
    const auto& [was, is] = pair;
    if (was == nullptr || is == nullptr || !was->same_numbers(*is))
      changes.push_back(role + ": " + tensor_text(was) + " -> " + tensor_text(is));
  }
}

}  // namespace

Movement movement(emu::Format format, const tensors::Tensor& before, const tensors::Tensor& after) {
  if (before.shape != after.shape)
    throw Error(before.label + " (" + tensors::shape_text(before.shape) + ") and " + after.label + " (" +
                tensors::shape_text(after.shape) + "): the shapes differ");
  Movement m{.count = before.count()};
  double sum = 0;
  std::uint64_t finite = 0;
  for (std::uint64_t first = 0; first < m.count; first += piece) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece, m.count - first));
    std::vector<double> was(size), is(size);
    before.source->read(first, std::span(was));
    after.source->read(first, std::span(is));
    const std::vector<emu::Code> was_codes = codes_of(format, was), is_codes = codes_of(format, is);
    for (std::size_t i = 0; i < size; ++i) {
      if (was_codes[i] == is_codes[i]) continue;
      ++m.moved;
      if (!std::isfinite(was[i]) || !std::isfinite(is[i])) {
        ++m.nonfinite;
        continue;
      }
      const double ulps = std::ldexp(std::fabs(is[i] - was[i]), -emu::spacing_exponent(format, was[i]));
      ++finite;
      sum += ulps;
      m.max_ulp = std::max(m.max_ulp, ulps);
    }
  }
  m.mean_ulp = finite == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(finite);
  return m;
}

std::string_view name_of(CaseStatus status) noexcept {
  constexpr std::array<std::string_view, 6> names{"same", "moved", "inputs_differ", "added", "removed", "unchecked"};
  return names[static_cast<std::size_t>(status)];
}

CaseComparison compare_cases(const LedgerOutput& before, const LedgerOutput& after) {
  const LedgerEntry &was = *before.entry, &is = *after.entry;
  CaseComparison c{.name = was.name, .output = before.name(), .before = before.figures(), .after = after.figures()};
  if (was.operation != is.operation) c.changes.push_back("operation: " + was.operation + " -> " + is.operation);
  add_input_changes(c.changes, was, is);
  c.status = !same_inputs(was, is)                          ? CaseStatus::inputs_differ
             : before.tensor().same_numbers(after.tensor()) ? CaseStatus::same
                                                            : CaseStatus::moved;
  if (before.tensor().format != after.tensor().format || before.tensor().shape != after.tensor().shape)
    c.unlike_outputs = kind_text(before.tensor()) + " -> " + kind_text(after.tensor());
  add_changes(c.changes, was.options, is.options);
  add_changes(c.changes, was.declared, is.declared);
  return c;
}

}  // namespace ulpscope::verify
