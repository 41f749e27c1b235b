// SPDX-License-Identifier: Apache-2.0
// Kernels with faults that a tolerance at one shape does not see, and right ones beside them, written again from their
// descriptions: D. Sarkar, "The Correctness Illusion in LLM-Generated GPU Kernels", arXiv 2606.20128, table 1; and problems of
// KernelBench of which an output of zeros is accepted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "reports/finding.hpp"
#include "reports/table.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Tensors by name, in the order in which a kernel takes them.
using KernelInputs = std::vector<std::pair<std::string, Values>>;

/// How an input is drawn: `normal:0,1:2x7`.
struct KernelInput {
  std::string name;   ///< in the formula
  std::string drawn;  ///< a synthetic tensor
};

/// A kernel that computes in float32.
struct WrittenKernel {
  std::string source;   ///< where it is described
  std::string kernel;   ///< its name there
  std::string fault;    ///< what is wrong with it; empty: nothing
  std::string formula;  ///< what it is to compute (docs/expressions.md); D is the last extent of the first input
  /// The one shape at which it is tested, of a size that its blocks divide, and one whose edges are not that even. Without
  /// `edge` the first is all.
  std::vector<KernelInput> fixed, edge = {};
  /// The output before its last rounding.
  std::function<std::vector<float>(const KernelInputs&)> run;
  emu::Format format = emu::float16;  ///< of inputs and output
};

/// The 16 right and the 10 faulty kernels, then those that write nothing.
std::vector<WrittenKernel> written_kernels();

/// What two checks said of a kernel at one shape.
struct KernelVerdict {
  std::string source, kernel, fault;  ///< as of WrittenKernel
  std::string shape;                  ///< `fixed`, `edge`
  std::string inputs;                 ///< `x = normal:0,1:2x7`
  std::uint64_t elements = 0;         ///< of the output
  bool allclose = false;              ///< whether `allclose:rtol=1e-2,atol=1e-2` accepts it
  std::uint64_t beyond = 0;           ///< elements beyond the derived bound; it accepts an output of which there are none
};

/// Runs all of them. @throws ulpscope::Error
std::vector<KernelVerdict> judge_written_kernels(std::uint64_t seed, int threads);

/// public_kernels.csv.
reports::Table kernels_table(const std::vector<KernelVerdict>& verdicts);
/// How many faults each check sees, and how many right kernels it accepts.
std::vector<reports::Finding> kernels_findings(const std::vector<KernelVerdict>& verdicts);

}  // namespace ulpscope::verify
