// SPDX-License-Identifier: Apache-2.0
// The element operations of gpu/cuda, run on the CPU over a stand-in for the instructions, beside the models that they claim.
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "gpu/adversarial.hpp"
#include "gpu/cuda/elementwise.hpp"
#include "gpu/cuda/instruction_set.hpp"
#include "gpu/element_model.hpp"
#include "tests/gpu/fake_cuda/control.hpp"
#include "tests/gpu/fake_cuda/matrix_instructions.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::gpu;
using emu::Code;

struct Operands {
  std::vector<Code> a, b, c;

  ElementOperands view() const { return {a, b, c}; }
};

/// Every input where that is at most 2^16 of them; otherwise adversarial ones.
Operands operands(const ElementModel& model, std::size_t count) {
  const bool all = model.kind == ElementKind::convert && model.from.bits() <= 16;
  Operands made;
  for (std::size_t i = 0; i < (all ? model.from.code_mask() + 1 : count); ++i) {
    const TestOperands one = test_operands(model, 1, i);
    made.a.push_back(all ? i : one.a);
    if (operands_of(model.kind) > 1) made.b.push_back(one.b);
    if (operands_of(model.kind) > 2) made.c.push_back(one.c);
  }
  return made;
}

/// The host's float and double make other NaNs than a GPU.
bool agree(const ElementOperation& operation, Code device, Code model) {
  const bool by_host = operation.instruction.starts_with("__f") || operation.instruction.starts_with("__d");
  return device == model || (by_host && operation.model.to.is_nan(device) && operation.model.to.is_nan(model));
}

void check_operation(const Elementwise& device, const ElementOperation& operation, std::size_t count) {
  CAPTURE(operation.instruction);
  const Operands in = operands(operation.model, count);
  std::vector<Code> d(in.a.size());

  device.apply(operation, in.view(), d);

  CHECK(fake_cuda::instruction_failure() == "");
  CHECK(fake_cuda::report() == "");
  std::size_t mismatches = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    const Code b = in.b.empty() ? 0 : in.b[i], c = in.c.empty() ? 0 : in.c[i];
    const Code model = element_result(operation.model, in.a[i], b, c);
    if (agree(operation, d[i], model) || ++mismatches > 1) continue;
    UNSCOPED_INFO(std::hex << in.a[i] << ' ' << b << ' ' << c << ": " << d[i] << ", the model has " << model);
  }
  CHECK(mismatches == 0);
}

TEST_CASE("every element operation computes what its model claims", "[gpu]") {
  const cuda::CudaElementwise device("cuda:0", 0, cuda::element_instructions(100));
  for (const ElementOperation& operation : device.operations()) check_operation(device, operation, 5001);
}

std::vector<cuda::ElementInstruction> architecture_specific(const cuda::Target& target) {
  std::vector<cuda::ElementInstruction> all;
  cuda::add_narrow_conversions(target, all);
  cuda::add_random_conversions(target, all);
  return all;
}

TEST_CASE("conversions of fp4, fp6 and ue8m0 and with random bits compute what their models claim", "[gpu]") {
  const cuda::CudaElementwise device(
      "cuda:0", 0, architecture_specific({.capability = 100, .architecture = 100, .specific = true, .engine = "sm_100"}));
  for (const ElementOperation& operation : device.operations()) check_operation(device, operation, 20001);
}

// Three formats with and without relu, from floats and to halves; ue8m0 in two directions, saturating or not, from two formats,
// and to bfloat16.
constexpr std::size_t narrow_conversions = 2 * (3 * 2) + 2 * 2 * 2 + 1;

TEST_CASE("conversions of sm_100a and sm_120a are those of the PTX ISA's target notes", "[gpu]") {
  // Random bits: two formats in pairs, relu and satfinite or not; five in fours, relu or not.
  constexpr std::size_t narrow = narrow_conversions, random = 2 * 2 * 4 + 5 * 4 * 2;
  const auto count = [](int architecture, bool specific) {
    std::set<std::string> names;
    for (const auto& entry :
         architecture_specific({.capability = architecture, .architecture = architecture, .specific = specific}))
      CHECK(names.insert(entry.operation.instruction).second);
    return names.size();
  };

  CHECK(count(90, true) == 0);
  CHECK(count(100, false) == 0);
  CHECK(count(100, true) == narrow + random);
  CHECK(count(103, true) == narrow + random);
  CHECK(count(110, true) == narrow);
  CHECK(count(120, true) == narrow);
}

TEST_CASE("element operations have one name each, and no architecture but sm_120 lacks what the one before has: cvt.rs",
          "[gpu]") {
  std::set<std::string> before;
  for (const int capability : {75, 80, 86, 89, 90, 100, 120}) {
    CAPTURE(capability);
    std::set<std::string> names;
    for (const cuda::ElementInstruction& entry : cuda::element_instructions(capability))
      CHECK(names.insert(entry.operation.instruction).second);
    for (const std::string& name : before) CHECK((names.contains(name) || (capability == 120 && name.starts_with("cvt.rs"))));
    before = names;
  }
  CHECK(before.size() == 5 + 5 + 2 + 3 + 5 + 5 + 5 + 7 + 5 + 12 + 32 + 32 + narrow_conversions);
}

}  // namespace
