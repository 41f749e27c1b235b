// SPDX-License-Identifier: Apache-2.0
// Judges wrong elements again by another declaration.
#include "verify/diagnosis.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <memory>

#include "emu/catalogue.hpp"

namespace ulpscope::verify {
namespace {

/// Has an operand that is cut to tf32 rounded to nearest. Says whether it was.
bool round_cut_operand(products::MatmulOperand& operand, emu::Rounding rounding) {
  if (operand.rounding.format != emu::tf32 || operand.rounding.options.rounding != emu::Rounding::toward_zero) return false;
  operand.rounding.options.rounding = rounding;
  operand.rounding.of_float32 = false;
  return true;
}

}  // namespace

std::string right_if(std::size_t right, std::size_t all, const std::string& words) {
  if (all == 0 || right * 10 < all * 9) return {};
  return fmt::format("{} of {} wrong elements looked at are right {}", right, all, words);
}

std::string diagnosis_of_cut_inputs(const products::Product& problem, const ProductExpectation& expect,
                                    std::span<const std::uint64_t> indices, std::span<const double> outputs,
                                    const LastRounding& last) {
  for (const bool away : {false, true}) {
    products::Product nearest = problem;
    const emu::Rounding rounding = away ? emu::Rounding::nearest_away : emu::Rounding::nearest_even;
    const bool cut_a = round_cut_operand(nearest.a, rounding), cut_b = round_cut_operand(nearest.b, rounding);
    if (indices.empty() || !(cut_a || cut_b)) return {};
    const std::unique_ptr<Expectation> expectation = expect(nearest);
    std::size_t right = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      Expected element;
      expectation->expect(indices[i], std::span(&element, 1));
      right += is_right(judge(*expectation, indices[i], element, outputs[i], last)) ? 1 : 0;
    }
    const std::string words = fmt::format("where inputs are rounded to nearest{}, not cut: --in tf32:nearest{} says so",
                                          away ? ", ties away" : "", away ? "_away" : "");
    if (std::string found = right_if(right, indices.size(), words); !found.empty()) return found;
  }
  return {};
}

}  // namespace ulpscope::verify
