// SPDX-License-Identifier: Apache-2.0
// Asks the subject in chunks, compares, tallies, and turns groups into findings.
#include "verify/conform/conform.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "tensors/parallel.hpp"
#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {
namespace {

/// Inputs that are worked on at once: they, the right results and the subject's stay in a core's cache.
constexpr std::uint64_t chunk_inputs = std::uint64_t{1} << 16;
/// Chunks of one task, and of what is read from a program before it is compared by all threads.
constexpr std::uint64_t task_chunks = 8, batch_chunks = 64;

/// Inputs that are read from a program at first; twice as many each time, so that the first mismatches are known soon.
constexpr std::uint64_t first_batch_inputs = std::uint64_t{1} << 10;
/// Codes of which it is found out together where hypotheses differ from what is right.
constexpr std::uint64_t task_codes = std::uint64_t{1} << 22;

struct Chunk {
  Words inputs, expected, results;
};

/// Hands on the first mismatches as soon as all before them are known, so that which they are does not depend on threads.
class FirstMismatches {
 public:
  explicit FirstMismatches(std::uint64_t first) : next_(first) {}

  /// How many are still wanted.
  std::size_t wanted() const { return wanted_; }
  /// Those of inputs [first, end).
  void add(std::uint64_t first, std::uint64_t end, std::vector<Mismatch> mismatches,
           const std::function<void(const Mismatch&)>& act) {
    if (wanted_ == 0) return;
    waiting_.emplace(first, Part{end, std::move(mismatches)});
    for (auto part = waiting_.begin(); part != waiting_.end() && part->first == next_; part = waiting_.erase(part)) {
      next_ = part->second.end;
      for (const Mismatch& mismatch : part->second.mismatches)
        if (wanted_ != 0) --wanted_, act(mismatch);
    }
  }

 private:
  struct Part {
    std::uint64_t end;
    std::vector<Mismatch> mismatches;
  };
  std::map<std::uint64_t, Part> waiting_;
  std::uint64_t next_;
  std::atomic<std::size_t> wanted_ = mismatches_at_once;
};

class Run {
 public:
  Run(Subject& subject, const Questions& questions, const ConformConfig& config)
      : subject_(subject),
        questions_(questions),
        config_(config),
        tried_(hypotheses(config.right)),
        first_(questions.first),
        tally_(config.examples) {}

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
    out.computed = tally_.computed;
    if (out.mismatches != 0) out.findings = findings(tally_, tried_, differences(out.computed), config_.examples);
    return out;
  }

 private:
  Chunk room() const { return {{config_.right.from, 0}, {config_.right.to, 0}, {config_.right.to, 0}}; }
  std::uint64_t count() const { return questions_.end - questions_.first; }
  bool every_code() const { return !questions_.inputs.is_sample(); }

  /// Calls act(first, end) for tasks of at most `size` inputs: for those with a preferred input, then for the others, the first
  /// ones first.
  template <class Act>
  void for_each_task(std::uint64_t size, const std::set<std::uint64_t>& preferred, Act act) const {
    std::vector<std::uint64_t> tasks;
    std::set<std::uint64_t> begun;
    for (const std::uint64_t input : preferred)
      if (begun.insert((input - questions_.first) / size).second) tasks.push_back((input - questions_.first) / size);
    for (std::uint64_t task = 0; task < (count() + size - 1) / size; ++task)
      if (!begun.contains(task)) tasks.push_back(task);
    std::atomic<std::size_t> next = 0;
    tensors::for_each_index(tasks.size(), config_.threads, [&](std::size_t) {
      const std::uint64_t first = questions_.first + tasks[next++] * size;
      act(first, std::min(questions_.end, first + size));
    });
  }

  /// The inputs from `first` on, and room for their results.
  void fill(Chunk& chunk, std::uint64_t first, std::uint64_t end) const {
    const auto size = static_cast<std::size_t>(std::min(chunk_inputs, end - first));
    chunk.inputs.resize(size);
    chunk.expected.resize(size);
    chunk.results.resize(size);
    questions_.inputs.fill(first, chunk.inputs);
  }

  /// Calls act(chunk, first) for every chunk of a task.
  template <class Act>
  void for_each_chunk(std::uint64_t first, std::uint64_t end, Act act) const {
    Chunk chunk = room();
    for (std::uint64_t at = first; at < end; at += chunk_inputs) {
      fill(chunk, at, end);
      act(chunk, at);
    }
  }

  void compare(Chunk& chunk, std::uint64_t first, Tally& tally) {
    compute(config_.right, chunk.inputs, chunk.expected);
    const Compared compared{first, chunk.inputs, chunk.expected, chunk.results};
    if (config_.mismatch && first_.wanted() != 0) {
      std::vector<Mismatch> found = first_mismatches(config_, compared, first_.wanted());
      const std::lock_guard lock(adding_);
      first_.add(first, first + chunk.inputs.size(), std::move(found), config_.mismatch);
    }
    tally_mismatches(config_, tried_, compared, every_code(), tally);
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
    for_each_task(chunk_inputs * task_chunks, {}, [&](std::uint64_t first, std::uint64_t end) {
      Tally tally(config_.examples);
      for_each_chunk(first, end, [&](Chunk& chunk, std::uint64_t at) {
        subject_.results(at, chunk.inputs, chunk.results);
        compare(chunk, at, tally);
      });
      finish(tally, end - first);
    });
  }

