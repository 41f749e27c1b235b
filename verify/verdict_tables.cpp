// SPDX-License-Identifier: Apache-2.0
// A verdict in words and tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "studies/diff/diff.hpp"
#include "tensors/tensor.hpp"
#include "verify/integer_matmul.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {
namespace {

using reports::whole;

std::string edge_text(int bucket) { return bucket == 0 ? "0" : bucket == 1 ? "0.5" : fmt::format("{}", 1L << (bucket - 2)); }

/// Where a zero is right for every element.
std::string why_zeros_pass(const Verdict& v) {
  if (!std::isfinite(v.unseen_share)) return ": every exact result is 0; give inputs whose results are not";
  if (v.unseen_share < 1)
    return ": every exact result may be rounded to 0 in " + output_name(v.out) + "; give inputs whose results are larger";
  return "; declare more of the arithmetic, or of a product its engine (--engine E --against engine)";
}

}  // namespace

std::string UlpHistogram::label(int bucket) {
  const int size = bucket < zero ? zero - bucket : bucket - zero;
  if (size == 0) return "0";
  const std::string sign = bucket < zero ? "-" : "+";
  if (size == most) return sign + "(" + edge_text(size - 1) + ", inf]";
  return sign + "(" + edge_text(size - 1) + ", " + edge_text(size) + "]";
}

std::string Verdict::sentence() const {
  if (outcome() == Outcome::fail && wrong() == 0) return "FAIL: each element is one of its two neighbours, but " + wrong_odds;
  if (outcome() == Outcome::fail) {
    const auto of = [&](std::uint64_t n, const char* what) { return n == 0 ? "" : fmt::format(" {} {}", n, what); };
    return fmt::format("FAIL: {} of {} elements are wrong:{}{}{}", wrong(), count, of(beyond, "beyond the bound"),
                       beyond != 0 && nonfinite != 0 ? "," : "",
                       of(nonfinite, "not finite where they should be, or finite where not"));
  }
  if (!refusal.empty()) return "VACUOUS: " + refusal;
  if (count == 0) return "VACUOUS: there are no elements";
  if (zeros_pass == count) return "VACUOUS: an output of zeros would pass" + why_zeros_pass(*this);
  if (is_all_unheld())
    return fmt::format(
        "VACUOUS: {} elements are infinite or NaN where the exact result is finite, and none is held to a finite "
        "number: a correct kernel may overflow there; give smaller inputs",
        unheld);
  std::string text = fmt::format("pass: all {} elements are right to the last bit", count);
  if (equal != count)
    text = fmt::format(
        "pass: {} of {} elements are the exact result rounded once, {} within the bound; the furthest "
        "reaches {:.3g} of it",
        equal, count, within, max_of_bound);
  if (nonfinite_admitted != 0)
    text += fmt::format(
        "; {} are infinite or NaN where the exact result is finite: admitted, since a correct kernel may "
        "overflow there",
        nonfinite_admitted);
  if (equal != count && zeros_pass != 0) text += fmt::format("; zeros would pass for {} elements", zeros_pass);
  constexpr double weak = 0.05;
  if (unseen_share >= weak && std::isfinite(unseen_share))
    text += fmt::format("; a weak check: all of it {:.3g} times as large would pass too", 1 + unseen_share);
  if (!weakness.empty()) text += "; a weak check: " + weakness;
  return text;
}

reports::Table verdict_table(const Verdict& v) {
  reports::Table table{
      "verify",
      {"output", "verdict", "bound", "dtype", "shape", "count", "equal", "within", "beyond", "nonfinite", "nonfinite_expected",
       "zeros_pass", "bias_ulp", "mean_abs_ulp", "max_ulp_error", "max_abs_error", "rms_error", "rel_frobenius_error",
       "max_of_bound"},
      {{v.label, std::string(name_of(v.outcome())), v.bound, output_name(v.out), tensors::shape_text(v.shape), whole(v.count),
        whole(v.equal), whole(v.within), whole(v.beyond), whole(v.nonfinite), whole(v.nonfinite_expected), whole(v.zeros_pass),
        v.bias_ulp, v.mean_abs_ulp, v.max_ulp, v.max_abs_error, v.rms_error, v.rel_frobenius_error, v.max_of_bound}}};
  table.columns.emplace_back("nonfinite_admitted");
  table.rows.front().push_back(whole(v.nonfinite_admitted));
  return table;
}

reports::Table histogram_table(const Verdict& verdict) {
  reports::Table table{"histogram", {"error_ulp", "count"}, {}};
  const auto& counts = verdict.histogram.counts;
  const auto used = [](std::uint64_t n) { return n != 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), used);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), used).base();
  for (auto at = first; at < last; ++at)
    table.rows.push_back({UlpHistogram::label(static_cast<int>(at - counts.begin())), whole(*at)});
  return table;
}

reports::Table worst_table(const Verdict& verdict) {
  reports::Table table{"worst", {"index", "standing", "out_code", "out", "exact", "error_ulp", "allowed", "of_bound"}, {}};
  for (const WorstElement& e : verdict.worst)
    table.rows.push_back({studies::place_text(e.index, verdict.shape), std::string(name_of(e.standing)),
                          e.output_code ? emu::hex_code(verdict.out, *e.output_code) : output_code(verdict.out, e.output),
                          e.output, e.exact, e.error_ulp, e.allowed, e.of_bound});
  return table;
}

}  // namespace ulpscope::verify
