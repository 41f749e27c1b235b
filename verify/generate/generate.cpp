// SPDX-License-Identifier: Apache-2.0
// Checks a request, has the kind make operands, and computes the exact result.
#include "verify/generate/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "emu/engine.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "products/exact_product.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::string_view by_the_bound = {};  ///< right_result() says it

constexpr std::array kinds{
    CaseKind{"ties", "every output is a tie of the output format, or the least step above or below one", by_the_bound,
             "a last rounding that truncates, rounds ties away, rounds twice, or adds half an ulp", generate_ties},
    CaseKind{"cancellation", "dot products of the condition number --condition: large products cancel", by_the_bound,
             "accumulators, splits or promotions with fewer bits than said: their errors are multiplied by it",
             generate_cancellation},
    CaseKind{"outliers", "a few columns of A are 100 times as large as the others", by_the_bound,
             "one scale for a whole tensor or row: all that is not an outlier becomes 0", generate_outliers},
    CaseKind{"thresholds", "outputs on, below and above the overflow and underflow thresholds of output and accumulator",
             by_the_bound,
             "saturation in place of infinity or the other way about, flushed subnormal results, 0 for a tie above 0",
             generate_thresholds},
    CaseKind{"zero_blocks", "rows, columns and blocks of 32 along K that are zero", by_the_bound,
             "scales of 0 and 0/0: NaN where zeros are expected", generate_zero_blocks},
    CaseKind{"tiny_amax", "blocks so small that 448/amax overflows or amax/448 underflows in float32", by_the_bound,
             "quantisers without a least amax: infinities and NaN, or a block that becomes 448 or 0", generate_tiny_amax},
    CaseKind{"subnormals", "A is subnormal throughout; so are odd columns of the result, as far as products reach",
             by_the_bound, "flush-to-zero of operands or results (-ftz=true, cvt.ftz, DAZ)", generate_subnormals},
    CaseKind{"overflow_partial", "partial sums beyond the accumulator's range, small results",
             "expected.npy if its accumulator has a greater range than --acc; else infinity, NaN or 0 in even rows, and "
             "perhaps 0 in rows 1, 5, 9 ...",
             "float16 accumulators where float32 is promised; clamped partial sums", generate_overflow_partial},
    CaseKind{
        "one_nan",
        "one NaN in A, and one infinity where --in and --out have it and M is 2 or more: one row of NaN, one of infinities",
        by_the_bound, "NaN lost in max, relu, clamp or fast-math, in the last k; NaN in other rows by masks that multiply by 0",
        generate_one_nan},
    CaseKind{"large_k_bias", "all products positive, their significands random", by_the_bound,
             "accumulators that truncate or keep few bits: results drift below, the more the larger K", generate_large_k_bias},
    CaseKind{"alignment", "a large product, its negative, and a small one 2^-12, 2^-13 ... of it",
             "the small product where its accumulator keeps that many bits, else 0: see the engine's fraction bits",
             "accumulators with fewer fraction bits than said: the first output that is 0 tells how many", generate_alignment},
    CaseKind{"order", "a large product first, its negative last, between them small ones that it swallows one at a time",
             "what its order of additions gives: 0 in even rows for one ascending chain, more for split or pairwise sums",
             "another order of K than said, split-K, and a last tile that is left out (the large product remains)",
             generate_order},
    CaseKind{"permutation", "one product for each output, which tells row, column and k", by_the_bound,
             "transposed or permuted tiles, strides mixed up, rows of A that meet the wrong k of B", generate_permutation},
    CaseKind{"signed_zero", "zeros of both signs, x - x, and negative results that underflow; C is -0 throughout",
             "expected.npy with its signs by IEEE 754 where its accumulator starts from C; for tensor cores the sign is not "
             "published",
             "signs of zero lost in epilogues; start from +0 in place of C", generate_signed_zero},
};

void check(bool holds, const std::string& message) {
  if (!holds) throw Error(message);
}

void check_operand(const char* which, emu::Format format) {
  const std::string name = emu::format_name(format);
  check(format.precision() <= emu::float32.precision() && detail::holds(emu::float32, emu::max_finite(format)) &&
            detail::holds(emu::float32, emu::min_positive(format)),
        std::string(which) + ": " + name + " has numbers that float32 has not; give float32 or a smaller format");
  check(format.is_signed() && detail::holds(format, 1) && detail::holds(format, 2),
        std::string(which) + ": " + name + " does not have 0, 1, 2 and their negatives; give another format");
}

void check_request(const CaseRequest& request) {
  check(request.m > 0 && request.n > 0 && request.k > 0, "--m, --n, --k: each is 1 or more");
  constexpr std::size_t most = std::size_t{1} << 31;
  check(request.k <= most && request.m <= most / request.k && request.n <= most / request.k && request.m <= most / request.n,
        "--m, --n, --k: a matrix of more than 2^31 elements; give smaller extents");
  check_operand("--in", request.a);
  check_operand("--in", request.b);
  check_operand("--out", request.out);
  check(request.accumulator == emu::float32 || request.accumulator == emu::float16,
        "--acc " + emu::format_name(request.accumulator) + ": give float32 or float16");
}

/// A generator that leaves its format is wrong.
void check_elements(const char* which, const std::vector<float>& values, emu::Format format) {
  for (const float x : values)
    if (!std::isnan(x) && !detail::holds(format, static_cast<double>(x)))
      throw std::logic_error(std::string("a generated element of ") + which + " is no number of " + emu::format_name(format));
}

std::vector<float> exact_product_of(const CaseRequest& request, const MatmulCase& made) {
  emu::EngineMatmul<float> problem{};
  problem.a = {request.a, made.a, {request.m, request.k}};
  problem.b = {request.b, made.b, {request.k, request.n}};
  problem.c = made.c;
  problem.out = request.out;
  std::vector<float> d(request.m * request.n);
  products::exact_product(problem, d);
  return d;
}

}  // namespace

std::span<const CaseKind> case_kinds() { return kinds; }

std::string right_result(const CaseKind& kind, const MatmulCase& made) {
  if (!kind.returns.empty()) return std::string(kind.returns);
  return made.any_order_is_exact ? "expected.npy to the bit, whatever the order of additions: no partial sum needs rounding"
                                 : "expected.npy within the error bound of its accumulator, which rounds";
}

const CaseKind& find_case_kind(std::string_view name) {
  std::string word(name);
  for (char& c : word) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  std::vector<std::string> known;
  for (const CaseKind& kind : kinds) {
    if (kind.name == word) return kind;
    known.emplace_back(kind.name);
  }
  const std::string nearest = emu::comma_separated(emu::closest_words(word, known));
  throw Error("unknown kind '" + std::string(name) + "'; nearest: " + nearest + " (`ulpscope generate list` describes all)");
}

MatmulCase generate_case(const CaseKind& kind, const CaseRequest& request) {
  check_request(request);
  MatmulCase made = kind.generate(request);
  check_elements("A", made.a, request.a);
  check_elements("B", made.b, request.b);
  made.expected = exact_product_of(request, made);
  return made;
}

}  // namespace ulpscope::verify
