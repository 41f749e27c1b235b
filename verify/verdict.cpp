// SPDX-License-Identifier: Apache-2.0
// Judges elements in chunks and merges what each chunk found.
#include "verify/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/diff/diff.hpp"
#include "tensors/parallel.hpp"
#include "tensors/tensor.hpp"
#include "verify/integer_matmul.hpp"
#include "verify/judging.hpp"
#include "verify/other_conversions.hpp"
#include "verify/patterns.hpp"

namespace ulpscope::verify {
namespace {

constexpr std::size_t most_samples = 256;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Elements judged at a time: whole rows where they are short, as many as suit the kernels.
std::uint64_t chunk_of(const Expectation& expectation, const std::vector<std::uint64_t>& shape, std::uint64_t elements) {
  if (expectation.is_elementwise()) return elements;
  const std::uint64_t row = shape.empty() ? 1 : std::max<std::uint64_t>(shape.back(), 1);
  const std::uint64_t rows = std::max<std::uint64_t>(elements / row, 1);
  return row * (rows < 12 ? rows : rows / 12 * 12);
}

/// Of one chunk.
struct Buffers {
  std::vector<Expected> expected = {};
  std::vector<double> values = {};
};

/// Those that no chunk uses: memory that is given back to the system and taken anew is cleared each time.
class FreeBuffers {
 public:
  Buffers take() {
    const std::lock_guard lock(using_);
    if (free_.empty()) return {};
    Buffers last = std::move(free_.back());
    free_.pop_back();
    return last;
  }
  void give(Buffers buffers) {
    const std::lock_guard lock(using_);
    free_.push_back(std::move(buffers));
  }

 private:
  std::mutex using_;
  std::vector<Buffers> free_;
};

void merge(JudgedPart& total, JudgedPart& part, WrongPlaces& places) {
  Verdict &to = total.counts, &from = part.counts;
  to.count += from.count, to.equal += from.equal, to.within += from.within, to.beyond += from.beyond;
  to.unseen_share = std::min(to.unseen_share, from.unseen_share);
  to.nonfinite += from.nonfinite, to.nonfinite_expected += from.nonfinite_expected;
  to.nonfinite_admitted += from.nonfinite_admitted, to.unheld += from.unheld, to.zeros_pass += from.zeros_pass;
  to.max_ulp = std::max(to.max_ulp, from.max_ulp);
  to.max_abs_error = std::max(to.max_abs_error, from.max_abs_error);
  to.max_of_bound = std::max(to.max_of_bound, from.max_of_bound);
  to.histogram.merge(from.histogram);
  total.signed_ulp += part.signed_ulp, total.abs_ulp += part.abs_ulp, total.finite += part.finite;
  total.exact.merge(part.exact), total.error.merge(part.error);
  total.odds.merge(part.odds);
  to.worst.insert(to.worst.end(), from.worst.begin(), from.worst.end());
  std::sort(to.worst.begin(), to.worst.end(), is_worse);
  to.worst.resize(std::min(to.worst.size(), Judge::most_worst));
  for (std::size_t i = 0; i < part.wrong.size(); ++i) {
    places.add(part.wrong[i]);
    if (total.wrong.size() >= most_samples) continue;
    total.wrong.push_back(part.wrong[i]);
    total.wrong_outputs.push_back(part.wrong_outputs[i]);
  }
}

/// Takes the sample of wrong elements from everywhere. Neighbours share the cost of their row.
void spread_sample(const std::vector<JudgedPart>& parts, JudgedPart& total) {
  constexpr std::uint64_t run = 8, runs = most_samples / run;
  std::uint64_t count = 0, at = 0, taken = 0;
  for (const JudgedPart& part : parts) count += part.wrong.size();
  if (count <= most_samples) return;
  total.wrong.clear(), total.wrong_outputs.clear();
  for (const JudgedPart& part : parts)
    for (std::size_t i = 0; i < part.wrong.size(); ++i, ++at) {
      if (at < taken / run * (count - run) / (runs - 1) + taken % run) continue;
      total.wrong.push_back(part.wrong[i]), total.wrong_outputs.push_back(part.wrong_outputs[i]);
      ++taken;
    }
}

void finish(Verdict& verdict, const JudgedPart& total) {
  const double n = static_cast<double>(total.finite);
  const bool any = total.finite != 0;
  verdict.bias_ulp = any ? total.signed_ulp / n : nan;
  verdict.mean_abs_ulp = any ? total.abs_ulp / n : nan;
  verdict.rms_error = any ? studies::root_mean(total.error, total.finite) : nan;
  verdict.rel_frobenius_error = !any ? nan
                                : total.error.is_zero()
                                    ? 0
                                    : studies::root_mean(total.error, 1) / studies::root_mean(total.exact, 1);
}

}  // namespace

std::string narrower_format(const Expectation& expectation, std::span<const std::uint64_t> wrong,
                            std::span<const double> outputs, const LastRounding& last) {
  constexpr std::size_t least = 8;
  if (wrong.size() < least || last.out.precision() < emu::float32.precision()) return {};
  const std::size_t samples = std::min(wrong.size(), most_narrower);
  for (const emu::Format narrow : {emu::bfloat16, emu::float16}) {
    std::size_t are = 0, nearest = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      const double output = outputs[i];
      std::array<Expected, 1> one;
      expectation.expect(wrong[i], one);
      are += emu::round_to(narrow, output).value == output ? 1 : 0;
      nearest += emu::round_to(narrow, one[0].value).value == output ? 1 : 0;
    }
    const std::string name = emu::format_name(narrow);
    if (are == samples && 2 * nearest >= samples)
      return fmt::format("{} wrong elements looked at are numbers of {}, {} of them the exact result rounded to it: --out {}?",
                         samples, name, nearest, name);
  }
  return {};
}

