// SPDX-License-Identifier: Apache-2.0
// `ulpscope verify` for tests of kernels that are written in C++: values in memory, the same verdict, the same text.
// verify/catch2.hpp and verify/googletest.hpp make assertions of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "verify/outcome.hpp"

namespace ulpscope::verify {

/// What the output is held to.
enum class Against : std::uint8_t {
  exact,             ///< the exact result, within a bound that is derived from what is declared of the arithmetic
  engine,            ///< what the engine returns, bit for bit
  engine_any_order,  ///< the same, the parts of `split_k` added in any order
  baseline           ///< the errors of another output, each against the exact result
};

/// Whether matrices are stored as (m,k) and (k,n), or as their transposes.
enum class Transpose : std::uint8_t { no, yes };

/// A matrix of scales over an operand as that is stored. What it scales is told by its shape, as by `--scale-a`: one for all,
/// one for each row of A or column of B, or one a block. Without values there are none.
struct CheckScales {
  std::span<const float> values = {};  ///< rows * columns numbers of `format`
  std::size_t rows = 1, columns = 1;   ///< extents of the grid
  emu::Format format = emu::float32;   ///< of the values
};

/// D = alpha * A.B + C (with `beta`: alpha * A.B + beta * C), row-major, and what is declared of the kernel that computed it.
/// The fields mean what the options of `ulpscope verify matmul` of these names mean. What the spans refer to lives until it is
/// judged.
struct MatmulCheck {
  std::span<const float> a = {};    ///< batch * m * k
  std::span<const float> b = {};    ///< batch * k * n
  std::span<const float> c = {};    ///< batch * m * n, or a row of n that is added to all; empty: none
  std::size_t m = 0, n = 0, k = 0;  ///< extents of each product
  emu::Format in = emu::float32;  ///< what A and B are rounded to first; its numbers pass unchanged, tf32 cuts as hardware does
  emu::Format acc = emu::float32;                                      ///< what is summed in: float32, float16 or float64
  emu::Format out = emu::float32;                                      ///< of the output
  std::optional<emu::Format> in_b = {};                                ///< of B, where it differs
  std::size_t batch = 1;                                               ///< products
  Transpose transpose_a = Transpose::no, transpose_b = Transpose::no;  ///< of each matrix
  CheckScales scale_a = {}, scale_b = {};                              ///< over A and B
  double alpha = 1;                                                    ///< factor of the product
  std::optional<double> beta = {};                                     ///< factor of C; none: C is where the sum starts
  std::size_t promote = 0;           ///< products after which the sum is added to a float32 sum; 0: never
  std::size_t split_k = 1;           ///< chains of equal length that K is cut into
  std::string engine = {};           ///< a word for `ulpscope engines`; empty: any order of additions in `acc`
  Against against = Against::exact;  ///< what decides
  emu::Rounding acc_rounding = emu::Rounding::nearest_even;  ///< of additions without an engine: nearest_even or toward_zero
  std::optional<double> false_alarm = {};                    ///< probability that a correct output is rejected; none: 0
  emu::RoundingOptions out_options = {};                     ///< the kernel's last rounding
  std::span<const float> baseline = {};                      ///< Against::baseline: the other output
  double at_most = 1.1;                                      ///< times its relative Frobenius error
};

/// An array in memory, row-major.
struct CheckTensor {
  std::string role;                             ///< what `ulpscope verify` calls it: `x`, `weight`; its name in a formula
  std::span<const float> values = {};           ///< numbers of `format`
  std::vector<std::size_t> shape = {};          ///< extents; empty: a scalar
  emu::Format format = emu::float32;            ///< of the values
  std::span<const std::int64_t> integers = {};  ///< in the place of values: offsets, lengths, truth values
};

/// Any operation that `ulpscope verify` has, by its name, and what is declared of the kernel that computed it:
/// {.operation = "rms_norm", .inputs = {{"x", x, {rows, columns}}}, .options = {{"eps", "1e-6"}}}. What the spans refer to
/// lives until it is judged.
struct OperationCheck {
  std::string operation;                            ///< a word for `ulpscope verify`: `rms_norm`, `attention`, `expr`
  std::vector<CheckTensor> inputs;                  ///< in any order
  std::map<std::string, std::string> options = {};  ///< of `ulpscope verify OPERATION`, as a study file names them: `sum_depth`
  emu::Format out = emu::float32;                   ///< of the output
  std::vector<CheckTensor> further = {};            ///< other outputs of the kernel: `lse`
};

/// How a check is carried out.
struct CheckOptions {
  int threads = 0;                        ///< 0: all; neither verdict nor text depends on it
  std::optional<std::size_t> width = {};  ///< tables wider than this are folded; none: as `ulpscope verify` does
};

/// What a check says.
struct CheckReport {
  Outcome outcome = Outcome::vacuous;  ///< pass, fail, or could not have failed
  std::string text;                    ///< the census, as `ulpscope verify --text` prints it

  /// A check that could not have failed does not pass.
  bool passes() const noexcept { return outcome == Outcome::pass; }
};

/// Judges `output`, batch * m * n elements that a kernel returned: numbers of `check.out`.
/// @throws ulpscope::Error in one line where sizes do not fit, an engine has no such formats, or an element is no number of
/// `check.out`.
CheckReport check_output(const MatmulCheck& check, std::span<const float> output, const CheckOptions& options = {});

/// Judges `output`, all elements of what the operation gives for these inputs, row-major.
/// @throws ulpscope::Error in one line where there is no such operation, input or option, sizes do not fit, or an element is no
/// number of its format.
CheckReport check_output(const OperationCheck& check, std::span<const float> output, const CheckOptions& options = {});

}  // namespace ulpscope::verify