  /// Reads a batch of at most `inputs` from the subject. Returns where it ends.
  std::uint64_t read(std::vector<Chunk>& batch, std::uint64_t first, std::uint64_t inputs) const {
    const std::uint64_t end = std::min(questions_.end, first + inputs);
    for (Chunk& chunk : batch) {
      fill(chunk, first, end);
      if (chunk.inputs.size() != 0) subject_.results(first, chunk.inputs, chunk.results);
      first += chunk.inputs.size();
    }
    return end;
  }

  /// One batch is compared while the next one is read.
  void ask_in_order() {
    std::vector<Chunk> now(batch_chunks, room()), next(batch_chunks, room());
    std::uint64_t inputs = first_batch_inputs, first = questions_.first, end = read(now, first, inputs);
    while (first < questions_.end) {
      inputs = std::min(2 * inputs, chunk_inputs * batch_chunks);
      std::future<std::uint64_t> reading = std::async(std::launch::async, [&, end, inputs] { return read(next, end, inputs); });
      std::vector<std::uint64_t> firsts(now.size(), first);
      for (std::size_t i = 1; i < now.size(); ++i) firsts[i] = firsts[i - 1] + now[i - 1].inputs.size();
      tensors::for_each_index(now.size(), config_.threads, [&](std::size_t i) {
        if (now[i].inputs.size() == 0) return;
        Tally tally(config_.examples);
        compare(now[i], firsts[i], tally);
        finish(tally, now[i].inputs.size());
      });
      first = end;
      end = reading.get();
      std::swap(now, next);
    }
  }

  /// For every hypothesis that may still be believed, where it differs from what is right; of the others a part of that. Adds
  /// to `computed`.
  std::vector<RegionCounts> differences(std::uint64_t& computed) {
    std::vector<RegionCounts> out(tried_.size());
    const std::vector<RegionCounts> explained = explained_counts(tally_, tried_.size());
    std::atomic<Mask> possible = believable(explained, out);
    // A conversion gives one result for a stretch of codes; where results are as many as inputs there is nothing to skip.
    constexpr int stretch_bits = 6;
    const bool by_pieces =
        every_code() && !config_.right.operation && config_.right.from.bits() - config_.right.to.bits() >= stretch_bits;
    std::set<std::uint64_t> near_mismatches;  // there it shows soonest where a hypothesis differs
    for (const auto& [group, members] : tally_.groups())
      if (group.explained != 0)
        for (const Mismatch& mismatch : members.examples) near_mismatches.insert(mismatch.index);
    for_each_task(by_pieces ? task_codes : chunk_inputs * task_chunks, near_mismatches,
                  [&](std::uint64_t first, std::uint64_t end) {
                    const Mask asked_of = possible;
                    if (asked_of == 0) return;
                    std::vector<RegionCounts> counts(tried_.size());
                    const std::uint64_t asked = by_pieces ? count_differences(config_, tried_, asked_of, {first, end}, counts)
                                                          : count_by_chunks(asked_of, first, end, counts);
                    const std::lock_guard lock(adding_);
                    computed += asked;
                    for (std::size_t h = 0; h < tried_.size(); ++h)
                      for (std::size_t r = 0; r < region_count; ++r) out[h][r] += counts[h][r];
                    possible &= believable(explained, out);
                  });
    return out;
  }

  std::uint64_t count_by_chunks(Mask useful, std::uint64_t first, std::uint64_t end, std::vector<RegionCounts>& counts) const {
    std::vector<std::size_t> useful_ones;
    std::vector<const Computation*> others;
    for (std::size_t h = 0; h < tried_.size(); ++h) {
      if ((useful >> h & 1) == 0) continue;
      useful_ones.push_back(h);
      others.push_back(&tried_[h].computation);
    }
    for_each_chunk(first, end, [&](Chunk& chunk, std::uint64_t) {
      compute(config_.right, chunk.inputs, chunk.expected);
      compute_each(others, chunk.inputs, [&](std::size_t c, const Words& results) {
        count_differences(config_, chunk.inputs, chunk.expected, results, counts[useful_ones[c]]);
      });
    });
    return end - first;
  }

  Subject& subject_;
  const Questions& questions_;
  const ConformConfig& config_;
  std::vector<ConformHypothesis> tried_;
  std::mutex adding_;
  FirstMismatches first_;
  Tally tally_;
  std::uint64_t done_ = 0;
};

}  // namespace

Conformance conform(Subject& subject, const Questions& questions, const ConformConfig& config) {
  return Run(subject, questions, config).all();
}

}  // namespace ulpscope::verify
