// SPDX-License-Identifier: Apache-2.0
// One walk over the rows: what is right is found out once for all outputs.
#include "verify/invariance/invariance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "studies/diff/diff.hpp"
#include "tensors/parallel.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::uint64_t most_stretches = 16;  // that a page has room for
constexpr std::size_t elements_at_once = std::size_t{1} << 16;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What some rows add to the result.
struct Part {
  std::vector<std::uint64_t> wrong;                      ///< by condition
  std::vector<std::uint64_t> zeros;                      ///< likewise: elements for which a zero would be right
  std::vector<std::map<std::uint64_t, double>> samples;  ///< likewise: the first wrong elements, and what stands there
  std::vector<PairResult> pairs;
};

bool same(double a, double b) {  // without a branch, for loops over rows
  const bool equal = std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  return static_cast<unsigned>(equal) | (static_cast<unsigned>(a != a) & static_cast<unsigned>(b != b));
}

double ulps_apart(double a, double b, emu::Format out) {
  if (!std::isfinite(a) || !std::isfinite(b)) return infinity;
  const double greater = std::max(std::fabs(a), std::fabs(b));
  return std::fabs(a - b) / emu::power_of_two(emu::spacing_exponent(out, greater));
}

std::uint64_t rows_in(const Condition& condition, std::uint64_t row_length) {
  return row_length == 0 ? 0 : condition.output.count() / row_length;
}

/// Elements of a row and of those around it, of one condition.
struct ReadRows {
  std::uint64_t first = 0;
  std::vector<double> values = {};

  bool has(std::uint64_t element) const { return element >= first && element < first + values.size(); }
  double at(std::uint64_t element) const { return values[static_cast<std::size_t>(element - first)]; }
  std::span<const double> from(std::uint64_t element, std::uint64_t count) const {
    return std::span(values).subspan(static_cast<std::size_t>(element - first), static_cast<std::size_t>(count));
  }
};

class Walk {
 public:
  Walk(const InvarianceConfig& config, std::uint64_t rows, std::uint64_t stretch)
      : config_(config), rows_(rows), stretch_(stretch) {}

  /// An entry for each pair of conditions that share rows.
  Part empty_part() const {
    const std::size_t count = config_.conditions.size();
    Part part{std::vector<std::uint64_t>(count),
              std::vector<std::uint64_t>(count),
              std::vector<std::map<std::uint64_t, double>>(count),
              {}};
    for (std::size_t i = 0; i < config_.conditions.size(); ++i)
      for (std::size_t j = i + 1; j < config_.conditions.size(); ++j)
        if (shared(i, j) > 0)
          part.pairs.push_back(
              {.condition = i,
               .other = j,
               .moved_in = std::vector<std::uint64_t>(static_cast<std::size_t>((rows_ + stretch_ - 1) / stretch_))});
    return part;
  }

  std::uint64_t shared(std::size_t i, std::size_t j) const {
    const Condition &a = config_.conditions[i], &b = config_.conditions[j];
    const std::uint64_t begin = std::max(a.first_row, b.first_row);
    const std::uint64_t end =
        std::min(a.first_row + rows_in(a, config_.row_length), b.first_row + rows_in(b, config_.row_length));
    return end > begin ? end - begin : 0;
  }

  void walk(std::uint64_t first_row, std::uint64_t rows, Part& part) const {
    const std::uint64_t first = first_row * config_.row_length;
    std::vector<Expected> expected(static_cast<std::size_t>(rows * config_.row_length));
    config_.expectation.expect(first, expected);
    std::vector<ReadRows> all;
    for (const Condition& condition : config_.conditions) all.push_back(read(condition, first_row, rows));
    emu::stop_if_asked();
    for (std::size_t e = 0; e < expected.size(); ++e) judge_all(first + e, expected[e], all, part);
    for (PairResult& pair : part.pairs) compare(all[pair.condition], all[pair.other], pair);
  }

 private:
  ReadRows read(const Condition& condition, std::uint64_t first_row, std::uint64_t rows) const {
    const std::uint64_t length = config_.row_length, begin = std::max(first_row, condition.first_row);
    const std::uint64_t end = std::min(first_row + rows, condition.first_row + rows_in(condition, length));
    if (begin >= end) return {};
    ReadRows out{begin * length, std::vector<double>(static_cast<std::size_t>((end - begin) * length))};
    const std::uint64_t own = (begin - condition.first_row) * length;
    condition.output.source->read(own, std::span(out.values));
    check_values(condition.output, config_.last.out, own, out.values);
    return out;
  }

