// SPDX-License-Identifier: Apache-2.0
// Acceptance checks of kernels as public repositories have them: which operation, which operands, which rule, and where that
// stands. They come with the program (verify/evidence/public_checks.csv); docs/public-checks.md tells how they were read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "products/product.hpp"

namespace ulpscope::verify {

/// How well a check can be said in the words of this program.
enum class Fit : std::uint8_t {
  exact,  ///< formats, operands, shape and rule are those of the source
  near,   ///< all but what PublicCheck::why names
  no,     ///< it cannot, for the reason that PublicCheck::why names
};
/// `exact`, `near`, `no`.
std::string_view name_of(Fit fit) noexcept;

/// One check, in the words of its column in public_checks.csv.
struct PublicCheck {
  std::string check;                     ///< repository and number: `deepgemm-01`
  std::string repository, path, commit;  ///< where it stands
  std::string operation;                 ///< what is under test
  std::size_t m = 0, n = 0, k = 0;       ///< extents; 0: the source does not state them
  std::string a_format, b_format;        ///< of the operands; `int8`: numbers of it, multiplied as bfloat16
  std::string acc, out;                  ///< of the sum, of D
  /// How elements are drawn: `normal:0,1`. `c` is one row for all, `matrix:` before it a row for each; empty: nothing is added.
  std::string a, b, c;
  /// A word for both operands or `A B`: `tensor`, `row` (rows of A, columns of B), `1x128` (lines by K), `mx`, `nvfp4`
  /// (`,alone`: without one more scale for the tensor), `none`. `,up`: powers of two, rounded up; `:normal:0,1`: scales are
  /// drawn, and operands are rounded as they are. Else the largest magnitude under a scale becomes the largest number of the
  /// format, of `mx` one of its highest binade. Empty: nothing is scaled.
  std::string scales;
  std::string rule;   ///< a word of parse_rule(), or `none`: the source judges nothing
  Fit fit = Fit::no;  ///< how near all this comes to the source
  std::string why;    ///< what differs, or why it cannot be said
  /// Of an operation that is no product: what stands behind `ulpscope`, without seed and rule:
  /// `audit softmax normal:0,1:2x4096 --in bf16 --out bf16`. The columns from `m` to `scales` are empty then.
  std::string request;
};

/// All of them, in the order of the file. @throws ulpscope::Error where the file is damaged
std::vector<PublicCheck> public_checks();

/// The most rows of A and columns of B that are drawn of a product; K is whole.
struct Sample {
  std::size_t lines = 32;  ///< at most so many rows, and so many columns
  std::uint64_t seed = 0;  ///< key of the operands
};

/// The product of a check that is not Fit::no and has no request, or a sample of its rows and columns; of extents that are not
/// stated M and N are Sample::lines and K is 1024. Its engine is sm_90, sm_100 for formats of 8 bits and fewer, cdna3 for fnuz
/// formats and x86_fma for float32. @throws ulpscope::Error where a word of the check means nothing
products::Product product_of(const PublicCheck& check, const Sample& sample);

}  // namespace ulpscope::verify
