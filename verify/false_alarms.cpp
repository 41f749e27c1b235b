// SPDX-License-Identifier: Apache-2.0
// Draws arithmetic and operands, multiplies, and judges; an element that is rejected is a false alarm.
#include "verify/false_alarms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "emu/philox.hpp"
#include "products/product.hpp"
#include "tensors/parallel.hpp"
#include "tensors/synthetic.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t problem_rows = 6, problem_columns = 6, trials_at_a_time = 64;
constexpr int most_k_log2 = 9;

/// Random words of one trial, in order.
class Uniforms {
 public:
  Uniforms(std::uint64_t seed, std::uint64_t trial) : seed_(seed), trial_(trial) {}
  std::uint32_t operator()() { return emu::philox4x32(seed_, trial_, ++count_).word[0]; }
  /// Below `count`.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(std::uint64_t{(*this)()} * count >> 32); }

 private:
  std::uint64_t seed_, trial_, count_ = 0;
};

/// What is under test: an engine mode and one of its formats, or an order of float32 additions (no mode).
struct Tested {
  const emu::EngineMode* mode = nullptr;
  emu::Format in = emu::float32;
  enum class Order : std::uint8_t { tree, sequence, blocks } order = Order::tree;
};

std::vector<Tested> all_arithmetics() {
  std::vector<Tested> all;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.model.scales != emu::EngineScales::none) continue;
    for (const emu::Format in : mode.inputs) all.push_back({&mode, in, {}});
  }
  for (const emu::Format in : {emu::float32, emu::bfloat16, emu::float16})
    for (const auto order : {Tested::Order::tree, Tested::Order::sequence, Tested::Order::blocks})
      all.push_back({nullptr, in, order});
  return all;
}

constexpr std::array order_names{"float32 random tree", "float32 random sequence", "float32 blocks of 8"};

tensors::Tensor operand(const std::string& words, std::uint64_t seed, std::vector<std::uint64_t> shape, emu::Format format) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  std::vector<double> values(static_cast<std::size_t>(count));
  tensors::synthetic(words + ":" + std::to_string(count), seed).source->read(0, std::span(values));
  std::vector<float> rounded(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    rounded[i] = static_cast<float>(emu::round_to(format, values[i], {.policy = emu::Policy::saturating}).value);
  return tensors::from_values(words, std::move(shape), std::move(rounded));
}

/// The second half of K takes back what the first adds, except the last product.
void cancel(products::Product& problem, std::size_t k) {
  std::vector<float> a(problem_rows * k), b(k * problem_columns);
  problem.a.input.tensor.source->read(0, std::span(a));
  problem.b.input.tensor.source->read(0, std::span(b));
  for (std::size_t half = k / 2, j = 0; j + 1 < half; ++j) {
    for (std::size_t i = 0; i < problem_rows; ++i) a[i * k + half + j] = -a[i * k + j];
    for (std::size_t i = 0; i < problem_columns; ++i) b[(half + j) * problem_columns + i] = b[j * problem_columns + i];
  }
  problem.a.input.tensor = tensors::from_values("cancelling", {problem_rows, k}, std::move(a));
  problem.b.input.tensor = tensors::from_values("cancelling", {k, problem_columns}, std::move(b));
}

products::Product problem_of(const Tested& by, Uniforms& draw, std::uint64_t seed) {
  constexpr std::array distributions{"normal:0,1",    "uniform:0,1",   "studentt:1",     "lognormal:0,4",
                                     "normal:0,1e-3", "normal:0,1e-6", "normal:0,1e-30", "normal:0,1"};
  const std::size_t least_k = std::size_t{1} << draw.below(most_k_log2);
  const std::size_t more = std::size_t{1} << draw.below(most_k_log2);
  const std::size_t k = least_k + draw.below(more);
  const std::size_t kind = draw.below(distributions.size());
  const std::uint64_t high = draw(), low = draw();
  const std::uint64_t key = seed ^ (high << 32 | low);
  const auto of = [&](std::vector<std::uint64_t> shape, std::uint64_t salt) {
    return products::MatmulOperand{{operand(distributions[kind], key + salt, std::move(shape), by.in)}, {by.in}, {}};
  };
  products::Product problem{.engine = {},
                            .a = of({problem_rows, k}, 0),
                            .b = of({k, problem_columns}, 1),
                            .c = {},
                            .acc = by.mode == nullptr ? emu::float32 : by.mode->model.accumulator,
                            .out = emu::float32,
                            .beta = {},
                            .threads = 1};
  if (kind + 1 == distributions.size()) cancel(problem, k);
  problem.out = problem.acc;
  if (by.mode == nullptr) return problem;
  problem.engine = std::string(by.mode->engine);
  const auto step = static_cast<std::size_t>(by.mode->model.products);
  if (by.mode->model.products > 0 && draw.below(3) == 0) problem.promote = step * (1 + draw.below(4));
  if (by.mode->model.products > 0 && draw.below(3) == 0) problem.split_k = 1 + draw.below(4);
  return problem;
}

