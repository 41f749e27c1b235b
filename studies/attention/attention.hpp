// SPDX-License-Identifier: Apache-2.0
// What low precision does inside attention: keys and values of the cache rounded to fp8 and integers; probabilities rounded to
// e4m3 after a scale, block by block as online softmax sees them; 2^x by short polynomials.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/page.hpp"
#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The members mean what their fields' help says.
struct AttentionStudyRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  std::uint64_t queries = 64, keys = 1024, head = 128, block = 128;
  std::uint64_t outliers = 4;
  double outlier_factor = 8;
  requests::FormatList formats{.to = {"e4m3", "e5m2", "int8", "int4"}, .integers = true};
  std::vector<std::uint64_t> probability_scale{1, 256, 448};
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// Rows of one matrix product, softmax and matrix product, everything in float64 but for what is studied.
struct AttentionProblem {
  std::size_t queries, keys, head;  ///< rows of Q, rows of K and V, and elements of each row
  std::vector<float> q, k, v;       ///< row-major: a row for each query or key
};

/// Normal numbers; the first `outliers` channels of K are `outlier_factor` times as large.
AttentionProblem draw_attention(const AttentionStudyRequest& request, bool outliers);

/// softmax(q k' / sqrt(head)), a row for each query.
std::vector<double> probabilities_of(const AttentionProblem& problem);
/// probabilities v, a row for each query.
std::vector<double> attention_of(const AttentionProblem& problem, const std::vector<double>& probabilities);

/// |x - exact| / |exact|, Frobenius norms.
double relative_distance(const std::vector<double>& x, const std::vector<double>& exact);

/// Which elements of a cache share a scale (the largest magnitude goes to the format's largest number).
enum class Granularity : std::uint8_t { none, tensor, token, channel };

/// What rounding a cache of keys and values costs the outputs.
struct CacheRow {
  std::string keys;            ///< `normal`, `outliers`
  std::string part;            ///< what is rounded: `keys`, `values`, `both`
  emu::Format format;          ///< of the cached numbers
  Granularity granularity{};   ///< which of them share a scale
  double error = 0;            ///< of the outputs: |O' - O| / |O|, Frobenius norms
  double total_variation = 0;  ///< mean over queries of half the sum of |p' - p|
};
/// Keys, values, both, at every granularity that the format is used with. `keys` is their name.
std::vector<CacheRow> cache_rows(const AttentionProblem& problem, const std::string& keys, emu::Format format);

/// In which order a query's keys come: as drawn, or the largest score first or last.
enum class KeyOrder : std::uint8_t { drawn, descending, ascending };

/// Probabilities exp(s - m) times a scale rounded to e4m3, m the maximum of the scores so far, a block at a time (Dao,
/// FlashAttention-2, arXiv 2307.08691, algorithm 1); sums of probabilities are those before the rounding.
struct ProbabilityRow {
  double scale = 0;                           ///< what probabilities are multiplied by before they are rounded
  KeyOrder order{};                           ///< in which order keys are seen
  std::vector<std::uint64_t> count, to_zero;  ///< by floor of log2 of the last maximum over the probability; the last: or more
  double lost_weight = 0;                     ///< share of all probability that became 0
  double error = 0;                           ///< of the outputs

  static constexpr std::size_t distances = 33;  ///< length of `count` and `to_zero`
};
/// The outputs of the problem with probabilities rounded so, in blocks of `block` keys.
ProbabilityRow probability_row(const AttentionProblem& problem, double scale, KeyOrder order, std::size_t block);

/// 2^f by a polynomial, f in [0, 1), Horner's rule in float32 with fused multiply-adds, as kernels do it instead of the
/// hardware's instruction.
struct Exp2Row {
  int degree = 0;                 ///< 0: 2^f rounded to float32
  double max_rel_error = 0;       ///< over f = i 2^-20
  double max_rel_error_bf16 = 0;  ///< after rounding to bfloat16
  double differing_bf16 = 0;      ///< share whose bfloat16 is not that of 2^f
  double error = 0;               ///< of the outputs of attention whose probabilities are these, rounded to bfloat16
};
/// The outputs of the problem with 2^f by the polynomial of this degree.
Exp2Row exp2_row(const AttentionProblem& problem, int degree);
/// The coefficients, that of f^0 first: of all polynomials of the degree the one whose largest |p(f) 2^-f - 1| over [0, 1] is
/// least (Remez; Cheney, Introduction to Approximation Theory, chapter 3), each rounded to float32.
std::vector<float> exp2_polynomial(int degree);

/// Of its tables: probabilities that become 0 over their distance from the largest.
std::vector<reports::Figure> attention_figures(const std::vector<reports::Table>& tables);

/// attention.csv (caches), attention_probabilities.csv, attention_distances.csv, attention_exp2.csv. @throws ulpscope::Error
StudyResult run(const AttentionStudyRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const AttentionStudyRequest& request);

}  // namespace ulpscope::studies