  void judge_all(std::uint64_t element, const Expected& expected, const std::vector<ReadRows>& all, Part& part) const {
    const bool zero = zero_passes(config_.expectation, element, expected, config_.last);
    bool is_known = false, is_wrong = false;
    double before = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].has(element)) continue;
      const double output = all[i].at(element);
      if (!is_known || !same(before, output)) {
        const Standing standing = judge(config_.expectation, element, expected, output, config_.last);
        is_wrong = standing == Standing::beyond || standing == Standing::nonfinite;
      }
      is_known = true, before = output;
      part.wrong[i] += is_wrong ? 1 : 0;
      if (is_wrong && part.samples[i].size() < most_narrower) part.samples[i].emplace(element, output);
      part.zeros[i] += zero ? 1 : 0;
    }
  }

  void compare(const ReadRows& a, const ReadRows& b, PairResult& pair) const {
    const std::uint64_t length = config_.row_length;
    const std::uint64_t begin = std::max(a.first, b.first),
                        end = std::min(a.first + a.values.size(), b.first + b.values.size());
    for (std::uint64_t row = begin; row < end; row += length) {
      const std::span<const double> x = a.from(row, length), y = b.from(row, length);
      std::uint64_t moved = 0;
      for (std::size_t i = 0; i < x.size(); ++i) moved += same(x[i], y[i]) ? 0 : 1;
      if (moved != 0) pair.max_ulp = most_ulps(x, y, pair.max_ulp);
      ++pair.rows, pair.elements += length;
      if (moved == 0) continue;
      ++pair.rows_moved, pair.elements_moved += moved;
      pair.moved_in[static_cast<std::size_t>(row / length / stretch_)] += moved;
    }
  }

  /// The greater of `most` and what two elements are apart. 2^-precision of the greater magnitude, rounded or not, is no more
  /// than its spacing, and tells of most elements that they are no further apart than `most`.
  double most_ulps(std::span<const double> x, std::span<const double> y, double most) const {
    constexpr std::size_t lanes = 32;
    const double least_spacing = emu::power_of_two(-config_.last.out.precision());
    for (std::size_t begin = 0; begin < x.size(); begin += lanes) {
      const std::size_t end = std::min(begin + lanes, x.size());
      unsigned may_be_further = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double greater = std::max(std::fabs(x[i]), std::fabs(y[i]));
        const bool near = std::fabs(x[i] - y[i]) <= most * (least_spacing * greater);
        may_be_further |= static_cast<unsigned>(!near) | static_cast<unsigned>(!(greater < infinity));
      }
      for (std::size_t i = begin; may_be_further != 0 && i < end; ++i)
        if (!same(x[i], y[i])) most = std::max(most, ulps_apart(x[i], y[i], config_.last.out));
    }
    return most;
  }

  const InvarianceConfig& config_;
  std::uint64_t rows_, stretch_;
};

void merge(Part& total, const Part& part) {
  for (std::size_t i = 0; i < total.wrong.size(); ++i) {
    total.wrong[i] += part.wrong[i], total.zeros[i] += part.zeros[i];
    total.samples[i].insert(part.samples[i].begin(), part.samples[i].end());
    while (total.samples[i].size() > most_narrower) total.samples[i].erase(std::prev(total.samples[i].end()));
  }
  for (std::size_t p = 0; p < total.pairs.size(); ++p) {
    PairResult& to = total.pairs[p];
    const PairResult& from = part.pairs[p];
    to.rows += from.rows, to.rows_moved += from.rows_moved;
    to.elements += from.elements, to.elements_moved += from.elements_moved;
    to.max_ulp = std::max(to.max_ulp, from.max_ulp);
    for (std::size_t s = 0; s < to.moved_in.size(); ++s) to.moved_in[s] += from.moved_in[s];
  }
}

