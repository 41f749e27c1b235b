// SPDX-License-Identifier: Apache-2.0
// Events around launches, on operands that take turns so that caches do not help.
#include "gpu/cublas/timing.hpp"

#include <algorithm>
#include <vector>

#include "gpu/cublas/random_codes.hpp"

namespace ulpscope::gpu::cublas {
namespace {

class Event {
 public:
  Event() { cuda::check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { cuda::check(cudaEventRecord(event_, nullptr), "cudaEventRecord"); }
  /// Waits for this event.
  double seconds_since(const Event& begin) {
    cuda::check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Buffers of sets begin where the libraries' fastest kernels want them: 256 bytes, the default of
// CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES.
constexpr std::size_t alignment = 256;
std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t a_bytes(const LibraryCall& call, const Shape& s) { return aligned(stored_bytes(call.a, s.m * s.k)); }
std::size_t b_bytes(const LibraryCall& call, const Shape& s) { return aligned(stored_bytes(call.b, s.k * s.n)); }
std::size_t d_bytes(const LibraryCall& call, const Shape& s) { return aligned(stored_bytes(call.d, s.m * s.n)); }

std::size_t sets_for(const LibraryCall& call, const Shape& shape, std::size_t cache_bytes) {
  constexpr std::size_t least = 3, caches = 4;
  const std::size_t each = a_bytes(call, shape) + b_bytes(call, shape) + d_bytes(call, shape);
  return std::max(least, (caches * cache_bytes + each - 1) / each);
}

}  // namespace

RotatingOperands::RotatingOperands(const LibraryCall& call, const Shape& shape, std::size_t cache_bytes)
    : sets_(sets_for(call, shape, cache_bytes)),
      a_(sets_ * a_bytes(call, shape)),
      b_(sets_ * b_bytes(call, shape)),
      c_(call.c ? stored_bytes(*call.c, shape.m * shape.n) : 0),
      d_(sets_ * d_bytes(call, shape)) {
  fill_randomly(a_, call.a, 0);
  fill_randomly(b_, call.b, 1);
  c_.clear();
  d_.clear();
}

LibraryTime time_of(const std::function<void(std::size_t run)>& launch) {
  // The clock of events ticks in about half a microsecond (CUDA Runtime API, cudaEventElapsedTime): a run of a millisecond is
  // right to a tenth of a percent.
  constexpr double least_run = 1e-3, least_launch = 2e-6, most_total = 0.5;
  constexpr std::size_t warm_up = 3, most_runs = 15, least_runs = 3;
  Event begin, end;
  std::size_t launches = 0;
  const auto run = [&](std::size_t count) {
    begin.record();
    for (std::size_t i = 0; i < count; ++i) launch(launches++);
    end.record();
    return end.seconds_since(begin) / static_cast<double>(count);
  };
  static_cast<void>(run(warm_up));
  const double about = std::max(run(warm_up), least_launch);
  const auto each = static_cast<std::size_t>(std::max(1.0, least_run / about));
  const double run_seconds = about * static_cast<double>(each);
  const auto runs = std::clamp(static_cast<std::size_t>(most_total / run_seconds), least_runs, most_runs) | 1;

  std::vector<double> seconds;
  for (std::size_t i = 0; i < runs; ++i) seconds.push_back(run(each));
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.size()};
}

}  // namespace ulpscope::gpu::cublas