void check_values(const tensors::Tensor& output, emu::Format format, std::uint64_t first, std::span<const double> values) {
  std::array<double, 256> rounded;
  for (std::size_t done = 0; done < values.size(); done += rounded.size()) {
    const std::span<const double> some = values.subspan(done, std::min(rounded.size(), values.size() - done));
    emu::round_to(format, some, std::span(rounded).first(some.size()));
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!std::isnan(some[i]) && rounded[i] != some[i] && !std::isinf(some[i]))
        throw Error(fmt::format("{}: element {} is {}, no number of {}, {}", output.label,
                                studies::place_text(first + done + i, output.shape), some[i], output_name(format),
                                format == int32_values ? "in which --acc int32 sums" : "which the output is said to hold"));
  }
}

namespace {

/// Of an output of the shape that is expected.
std::vector<JudgedPart> judged_parts(const Expectation& expectation, const tensors::Tensor& output,
                                     const VerdictOptions& options) {
  const std::uint64_t count = output.count(), chunk = chunk_of(expectation, output.shape, options.elements_at_a_time);
  const std::uint64_t chunks = (count + chunk - 1) / chunk;
  const Judge judge(expectation, options.last);
  std::vector<JudgedPart> parts(static_cast<std::size_t>(chunks));
  FreeBuffers buffers;
  std::mutex telling;
  std::uint64_t told = 0;
  tensors::for_each_index(parts.size(), options.threads, [&](std::size_t i) {
    const std::uint64_t first = i * chunk;
    const auto size = static_cast<std::size_t>(std::min(chunk, count - first));
    // Where nothing is lost by it, in pieces that stay in a near cache.
    const std::size_t piece = expectation.is_elementwise() ? std::min<std::size_t>(size, 4096) : size;
    Buffers used = buffers.take();
    std::size_t done = 0, known = 0;  // elements judged, and whose outputs are read
    const auto read = [&] {
      used.values.resize(std::min(piece, size - done));
      output.source->read(first + done, std::span(used.values));
      if (output.dtype.format != options.last.out) check_values(output, options.last.out, first + done, used.values);
      known = done + used.values.size();
      emu::stop_if_asked();
    };
    const bool in_blocks = expectation.for_each_block(first, size, [&](ExpectedBlock& block) {
      if (done == known) read();
      judge.add(parts[i], first + done, block, std::span(used.values).subspan(done + used.values.size() - known, block.count));
      done += block.count;
    });
    while (!in_blocks && done < size) {
      read();
      used.expected.resize(used.values.size());
      expectation.expect(first + done, used.expected);
      judge.add(parts[i], first + done, used.expected, used.values);
      done = known;
    }
    buffers.give(std::move(used));
    if (!options.progress) return;
    const std::lock_guard lock(telling);
    options.progress(told += size, count);
  });
  return parts;
}

}  // namespace

