// SPDX-License-Identifier: Apache-2.0
// The same rules on products as kernels have them: which mutants each kills.
#include <array>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "verify/audit/audit.hpp"
#include "verify/audit/bound_rule.hpp"

namespace ulpscope::verify {
namespace {

/// Formats as kernels have them, each with an engine of that name.
struct Formats {
  emu::Format in, out;
  const char* engine;
};
constexpr std::array formats{Formats{emu::bfloat16, emu::bfloat16, "sm_90"}, Formats{emu::float16, emu::float16, "sm_90"},
                             Formats{emu::float8_e4m3fn, emu::bfloat16, "sm_100"}, Formats{emu::tf32, emu::float32, "sm_90"}};
constexpr std::array<std::size_t, 3> lengths{64, 512, 4096};
constexpr std::array distributions{"normal:0,1", "uniform:0,1"};
constexpr std::size_t lines = 32;  // rows of A, columns of B

products::MatmulOperand operand(const std::string& distribution, const std::string& shape, emu::Format format,
                                std::uint64_t seed) {
  return {{tensors::open_one(distribution + ":" + shape, {.dtype = {}, .seed = seed})}, products::input_rounding(format), {}};
}

products::Product product(const Formats& f, std::size_t k, const std::string& distribution, std::uint64_t seed, int threads) {
  const std::string m = std::to_string(lines), length = std::to_string(k);
  return {.engine = f.engine,
          .a = operand(distribution, m + "x" + length, f.in, 2 * seed),
          .b = operand(distribution, length + "x" + m, f.in, 2 * seed + 1),
          .c = {},
          .acc = emu::float32,
          .out = f.out,
          .beta = {},
          .threads = threads};
}

}  // namespace

reports::Table power_table(const std::vector<Rule>& rules, std::uint64_t seed, int threads,
                           const std::function<void(std::uint64_t problems, std::uint64_t total)>& progress) {
  std::uint64_t done = 0;
  reports::Table all{"audit_power", {"in", "out", "engine", "k", "distribution"}, {}};
  for (const Formats& f : formats)
    for (const std::size_t k : lengths)
      for (const char* const distribution : distributions) {
        AuditConfig config{.product = product(f, k, distribution, seed, threads), .rules = rules, .bound = bound_rule()};
        config.seed = seed;
        const reports::Table one = audit_table(audit(config));
        if (all.rows.empty()) all.columns.insert(all.columns.end(), one.columns.begin(), one.columns.end());
        for (const auto& cells : one.rows) {
          std::vector<reports::Cell> row{emu::format_name(f.in), emu::format_name(f.out), f.engine,
                                         static_cast<std::int64_t>(k), distribution};
          row.insert(row.end(), cells.begin(), cells.end());
          all.rows.push_back(std::move(row));
        }
        if (progress) progress(++done, formats.size() * lengths.size() * distributions.size());
      }
  return all;
}

}  // namespace ulpscope::verify
