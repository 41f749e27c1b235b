// SPDX-License-Identifier: Apache-2.0
// Data for kernels that scale blocks before they multiply: outlier channels, blocks of zeros, blocks of tiny numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "verify/generate/generate_draw.hpp"
#include "verify/generate/generate_kinds.hpp"

namespace ulpscope::verify {
namespace {

using namespace detail;

constexpr std::size_t scale_block = 32;  ///< products that share a scale: OCP MX 1.0, 5.3

/// Normally distributed numbers, rounded to the format.
void fill_normal(std::vector<float>& values, emu::Format format, const Draw& draw, double deviation) {
  values = draw.normals(values.size());
  for (float& x : values)
    x = static_cast<float>(
        emu::round_to(format, deviation * static_cast<double>(x), {.policy = emu::Policy::saturating}).value);
}

double count(const std::vector<float>& values, float x) {
  return static_cast<double>(std::count(values.begin(), values.end(), x));
}

/// The deviation, a power of two of at most 1, with which `times` as much is seldom out of range: 6 deviations are in it.
double deviation(emu::Format format, double times) {
  double out = 1;
  while (6 * times * out > emu::max_finite(format)) out /= 2;
  return out;
}

}  // namespace

MatmulCase generate_outliers(const CaseRequest& request) {
  // T. Dettmers et al., "LLM.int8()", arXiv 2208.07339, section 3: at most 7 of the hidden features, all rows, are outliers,
  // 0.1%.
  constexpr double larger = 100;
  constexpr std::size_t per_outlier = 128;
  MatmulCase made = blank_case(request);
  const double width = deviation(request.a, larger);
  const std::size_t columns = std::max<std::size_t>(1, request.k / per_outlier);
  const std::vector<std::size_t> order = Draw(request.seed, Purpose::positions).permutation(request.k, 0);
  const std::vector<float> normals = Draw(request.seed, Purpose::a).normals(made.a.size());
  std::vector<double> factor(request.k, width);
  for (std::size_t x = 0; x < columns; ++x) factor[order[x]] = larger * width;
  for (std::size_t i = 0; i < made.a.size(); ++i)
    made.a[i] = static_cast<float>(
        emu::round_to(request.a, static_cast<double>(normals[i]) * factor[i % request.k], {.policy = emu::Policy::saturating})
            .value);
  fill_normal(made.b, request.b, Draw(request.seed, Purpose::b), deviation(request.b, 1));
  made.facts.push_back({"outlier_columns", static_cast<double>(columns), "columns of A, 100 times as large as the others"});
  made.facts.push_back({"deviation", width, "of the other columns: the largest power of two that keeps the outliers in range"});
  made.facts.push_back({"zeros_in_a", count(made.a, 0), "elements that the format of A has no room for beside the outliers"});
  return made;
}

MatmulCase generate_zero_blocks(const CaseRequest& request) {
  MatmulCase made = blank_case(request);
  fill_normal(made.a, request.a, Draw(request.seed, Purpose::a), deviation(request.a, 1));
  fill_normal(made.b, request.b, Draw(request.seed, Purpose::b), deviation(request.b, 1));
  const auto zero_line = [](std::size_t x) { return x % 4 == 1; };
  const auto zero_block = [](std::size_t line, std::size_t k) { return (line + k / scale_block) % 3 == 2; };
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < request.m; ++i)
    for (std::size_t k = 0; k < request.k; ++k) {
      if (zero_line(i) || zero_block(i, k)) made.a[i * request.k + k] = 0;
      blocks += k % scale_block == 0 && (zero_line(i) || zero_block(i, k));
    }
  for (std::size_t k = 0; k < request.k; ++k)
    for (std::size_t j = 0; j < request.n; ++j)
      if (zero_line(j) || zero_block(j, k)) made.b[k * request.n + j] = 0;
  const std::size_t zero_rows = (request.m + 2) / 4, zero_columns = (request.n + 2) / 4;
  made.facts.push_back({"zero_rows", static_cast<double>(zero_rows), "of A: 1, 5, 9 ..."});
  made.facts.push_back({"zero_columns", static_cast<double>(zero_columns), "of B: 1, 5, 9 ..."});
  made.facts.push_back(
      {"zero_scale_blocks", static_cast<double>(blocks), "blocks of 32 along K in A whose largest magnitude is 0"});
  return made;
}

MatmulCase generate_tiny_amax(const CaseRequest& request) {
  const double largest = emu::max_finite(emu::float8_e4m3fn), range = emu::max_finite(emu::float32);
  // amax at which scales of float32 go wrong, one a row.
  const std::vector<double> wanted{
      largest / range / 2,                            // 448 / amax is infinite
      largest / range * 2,                            // finite by a factor of two
      largest * emu::min_positive(emu::float32),      // amax / 448 is the least subnormal number
      largest * emu::min_positive(emu::float32) / 4,  // amax / 448 is zero
      largest * emu::min_normal(emu::float32) / 2,    // amax / 448 is subnormal
      emu::min_positive(request.a),                   // the least that there is
  };
  MatmulCase made = blank_case(request);
  std::vector<double> amax;
  for (const double x : wanted) {
    const double rounded = emu::round_to(request.a, x).value;
    if (rounded != 0 && rounded < 2 * x) amax.push_back(rounded);
  }
  if (emu::min_positive(request.a) > largest / range)
    throw Error("tiny_amax: " + emu::format_name(request.a) +
                " has no numbers below 448 / max(float32) = 1.3e-36; give --in bfloat16, tf32 or float32, as the data is "
                "before it is quantised");
  const Draw numbers(request.seed, Purpose::a), signs(request.seed, Purpose::signs);
  std::size_t infinite = 0;
  for (std::size_t i = 0; i < request.m; ++i) {
    const double most = amax[i % amax.size()];
    infinite += static_cast<float>(largest / most) > static_cast<float>(range);
    for (std::size_t k = 0; k < request.k; ++k) {
      const std::size_t at = i * request.k + k;
      const bool ordinary = i % 2 == 1 && k / scale_block % 2 == 1;  // odd rows have blocks that are not tiny
      const double part = k % scale_block == 0 ? 1 : (1 + numbers.unit(at)) / 2;
      made.a[at] = static_cast<float>(
          emu::round_to(request.a, signs.sign(at) * part * (ordinary ? 1 : most), {.rounding = emu::Rounding::toward_zero})
              .value);
    }
  }
  const Draw b(request.seed, Purpose::b);
  for (std::size_t i = 0; i < made.b.size(); ++i)
    made.b[i] = static_cast<float>(emu::round_to(request.b, 1 + b.unit(i), {.rounding = emu::Rounding::toward_zero}).value);
  made.facts.push_back({"amax_least", *std::min_element(amax.begin(), amax.end()), "of a block of 32 along K"});
  made.facts.push_back(
      {"infinite_scales", static_cast<double>(infinite), "rows of A with blocks for which 448/amax is infinite in float32"});
  return made;
}

}  // namespace ulpscope::verify