Verdict verify(const Expectation& expectation, const tensors::Tensor& output, const VerdictOptions& options) {
  const std::vector<std::uint64_t> shape = expectation.shape();
  if (shape != output.shape)
    throw Error(output.label + " " + tensors::shape_words(output.shape) + ": the result of these inputs is " +
                tensors::shape_words(shape) + (output.shape.empty() ? expectation.of_scalar() : ""));
  std::vector<JudgedPart> parts = judged_parts(expectation, output, options);
  JudgedPart total;
  WrongPlaces places(shape);
  for (JudgedPart& part : parts) merge(total, part, places);
  if (expectation.diagnoses_from_everywhere()) spread_sample(parts, total);
  Verdict verdict = std::move(total.counts);
  verdict.label = output.label;
  verdict.bound = expectation.bound();
  verdict.refusal = expectation.refusal();
  verdict.out = options.last.out;
  verdict.shape = shape;
  finish(verdict, total);
  if (output.dtype.format == options.last.out)
    for (WorstElement& element : verdict.worst)
      if (std::isnan(element.output)) output.source->read_codes(element.index, std::span(&element.output_code.emplace(), 1));
  verdict.patterns = places.sentences();
  if (const std::string zeros =
          zeros_of_other_sign(expectation, total.wrong, total.wrong_outputs, options.last, verdict.wrong());
      !zeros.empty())
    verdict.patterns.push_back(zeros);
  const auto all_right = [&](const Expectation& other, const LastRounding& last) {
    const auto again = judged_parts(other, output, {.last = last, .threads = options.threads});
    return std::ranges::all_of(again, [](const JudgedPart& part) { return part.wrong.empty(); });
  };
  if (const std::string other =
          right_by_other_conversion(expectation, total.wrong, total.wrong_outputs, options.last, all_right);
      !other.empty())
    verdict.patterns.push_back(other);
  if (const std::string known = expectation.diagnosis(total.wrong, total.wrong_outputs, options.last); !known.empty())
    verdict.patterns.push_back(known);
  else if (const std::string narrow = narrower_format(expectation, total.wrong, total.wrong_outputs, options.last);
           !narrow.empty())
    verdict.patterns.push_back(narrow);
  verdict.wrong_odds = total.odds.fault();
  if (verdict.outcome() != Outcome::pass) return verdict;
  verdict.weakness = expectation.weakness(options.last);
  if (total.odds.count() != 0 && !total.odds.says_something())
    verdict.weakness = "too few numbers lie between neighbours to judge the odds of their rounding";
  return verdict;
}

Outcome Verdict::outcome() const {
  if (wrong() != 0 || !wrong_odds.empty()) return Outcome::fail;
  return !refusal.empty() || zeros_pass == count || is_all_unheld() ? Outcome::vacuous : Outcome::pass;
}

std::string_view name_of(Outcome outcome) noexcept {
  constexpr std::array<std::string_view, 3> names{"pass", "fail", "vacuous"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace ulpscope::verify