/// The end of a sentence that says which shapes there are.
std::string what_does_not_fit(const Condition& condition, const std::vector<std::uint64_t>& shape, std::uint64_t rows,
                              std::uint64_t row_length) {
  const std::vector<std::uint64_t>& own = condition.output.shape;
  if (own.empty() && !condition.has_row) return "; of some of its rows write the first one behind the file, FILE@ROW";
  if (own.empty() || shape.empty()) return own.empty() ? "; give an array of one element" : "";
  if (row_length != 1 && own.back() != shape.back())
    return ", whose rows have " + std::to_string(shape.back()) + " elements, not " + std::to_string(own.back());
  const std::uint64_t have = rows_in(condition, row_length);
  if (condition.first_row == 0)
    return have > rows ? ", of " + std::to_string(rows) + " rows, not " + std::to_string(have) : ", in another shape";
  return ", without row " + std::to_string(condition.first_row <= rows ? condition.first_row + have - 1 : condition.first_row);
}

void check(const InvarianceConfig& config, const std::vector<std::uint64_t>& shape, std::uint64_t rows) {
  if (config.conditions.size() < 2) throw Error("--output: give two or more, each as NAME=FILE");
  std::set<std::string> names;
  for (const Condition& condition : config.conditions) {
    if (!names.insert(condition.name).second) throw Error("--output " + condition.name + ": is there twice");
    const std::vector<std::uint64_t>& own = condition.output.shape;
    const bool begins = condition.first_row <= rows;  // so that its end is a number, too
    const std::uint64_t end = begins ? condition.first_row + rows_in(condition, config.row_length) : condition.first_row;
    const bool fits = own.empty() == shape.empty() && (shape.empty() || config.row_length == 1 || own.back() == shape.back());
    if (!fits || end > rows || (condition.first_row == 0 && end == rows && own != shape))
      throw Error(condition.output.label + " " + tensors::shape_words(own) + ": the result of these inputs is " +
                  tensors::shape_words(shape) + what_does_not_fit(condition, shape, rows, config.row_length));
  }
}

}  // namespace

Outcome InvarianceResult::outcome() const {
  const bool failed = std::any_of(pairs.begin(), pairs.end(), [](const PairResult& p) { return p.rows_moved != 0; }) ||
                      std::any_of(conditions.begin(), conditions.end(), [](const ConditionResult& c) { return c.wrong != 0; });
  return failed ? Outcome::fail : pairs.empty() ? Outcome::vacuous : Outcome::pass;
}

InvarianceResult invariance(const InvarianceConfig& config) {
  const std::vector<std::uint64_t> shape = config.expectation.shape();
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  const std::uint64_t rows = config.row_length == 0 ? 0 : count / config.row_length;
  check(config, shape, rows);
  const std::uint64_t stretch = std::max<std::uint64_t>(1, (rows + most_stretches - 1) / most_stretches);
  const Walk walk(config, rows, stretch);
  const std::uint64_t at_once = std::max<std::uint64_t>(1, elements_at_once / std::max<std::uint64_t>(config.row_length, 1));
  Part total = walk.empty_part();
  std::mutex joining;
  std::uint64_t told = 0;
  tensors::for_each_index(static_cast<std::size_t>((rows + at_once - 1) / at_once), config.threads, [&](std::size_t i) {
    Part part = walk.empty_part();
    const std::uint64_t first = i * at_once, size = std::min(at_once, rows - first);
    walk.walk(first, size, part);
    const std::lock_guard lock(joining);  // counts and a maximum: their order does not matter
    merge(total, part);
    if (config.progress) config.progress(told += size * config.row_length, count);
  });
  InvarianceResult result{.bound = config.expectation.bound(),
                          .out = config.last.out,
                          .rows = rows,
                          .row_length = config.row_length,
                          .stretch = stretch,
                          .conditions = {},
                          .pairs = std::move(total.pairs)};
  const bool refused = !config.expectation.refusal().empty();
  for (std::size_t i = 0; i < config.conditions.size(); ++i) {
    const Condition& condition = config.conditions[i];
    const std::uint64_t elements = condition.output.count();
    std::vector<std::uint64_t> wrong;
    std::vector<double> outputs;
    for (const auto& [element, output] : total.samples[i]) wrong.push_back(element), outputs.push_back(output);
    result.conditions.push_back({.name = condition.name,
                                 .first_row = condition.first_row,
                                 .rows = rows_in(condition, config.row_length),
                                 .elements = elements,
                                 .wrong = total.wrong[i],
                                 .outcome = total.wrong[i] != 0                     ? Outcome::fail
                                            : refused || total.zeros[i] == elements ? Outcome::vacuous
                                                                                    : Outcome::pass,
                                 .hint = narrower_format(config.expectation, wrong, outputs, config.last)});
  }
  return result;
}

}  // namespace ulpscope::verify
