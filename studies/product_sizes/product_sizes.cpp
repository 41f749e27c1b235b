// SPDX-License-Identifier: Apache-2.0
// The measurement: for each distribution and N the exact product once, then each format's and each engine's beside it.
#include "studies/product_sizes/product_sizes.hpp"

#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "requests/parts.hpp"
#include "studies/accumulation/operands.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

/// Both operands, and their product in float64.
struct Problem {
  emu::MatrixShape of_a{}, of_b{};
  std::vector<float> a, b;
  std::vector<double> product;
};

Problem with_product(emu::MatrixShape of_a, emu::MatrixShape of_b, std::vector<float> a, std::vector<float> b) {
  Problem problem{.of_a = of_a, .of_b = of_b, .a = std::move(a), .b = std::move(b), .product = {}};
  problem.product = float64_product(problem.a, of_a, problem.b, of_b);
  return problem;
}

Problem drawn(const ProductSizesRequest& request, const std::string& distribution, std::uint64_t n) {
  const OutputShape outputs = parse_output_shape(request.shape);
  const emu::MatrixShape of_a{outputs.rows, static_cast<std::size_t>(n)}, of_b{static_cast<std::size_t>(n), outputs.columns};
  return with_product(of_a, of_b, draw_matrix(distribution, of_a, request.seed),
                      draw_matrix(distribution, of_b, request.seed + 1));
}

Problem rounded(const Problem& problem, emu::Format in) {
  return with_product(problem.of_a, problem.of_b, rounded_matrix(in, problem.a), rounded_matrix(in, problem.b));
}

/// |x - y|.
double distance(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> differences(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) differences[i] = x[i] - y[i];
  return frobenius_norm(differences);
}

std::vector<double> computed(const Accumulation& by, const Problem& problem) {
  return product_on(by, {problem.a, problem.of_a}, {problem.b, problem.of_b});
}

/// float32 operands on a chain of fused multiply-adds in float32.
Accumulation float32_chain() {
  return {.name = "fma",
          .evidence = {},
          .engine = emu::parse_engine("fma", {.a = emu::float32, .b = emu::float32}),
          .in = emu::float32};
}

ProductSize measured(const Accumulation& by, const Problem& exact, const Problem& operands, double float32_error) {
  ProductSize row{.distribution = {}, .by = by, .n = exact.of_a.columns, .outputs = exact.product.size()};
  const double norm = frobenius_norm(exact.product);
  const std::vector<double> c = computed(by, operands);
  double signed_sum = 0;
  std::uint64_t nonzero = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    row.nonfinite += std::isfinite(c[i]) ? 0 : 1;
    if (operands.product[i] == 0) continue;
    signed_sum += (c[i] - operands.product[i]) / operands.product[i];
    ++nonzero;
  }
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  row.of_inputs = distance(operands.product, exact.product) / norm;
  row.error = row.nonfinite != 0 ? infinity : distance(c, exact.product) / norm;
  row.of_engine = row.nonfinite != 0 ? infinity : distance(c, operands.product) / norm;
  row.mean_signed = row.nonfinite != 0 || nonzero == 0 ? nan : signed_sum / static_cast<double>(nonzero);
  row.of_float32 = float32_error;
  return row;
}

}  // namespace

void ProductSizesRequest::describe(requests::Fields& fields) {
  fields.add("in", in, "formats of the operands").as_commas().as_value("F,...").shown();
  fields.add("engine", engine, "engines, which add in float32").as_commas().as_value("E,...").shown();
  fields.add("distribution", distribution, "of the operands").as_repeated().as_value("DISTRIBUTION").shown();
  fields.add("n", n, "sizes: the length of the sums").whole({1, std::uint64_t{1} << 24}).as_commas().as_value("N,...").shown();
  fields.add("shape", shape, "outputs computed of each product").as_value("MxN").shown();
  requests::describe_seed(fields, seed, "key of the operands: A is drawn under it, B under the next");
  requests::describe_threads(fields, threads);
}

std::vector<ProductSize> measure(const ProductSizesRequest& request, const Progress& progress) {
  if (request.n.empty() || request.in.empty() || request.engine.empty() || request.distribution.empty())
    throw Error("--n, --in, --engine, --distribution: give at least one of each");
  std::vector<std::vector<Accumulation>> by_format;
  for (const std::string& word : request.in) {
    by_format.emplace_back();
    for (const std::string& engine : request.engine)
      by_format.back().push_back(find_accumulation(engine, requests::parse_format(word), emu::float32, 0));
  }
  const std::size_t formats = by_format.size(), engines = request.engine.size(), sizes = request.n.size();
  std::vector<ProductSize> rows(request.distribution.size() * formats * engines * sizes);
  const std::uint64_t total = rows.size();
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  tensors::for_each_index(request.distribution.size() * sizes, request.threads, [&](std::size_t i) {
    const std::size_t d = i % request.distribution.size(),
                      s = sizes - 1 - i / request.distribution.size();  // the longest first
    const Problem exact = drawn(request, request.distribution[d], request.n[s]);
    if (frobenius_norm(exact.product) == 0)
      throw Error(request.distribution[d] + ": the exact product is 0; no error is relative to it");
    const double float32_error = distance(computed(float32_chain(), exact), exact.product) / frobenius_norm(exact.product);
    for (std::size_t f = 0; f < formats; ++f) {
      const Problem operands = rounded(exact, by_format[f].front().in);
      for (std::size_t e = 0; e < engines; ++e) {
        ProductSize& row = rows[((d * formats + f) * engines + e) * sizes + s];
        row = measured(by_format[f][e], exact, operands, float32_error);
        row.distribution = request.distribution[d];
      }
    }
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(done += formats * engines, total);
  });
  return rows;
}

Work work_of(const ProductSizesRequest& request) {
  const OutputShape outputs = parse_output_shape(request.shape);
  const std::uint64_t lengths = std::accumulate(request.n.begin(), request.n.end(), std::uint64_t{0});
  const std::uint64_t rows = request.distribution.size() * request.in.size() * request.engine.size();
  return {.operations = rows * lengths * outputs.rows * outputs.columns, .rows = rows * request.n.size()};
}

}  // namespace ulpscope::studies
