// SPDX-License-Identifier: Apache-2.0
// What is said of wrong elements of an attention.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/tensor.hpp"
#include "tests/verify/attention_kernel.hpp"
#include "tests/verify/operations_data.hpp"
#include "tests/verify/wrong_outputs.hpp"
#include "verify/operations/attention.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

}  // namespace

TEST_CASE("attention: roundings that are not declared are told from the wrong elements", "[verify][attention]") {
  struct Case {
    AttentionKernel kernel;
    std::optional<emu::Format> probabilities, scores;
    double size;  // of Q and K: where scores are large, their roundings are greater than those of probabilities
    const char* said;
  };
  const emu::Format narrow = emu::bfloat16, wide = emu::float32;
  const Case cases[] = {
      {{wide, narrow},
       {},
       {},
       1,
       "within the wider bound of probabilities rounded to bfloat16: --probabilities bfloat16 if the kernel rounds them"},
      {{wide, {}, narrow},
       {},
       {},
       5,
       "within the wider bound of scores rounded to bfloat16: --scores bfloat16 if the kernel rounds them"},
      {{wide, narrow, narrow},
       narrow,
       {},
       5,
       "within the wider bound of scores rounded to bfloat16: --scores bfloat16 if the kernel rounds them"},
      {{.format = wide, .dropped_key = 3}, {}, {}, 1, ""},
      {{wide, narrow, narrow}, narrow, narrow, 1, ""},
  };
  for (const Case& test : cases)
    for (const bool by_inputs : {false, true}) {
      const AttentionProblem in = attention_problem({.queries = 24, .keys = 40}, test.size, emu::bfloat16, 5);
      const emu::Format out = by_inputs ? emu::float32 : emu::bfloat16;
      verify::Attention operation{.q = values({1, 2, 24, 16}, in.q),
                                  .k = values({1, 2, 40, 16}, in.k),
                                  .v = values({1, 2, 40, 8}, in.v),
                                  .scores = test.scores,
                                  .probabilities = test.probabilities,
                                  .last = {out}};
      if (by_inputs) operation.q.format = emu::bfloat16;
      const auto [wrong, said] = wrong_outputs(*verify::expect_attention(operation), test.kernel(in, out), out);
      const std::string wanted = test.said;
      CAPTURE(by_inputs, wrong, said, wanted);
      CHECK((wanted.empty() ? said.empty() : wrong > 0 && said.find(wanted) != std::string::npos));
    }
}

TEST_CASE("attention: a fault of a few elements, or of everything, is not called a rounding", "[verify][attention]") {
  const AttentionProblem in = attention_problem({.queries = 24, .keys = 40}, 1, emu::bfloat16, 5);
  verify::Attention operation{.q = values({1, 2, 24, 16}, in.q),
                              .k = values({1, 2, 40, 16}, in.k),
                              .v = values({1, 2, 40, 8}, in.v),
                              .last = {emu::float32}};
  operation.q.format = emu::bfloat16;
  const auto expectation = verify::expect_attention(operation);
  const AttentionKernel kernel{emu::float32};
  const std::vector<float> right = kernel(in, emu::float32);
  std::vector<float> one = right, all = right;
  one[7] += 1e-4F;
  for (float& x : all) x *= 1.0012F;
  const WrongOutputs of_one = wrong_outputs(*expectation, one, emu::float32);
  const WrongOutputs of_all = wrong_outputs(*expectation, all, emu::float32);
  CHECK(of_one.said.empty());
  CHECK(of_one.count == 1);
  CHECK(of_all.said.empty());
  CHECK(of_all.count > 100);
}

TEST_CASE("attention: faults are not called roundings of scores", "[verify][attention]") {
  const auto said_of = [](emu::Format in, double size, double scale, const AttentionKernel& kernel) {
    AttentionProblem asked = attention_problem({.queries = 24, .keys = 40}, size, in, 5), done = asked;
    done.scale = scale;
    verify::Attention operation{.q = values({1, 2, 24, 16}, asked.q),
                                .k = values({1, 2, 40, 16}, asked.k),
                                .v = values({1, 2, 40, 8}, asked.v),
                                .last = {emu::float32}};
    operation.q.format = in;
    return wrong_outputs(*verify::expect_attention(operation), kernel(done, emu::float32), emu::float32);
  };
  // Bounds of 8-bit scores take in what is far off.
  const WrongOutputs of_e4m3 = said_of(emu::e4m3, 1, 0.25, {emu::float32, {}, emu::e4m3});
  CHECK(of_e4m3.count > 300);
  CHECK(of_e4m3.said.empty());
  // 0.26 where 0.25 is declared.
  for (const double size : {0.5, 2.0, 8.0}) {
    const WrongOutputs of_scale = said_of(emu::bfloat16, size, 0.26, {emu::float32});
    CAPTURE(size, of_scale.count, of_scale.said);
    CHECK(of_scale.count > 100);
    CHECK(of_scale.said.empty());
  }
}

TEST_CASE("attention: wrong elements of every head are looked at", "[verify][attention]") {
  const AttentionProblem in = attention_problem({.queries = 64, .keys = 40}, 5, emu::bfloat16, 5);
  verify::Attention operation{.q = values({1, 2, 64, 16}, in.q),
                              .k = values({1, 2, 40, 16}, in.k),
                              .v = values({1, 2, 40, 8}, in.v),
                              .last = {emu::float32}};
  operation.q.format = emu::bfloat16;
  const auto expectation = verify::expect_attention(operation);
  const std::vector<float> rounded = AttentionKernel{emu::float32, {}, emu::bfloat16}(in, emu::float32);
  const auto said = [&](const std::vector<float>& y) {
    const std::vector<double> output(y.begin(), y.end());
    const tensors::Tensor tensor = tensors::from_values("o", {1, 2, 64, 8}, output);
    const auto patterns = verify::verify(*expectation, tensor, {.last = {emu::float32}}).patterns;
    return std::any_of(patterns.begin(), patterns.end(), [](const std::string& line) {
      return line ==
             "256 of 256 wrong elements looked at lie within the wider bound of scores rounded to bfloat16: --scores "
             "bfloat16 if the kernel rounds them";
    });
  };
  std::vector<float> other_head = rounded;
  std::transform(rounded.begin() + 512, rounded.end(), other_head.begin() + 512, [](float x) { return -x; });
  CHECK(said(rounded));
  CHECK_FALSE(said(other_head));
}
