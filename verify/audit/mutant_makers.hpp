// SPDX-License-Identifier: Apache-2.0
// How the mutants of verify/audit/mutants.hpp are made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "emu/format.hpp"
#include "verify/audit/mutants.hpp"

namespace ulpscope::verify {

/// Nothing: the problem does not have what the mutant changes.
using MutantOutput = std::optional<std::vector<double>>;

/// A number below `count` that depends on the seed, `index` and what it is `drawn_for`.
std::uint64_t drawn(const CorrectOutput& source, std::uint64_t drawn_for, std::uint64_t index, std::uint64_t count);

/// The number of `format` that is `steps` codes above x (below for negative steps), no further than the largest finite ones.
double codes_away(emu::Format format, double x, std::int64_t steps);

/// Severities: of a kind without grades; 1, 2, 4 ... 128.
///@{
std::vector<double> ungraded();
std::vector<double> doubling();
///@}

/// From which severity on every check must reject: any, or none.
///@{
double always(const CorrectOutput&);
double never(const CorrectOutput&);
///@}

// Of the output alone.
/// Of the kinds with these names (mutant_kinds()); the number is the severity in the unit of the kind.
///@{
MutantOutput zeros(const CorrectOutput& source, double);
MutantOutput constant_mean(const CorrectOutput& source, double);
MutantOutput nan_element(const CorrectOutput& source, double);
MutantOutput nan_everywhere(const CorrectOutput& source, double);
MutantOutput infinite_element(const CorrectOutput& source, double);
MutantOutput rows_swapped(const CorrectOutput& source, double);
MutantOutput tile_transposed(const CorrectOutput& source, double);
MutantOutput scale_off(const CorrectOutput& source, double percent);
MutantOutput element_off(const CorrectOutput& source, double ulps);
MutantOutput noise(const CorrectOutput& source, double ulps);
MutantOutput overflow_saturated(const CorrectOutput& source, double);
MutantOutput saturation_missing(const CorrectOutput& source, double);
MutantOutput subnormal_outputs_flushed(const CorrectOutput& source, double);
///@}

// Of the product.
/// Of the kinds with these names (mutant_kinds()); the number is the severity in the unit of the kind.
///@{
MutantOutput stale_output(const MutationSource& source, double);
MutantOutput k_dropped(const MutationSource& source, double products);
MutantOutput k_repeated(const MutationSource& source, double);
MutantOutput c_missing(const MutationSource& source, double);
MutantOutput c_twice(const MutationSource& source, double);
MutantOutput c_shifted(const MutationSource& source, double);
MutantOutput accumulated_in_float16(const MutationSource& source, double);
MutantOutput accumulated_in_bfloat16(const MutationSource& source, double);
MutantOutput accumulated_in_13_bits(const MutationSource& source, double);
MutantOutput inputs_in_tf32(const MutationSource& source, double);
MutantOutput inputs_in_bfloat16(const MutationSource& source, double);
MutantOutput inputs_in_float8_e4m3fn(const MutationSource& source, double);
MutantOutput subnormal_inputs_flushed(const MutationSource& source, double);
MutantOutput out_truncated(const MutationSource& source, double);
///@}

}  // namespace ulpscope::verify
