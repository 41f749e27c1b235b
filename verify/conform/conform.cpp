// SPDX-License-Identifier: Apache-2.0
// Asks the subject in chunks, compares, tallies, and turns groups into findings.
#include "verify/conform/conform.hpp"

#include <algorithm>
#include <future>
#include <mutex>

#include "tensors/parallel.hpp"
#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {
namespace {

/// Inputs that are worked on at once: they, the right results and the subject's stay in a core's cache.
constexpr std::uint64_t chunk_inputs = std::uint64_t{1} << 16;
/// Chunks of one task, and of what is read from a program before it is compared by all threads.
constexpr std::uint64_t task_chunks = 8, batch_chunks = 64;

struct Chunk {
  Words inputs, expected, results;
};

class Run {
 public:
  Run(Subject& subject, const Questions& questions, const ConformConfig& config)
      : subject_(subject), questions_(questions), config_(config), tried_(hypotheses(config.right)), tally_(config.examples) {}

  Conformance all() {
    if (subject_.in_order()) {
      ask_in_order();
    } else {
      ask_in_any_order();
    }
    subject_.finish();
    Conformance out;
    out.compared = questions_.end - questions_.first - tally_.not_judged;
    out.not_judged = tally_.not_judged;
    out.mismatches = tally_.mismatches();
    if (out.mismatches != 0) out.findings = findings(tally_, tried_, differences(), config_.examples);
    return out;
  }

 private:
  Chunk room() const { return {{config_.right.from, 0}, {config_.right.to, 0}, {config_.right.to, 0}}; }
  std::uint64_t count() const { return questions_.end - questions_.first; }
  std::size_t tasks() const {
    return static_cast<std::size_t>((count() + chunk_inputs * task_chunks - 1) / (chunk_inputs * task_chunks));
  }

  /// The inputs from `first` on, and room for their results.
  void fill(Chunk& chunk, std::uint64_t first) const {
    const auto size = static_cast<std::size_t>(std::min(chunk_inputs, questions_.end - first));
    chunk.inputs.resize(size);
    chunk.expected.resize(size);
    chunk.results.resize(size);
    questions_.inputs.fill(first, chunk.inputs);
  }

  /// Calls act(chunk, first) for every chunk of a task.
  template <class Act>
  void for_each_chunk(std::size_t task, Act act) const {
    Chunk chunk = room();
    const std::uint64_t first = questions_.first + task * chunk_inputs * task_chunks;
    const std::uint64_t end = std::min(questions_.end, first + chunk_inputs * task_chunks);
    for (std::uint64_t at = first; at < end; at += chunk_inputs) {
      fill(chunk, at);
      act(chunk, at);
    }
  }

  void compare(Chunk& chunk, std::uint64_t first, Tally& tally) const {
    compute(config_.right, chunk.inputs, chunk.expected);
    tally_mismatches(config_, tried_, first, chunk.inputs, chunk.expected, chunk.results, tally);
    tally.not_judged += not_judged(chunk.inputs);
  }

  std::uint64_t not_judged(const Words& inputs) const {
    const Computation& right = config_.right;
    const bool all = (right.to.has_nan() || right.rules.nan_check != NanCheck::any) &&
                     (right.to.is_signed() || right.rules.negative != NegativeRule::not_judged);
    std::uint64_t count = 0;
    for (std::size_t i = 0; !all && i < inputs.size(); ++i)
      count += is_judged(right.rules, right.from, right.to, inputs.code(i) & right.from.code_mask()) ? 0 : 1;
    return count;
  }

  void finish(const Tally& tally, std::uint64_t inputs) {
    const std::lock_guard lock(adding_);
    tally_.add(tally);
    done_ += inputs;
    if (config_.progress) config_.progress(done_, count());
  }

  void ask_in_any_order() {
    tensors::for_each_index(tasks(), config_.threads, [&](std::size_t task) {
      Tally tally(config_.examples);
      std::uint64_t inputs = 0;
      for_each_chunk(task, [&](Chunk& chunk, std::uint64_t first) {
        subject_.results(first, chunk.inputs, chunk.results);
        compare(chunk, first, tally);
        inputs += chunk.inputs.size();
      });
      finish(tally, inputs);
    });
  }

  /// Reads a batch from the subject.
  std::uint64_t read(std::vector<Chunk>& batch, std::uint64_t first) const {
    for (Chunk& chunk : batch) {
      fill(chunk, std::min(first, questions_.end));
      if (chunk.inputs.size() != 0) subject_.results(first, chunk.inputs, chunk.results);
      first += chunk.inputs.size();
    }
    return first;
  }

  /// One batch is compared while the next one is read.
  void ask_in_order() {
    std::vector<Chunk> now(batch_chunks, room()), next(batch_chunks, room());
    std::uint64_t first = questions_.first, end = read(now, first);
    while (first < questions_.end) {
      std::future<std::uint64_t> reading = std::async(std::launch::async, [&, end] { return read(next, end); });
      std::vector<std::uint64_t> firsts(now.size(), first);
      for (std::size_t i = 1; i < now.size(); ++i) firsts[i] = firsts[i - 1] + now[i - 1].inputs.size();
      tensors::for_each_index(now.size(), config_.threads, [&](std::size_t i) {
        Tally tally(config_.examples);
        compare(now[i], firsts[i], tally);
        finish(tally, now[i].inputs.size());
      });
      first = end;
      end = reading.get();
      std::swap(now, next);
    }
  }

  /// For every hypothesis that explains anything, where it differs from what is right.
  std::vector<RegionCounts> differences() {
    Mask useful = 0;
    for (const auto& [group, members] : tally_.groups()) useful |= group.explained;
    std::vector<RegionCounts> out(tried_.size());
    tensors::for_each_index(tasks(), config_.threads, [&](std::size_t task) {
      std::vector<RegionCounts> counts(tried_.size());
      for_each_chunk(task, [&](Chunk& chunk, std::uint64_t) {
        compute(config_.right, chunk.inputs, chunk.expected);
        for (std::size_t h = 0; h < tried_.size(); ++h) {
          if ((useful >> h & 1) == 0) continue;
          compute(tried_[h].computation, chunk.inputs, chunk.results);
          count_differences(config_, chunk.inputs, chunk.expected, chunk.results, counts[h]);
        }
      });
      const std::lock_guard lock(adding_);
      for (std::size_t h = 0; h < tried_.size(); ++h)
        for (std::size_t r = 0; r < region_count; ++r) out[h][r] += counts[h][r];
    });
    return out;
  }

  Subject& subject_;
  const Questions& questions_;
  const ConformConfig& config_;
  std::vector<ConformHypothesis> tried_;
  std::mutex adding_;
  Tally tally_;
  std::uint64_t done_ = 0;
};

}  // namespace

Conformance conform(Subject& subject, const Questions& questions, const ConformConfig& config) {
  return Run(subject, questions, config).all();
}

}  // namespace ulpscope::verify
