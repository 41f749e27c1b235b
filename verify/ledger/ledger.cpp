// SPDX-License-Identifier: Apache-2.0
// Figures and digests of entries, and their table.
#include "verify/ledger/ledger.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "emu/bulk.hpp"
#include "emu/names.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::verify {
namespace {

using reports::whole;

constexpr std::size_t piece = 1 << 16;  // elements encoded at a time

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string value_of(const std::map<std::string, std::string>& words, const std::string& key) {
  const auto at = words.find(key);
  return at == words.end() ? "" : at->second;
}

constexpr std::array known_declared{"algorithm", "device", "driver", "library"};

/// The free tags: `key=value`, `; ` between them.
std::string tags_of(const std::map<std::string, std::string>& declared) {
  std::string text;
  for (const auto& [key, value] : declared)
    if (std::find(known_declared.begin(), known_declared.end(), key) == known_declared.end())
      text += (text.empty() ? "" : "; ") + key + "=" + value;
  return text;
}

std::string shapes_of(const std::vector<LedgerTensor>& inputs) {
  std::string text;
  for (const LedgerTensor& input : inputs)
    text += (text.empty() ? "" : " ") + input.role + ":" + tensors::shape_text(input.shape);
  return text;
}

}  // namespace

LedgerFigures figures_of(const Verdict& v) {
  return {.verdict = std::string(name_of(v.outcome())),
          .equal = v.equal,
          .within = v.within,
          .beyond = v.beyond,
          .nonfinite = v.nonfinite,
          .nonfinite_admitted = v.nonfinite_admitted,
          .max_ulp_error = v.max_ulp,
          .bias_ulp = v.bias_ulp,
          .rel_frobenius_error = v.rel_frobenius_error,
          .max_of_bound = v.max_of_bound};
}

bool same_figures(const LedgerFigures& a, const LedgerFigures& b) {
  return a.verdict == b.verdict && a.equal == b.equal && a.within == b.within && a.beyond == b.beyond &&
         a.nonfinite == b.nonfinite && a.nonfinite_admitted == b.nonfinite_admitted &&
         same_number(a.max_ulp_error, b.max_ulp_error) && same_number(a.bias_ulp, b.bias_ulp) &&
         same_number(a.rel_frobenius_error, b.rel_frobenius_error) && same_number(a.max_of_bound, b.max_of_bound);
}

std::string label_of(const std::string& case_name, const std::string& output_name) {
  return output_name.empty() ? case_name : case_name + " " + output_name;
}

std::string LedgerOutput::label() const { return label_of(entry->name, name()); }

std::vector<LedgerOutput> by_output(const LedgerEntry& entry) {
  std::vector<LedgerOutput> all{{&entry}};
  for (const LedgerFurther& other : entry.further) all.push_back({&entry, &other});
  return all;
}

std::vector<LedgerOutput> by_output(const std::vector<LedgerEntry>& entries) {
  std::vector<LedgerOutput> all;
  for (const LedgerEntry& entry : entries)
    for (const LedgerOutput& one : by_output(entry)) all.push_back(one);
  return all;
}

bool same_inputs(const LedgerEntry& a, const LedgerEntry& b) {
  const auto same = [](const LedgerTensor& x, const LedgerTensor& y) { return x.role == y.role && x.same_numbers(y); };
  return a.operation == b.operation && std::ranges::equal(a.inputs, b.inputs, same);
}

std::string canonical_bytes(emu::Format format, const std::vector<std::uint64_t>& shape, std::span<const double> values) {
  std::string bytes = emu::format_name(format) + " " + tensors::shape_text(shape) + "\n";
  int width = 1;
  while (8 * width < format.bits()) width *= 2;
  bytes.reserve(bytes.size() + values.size() * static_cast<std::size_t>(width));
  std::vector<emu::Code> codes(std::min(piece, values.size()));
  for (std::size_t first = 0; first < values.size(); first += piece) {
    const std::size_t size = std::min(piece, values.size() - first);
    emu::encode(format, values.subspan(first, size), std::span(codes).first(size));
    for (std::size_t i = 0; i < size; ++i)
      for (int byte = 0; byte < width; ++byte) bytes += static_cast<char>(codes[i] >> (8 * byte) & 0xff);
  }
  return bytes;
}

reports::Table ledger_table(const std::vector<LedgerEntry>& entries) {
  reports::Table table{"ledger",
                       {"case",
                        "operation",
                        "verdict",
                        "inputs",
                        "dtype",
                        "shape",
                        "acc",
                        "engine",
                        "promote",
                        "split_k",
                        "algorithm",
                        "device",
                        "driver",
                        "library",
                        "tags",
                        "count",
                        "equal",
                        "within",
                        "beyond",
                        "nonfinite",
                        "max_ulp_error",
                        "bias_ulp",
                        "rel_frobenius_error",
                        "max_of_bound",
                        "output_sha256",
                        "bound",
                        "nonfinite_admitted"},
                       {}};
  for (const LedgerOutput& output : by_output(entries)) {
    const LedgerEntry& e = *output.entry;
    const LedgerTensor& tensor = output.tensor();
    const LedgerFigures& f = output.figures();
    const auto option = [&](const char* key) { return value_of(e.options, key); };
    const auto declared = [&](const char* key) { return value_of(e.declared, key); };
    table.rows.push_back({output.label(),      e.operation,           f.verdict,
                          shapes_of(e.inputs), tensor.format,         tensors::shape_text(tensor.shape),
                          option("acc"),       option("engine"),      option("promote"),
                          option("split-k"),   declared("algorithm"), declared("device"),
                          declared("driver"),  declared("library"),   tags_of(e.declared),
                          whole(f.count()),    whole(f.equal),        whole(f.within),
                          whole(f.beyond),     whole(f.nonfinite),    f.max_ulp_error,
                          f.bias_ulp,          f.rel_frobenius_error, f.max_of_bound,
                          tensor.sha256,       output.bound(),        whole(f.nonfinite_admitted)});
  }
  return table;
}

}  // namespace ulpscope::verify
