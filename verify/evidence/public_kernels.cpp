// SPDX-License-Identifier: Apache-2.0
// Judges the kernels by a tolerance and by the derived bound.
#include "verify/evidence/public_kernels.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "emu/encode.hpp"
#include "tensors/parallel.hpp"
#include "tensors/synthetic.hpp"
#include "verify/audit/rules.hpp"
#include "verify/expressions/expression.hpp"

namespace ulpscope::verify {
namespace {

using reports::Severity;
using reports::whole;

constexpr const char* kernel_tolerance = "allclose:rtol=1e-2,atol=1e-2";  // KernelBench, src/eval.py, for 16-bit formats

KernelVerdict judged(const WrittenKernel& kernel, const std::vector<KernelInput>& drawn, const char* shape,
                     std::uint64_t seed) {
  KernelVerdict verdict{.source = kernel.source, .kernel = kernel.kernel, .fault = kernel.fault, .shape = shape, .inputs = {}};
  KernelInputs inputs;
  for (const KernelInput& input : drawn) {
    const auto own = seed * drawn.size() + inputs.size();
    inputs.emplace_back(input.name, read_values(tensors::synthetic(input.drawn, own), {kernel.format}));
    verdict.inputs += (verdict.inputs.empty() ? "" : "; ") + input.name + " = " + input.drawn;
  }
  const LastRounding last{kernel.format};
  std::vector<FormulaNumber> numbers;
  if (kernel.formula.find("sqrt(D)") != std::string::npos)
    numbers.push_back({"D", std::to_string(inputs.front().second.columns())});
  std::vector<double> output, reference;
  for (const float x : kernel.run(inputs)) output.push_back(emu::round_to(kernel.format, static_cast<double>(x)).value);
  const std::unique_ptr<Expectation> expectation =
      expect_expression({.formula = kernel.formula, .inputs = inputs, .numbers = numbers, .last = last, .threads = 1});
  std::vector<Expected> expected(output.size());
  expectation->expect(0, expected);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Standing standing = judge(*expectation, i, expected[i], output[i], last);
    verdict.beyond += standing == Standing::beyond || standing == Standing::nonfinite;
    reference.push_back(emu::round_to(kernel.format, expected[i].value).value);
  }
  verdict.elements = output.size();
  verdict.allclose = parse_rule(kernel_tolerance).prepare({kernel.format, expectation->shape()})(reference, output).passes;
  return verdict;
}

/// What was said of one kernel at all of its shapes.
struct KernelTotals {
  std::uint64_t right = 0, faulty = 0, empty = 0;         ///< kernels; `empty` write nothing
  std::uint64_t right_accepted = 0;                       ///< right ones that the bound accepts at both shapes
  std::uint64_t tolerated = 0, seen_fixed = 0, seen = 0;  ///< faulty: accepted by the tolerance, beyond the bound
  std::uint64_t edge_tolerated = 0;                       ///< faulty: accepted by the tolerance at the edge too
  std::uint64_t empty_tolerated = 0, empty_seen = 0;      ///< the same of those that write nothing
};

KernelTotals totals_of(const std::vector<KernelVerdict>& verdicts) {
  KernelTotals totals;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const KernelVerdict& fixed = verdicts[i];
    const bool has_edge = i + 1 < verdicts.size() && verdicts[i + 1].shape == "edge";
    if (!has_edge) {
      ++totals.empty, totals.empty_tolerated += fixed.allclose, totals.empty_seen += fixed.beyond != 0;
      continue;
    }
    const KernelVerdict& edge = verdicts[++i];
    if (fixed.fault.empty()) {
      ++totals.right, totals.right_accepted += fixed.beyond == 0 && edge.beyond == 0;
    } else {
      ++totals.faulty, totals.tolerated += fixed.allclose, totals.edge_tolerated += edge.allclose;
      totals.seen_fixed += fixed.beyond != 0, totals.seen += fixed.beyond != 0 || edge.beyond != 0;
    }
  }
  return totals;
}

std::string of(std::uint64_t part, std::uint64_t all) { return std::to_string(part) + " of " + std::to_string(all); }

}  // namespace

std::vector<KernelVerdict> judge_written_kernels(std::uint64_t seed, int threads) {
  struct Case {
    const WrittenKernel* kernel;
    const std::vector<KernelInput>* drawn;
    const char* shape;
  };
  const std::vector<WrittenKernel> kernels = written_kernels();
  std::vector<Case> cases;
  for (const WrittenKernel& kernel : kernels) {
    cases.push_back({&kernel, &kernel.fixed, "fixed"});
    if (!kernel.edge.empty()) cases.push_back({&kernel, &kernel.edge, "edge"});
  }
  std::vector<KernelVerdict> verdicts(cases.size());
  tensors::for_each_index(cases.size(), threads, [&](std::size_t i) {
    verdicts[i] = judged(*cases[i].kernel, *cases[i].drawn, cases[i].shape, seed);
  });
  return verdicts;
}

reports::Table kernels_table(const std::vector<KernelVerdict>& verdicts) {
  reports::Table table{"public_kernels", {}, {}};
  for (const KernelVerdict& v : verdicts)
    table.add({{"source", v.source},
               {"kernel", v.kernel},
               {"fault", v.fault},
               {"shape", v.shape},
               {"inputs", v.inputs},
               {"elements", whole(v.elements)},
               {"allclose", v.allclose ? "accepted" : "rejected"},
               {"bound", v.beyond == 0 ? "accepted" : "rejected"},
               {"beyond", whole(v.beyond)}});
  return table;
}

std::vector<reports::Finding> kernels_findings(const std::vector<KernelVerdict>& verdicts) {
  const KernelTotals all = totals_of(verdicts);
  return {{.what = "faulty_kernels_rejected",
           .where = "deterministic bound",
           .value = whole(all.seen),
           .threshold = whole(all.faulty),
           .source = "definition: each kernel has a fault (arXiv 2606.20128, table 1)",
           .severity = all.seen == all.faulty ? Severity::good : Severity::bad,
           .sentence =
               "At one shape " + std::string(kernel_tolerance) + " accepts " + of(all.tolerated, all.faulty) +
               " faulty kernels; the derived bound rejects " + std::to_string(all.seen_fixed) +
               " of them there, the others return the right numbers. With a second shape, which no block divides, it rejects " +
               of(all.seen, all.faulty) + ", the tolerance " + of(all.faulty - all.edge_tolerated, all.faulty) + "."},
          {.what = "right_kernels_accepted",
           .where = "deterministic bound",
           .value = whole(all.right_accepted),
           .threshold = whole(all.right),
           .source = "definition: these kernels have no fault (arXiv 2606.20128, table 1)",
           .severity = all.right_accepted == all.right ? Severity::good : Severity::bad,
           .sentence = "Of the right kernels it accepts " + of(all.right_accepted, all.right) + " at both shapes."},
          {.what = "empty_kernels_rejected",
           .where = "deterministic bound",
           .value = whole(all.empty_seen),
           .threshold = whole(all.empty),
           .source = "definition: no element is written",
           .severity = all.empty_seen == all.empty ? Severity::good : Severity::bad,
           .sentence = "In " + of(all.empty_tolerated, all.empty) +
                       " problems of KernelBench the tolerance accepts an output of zeros; the bound rejects it in " +
                       of(all.empty_seen, all.empty) + "."}};
}

}  // namespace ulpscope::verify