/// Sums of products rounded to float32, in an order drawn at random.
tensors::Tensor sums_in_order(const products::Product& problem, Tested::Order order, Uniforms& draw) {
  const auto k = static_cast<std::size_t>(problem.a.input.tensor.shape[1]);
  std::vector<float> a(problem_rows * k), b(k * problem_columns), d(problem_rows * problem_columns);
  problem.a.input.tensor.source->read(0, std::span(a));
  problem.b.input.tensor.source->read(0, std::span(b));
  for (std::size_t e = 0; e < d.size(); ++e) {
    std::vector<float> terms(k);
    for (std::size_t j = 0; j < k; ++j)
      terms[j] = a[e / problem_columns * k + j] * b[j * problem_columns + e % problem_columns];
    for (std::size_t j = k; j > 1; --j) std::swap(terms[j - 1], terms[draw.below(j)]);
    if (order == Tested::Order::blocks) {
      std::vector<float> sums((k + 7) / 8);
      for (std::size_t j = 0; j < k; ++j) sums[j / 8] += terms[j];
      terms = sums;
    }
    if (order == Tested::Order::tree) {
      while (terms.size() > 1) {
        const std::size_t into = draw.below(terms.size() - 1);
        terms[into] += terms.back();
        terms.pop_back();
      }
    }
    float sum = terms[0];
    for (std::size_t j = 1; j < terms.size(); ++j) sum += terms[j];
    d[e] = sum;
  }
  return tensors::from_values("d", {problem_rows, problem_columns}, std::move(d));
}

void judge_trial(const FalseAlarmConfig& config, const Tested& by, std::uint64_t trial, FalseAlarmRow& row) {
  Uniforms draw(config.seed, trial);
  const products::Product problem = problem_of(by, draw, config.seed);
  Arithmetic arithmetic{.engine = {}, .false_alarm = {}};
  tensors::Tensor output;
  if (by.mode == nullptr) {
    output = sums_in_order(problem, by.order, draw);
  } else {
    arithmetic.engine = products::engine_of(problem);
    output = products::LoadedProduct(problem).on(*arithmetic.engine);
  }
  const auto judged = [&](const Arithmetic& declared) {
    return verify(*expect_matmul(problem, matmul_allowance(problem, declared)), output, {.last = {problem.out}, .threads = 1});
  };
  const Verdict verdict = judged(arithmetic);
  if (!verdict.refusal.empty()) {
    ++row.refused;
    return;
  }
  arithmetic.false_alarm = config.false_alarm;
  ++row.products;
  row.elements += verdict.count;
  row.rejected += verdict.wrong() != 0;
  row.rejected_by_chance += judged(arithmetic).wrong() != 0;
  row.max_of_bound = std::max(row.max_of_bound, verdict.max_of_bound);
}

FalseAlarmRow row_of(const Tested& by) {
  FalseAlarmRow row;
  row.arithmetic = by.mode == nullptr ? order_names[static_cast<std::size_t>(by.order)] : std::string(by.mode->engine);
  row.bound = by.mode == nullptr ? "declared" : "engine";
  row.in = emu::format_name(by.in);
  row.acc = emu::format_name(by.mode == nullptr ? emu::float32 : by.mode->model.accumulator);
  return row;
}

}  // namespace

std::vector<FalseAlarmRow> false_alarms(const FalseAlarmConfig& config) {
  const std::vector<Tested> arithmetics = all_arithmetics();
  const std::size_t each = (config.trials + arithmetics.size() - 1) / arithmetics.size();
  const std::size_t pieces = (each + trials_at_a_time - 1) / trials_at_a_time;
  std::vector<FalseAlarmRow> parts(arithmetics.size() * pieces);
  std::mutex telling;
  std::uint64_t told = 0;
  tensors::for_each_index(parts.size(), config.threads, [&](std::size_t i) {
    const std::size_t first = i % pieces * trials_at_a_time, last = std::min(each, first + trials_at_a_time);
    for (std::size_t trial = first; trial < last; ++trial)
      judge_trial(config, arithmetics[i / pieces], i / pieces * each + trial, parts[i]);
    if (!config.progress) return;
    const std::lock_guard lock(telling);
    config.progress(told += last - first, each * arithmetics.size());
  });
  std::vector<FalseAlarmRow> table;
  for (std::size_t i = 0; i < arithmetics.size(); ++i) {
    FalseAlarmRow row = row_of(arithmetics[i]);
    for (std::size_t p = i * pieces; p < (i + 1) * pieces; ++p) {
      row.products += parts[p].products, row.elements += parts[p].elements, row.refused += parts[p].refused;
      row.rejected += parts[p].rejected, row.rejected_by_chance += parts[p].rejected_by_chance;
      row.max_of_bound = std::max(row.max_of_bound, parts[p].max_of_bound);
    }
    table.push_back(row);
  }
  return table;
}

reports::Table false_alarm_table(const FalseAlarmConfig& config, const std::vector<FalseAlarmRow>& all) {
  reports::Table table{"false_alarms",
                       {"arithmetic", "bound", "in", "acc", "products", "elements", "refused", "rejected", "max_of_bound",
                        "stated_false_alarm", "rejected_by_chance"},
                       {}};
  for (const FalseAlarmRow& row : all)
    table.rows.push_back({row.arithmetic, row.bound, row.in, row.acc, reports::whole(row.products),
                          reports::whole(row.elements), reports::whole(row.refused), reports::whole(row.rejected),
                          row.max_of_bound, config.false_alarm, reports::whole(row.rejected_by_chance)});
  return table;
}

}  // namespace ulpscope::verify
