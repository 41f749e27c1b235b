// SPDX-License-Identifier: Apache-2.0
// The faults in float64, whose own errors are a millionth of the bound.
#include "verify/evidence/norm_faults.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "tensors/synthetic.hpp"
#include "tensors/tensor.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {
namespace {

constexpr double right_eps = 1e-5;

/// 1 / root of the mean square, and what is wrong with it.
struct RootFault {
  const char* name;
  double (*inverse_root)(double mean_square, double n);
};
constexpr std::array root_faults{
    RootFault{"none", [](double m, double) { return 1 / std::sqrt(m + right_eps); }},
    RootFault{"eps_missing", [](double m, double) { return 1 / std::sqrt(m); }},
    RootFault{"eps_outside", [](double m, double) { return 1 / (std::sqrt(m) + right_eps); }},
    RootFault{"eps_1e-6", [](double m, double) { return 1 / std::sqrt(m + 1e-6); }},
    RootFault{"eps_per_sum", [](double m, double n) { return 1 / std::sqrt(m + right_eps / n); }},
};

std::vector<float> normed(const Values& x, Norm norm, const RootFault& fault, emu::Format out) {
  const auto n = static_cast<double>(x.columns());
  std::vector<float> y;
  for (std::uint64_t i = 0; i < x.rows(); ++i) {
    double sum = 0, squares = 0;
    for (const float v : x.row(i)) sum += static_cast<double>(v);
    const double mean = norm == Norm::layer ? sum / n : 0;
    for (const float v : x.row(i)) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    const double factor = fault.inverse_root(squares / n, n);
    for (const float v : x.row(i))
      y.push_back(static_cast<float>(emu::round_to(out, (static_cast<double>(v) - mean) * factor, {}).value));
  }
  return y;
}

}  // namespace

std::vector<NormFaultRow> norm_faults(std::uint64_t seed, int threads) {
  const Values x = read_values(tensors::synthetic("normal:0,1:64x1024", seed), {emu::bfloat16});
  std::vector<NormFaultRow> rows;
  for (const Norm norm : {Norm::rms, Norm::layer})
    for (const RootFault& fault : std::span(root_faults).subspan(1))
      for (const emu::Format out : {emu::float32, emu::bfloat16})
        for (const std::uint64_t depth : {std::uint64_t{0}, std::uint64_t{64}}) {
          const auto exact = expect_layer_norm({.x = x,
                                                .eps = right_eps,
                                                .norm = norm,
                                                .variance = Variance::two_pass,
                                                .arithmetic = {.depth = depth},
                                                .last = {out}});
          const std::vector<float> right = normed(x, norm, root_faults[0], out), wrong = normed(x, norm, fault, out);
          const Verdict verdict =
              verify(*exact, tensors::from_values(fault.name, x.shape, wrong), {.last = {out}, .threads = threads});
          NormFaultRow row{
              .norm = norm == Norm::rms ? "rms_norm" : "layer_norm", .fault = fault.name, .out = out, .depth = depth};
          row.elements = verdict.count, row.beyond = verdict.beyond, row.max_of_bound = verdict.max_of_bound;
          for (std::size_t i = 0; i < wrong.size(); ++i) row.changed += wrong[i] != right[i] ? 1U : 0U;
          rows.push_back(row);
        }
  return rows;
}

reports::Table norm_faults_table(const std::vector<NormFaultRow>& rows) {
  reports::Table table{
      "norm_faults", {"norm", "fault", "out", "sum_depth", "elements", "changed", "beyond", "max_of_bound"}, {}};
  for (const NormFaultRow& row : rows)
    table.rows.push_back({row.norm, row.fault, emu::format_name(row.out),
                          row.depth == 0 ? std::string("any") : std::to_string(row.depth), reports::whole(row.elements),
                          reports::whole(row.changed), reports::whole(row.beyond), row.max_of_bound});
  return table;
}

}  // namespace ulpscope::verify
